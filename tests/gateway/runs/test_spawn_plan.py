"""Admission of spawns: the checks in their order, allowed agents, models, thinking and limits."""

from __future__ import annotations

from typing import Any, Final

import attrs
import pytest

from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._reader import config_converter
from greenroom.gateway.record._gateway_events import SessionMade, SessionPatched
from greenroom.gateway.record._registry import Registry
from greenroom.gateway.routing._session_key import SessionKey, child_key, main_key
from greenroom.gateway.runs._child_models import find_model
from greenroom.gateway.runs._spawn_plan import SpawnPlan, SpawnRefusal, SpawnRequest, plan_spawn, spawn_targets
from tests.gateway.record.histories import START, ended, registered

MAIN: Final = main_key("main")
UUID: Final = "00000000-0000-4000-8000-000000000001"


def configured(**sections: Any) -> GatewayConfig:
    """Return the configuration of some sections, in the words of the file."""
    config: GatewayConfig = config_converter().structure(sections, GatewayConfig)
    return config


def agents(*listed: dict[str, Any], **defaults: Any) -> dict[str, Any]:
    return {"agents": {"list": list(listed), "defaults": defaults}}


def plan(
    config: GatewayConfig | None = None, registry: Registry | None = None, caller: SessionKey = MAIN, **request: Any
) -> SpawnPlan | SpawnRefusal:
    return plan_spawn(
        config or GatewayConfig(),
        registry or Registry().fold_all(START),
        caller,
        SpawnRequest(**{"task": "count", **request}),
    )


def accepted(*args: Any, **values: Any) -> SpawnPlan:
    found = plan(*args, **values)
    assert isinstance(found, SpawnPlan), found
    return found


def refused(*args: Any, **values: Any) -> SpawnRefusal:
    found = plan(*args, **values)
    assert isinstance(found, SpawnRefusal), found
    return found


# --- the order of the checks --------------------------------------------------------------------------------------------


def test_sub_agents_nest_as_deep_as_the_configuration_says() -> None:
    """The depth of a session is the number of sub-agents above it and itself."""
    registry, config = Registry().fold_all(START), configured(**agents(subagents={"maxSpawnDepth": 2}))
    keys = [child_key("main", f"{number:08x}-0000-4000-8000-000000000000") for number in range(2)]
    for key, above in zip(keys, ("agent:main:main", str(keys[0])), strict=True):
        registry.fold(SessionMade(at_s=1.0, session=str(key), session_id=str(key), spawned_by=above))

    assert accepted(config, registry=registry, caller=keys[0]).agent == "main"
    assert "at depth 2" in refused(config, registry=registry, caller=keys[1]).error
    assert refused(registry=registry, caller=keys[0]).status == "forbidden"


@pytest.mark.promise("A2-d")
def test_the_first_check_that_fails_decides() -> None:
    """Each request is wrong in all ways from one check on; the check before it was passed."""
    full = Registry().fold_all(START)
    for number in range(5):
        full.fold(registered(f"full {number}"))
    wrong = {"agent": "other", "thinking": "loud"}

    assert "from a sub-agent" in refused(caller=child_key("main", UUID), registry=full, **wrong).error
    assert "'other' is not allowed" in refused(registry=full, **wrong).error
    assert "maxChildrenPerAgent" in refused(registry=full, thinking="loud").error
    assert refused(thinking="loud").status == "error"
    assert "off, minimal, low, medium, high, xhigh, max" in refused(thinking="loud").error


@pytest.mark.parametrize(
    ("given", "kept"), [("delete", "delete"), ("keep", "keep"), ("whatever", "keep"), ("", "keep")]
)
@pytest.mark.promise("A2-e")
def test_any_cleanup_but_delete_is_keep(given: str, kept: str) -> None:
    assert accepted(cleanup=given).cleanup == kept


@pytest.mark.promise("A2-f")
def test_a_limit_is_floored_and_0_is_none() -> None:
    config = configured(**agents(subagents={"runTimeoutSeconds": 9.5}))

    assert accepted(limit_s=2.9).limit_s == 2.0
    assert accepted(config, limit_s=None).limit_s == 9.0
    assert accepted(config, limit_s=0).limit_s == 0.0


# --- allowed agents -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "allows"),
    [
        ({}, {"main"}),
        ({"subagents": {"allowAgents": []}}, {"main"}),
        ({"subagents": {"allowAgents": ["Research"]}}, {"main", "research"}),
        ({"subagents": {"allowAgents": ["*"]}}, {"main", "research", "writer", "nobody"}),
    ],
)
@pytest.mark.promise("A3-a", "A3-b", "A3-c")
def test_an_agent_starts_itself_and_those_that_are_allowed(setting: dict[str, Any], allows: set[str]) -> None:
    config = configured(**agents({"id": "main", "default": True, **setting}, {"id": "research"}, {"id": "writer"}))

    for target in ("main", " Research ", "writer", "nobody"):
        found = plan(config, agent=target)
        if target.strip().lower() in allows:
            assert isinstance(found, SpawnPlan)
            assert found.agent == target.strip().lower()
        else:
            assert isinstance(found, SpawnRefusal)
            assert found.status == "forbidden"
            assert ("research" if "research" in allows else "none") in found.error


@pytest.mark.promise("A3-d")
def test_targets_are_the_requester_and_then_sorted() -> None:
    config = configured(
        **agents({"id": "main", "default": True, "subagents": {"allowAgents": ["z", "*"]}}, {"id": "b"}, {"id": "a"})
    )

    assert spawn_targets(config, "main").ids == ("main", "a", "b", "z")
    assert spawn_targets(config, "main").allows_any


def test_a_required_agent_id_must_be_named() -> None:
    config = configured(**agents(subagents={"requireAgentId": True}))

    assert "agentId must be given" in refused(config).error
    assert accepted(config, agent="main").agent == "main"


# --- models and thinking ------------------------------------------------------------------------------------------------

STEPS: Final = ("explicit", "per agent", "defaults", "caller's session", "caller's agent", "agents' defaults")


@pytest.mark.parametrize("first", range(len(STEPS) + 1))
@pytest.mark.promise("A4-a", "A4-b", "A4-c", "A4-d", "A19-e")
def test_the_first_step_that_names_a_model_decides(first: int) -> None:
    """Step by step, the earlier sources are taken away; a level of thinking takes the same steps."""
    has = dict.fromkeys(STEPS[first:], True)
    target = {"subagents": {"model": "claude-b", "thinking": "low"}} if "per agent" in has else {}
    defaults: dict[str, Any] = {"subagents": {}}
    if "defaults" in has:
        defaults["subagents"] = {"model": {"primary": "opus", "fallbacks": ["haiku"]}, "thinking": "medium"}
    if "agents' defaults" in has:
        defaults |= {"model": "fable", "thinking": "max"}
    caller = {"model": "opus", "thinking": "xhigh"} if "caller's agent" in has else {}
    config = configured(
        models={"providers": {"own": {"models": [{"id": "claude-b"}]}}},
        **agents(
            {"id": "main", "default": True, **caller, "subagents": {"allowAgents": ["*"]}},
            {"id": "research", "model": "haiku", "thinking": "off", **target},
            **defaults,
        ),
    )
    registry = Registry().fold_all(START)
    if "caller's session" in has:
        settings = {"model": "claude-haiku-4-5", "thinking": "high"}
        registry.fold(SessionPatched(at_s=1e9, session=str(MAIN), settings=settings))
    asked = {"model": "sonnet", "thinking": "minimal"} if "explicit" in has else {}

    found = accepted(config, registry, agent="research", **asked)

    models = ("sonnet", "own/claude-b", "opus", "claude-haiku-4-5", "opus", "fable", "sonnet")
    assert found.model.name == models[first]
    assert found.thinking == ("minimal", "low", "medium", "high", "xhigh", "max", "")[first]
    assert found.model.is_set == (first < 3)
    assert found.model.fallbacks == (("haiku",) if first == 2 else ())


@pytest.mark.promise("A2-c", "A4-e")
def test_an_unknown_model_falls_through_with_a_warning() -> None:
    config = configured(**agents(subagents={"model": "haiku"}))

    found = accepted(config, model="gpt-9")

    assert found.model.name == "haiku"
    assert "'gpt-9'" in found.warning
    assert not accepted(config, model="opus").warning


@pytest.mark.promise("A4-g")
def test_a_model_as_an_object_is_the_model_as_a_text() -> None:
    plain, written = ({"subagents": {"model": each}} for each in ("haiku", {"primary": "haiku"}))

    assert accepted(configured(**agents(**plain))) == accepted(configured(**agents(**written)))


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("claude-haiku-4-5", "claude-haiku-4-5"),
        ("anthropic/claude-haiku-4-5", "claude-haiku-4-5"),
        (" haiku ", "haiku"),
        ("cheap", "haiku"),
        ("own/anything", "own/anything"),
        ("listed", "own/listed"),
        ("other/model", None),
        ("gpt", None),
        ("own/", None),
        ("", None),
    ],
)
def test_a_reference_stands_for_one_model(reference: str, found: str | None) -> None:
    config = configured(models={"aliases": {"cheap": "haiku"}, "providers": {"own": {"models": [{"id": "listed"}]}}})

    assert find_model(config, reference) == found


def test_inheriting_from_the_target_takes_its_model() -> None:
    listed = (
        {"id": "main", "default": True, "model": "opus", "subagents": {"allowAgents": ["*"]}},
        {"id": "r", "model": "haiku"},
    )
    config = configured(**agents(*listed, subagents={"inheritFrom": "target"}))

    assert accepted(config, agent="r").model.name == "haiku"


# --- limits -------------------------------------------------------------------------------------------------------------


def test_children_that_have_not_ended_are_limited() -> None:
    config = configured(**agents(subagents={"maxChildrenPerAgent": 2}))
    registry = Registry().fold_all(START)
    registry.fold(registered("a"))
    registry.fold(attrs.evolve(registered("sent"), announce="none"))
    assert isinstance(plan(config, registry), SpawnPlan)

    registry.fold(registered("b"))
    assert "2 sub-agents that have not ended (maxChildrenPerAgent: 2)" in refused(config, registry).error

    registry.fold(ended("b", "killed", "stop"))
    assert isinstance(plan(config, registry), SpawnPlan)


def test_children_of_an_agent_are_limited_whoever_started_them() -> None:
    config = configured(limits={"childrenPerAgent": 1}, **agents({"id": "main", "default": True}, {"id": "other"}))
    registry = Registry().fold_all(START)
    registry.fold(SessionMade(at_s=1e9, session="agent:other:main", session_id="id"))
    registry.fold(attrs.evolve(registered("a"), requester="agent:other:main"))

    assert "limits.childrenPerAgent: 1" in refused(config, registry).error


def test_undelivered_results_warn_and_then_refuse() -> None:
    config = configured(limits={"undeliveredWarn": 1, "undeliveredMax": 2})
    registry = Registry().fold_all(START)
    registry.fold(registered("a"))
    registry.fold(ended("a", "killed", "timeout"))
    assert "1 results of this session are not delivered yet" in accepted(config, registry).warning

    registry.fold(registered("b"))
    registry.fold(ended("b", "killed", "timeout"))
    assert "limits.undeliveredMax: 2" in refused(config, registry).error


def test_known_sessions_of_an_agent_are_limited() -> None:
    assert "limits.knownSessions: 2" in refused(configured(limits={"knownSessions": 2})).error


@pytest.mark.promise("A4-f", "A19-f")
def test_the_settings_are_copied_into_the_child() -> None:
    config = configured(**agents(subagents={"model": {"primary": "haiku", "fallbacks": ["opus", "gpt"]}}))

    found = accepted(config, thinking="High", label=" files ")

    assert found.settings == {"model": "haiku", "fallbacks": ["opus"], "thinking": "high"}
    assert found.label == "files"
