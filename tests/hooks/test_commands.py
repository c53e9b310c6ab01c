"""Commands are real processes: what they are told, how they end, and that nothing of them is left."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio

from greenroom.hooks import HookEvent, LateAnswer, Permission
from greenroom.hooks._answer_parser import NON_BLOCKING
from greenroom.hooks._overflow import PREVIEW_CHARS
from greenroom.hooks.inputs import (
    SubagentStartInput,
    SubagentStopInput,
    TaskCompletedInput,
    TaskCreatedInput,
    TeammateIdleInput,
    UserPromptSubmitInput,
)
from tests.hooks.situations import BOUND_S, CALL, STOP, Scripts, hooks_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from greenroom.hooks import HookOutcome
    from greenroom.hooks.inputs import HookInput


@pytest.fixture
def scripts(tmp_path: Path) -> Scripts:
    return Scripts(tmp_path)


async def run(scripts: Scripts, *handlers: dict[str, Any], told: HookInput = CALL, **services: Any) -> HookOutcome:
    with trio.fail_after(BOUND_S):
        runner = scripts.runner(hooks_of(told.event, *handlers), **services)
        return await runner.run(told, scripts.context)


def is_alive(pid: int) -> bool:
    """Say whether a process runs; one that has ended and waits for its parent does not."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False


async def wait_gone(processes: list[int]) -> None:
    """Wait until what was killed is gone: the system takes a moment for those that are no children of ours."""
    with trio.fail_after(BOUND_S):
        await wait_for(lambda: not any(map(is_alive, processes)))


async def wait_for(condition: Callable[[], bool]) -> None:
    """Wait for something that a process does; it is bounded by whoever calls."""
    while not condition():  # noqa: ASYNC110 - no process can set an event of ours
        await trio.sleep(0.005)


# --- exit codes, for real ----------------------------------------------------------------------------------------------


async def test_exit_1_lets_the_call_run_and_exit_2_blocks_it(scripts: Scripts) -> None:
    """Behaviours (3), line 1."""
    lets = await run(scripts, scripts.command("echo broken >&2; exit 1", "a.sh"))
    blocks = await run(scripts, scripts.command("echo 'not today' >&2; exit 2", "b.sh"))

    assert (lets.permission, lets.stops, lets.is_blocked) == (None, False, False)
    assert lets.problems[0].endswith(f"{NON_BLOCKING} 1 broken")
    assert (blocks.permission, blocks.permission_reason) == (Permission.DENY, "not today")


async def test_allow_and_deny_of_two_hooks_is_deny(scripts: Scripts) -> None:
    """Behaviours (3), line 3, and CL-36: deny wins, and no rewrite is let through with it."""
    allow = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}
    outcome = await run(
        scripts, scripts.command(f"echo '{json.dumps(allow)}'", "a.sh"), scripts.command("exit 2", "b.sh")
    )

    assert outcome.permission is Permission.DENY


async def test_an_updated_input_is_the_whole_input(scripts: Scripts) -> None:
    """Behaviours (3), line 9, as far as it is ours: the engine judges the new input against the rules again."""
    said = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "ls -l"}}}

    outcome = await run(scripts, scripts.command(f"echo '{json.dumps(said)}'"))

    assert outcome.updated_input == {"command": "ls -l"}


async def test_a_child_can_be_kept_running(scripts: Scripts) -> None:
    """Behaviours (3), line 5."""
    told = SubagentStopInput(
        stop_hook_active=False,
        last_assistant_message="Done.",
        agent_id="a1",
        agent_type="Explore",
        agent_transcript_path=Path("/runs/s/subagents/agent-a1.jsonl"),
    )
    body = """grep -q '"agent_transcript_path":"/runs/s/subagents/agent-a1.jsonl"' && echo 'go on' >&2; exit 2"""

    assert (await run(scripts, scripts.command(body), told=told)).reason == "go on"


async def test_what_a_child_is_given_on_its_way(scripts: Scripts) -> None:
    """Behaviours (3), line 6."""
    said = {"hookSpecificOutput": {"hookEventName": "SubagentStart", "additionalContext": "mind the gap"}}

    outcome = await run(
        scripts,
        scripts.command(f"echo '{json.dumps(said)}'"),
        told=SubagentStartInput(agent_id="a1", agent_type="Explore"),
    )

    assert outcome.contexts == ("mind the gap",)


@pytest.mark.parametrize(
    "told",
    [
        TaskCompletedInput(task_id="1", task_subject="x"),
        TaskCreatedInput(task_id="1", task_subject="x"),
        TeammateIdleInput(teammate_name="n", team_name="t"),
    ],
    ids=lambda told: told.event,
)
async def test_work_of_a_team_is_refused_with_what_stands_on_stderr(scripts: Scripts, told: HookInput) -> None:
    """Behaviours (3), lines 7 and 8."""
    outcome = await run(scripts, scripts.command("echo 'tests are red' >&2; exit 2"), told=told)

    assert (outcome.is_blocked, outcome.reason) == (True, "tests are red")


async def test_a_teammate_is_stopped(scripts: Scripts) -> None:
    """Behaviours (3), line 8, second half."""
    told = TeammateIdleInput(teammate_name="n", team_name="t")

    outcome = await run(scripts, scripts.command("""echo '{"continue": false, "stopReason": "enough"}'"""), told=told)

    assert (outcome.stops, outcome.stop_reason) == (True, "enough")


# --- what it is told, and where it runs --------------------------------------------------------------------------------


async def test_a_command_reads_the_input_on_stdin(scripts: Scripts) -> None:
    await run(scripts, scripts.command("cat > told.json"))

    told = json.loads((scripts.folder / "told.json").read_text(encoding="utf-8"))
    assert told == CALL.encode(scripts.context)


async def test_its_environment_is_closed_and_its_terminal_gone(
    scripts: Scripts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OURS_ONLY", "secret")

    await run(scripts, scripts.command("env > env.txt; ps -o tty= -p $$ > tty.txt 2>/dev/null; :"))

    lines = (scripts.folder / "env.txt").read_text(encoding="utf-8").splitlines()
    found = dict(line.split("=", 1) for line in lines)
    assert "OURS_ONLY" not in found
    assert (found["CLAUDE_PROJECT_DIR"], found["CLAUDECODE"]) == (str(scripts.folder), "1")
    assert found["CLAUDE_CODE_SESSION_ID"] == found["GREENROOM_SESSION_ID"] == scripts.context.session_id
    assert found["PWD"] == str(scripts.folder)


async def test_without_args_a_shell_runs_it_and_with_args_none_does(scripts: Scripts) -> None:
    shell = {"type": "command", "command": "echo $((6 * 7)) > a.txt | cat"}
    direct = {"type": "command", "command": "cp", "args": ["${CLAUDE_PROJECT_DIR}/told.txt", "$b.txt"]}
    (scripts.folder / "told.txt").write_text("told", encoding="utf-8")

    outcome = await run(scripts, shell, direct)

    assert outcome.problems == ()
    assert (scripts.folder / "a.txt").read_text(encoding="utf-8") == "42\n"
    assert (scripts.folder / "$b.txt").read_text(encoding="utf-8") == "told"


async def test_one_that_does_not_read_does_no_harm(scripts: Scripts) -> None:
    told = UserPromptSubmitInput(prompt="x" * 1_000_000)

    assert (await run(scripts, scripts.command("echo seen"), told=told)).contexts == ("seen",)


# --- what goes wrong -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("handler", "words"),
    [
        ({"type": "command", "command": "/no/such/program", "args": []}, "cannot start"),
        ({"type": "command", "command": "no-such-program"}, f"{NON_BLOCKING} 127"),
        ({"type": "command", "command": "x", "shell": "powershell"}, "powershell was not found on the PATH"),
        ({"type": "command", "command": "kill -9 $$"}, f"{NON_BLOCKING} -9"),
        ({"type": "command", "command": "echo '{broken'"}, "malformed JSON"),
        ({"type": "command", "command": "head -c 2000000 /dev/zero"}, "more than 1 MiB"),
        ({"type": "agent", "prompt": "look"}, "no agents are available"),
        ({"type": "mcp_tool", "server": "s", "tool": "t"}, "no MCP servers"),
        ({"type": "prompt", "prompt": "?"}, "no model"),
    ],
)
async def test_a_handler_that_fails_is_on_record_and_decides_nothing(
    scripts: Scripts, handler: dict[str, Any], words: str
) -> None:
    services: dict[str, Any] = (
        {"environment": {"PATH": str(scripts.folder)}} if handler.get("shell") == "powershell" else {}
    )

    outcome = await run(scripts, handler, **services)

    assert (outcome.permission, outcome.stops, outcome.is_blocked) == (None, False, False)
    assert words in outcome.problems[0]
    (record,) = scripts.records
    assert (record["state"], record["decision"]) == ("failed", "")
    assert words in record["error"]


async def test_a_folder_that_is_gone_is_a_problem(scripts: Scripts) -> None:
    import attrs

    runner = scripts.runner(hooks_of("PreToolUse", scripts.command("exit 2")))

    outcome = await runner.run(CALL, attrs.evolve(scripts.context, cwd=scripts.folder / "gone"))

    assert "cannot start" in outcome.problems[0]


async def test_the_neighbours_of_one_that_fails_are_heard(scripts: Scripts) -> None:
    missing = {"type": "command", "command": "/no/such/program", "args": []}

    outcome = await run(scripts, missing, scripts.command("exit 2"), missing | {"args": ["again"]})

    assert outcome.permission is Permission.DENY
    assert [record["state"] for record in scripts.records].count("failed") == 2


async def test_an_output_that_is_too_long_becomes_a_file_and_a_preview(scripts: Scripts) -> None:
    """Behaviours (3), line 10."""
    outcome = await run(
        scripts,
        scripts.command("head -c 20000 /dev/zero | tr '\\0' x"),
        told=UserPromptSubmitInput(prompt="hi"),
        overflow_folder=scripts.folder / "hooks",
    )

    (path,) = (scripts.folder / "hooks").iterdir()
    (context,) = outcome.contexts
    assert path.read_text(encoding="utf-8") == "x" * 20_000
    assert str(path) in context
    assert context.startswith("x" * PREVIEW_CHARS + "\n[")
    assert len(context) < 3_000


# --- ends ------------------------------------------------------------------------------------------------------------

STUBBORN = "trap '' TERM; echo $$ > pid; (trap '' TERM; echo $$ >> pid; sleep 300) & echo $! >> pid; wait; sleep 300"


def pids(scripts: Scripts, count: int) -> list[int]:
    try:
        found = (scripts.folder / "pid").read_text(encoding="utf-8").split()
    except FileNotFoundError:
        return []
    return [int(pid) for pid in found] if len(found) >= count else []


async def test_one_that_hangs_is_timed_out_and_its_group_ended(scripts: Scripts) -> None:
    outcome = await run(scripts, scripts.command(STUBBORN, timeout=0.3), kill_grace_s=0.1)

    assert outcome.permission is None
    assert "timed out after 0.3 s" in outcome.problems[0]
    assert scripts.records[0]["state"] == "timed_out"
    await wait_gone(pids(scripts, 0))  # on a busy machine it had no time to say any


async def test_cancellation_ends_the_whole_group(scripts: Scripts) -> None:
    runner = scripts.runner(hooks_of("PreToolUse", scripts.command(STUBBORN)), kill_grace_s=0.1)

    with trio.fail_after(BOUND_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(runner.run, CALL, scripts.context)
            await wait_for(lambda: bool(pids(scripts, 3)))
            assert all(map(is_alive, pids(scripts, 3)))
            nursery.cancel_scope.cancel()

    await wait_gone(pids(scripts, 3))
    assert [record["state"] for record in scripts.records] == ["killed"]


async def test_term_comes_first(scripts: Scripts) -> None:
    body = "trap 'echo asked > said; exit 0' TERM; touch ready; while :; do sleep 0.01; done"
    runner = scripts.runner(hooks_of("PreToolUse", scripts.command(body)))

    with trio.fail_after(BOUND_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(runner.run, CALL, scripts.context)
            await wait_for((scripts.folder / "ready").exists)
            nursery.cancel_scope.cancel()

    assert (scripts.folder / "said").read_text(encoding="utf-8") == "asked\n"


async def test_what_a_command_leaves_behind_ends_with_it(scripts: Scripts) -> None:
    """It holds the pipes; nobody waits for it."""
    outcome = await run(
        scripts, scripts.command("sleep 300 & echo $! > pid; echo said"), told=UserPromptSubmitInput(prompt="hi")
    )

    assert outcome.contexts == ("said",)
    assert pids(scripts, 1)
    await wait_gone(pids(scripts, 1))


async def test_what_will_not_end_when_it_is_left_behind_is_killed(scripts: Scripts) -> None:
    body = "(trap '' TERM; echo ready > ready; sleep 300) & echo $! > pid; while ! [ -e ready ]; do sleep 0.01; done"

    outcome = await run(scripts, scripts.command(body), kill_grace_s=0.1)

    assert outcome.problems == ()
    assert pids(scripts, 1)
    await wait_gone(pids(scripts, 1))


async def test_handlers_run_at_once(scripts: Scripts) -> None:
    """Each waits for the other: one after the other, they would never end."""
    meet = "touch {mine}; while ! [ -e {other} ]; do sleep 0.01; done"
    handlers = [
        scripts.command(meet.format(mine="a", other="b"), "a.sh"),
        scripts.command(meet.format(mine="b", other="a"), "b.sh"),
    ]

    assert (await run(scripts, *handlers)).problems == ()


async def test_a_program_ended_by_a_signal_decides_nothing(scripts: Scripts) -> None:
    outcome = await run(scripts, scripts.command(f"kill -{signal.SIGTERM.value} $$"), told=STOP)

    assert not outcome.is_blocked


# --- asynchronous ----------------------------------------------------------------------------------------------------


async def test_an_asynchronous_command_is_not_waited_for_and_heard_later(scripts: Scripts) -> None:
    late: list[LateAnswer] = []
    handlers = [
        scripts.command("while ! [ -e go ]; do sleep 0.01; done; echo later >&2; exit 2", "a.sh", asyncRewake=True),
        scripts.command("exit 1", "b.sh") | {"async": True},
    ]

    async with trio.open_nursery() as nursery:

        def start_soon(function: Callable[[], Awaitable[object]], /) -> None:
            nursery.start_soon(function)

        outcome = await run(scripts, *handlers, told=STOP, start_soon=start_soon, deliver=late.append)
        assert not outcome.is_blocked
        (scripts.folder / "go").touch()
        with trio.fail_after(BOUND_S):
            await wait_for(lambda: len(late) == 2)

    by_waking = {answer.wakes: answer for answer in late}
    assert by_waking[True] == LateAnswer(event=HookEvent.STOP, contexts=("later",), system_messages=(), wakes=True)
    assert NON_BLOCKING in by_waking[False].system_messages[0]


async def test_an_asynchronous_command_that_is_not_to_wake_only_tells(scripts: Scripts) -> None:
    late: list[LateAnswer] = []

    async with trio.open_nursery() as nursery:

        def start_soon(function: Callable[[], Awaitable[object]], /) -> None:
            nursery.start_soon(function)

        handler = scripts.command("echo no >&2; exit 2") | {"async": True}
        await run(scripts, handler, told=STOP, start_soon=start_soon, deliver=late.append)

    assert [(answer.contexts, answer.wakes) for answer in late] == [(("no",), False)]


async def test_without_an_owner_an_asynchronous_command_does_not_run(scripts: Scripts) -> None:
    outcome = await run(scripts, scripts.command("touch ran") | {"async": True})

    assert "no owner for its task" in outcome.problems[0]
    assert not (scripts.folder / "ran").exists()


# --- into the background ---------------------------------------------------------------------------------------------

LEAVES = "cat > /dev/null; echo '{\"async\": true%s}'; while ! [ -e go ]; do sleep 0.01; done; "
SAYS = """echo '{"decision": "block", "reason": "later"}'"""


@pytest.mark.parametrize("said", [f"{SAYS}", "echo later >&2; exit 2"], ids=["json", "exit code"])
async def test_a_command_that_says_async_is_not_waited_for_and_heard_later(scripts: Scripts, said: str) -> None:
    late: list[LateAnswer] = []

    async with trio.open_nursery() as nursery:

        def start_soon(function: Callable[[], Awaitable[object]], /) -> None:
            nursery.start_soon(function)

        handler = scripts.command(LEAVES % "" + said)
        outcome = await run(scripts, handler, told=STOP, start_soon=start_soon, deliver=late.append)
        assert (outcome.is_blocked, outcome.problems, late) == (False, (), [])
        (scripts.folder / "go").touch()

    assert [(answer.contexts, answer.system_messages, answer.wakes) for answer in late] == [(("later",), (), False)]


async def test_one_that_says_async_and_ends_at_once_is_heard(scripts: Scripts) -> None:
    late: list[LateAnswer] = []

    async with trio.open_nursery() as nursery:

        def start_soon(function: Callable[[], Awaitable[object]], /) -> None:
            nursery.start_soon(function)

        handler = scripts.command("""echo '{"async": true}'; """ + SAYS)
        outcome = await run(scripts, handler, told=STOP, start_soon=start_soon, deliver=late.append)

    assert outcome.is_blocked + len(late) == 1


async def test_one_in_the_background_ends_with_the_time_that_it_asked_for(scripts: Scripts) -> None:
    late: list[LateAnswer] = []

    async with trio.open_nursery() as nursery:

        def start_soon(function: Callable[[], Awaitable[object]], /) -> None:
            nursery.start_soon(function)

        handler = scripts.command("echo $$ > pid; " + LEAVES % ', "asyncTimeout": 200')
        await run(scripts, handler, told=STOP, start_soon=start_soon, deliver=late.append, kill_grace_s=0.1)

    assert "timed out after 0.2 s" in late[0].system_messages[0]
    await wait_gone([int((scripts.folder / "pid").read_text())])


async def test_one_in_the_background_ends_with_its_owner(scripts: Scripts) -> None:
    async with trio.open_nursery() as nursery:

        def start_soon(function: Callable[[], Awaitable[object]], /) -> None:
            nursery.start_soon(function)

        handler = scripts.command("echo $$ > pid; " + LEAVES % "")
        await run(scripts, handler, told=STOP, start_soon=start_soon, kill_grace_s=0.1)
        nursery.cancel_scope.cancel()

    await wait_gone([int((scripts.folder / "pid").read_text())])


async def test_without_an_owner_one_that_says_async_is_waited_for(scripts: Scripts) -> None:
    (scripts.folder / "go").touch()

    assert (await run(scripts, scripts.command(LEAVES % "" + SAYS), told=STOP)).is_blocked
