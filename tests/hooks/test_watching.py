"""Whoever watches hears of each run of a handler from its beginning to its end."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core.ports import SeededIds
from greenroom.hooks import HookEvent, HookRunner, HookServices, HookStage, HookUpdate, _command
from greenroom.hooks._events import COMPLETED, FAILED, KILLED, TIMED_OUT
from greenroom.hooks._handler_updates import HookResult, WatchedRun
from tests.hooks.situations import BOUND_S, CALL, HERE, STOP, ScriptedTools, Scripts, hooks_of, tool

SUCCESS, ERROR, CANCELLED = HookResult
STARTED, PROGRESS, RESPONSE = HookStage


@given(
    st.lists(st.tuples(st.text(max_size=2), st.text(max_size=2)), max_size=5),
    st.sampled_from([COMPLETED, FAILED, KILLED, TIMED_OUT]),
    st.sampled_from([None, 0, 1, 2]),
)
def test_a_run_has_one_beginning_one_end_and_no_news_in_between_that_is_none(
    printed: list[tuple[str, str]], state: str, exit_code: int | None
) -> None:
    heard: list[HookUpdate] = []
    run = WatchedRun(heard.append, HookEvent.STOP, "", SeededIds(1))
    for number, both in enumerate(printed, start=1):
        run.printed(*both, is_last=number == len(printed))
    if exit_code is not None:
        run.exited(exit_code)
    run.ended(state, "why")

    first, *between, last = heard
    assert len({line.id for line in heard}) == 1
    assert (first.stage, last.stage) == (STARTED, RESPONSE)
    assert {one.stage for one in between} <= {PROGRESS}
    seen = [(one.stdout, one.stderr) for one in (first, *between)]
    assert all(one != before for one, before in zip(seen[1:], seen, strict=False))
    assert (last.stdout, last.stderr) == (printed[-1] if printed else ("", ""))
    assert last.output == (last.stdout + last.stderr or "why")
    assert (last.result is SUCCESS) == (state == COMPLETED and not exit_code)
    assert (last.result is CANCELLED) == (state in {KILLED, TIMED_OUT})
    assert [line.result for line in heard[:-1]] == [None] * (len(heard) - 1)


async def watched(scripts: Scripts, *handlers: dict[str, Any], **services: Any) -> list[HookUpdate]:
    heard: list[HookUpdate] = []
    with trio.fail_after(BOUND_S):
        runner = scripts.runner(hooks_of("PreToolUse", *handlers), on_hook=heard.append, **services)
        await runner.run(CALL, scripts.context)
    return heard


@pytest.mark.parametrize(
    ("body", "stdout", "stderr", "exit_code", "result"),
    [
        ("cat >/dev/null; echo fine", "fine\n", "", 0, SUCCESS),
        ("echo no >&2; exit 2", "", "no\n", 2, ERROR),
        ("echo a; echo b >&2; exit 1", "a\n", "b\n", 1, ERROR),
    ],
)
async def test_a_command_is_told_with_what_it_printed_and_its_exit_code(
    tmp_path: Path, body: str, stdout: str, stderr: str, exit_code: int, result: HookResult
) -> None:
    scripts = Scripts(tmp_path)

    first, last = await watched(scripts, scripts.command(body))

    assert (first.stage, first.event, first.subject) == (STARTED, HookEvent.PRE_TOOL_USE, "Bash")
    assert (last.stdout, last.stderr, last.exit_code, last.result) == (stdout, stderr, exit_code, result)
    assert last.output == stdout + stderr
    assert len(last.id) == 36


async def test_what_a_command_has_printed_is_told_while_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes on only once somebody has heard of its first line."""
    monkeypatch.setattr(_command, "SHOWN_EVERY_S", 0.01)
    scripts, heard = Scripts(tmp_path), list[HookUpdate]()
    os.mkfifo(tmp_path / "pipe")
    answer = os.open(tmp_path / "pipe", os.O_RDWR)

    def hear(news: HookUpdate) -> None:
        heard.append(news)
        if news.stage is PROGRESS and news.stdout == "one\n":
            os.write(answer, b"go on\n")

    try:
        command = scripts.command("echo one; read line < pipe; echo two; exit 0")
        with trio.fail_after(BOUND_S):
            await scripts.runner(hooks_of("PreToolUse", command), on_hook=hear).run(CALL, scripts.context)
    finally:
        os.close(answer)

    assert [line.stage for line in heard][:2] == [STARTED, PROGRESS]
    assert (heard[1].stdout, heard[1].output, heard[-1].stdout) == ("one\n", "one\n", "one\ntwo\n")


async def test_a_command_whose_time_is_up_is_told_with_what_it_had_printed(tmp_path: Path) -> None:
    scripts = Scripts(tmp_path)

    heard = await watched(scripts, scripts.command("echo begun; exec sleep 60", timeout=0.5))

    assert (heard[-1].result, heard[-1].stdout, heard[-1].exit_code) == (CANCELLED, "begun\n", None)


async def test_a_command_that_cannot_be_started_is_told_with_the_reason(tmp_path: Path) -> None:
    scripts = Scripts(tmp_path)

    _, last = await watched(scripts, {"type": "command", "command": str(tmp_path / "none"), "args": []})

    assert last.result is ERROR
    assert "cannot start" in last.output


@pytest.mark.usefixtures("virtual_time")
async def test_other_handlers_are_told_with_their_reply_and_each_has_an_id() -> None:
    async def says(_: Any) -> str:
        return json.dumps({"systemMessage": "Hello."})

    async def hangs(_: Any) -> str:
        await trio.sleep_forever()
        return ""

    heard: list[HookUpdate] = []
    services = HookServices(
        project=HERE.cwd, environment={}, mcp=ScriptedTools(says=says, hangs=hangs), on_hook=heard.append
    )
    await HookRunner(hooks_of("Stop", tool("says"), tool("hangs", timeout=3)), services).run(STOP, HERE)

    ended = {line.result: line for line in heard if line.stage is RESPONSE}
    assert len({line.id for line in heard}) == 2
    assert (ended[SUCCESS].output, ended[SUCCESS].exit_code) == ('{"systemMessage": "Hello."}', None)
    assert ended[CANCELLED].output == "timed out after 3 s"
    assert {line.subject for line in heard} == {""}
