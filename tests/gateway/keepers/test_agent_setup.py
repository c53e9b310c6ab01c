"""The setup of an agent id: context files, brief, credentials, sandbox, tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from greenroom.core import UsageError
from greenroom.gateway.config._agents import AgentConfig, AgentsConfig, DefaultAgent, SandboxConfig
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._sections import ModelsConfig, ProviderConfig
from greenroom.gateway.config._values import Secret
from greenroom.gateway.keepers._agent_setup import AgentSetup, agent_of, lane_of
from greenroom.gateway.keepers._context_files import MAX_CHARS, OF_ALL, read_prompt, shortened
from greenroom.gateway.keepers._credentials import find_credential, read_profiles
from greenroom.gateway.record._rows import SessionRow
from greenroom.gateway.routing._session_key import SessionKey
from tests.gateway.keepers.keeping import uuid

MAIN = SessionKey("research")
CHILD = SessionKey.parse(f"agent:research:subagent:{uuid(1)}")
OTHER = SessionKey.parse(f"agent:research:subagent:{uuid(2)}")


def row(key: SessionKey, **values: Any) -> SessionRow:
    return SessionRow(key=str(key), session_id=uuid(9), made_s=0, used_s=0, **values)


def workspace(folder: Path) -> Path:
    for name in (*OF_ALL, "CLAUDE.md"):
        (folder / name).write_text(f"text of {name}")
    return folder


def test_a_child_reads_two_of_the_context_files_and_others_all_in_order(tmp_path: Path) -> None:
    """GW-12: which context files are read depends on the kind of the session."""
    folder = workspace(tmp_path)

    child, main = read_prompt(folder, CHILD, row(CHILD)), read_prompt(folder, MAIN, row(MAIN))

    assert [name for name in OF_ALL if f"text of {name}" in child] == ["AGENTS.md", "TOOLS.md"]
    places = [main.index(f"text of {name}") for name in OF_ALL]
    assert places == sorted(places)
    assert "CLAUDE.md" not in child + main


def test_prompts_of_two_children_differ_only_in_their_last_lines(tmp_path: Path) -> None:
    folder = workspace(tmp_path)
    said = {"label": "count", "spawned_by": "agent:research:main"}

    first = read_prompt(folder, CHILD, row(CHILD, **said)).splitlines()
    second = read_prompt(folder, OTHER, row(OTHER, **said)).splitlines()

    assert first[:-1] == second[:-1]
    assert first[-3:] == ["Label: count", "Requester session: agent:research:main", f"Your session: {CHILD}"]


@pytest.mark.parametrize("size", [0, 1, MAX_CHARS, MAX_CHARS + 1, 10 * MAX_CHARS])
def test_a_long_file_keeps_its_head_and_tail(size: int) -> None:
    text = "".join(chr(97 + at % 26) for at in range(size))

    short = shortened(text)

    if size <= MAX_CHARS:
        assert short == text
    else:
        head, said, tail = short.split("\n")
        assert text.startswith(head)
        assert text.endswith(tail)
        assert len(head) + len(tail) == MAX_CHARS
        assert str(size - MAX_CHARS) in said


# --- credentials --------------------------------------------------------------------------------------------------------


def profiles(state: Path, agent: str, **keys: Any) -> Path:
    path = state / "agents" / agent / "agent" / "auth-profiles.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    values = {f"{name}:default": {"type": "api_key", "key": key} for name, key in keys.items()}
    path.write_text(json.dumps({"version": 1, "profiles": values}))
    path.chmod(0o600)
    return path


@pytest.mark.parametrize(
    ("own", "main", "configured", "expected"),
    [
        ("own", "main", "configured", "own"),
        ("own", None, None, "own"),
        (None, "main", "configured", "main"),
        (None, None, "configured", "configured"),
        (None, None, None, None),
    ],
)
def test_an_agents_own_profile_comes_before_the_main_agents(
    tmp_path: Path, own: str | None, main: str | None, configured: str | None, expected: str | None
) -> None:
    """GW-11: credentials are found by agent id, then those of the main agent."""
    key = None if configured is None else Secret("text", (configured,))
    config = GatewayConfig(models=ModelsConfig(providers={"anthropic": ProviderConfig(api_key=key)}))
    for agent, value in (("research", own), ("main", main)):
        if value is not None:
            profiles(tmp_path, agent, other="x", anthropic=value)

    found = find_credential(config, "research", "anthropic", state_folder=tmp_path, base=tmp_path)

    assert found == (None if expected is None else Secret("text", (expected,)))


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"version": 2, "profiles": {}}',
        '{"version": 1, "profiles": []}',
        '{"version": 1, "profiles": {"anthropic": {"type": "api_key", "key": "s3cret"}}}',
        '{"version": 1, "profiles": {"anthropic:a": {"type": "oauth", "key": "s3cret"}}}',
        '{"version": 1, "profiles": {"anthropic:a": {"type": "api_key", "key": {"env": "s3cret", "file": "x"}}}}',
        "[" * 100_000,
    ],
)
def test_a_broken_file_of_profiles_is_named_and_no_other_stands_in(tmp_path: Path, text: str) -> None:
    profiles(tmp_path, "main", anthropic="main")
    path = profiles(tmp_path, "research")
    path.write_text(text)

    with pytest.raises(UsageError, match=r"auth-profiles\.json") as caught:
        find_credential(GatewayConfig(), "research", "anthropic", state_folder=tmp_path, base=tmp_path)
    assert "s3cret" not in str(caught.value)


def test_profiles_that_others_can_read_are_refused(tmp_path: Path) -> None:
    path = profiles(tmp_path, "main", anthropic="x")
    path.chmod(0o640)

    with pytest.raises(UsageError, match="chmod 600"):
        read_profiles(path)


# --- the rest -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["off", "children", "all", None])
@pytest.mark.parametrize("kind", ["none", "bwrap", None])
@pytest.mark.parametrize("network", [True, False, None])
@pytest.mark.parametrize("key", [MAIN, CHILD])
def test_a_sandbox_confines_only_the_sessions_it_was_asked_for(
    mode: Any, kind: Any, network: bool | None, key: SessionKey
) -> None:
    agent = AgentConfig(id="research", sandbox=SandboxConfig(mode=mode, exec=kind, network=network))
    config = GatewayConfig(agents=AgentsConfig(defaults=DefaultAgent(), list=(agent,)))
    setup = AgentSetup(config=config, agent=agent, row=row(key), key=key)

    asked = kind == "bwrap" and (mode == "all" or (mode == "children" and key.is_child))

    assert setup.sandbox()["enabled"] == asked
    assert setup.sandbox().get("network", False) == (asked and bool(network))


def test_commands_of_sub_agents_have_the_variables_of_main_sessions() -> None:
    """GW-13: the variables are those of the agent, whatever the kind of its session."""
    agent = AgentConfig(id="research", env={"A": "1"})
    config = GatewayConfig(agents=AgentsConfig(defaults=DefaultAgent(env={"B": "2"}), list=(agent,)))

    main, child = (AgentSetup(config=config, agent=agent, row=row(key), key=key).settings() for key in (MAIN, CHILD))

    assert main["env"] == child["env"] == {"A": "1", "B": "2"}


def test_an_agent_is_found_by_the_one_form_of_its_id() -> None:
    config = GatewayConfig(agents=AgentsConfig(list=(AgentConfig(id=" Research ", name="R"),)))

    assert agent_of(config, "research").name == "R"
    assert agent_of(config, "unknown") == AgentConfig(id="unknown")


@pytest.mark.parametrize(
    ("key", "lane"),
    [
        ("agent:main:main", "main"),
        ("agent:main:irc:group:#x", "main"),
        (str(CHILD), "subagent"),
        ("agent:main:cron:daily", "cron"),
    ],
)
def test_the_kind_of_a_session_decides_its_lane(key: str, lane: str) -> None:
    assert lane_of(SessionKey.parse(key)) == lane
