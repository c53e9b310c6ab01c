"""The runner in virtual time: at once, each with its limit, in order, and whatever happens without breaking the turn."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import attrs
import orjson
import pytest
import trio

from greenroom.core import field_values
from greenroom.hooks import EVENTS, HookEvent, HookRan, HookRunner, HookServices, Permission, SourceKind, merge_hooks
from greenroom.hooks.inputs import SessionEndInput
from greenroom.trace import Codec
from tests.hooks.situations import CALL, HERE, STOP, ScriptedTools, hooks_of, tool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from greenroom.hooks import HookSet

DENY: Final = '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}'
NAMES: Final = [field.name for field in attrs.fields(HookRan)]


async def at_once(_: Mapping[str, Any]) -> str:
    return ""


async def never(_: Mapping[str, Any]) -> str:
    await trio.sleep_forever()
    return ""


async def denies(_: Mapping[str, Any]) -> str:
    await trio.sleep(1.0)
    return DENY


async def breaks(_: Mapping[str, Any]) -> str:
    raise RuntimeError("a bug in the engine's port")


class Judge:
    """A model that answers what it is told to, and keeps what it was asked."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.asked: list[tuple[str, str | None]] = []

    async def ask(self, system: str, prompt: str, *, model: str | None) -> str:
        """Answer."""
        assert '"ok"' in system
        self.asked.append((prompt, model))
        return self.text


def runner_of(hooks: HookSet, records: list[dict[str, Any]] | None = None, **services: Any) -> HookRunner:
    def emit(event_class: object, *fields: Any) -> int:
        assert event_class in EVENTS
        if records is not None:
            records.append(dict(zip(NAMES, fields, strict=True)))
        return 0

    services.setdefault("mcp", ScriptedTools(at_once=at_once, never=never, denies=denies, breaks=breaks))
    return HookRunner(hooks, HookServices(project=HERE.cwd, environment={}, emit=emit, **services))


@pytest.mark.usefixtures("virtual_time")
async def test_one_that_hangs_takes_its_limit_and_no_more() -> None:
    records: list[dict[str, Any]] = []
    runner = runner_of(hooks_of("PreToolUse", tool("never", timeout=7), tool("denies"), tool("at_once")), records)
    began = trio.current_time()

    outcome = await runner.run(CALL, HERE)

    assert trio.current_time() - began == pytest.approx(7)
    assert outcome.permission is Permission.DENY
    assert [problem for problem in outcome.problems if "7 s" in problem]
    assert sorted(
        (record["handler"], record["state"], record["decision"], record["duration_s"]) for record in records
    ) == [
        ("mcp_tool: s/at_once", "completed", "", 0.0),
        ("mcp_tool: s/denies", "completed", "deny", 1.0),
        ("mcp_tool: s/never", "timed_out", "", 7.0),
    ]


@pytest.mark.usefixtures("virtual_time")
async def test_the_default_limit_is_that_of_the_event() -> None:
    began = trio.current_time()

    await runner_of(hooks_of("PreToolUse", tool("never"))).run(CALL, HERE)

    assert trio.current_time() - began == pytest.approx(600)


@pytest.mark.usefixtures("virtual_time")
@pytest.mark.parametrize(("timeouts", "takes_s"), [([None, None], 1.5), ([None, 5], 5.0), ([1, 90], 60.0)])
async def test_hooks_of_the_end_share_one_short_limit(timeouts: list[float | None], takes_s: float) -> None:
    """CL-21."""
    handlers = [
        tool("never", input={"at": at}) | ({} if timeout is None else {"timeout": timeout})
        for at, timeout in enumerate(timeouts)
    ]
    began = trio.current_time()

    outcome = await runner_of(hooks_of("SessionEnd", *handlers)).run(SessionEndInput(reason="other"), HERE)

    assert len(outcome.problems) == 2
    assert trio.current_time() - began == pytest.approx(takes_s)


@pytest.mark.usefixtures("virtual_time")
async def test_the_order_of_the_configuration_decides_not_that_of_arrival() -> None:
    async def said(values: Mapping[str, Any]) -> str:
        await trio.sleep(values["after_s"])
        return json.dumps({"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": values["text"]}})

    handlers = [tool("said", input={"after_s": after_s, "text": f"t{after_s}"}) for after_s in (3, 1, 2)]
    runner = runner_of(hooks_of("Stop", *handlers), mcp=ScriptedTools(said=said))

    assert (await runner.run(STOP, HERE)).contexts == ("t3", "t1", "t2")


@pytest.mark.usefixtures("virtual_time")
async def test_a_port_with_a_bug_is_a_problem_and_its_neighbours_are_heard() -> None:
    records: list[dict[str, Any]] = []
    runner = runner_of(hooks_of("PreToolUse", tool("breaks"), tool("denies"), tool("unknown")), records)

    outcome = await runner.run(CALL, HERE)

    assert outcome.permission is Permission.DENY
    assert any("a bug in the engine's port" in problem for problem in outcome.problems)
    assert any("not connected" in problem for problem in outcome.problems)


@pytest.mark.usefixtures("virtual_time")
@pytest.mark.parametrize("after_s", [0.0, 0.5, 1.5])
async def test_a_cancelled_run_is_on_record(after_s: float) -> None:
    records: list[dict[str, Any]] = []
    runner = runner_of(hooks_of("PreToolUse", tool("denies"), tool("never")), records)

    with trio.move_on_after(after_s) as scope:
        await runner.run(CALL, HERE)

    assert scope.cancelled_caught
    states = {record["handler"][-6:]: record["state"] for record in records}
    assert states == ({"denies": "killed" if after_s < 1 else "completed", "/never": "killed"})


@pytest.mark.usefixtures("virtual_time")
async def test_a_model_is_asked_with_the_input_and_its_no_keeps_the_turn_going() -> None:
    judge = Judge('{"ok": false, "reason": "tests are missing"}')
    handlers = [
        {"type": "prompt", "prompt": "Done? $ARGUMENTS", "model": "fast"},
        {"type": "prompt", "prompt": "Tested?"},
    ]

    outcome = await runner_of(hooks_of("Stop", *handlers), model=judge).run(STOP, HERE)

    assert outcome.block_reasons == ("tests are missing",) * 2
    asked = sorted(judge.asked, key=lambda one: one[0])
    assert asked[0][0].startswith('Done? {"session_id":')
    assert asked[0][1] == "fast"
    assert asked[1][0].startswith("Tested?\n\n{")


@pytest.mark.usefixtures("virtual_time")
async def test_a_tool_is_called_with_values_of_the_input() -> None:
    seen: list[Mapping[str, Any]] = []

    async def keep(values: Mapping[str, Any]) -> str:
        seen.append(values)
        return ""

    given = {"whole": "${tool_input}", "part": "$ ${tool_input.command}!", "none": "${tool_input.x.0}", "n": [1]}
    runner = runner_of(hooks_of("PreToolUse", tool("keep", input=given)), mcp=ScriptedTools(keep=keep))
    await runner.run(CALL, HERE)

    assert seen == [{"whole": {"command": "ls"}, "part": "$ ls!", "none": "", "n": [1]}]


# --- which of them run -------------------------------------------------------------------------------------------------


class Rules:
    """Rules that are the names of tools; one cannot be judged."""

    def matches(self, rule: str, tool_name: str, tool_input: Mapping[str, Any]) -> bool:
        """Compare."""
        if rule == "Broken":
            raise ValueError("cannot be parsed")
        assert tool_input == {"command": "ls"}
        return rule == tool_name


@pytest.mark.usefixtures("virtual_time")
async def test_a_condition_decides_whether_a_handler_runs_and_fails_open() -> None:
    records: list[dict[str, Any]] = []
    handlers = [
        tool("at_once", **{"if": "Edit"}),
        tool("at_once", input={"n": 1}, **{"if": "Bash"}),
        tool("denies", **{"if": "Broken"}),
    ]

    outcome = await runner_of(hooks_of("PreToolUse", *handlers), records, rules=Rules()).run(CALL, HERE)

    assert len(records) == 2
    assert outcome.permission is Permission.DENY
    assert "cannot evaluate its `if`" in outcome.problems[0]


@pytest.mark.usefixtures("virtual_time")
async def test_the_same_work_is_done_once_whichever_condition_holds() -> None:
    records: list[dict[str, Any]] = []
    handlers = [tool("at_once", **{"if": rule}) for rule in ("Edit", "Bash", "Bash(ls)")]

    await runner_of(hooks_of("PreToolUse", *handlers), records).run(CALL, HERE)

    assert len(records) == 1


@pytest.mark.usefixtures("virtual_time")
async def test_of_the_same_work_the_first_that_applies_is_done() -> None:
    handlers = [tool("never", timeout=limit_s, **{"if": rule}) for limit_s, rule in ((3, "Bash"), (50, "Bash(ls)"))]
    began = trio.current_time()

    await runner_of(hooks_of("PreToolUse", *handlers)).run(CALL, HERE)

    assert trio.current_time() - began == pytest.approx(3)


@pytest.mark.usefixtures("virtual_time")
@pytest.mark.parametrize(("kind", "runs"), [(SourceKind.SKILL, 1), (SourceKind.USER, 3)])
async def test_once_is_once_in_a_session_for_skills(kind: SourceKind, runs: int) -> None:
    records: list[dict[str, Any]] = []
    hooks = hooks_of("PreToolUse", tool("at_once", once=True), tool("denies"), kind=kind)
    runner = runner_of(hooks, records)

    for _ in range(3):
        await runner.run(CALL, HERE)

    assert [record["handler"] for record in records].count("mcp_tool: s/at_once") == runs
    assert len(records) == runs + 3


@pytest.mark.usefixtures("virtual_time")
async def test_new_settings_are_in_force_at_the_next_event() -> None:
    runner = runner_of(hooks_of("PreToolUse", tool("at_once")))
    runner.hooks = hooks_of("PreToolUse", tool("denies"))

    assert (await runner.run(CALL, HERE)).permission is Permission.DENY


async def test_without_hooks_nothing_is_said() -> None:
    runner = runner_of(merge_hooks([]))

    assert not runner.has(HookEvent.STOP)
    assert not (await runner.run(STOP, HERE)).is_blocked


def test_what_ran_can_be_journalled_and_read_again() -> None:
    event = HookRan(
        actor="a1",
        event="Stop",
        subject="",
        handler="command: make test",
        source="settings.json",
        state="completed",
        decision="block",
        duration_s=0.25,
        error="",
    )
    codec = Codec(EVENTS)

    line = codec.encode((1, 0.5, HookRan, *field_values(event)), 0.0)

    assert codec.decode(orjson.loads(line)).event == event
