"""Bash, TaskOutput and TaskStop on real shells and a real table of tasks."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import Cause
from greenroom.core.ports import SystemIds, ThreadBlocking
from greenroom.tasks import TaskNotice, Tasks, open_tasks
from greenroom.testing import CancelAt
from greenroom.tools import InvalidInput, SystemProcesses, ToolContext, ToolError, Workspace, open_processes
from greenroom.tools.builtin import CommandFailed, bash_tool, read_tool, task_output_tool, task_stop_tool
from greenroom.tools.builtin._bash import may_move
from tests.tools.processes import end, marked, numbers_in, until


@attrs.define
class Shells:
    """One session's shells, and one agent that uses them."""

    folder: Path
    tasks: Tasks
    processes: SystemProcesses
    told: list[TaskNotice]
    workspace: Workspace = attrs.field(factory=Workspace)
    calls: int = 0

    def context(self, workspace: Workspace | None = None) -> ToolContext:
        self.calls += 1
        agent = ToolContext(
            cwd=self.folder,
            roots=(self.folder,),
            actor="a1",
            tool_use_id="",
            workspace=workspace or self.workspace,
            blocking=ThreadBlocking(),
            processes=self.processes,
            background=self.tasks,
        )
        return agent.for_call(f"toolu_{self.calls}")

    async def bash(self, command: str, **more: Any) -> str:
        return await bash_tool.call({"command": command, **more}, self.context())

    async def output(self, task_id: str, **more: Any) -> str:
        return await task_output_tool.call({"task_id": task_id, **more}, self.context())

    async def stop(self, **more: Any) -> Any:
        return json.loads(await task_stop_tool.call(more, self.context()))

    @property
    def left(self) -> list[str]:
        folder = self.folder / ".tasks"
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


@asynccontextmanager
async def shells(folder: Path, mark: str = "bash", *, is_on: bool = True) -> AsyncIterator[Shells]:
    told: list[TaskNotice] = []
    async with (
        open_processes(
            blocking=ThreadBlocking(), ids=SystemIds(), folder=folder / ".tasks", mark=mark, grace_s=0.3
        ) as processes,
        open_tasks(tell=told.append, is_on=is_on) as tasks,
    ):
        yield Shells(folder, tasks, processes, told)


def id_in(answer: str) -> str:
    return answer.partition("ID: ")[2].partition(".")[0]


# --- foreground ------------------------------------------------------------------------------------------------------


async def test_a_command_s_output_is_the_answer(tmp_path: Path) -> None:
    async with shells(tmp_path) as one:
        assert await one.bash("echo out; echo err >&2; printf 'no line end'") == "out\nerr\nno line end"
        assert await one.bash("true") == ""
        assert await one.bash('cat; echo "it\'s \\"quoted\\" $#"') == 'it\'s "quoted" 0'
        assert await one.bash("cat <<'E'\n$x\nE") == "$x"

        assert one.left == []
        assert one.told == []
        assert one.tasks.running() == ()


async def test_a_failure_is_an_error_result_with_code_and_output(tmp_path: Path) -> None:
    async with shells(tmp_path) as one:
        with pytest.raises(CommandFailed, match=r"^Exit code 3\nso far$") as caught:
            await one.bash("echo so far; exit 3")
        with pytest.raises(CommandFailed, match=r"^ended by signal 9 \(SIGKILL\)$"):
            await one.bash("kill -9 $$")
        with pytest.raises(CommandFailed, match="syntax error"):
            await one.bash("if then")

    assert caught.value.exit_code == 3


async def test_the_folder_stays_between_calls_and_is_the_agent_s_own(tmp_path: Path) -> None:
    """CL-44."""
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/f").write_text("there\n")

    async with shells(tmp_path) as one:
        await one.bash("cd a; X=1")
        assert await one.bash("pwd; echo ${X:-gone}") == f"{tmp_path}/a\ngone"
        assert await read_tool.call({"file_path": "f"}, one.context()) == "     1\tthere"
        assert await bash_tool.call({"command": "pwd"}, one.context(Workspace())) == str(tmp_path)
        with pytest.raises(CommandFailed):
            await one.bash("cd b; exit 4")
        assert await one.bash("pwd") == f"{tmp_path}/a/b"
        await one.bash("cd ..", run_in_background=True)
        await one.tasks.running()[0].wait_finished()
        assert await one.bash("pwd") == f"{tmp_path}/a/b"


async def test_a_folder_outside_or_gone_is_not_stayed_in(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()

    async with shells(tmp_path) as one:
        answer = await one.bash("cd /; echo hi")
        assert (
            answer
            == f"hi\n(the current directory is {tmp_path} again: / is outside the directories that this session may use)"
        )
        await one.bash("cd a")
        (tmp_path / "a").rmdir()
        with pytest.raises(ToolError, match="is gone; the next command starts where this agent began"):
            await one.bash("pwd")
        assert await one.bash("pwd") == str(tmp_path)


async def test_what_a_command_leaves_running_ends_with_it(tmp_path: Path) -> None:
    async with shells(tmp_path) as one:
        answer = await one.bash("sleep 1000 & echo $! > number; echo hi")

        assert answer.startswith("hi\n(what the command had left running was ended")
        assert marked(f"GREENROOM_REAPER=bash.{os.getpid()}".encode()) == []


async def test_a_long_output_is_cut_and_its_file_kept(tmp_path: Path) -> None:
    """CL-54."""
    async with shells(tmp_path) as one:
        answer = await one.bash("seq 100000")

        assert answer.startswith("1\n2\n")
        assert answer.endswith("\n99999\n100000")
        assert len(answer) < 31_000
        assert [name for name in one.left if f"/.tasks/{name}) ..." in answer] == one.left
        assert len(one.left) == 1


@pytest.mark.parametrize(
    "input_", [{"command": " "}, {"command": "a\0b"}, {"command": "true", "timeout": 600_001}, {}], ids=repr
)
async def test_what_is_no_command_is_refused(tmp_path: Path, input_: dict[str, Any]) -> None:
    async with shells(tmp_path) as one:
        with pytest.raises((ToolError, InvalidInput)):
            await bash_tool.call(input_, one.context())


async def test_a_session_without_shells_says_so(tmp_path: Path) -> None:
    ctx = ToolContext(cwd=tmp_path, roots=(tmp_path,), actor="a", tool_use_id="t", blocking=ThreadBlocking())

    with pytest.raises(ToolError, match="starts no programs"):
        await bash_tool.call({"command": "true"}, ctx)
    with pytest.raises(ToolError, match="no background tasks"):
        await task_output_tool.call({"task_id": "b1"}, ctx)


# --- time-outs and the background ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "may"),
    [
        ("make all", True),
        ("sleep 300", False),
        ("A=1 sleep 300", False),
        ("sleepwalk", True),
        ("cd x && git push", False),
        ("digit", True),
        ("echo 'open", False),
        ("A=1", False),
    ],
)
def test_what_may_go_on_when_its_time_is_up(command: str, may: bool) -> None:
    assert may_move(command) == may


@given(st.text(max_size=30))
def test_any_text_is_judged(command: str) -> None:
    assert not (may_move(command) and command.strip().startswith("sleep "))


async def test_a_command_whose_time_is_up_goes_on_in_the_background(tmp_path: Path) -> None:
    """CL-13."""
    async with shells(tmp_path) as one:
        answer = await one.bash("echo begun; touch begun; until test -e go; do :; done; echo done", timeout=300)
        task_id = id_in(answer)
        await until((tmp_path / "begun").exists)
        early = await one.output(task_id, block=False)
        (tmp_path / "go").touch()
        late = await one.output(task_id)

    assert answer.startswith(
        "Command did not complete within its 0.3s timeout and was moved to the background with ID: b"
    )
    assert early.startswith("<retrieval_status>not_ready</retrieval_status>\n")
    assert early.endswith("<status>running</status>\n<output>\nbegun\n</output>")
    assert late == (
        f"<retrieval_status>success</retrieval_status>\n<task_id>{task_id}</task_id>\n<task_type>local_bash</task_type>\n"
        "<status>completed</status>\n<exit_code>0</exit_code>\n<output>\nbegun\ndone\n</output>"
    )
    assert one.told == []


async def test_sleep_is_ended_when_its_time_is_up(tmp_path: Path) -> None:
    """Behaviours (6), line 7."""
    async with shells(tmp_path) as one:
        with pytest.raises(CommandFailed, match="was not done within its timeout and was ended") as caught:
            await one.bash("sleep 1000", timeout=200)

        assert caught.value.exit_code is None
        assert one.tasks.running() == ()
        assert one.told == []


async def test_where_nothing_runs_in_the_background_a_command_is_waited_for_and_ended_in_time(tmp_path: Path) -> None:
    """Mechanism: `Tasks.is_on`."""
    async with shells(tmp_path, is_on=False) as one:
        assert await one.bash("echo hi", run_in_background=True) == "hi"
        with pytest.raises(CommandFailed, match="was not done within its timeout and was ended"):
            await one.bash("while :; do :; done", timeout=300)
        assert one.tasks.running() == ()

    assert one.told == []


async def test_a_background_command_returns_at_once_and_its_end_is_told_once(tmp_path: Path) -> None:
    async with shells(tmp_path) as one:
        answer = await one.bash("echo hi; exit 5", run_in_background=True, description="says hi")
        task = one.tasks.find(id_in(answer))
        assert task is not None
        await task.wait_finished()
        assert Path(answer.split("written to: ")[1]) == task.info.output_file
        assert "<exit_code>5</exit_code>" in await one.output(task.info.id)

    assert [(told.status, told.summary) for told in one.told] == [
        ("failed", 'Background command "says hi" failed with exit code 5')
    ]
    assert one.told[0].tool_use_id == "toolu_1"


async def test_a_person_can_move_a_command_to_the_background(tmp_path: Path) -> None:
    """CL-13."""
    async with shells(tmp_path) as one, trio.open_nursery() as nursery:
        answers: list[str] = []

        async def call() -> None:
            answers.append(await one.bash("until test -e go; do :; done"))

        nursery.start_soon(call)
        await until(lambda: any(task.state == "running" for task in one.tasks.running()))
        task = one.tasks.running()[0]
        assert task.move_to_background()
        await until(lambda: answers != [])
        assert task.state == "running"
        (tmp_path / "go").touch()
        await task.wait_finished()

    assert answers[0].startswith("Command did not complete within its call and was moved")
    assert [told.status for told in one.told] == ["completed"]


async def test_a_stop_ends_the_tree_and_is_itself_the_word_of_it(tmp_path: Path) -> None:
    async with shells(tmp_path) as one:
        line = "sleep 1000 & echo $! >> numbers; sleep 1000"
        task_id = id_in(await one.bash(line, run_in_background=True))
        await until(lambda: numbers_in(tmp_path / "numbers") != [])

        stopped = await one.stop(task_id=task_id)

        assert stopped == {
            "message": f"Successfully stopped task: {task_id}",
            "task_id": task_id,
            "task_type": "local_bash",
            "command": line,
        }
        assert marked(f"GREENROOM_REAPER=bash.{os.getpid()}".encode()) == []
        with pytest.raises(ToolError, match=r"is not running \(status: killed\)"):
            await one.stop(shell_id=task_id)
        with pytest.raises(ToolError, match="No task found with ID: b00000000"):
            await one.stop(task_id="b00000000")
        with pytest.raises(ToolError, match="task_id is missing"):
            await one.stop()

    assert one.told == []


async def test_waiting_for_a_task_has_an_end(tmp_path: Path) -> None:
    """RC-57."""
    async with shells(tmp_path) as one:
        task_id = id_in(await one.bash("sleep 1000", run_in_background=True))
        answer = await one.output(task_id, timeout=50)

    assert answer.startswith("<retrieval_status>timeout</retrieval_status>")
    assert [told.status for told in one.told] == ["killed"]


async def test_an_agent_that_ends_takes_its_shells_with_it(tmp_path: Path) -> None:
    """RC-73, CL-53."""
    async with shells(tmp_path) as one:
        for _ in range(3):
            await one.bash("sleep 1000 & sleep 1000", run_in_background=True)
        await one.tasks.stop(Cause("engine", "the agent has ended"), owner="a1")

        assert marked(f"GREENROOM_REAPER=bash.{os.getpid()}".encode()) == []


# --- cancelled anywhere ----------------------------------------------------------------------------------------------


async def test_a_cancelled_call_ends_its_command(tmp_path: Path) -> None:
    async with shells(tmp_path) as one:
        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(one.bash, "sleep 1000 & touch begun; sleep 1000")
                await until((tmp_path / "begun").exists)
                task = one.tasks.running()[0]
                nursery.cancel_scope.cancel()

        assert task.state == "killed"
        assert task.cause == Cause("a1", "the call that waited for it has ended")
        assert marked(f"GREENROOM_REAPER=bash.{os.getpid()}".encode()) == []


@pytest.mark.slow
def test_a_call_cancelled_at_any_step_leaves_nothing(tmp_path: Path) -> None:
    """No process, no running task, no notice: wherever the call was, before, within and behind the command."""

    def run(step: int) -> tuple[int, list[object]]:
        mark = f"call-{os.getpid()}-{step}"
        instrument = CancelAt([step])
        left: list[object] = []

        async def main() -> None:
            async with shells(tmp_path, mark) as one:
                with trio.CancelScope() as scope:
                    instrument.aim(scope.cancel)
                    await one.bash("sleep 0.05; sleep 1000 & echo hi")
                instrument.rest()
                left.extend([*one.tasks.running(), *marked(mark.encode()), *one.told])

        trio.run(main, instruments=[instrument])
        instrument.check()
        end(marked(mark.encode()))
        return instrument.count, left

    steps, undisturbed = run(1_000_000)
    runs = [run(step)[1] for step in range(min(steps, 60))]

    assert steps > 20
    assert undisturbed == []
    assert [left for left in runs if left] == []
