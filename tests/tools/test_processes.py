"""Real processes: what they print, how they end, and that nothing is left of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from greenroom.core.ports import SystemIds, ThreadBlocking
from greenroom.testing import CancelAt
from greenroom.tools import PipedProcess, Processes, SystemProcesses, ToolContext, ToolError, open_processes
from greenroom.tools._processes import ProcessResult
from greenroom.tools._reaper import Reaper
from tests.tools.processes import end, is_running, marked, members, numbers_in, system_processes, tree_program, until

ROOT = Path(__file__).resolve().parents[2]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def size_and_mode(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mode & 0o777


def context_of(cwd: Path, processes: Processes | None) -> ToolContext:
    return ToolContext(
        cwd=cwd, roots=(cwd,), actor="a1", tool_use_id="t1", blocking=ThreadBlocking(), processes=processes
    )


async def run(folder: Path, processes: Processes, *command: str, timeout_s: float = 10, **more: Any) -> ProcessResult:
    return await context_of(folder, processes).run_process(command, timeout_s=timeout_s, **more)


async def test_a_program_has_no_input_its_folder_and_one_output(tmp_path: Path) -> None:
    async with system_processes(tmp_path) as processes:
        done = await run(
            tmp_path, processes, "sh", "-c", "cat; pwd; echo to errors >&2; echo $A; exit 3", env={"A": "b"}
        )

    assert done.exit_code == 3
    assert not done.has_timed_out
    assert done.output.text == f"{tmp_path}\nto errors\nb"
    assert done.output_file is None
    assert names(tmp_path / "tasks") == []


async def test_a_long_output_is_cut_in_the_middle_and_kept_in_a_file(tmp_path: Path) -> None:
    """RC-107."""
    async with system_processes(tmp_path) as processes:
        done = await run(tmp_path, processes, "sh", "-c", "echo first; yes é | head -n 200000; echo last")

    assert done.output_file is not None
    assert done.output.is_cut
    assert len(done.output.text) < 30_500
    assert done.output.text.startswith("first\né\n")
    assert done.output.text.endswith("é\nlast")
    assert f"cut: {done.output.size_bytes} bytes in all" in done.output.text
    assert str(done.output_file) in done.output.text
    assert size_and_mode(done.output_file) == (done.output.size_bytes, 0o600)


@pytest.mark.parametrize("size", [29_999, 30_000, 30_001, 130_000, 300_000])
async def test_output_is_cut_only_where_it_has_to_be(tmp_path: Path, size: int) -> None:
    async with system_processes(tmp_path) as processes:
        done = await run(tmp_path, processes, sys.executable, "-c", f"print('é' * {size}, end='')")

    assert done.output.is_cut == (size > 30_000)
    assert done.output.text.count("é") == min(size, 30_000)
    assert "\ufffd" not in done.output.text.strip("\ufffd")


async def test_what_cannot_be_started_is_a_tool_error(tmp_path: Path) -> None:
    async with system_processes(tmp_path) as processes:
        with pytest.raises(ToolError, match="no-such-program cannot be started: no such file"):
            await run(tmp_path, processes, "no-such-program")
        with pytest.raises(ToolError, match=r"true cannot be started in .*nowhere: no such file"):
            await run(tmp_path, processes, "true", cwd=tmp_path / "nowhere")
    with pytest.raises(ToolError, match="starts no programs"):
        await context_of(tmp_path, None).run_process(["true"], timeout_s=1)


@pytest.mark.parametrize(
    "line",
    [
        "exec yes",
        "trap '' TERM; exec yes",
        "yes & yes & wait",
        "yes | head -c 3000000",
        "exec 2>&1 >/dev/null; yes >&2",
        "echo start; sleep 0.5; exec yes",
    ],
)
async def test_command_that_prints_without_end_is_killed(tmp_path: Path, line: str) -> None:
    """RC-107."""
    async with system_processes(tmp_path, max_output_bytes=100_000) as processes:
        with pytest.raises(ToolError, match=r"printed more than 100000 bytes.*limits\.command_output_bytes"):
            await run(tmp_path, processes, "sh", "-c", f"echo $$ > number; {line}")

    assert members(numbers_in(tmp_path / "number")[0]) == []
    assert [path.stat().st_size for path in (tmp_path / "tasks").iterdir()] == [100_000]


@pytest.mark.parametrize("manners", ["polite", "deaf"])
@pytest.mark.parametrize("way", ["timeout", "cancel", "exit"])
async def test_a_whole_tree_ends_with_its_scope(
    tmp_path: Path, manners: str, way: str, mock_clock: trio.testing.MockClock
) -> None:
    """Seven processes, which end when they are asked to or do not listen: none is left, whatever ended the scope.

    CL-53.
    """
    mock_clock.rate = 1  # real time, which is helped on once all of them are there
    program, noted = tree_program(tmp_path), tmp_path / "numbers"
    line = f"{sys.executable} -S {program} 2 {manners} {noted} & "
    line += f"while [ $(wc -l < {noted} || echo 0) -lt 7 ]; do sleep 0.01; done; "
    line += "exit 0" if way == "exit" else "wait"

    async with system_processes(tmp_path) as processes:
        if way == "cancel":
            async with trio.open_nursery() as nursery:
                nursery.start_soon(partial(processes.run, ["sh", "-c", line], cwd=tmp_path, output=tmp_path / "out"))
                await until(lambda: len(numbers_in(noted)) == 7)
                nursery.cancel_scope.cancel()
        elif way == "exit":
            ended = await processes.run(["sh", "-c", line], cwd=tmp_path, output=tmp_path / "out")
            assert ended.left_others
            assert ended.exit_code == 0
        else:

            async def help_on() -> None:
                await until(lambda: len(numbers_in(noted)) == 7)
                mock_clock.jump(1_000)

            async with trio.open_nursery() as nursery:
                nursery.start_soon(help_on)
                done = await run(tmp_path, processes, "sh", "-c", line, timeout_s=1_000)
            assert done.has_timed_out
        numbers = numbers_in(noted)
        left = [pid for pid in numbers if is_running(pid)]
        end(left)

    assert len(numbers) == 7
    assert left == []


async def test_what_left_its_group_ends_with_the_session(tmp_path: Path) -> None:
    async with system_processes(tmp_path) as processes:
        await run(tmp_path, processes, "sh", "-c", "setsid sh -c 'echo $$ > number; exec sleep 1000' & sleep 0.2")
        await until(lambda: numbers_in(tmp_path / "number") != [])
        pid = numbers_in(tmp_path / "number")[0]
        assert is_running(pid)

    assert not is_running(pid)


async def test_another_session_s_processes_are_left_alone(tmp_path: Path) -> None:
    async with system_processes(tmp_path, mark="one") as one:
        async with trio.open_nursery() as nursery:
            line = ["sh", "-c", "echo $$ > number; exec sleep 1000"]
            work = nursery.cancel_scope
            nursery.start_soon(partial(one.run, line, cwd=tmp_path, output=tmp_path / "out"))
            await until(lambda: numbers_in(tmp_path / "number") != [])
            async with system_processes(tmp_path, mark="two") as two:
                await run(tmp_path, two, "true")
            assert is_running(numbers_in(tmp_path / "number")[0])
            work.cancel()


# --- cancelled anywhere ----------------------------------------------------------------------------------------------


@attrs.frozen
class Sweep:
    steps: int
    left: list[int]
    groups: int


def cancelled_at(folder: Path, step: int) -> Sweep:
    """Run a tree of processes in a scope that is cancelled just before a step of the scheduler."""
    mark = f"sweep-{os.getpid()}-{step}"
    line = "sleep 1000 & sleep 1000 & echo ready; wait"
    instrument = CancelAt([step])
    groups: list[int] = []

    async def main() -> None:
        output = folder / f"{step}.out"
        async with system_processes(folder, mark=mark) as processes:
            with trio.CancelScope() as scope:
                instrument.aim(scope.cancel)
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(give_up, scope, output)
                    await processes.run(["sh", "-c", line], cwd=folder, output=output)
                    nursery.cancel_scope.cancel()
            instrument.rest()
            groups.extend(marked(mark.encode()))

    async def give_up(scope: trio.CancelScope, output: Path) -> None:
        await until(lambda: output.exists() and output.read_bytes() == b"ready\n")
        scope.cancel()

    trio.run(main, instruments=[instrument])
    instrument.check()
    left = marked(mark.encode())
    end(left)
    return Sweep(instrument.count, left, len(groups))


@pytest.mark.slow
def test_a_cancel_before_any_step_leaves_nothing(tmp_path: Path) -> None:
    """From the first step to past the last: never a process is left when the call has ended."""
    undisturbed = cancelled_at(tmp_path, 1_000_000)
    first = [cancelled_at(tmp_path, step) for step in range(min(undisturbed.steps, 40))]

    assert undisturbed.steps > 10
    assert [run.left for run in (undisturbed, *first)] == [[]] * (1 + len(first))
    assert {run.groups for run in (undisturbed, *first)} == {0}


# --- the reaper ------------------------------------------------------------------------------------------------------

SESSION = """
import os, sys, trio
from pathlib import Path
from tests.tools.processes import system_processes
folder, line = Path(sys.argv[1]), sys.argv[2]

async def main():
    async with system_processes(folder, mark=sys.argv[3]) as processes, trio.open_nursery() as nursery:
        for number in range(3):
            nursery.start_soon(lambda n=number: processes.run(["sh", "-c", line], cwd=folder, output=folder / f"{n}.out"))

trio.run(main)
"""


def is_marked(mark: str) -> bool:
    return marked(f"GREENROOM_REAPER={mark}".encode()) != []


def is_gone(mark: str) -> bool:
    return not is_marked(mark)


def start_session(folder: Path, line: str, mark: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", SESSION, str(folder), line, mark]
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})


@pytest.mark.parametrize("manners", ["polite", "deaf"])
async def test_a_killed_session_leaves_no_process(tmp_path: Path, manners: str) -> None:
    """`kill -9` of the session: its three shells, their trees and what left its group end within five seconds.

    RC-72.
    """
    program, noted = tree_program(tmp_path), tmp_path / "numbers"
    mark = f"killed-{os.getpid()}-{manners}"
    tree = f"{sys.executable} -S {program} 1 {manners} {noted}"
    line = f"{tree} & setsid {tree} & wait"
    session = start_session(tmp_path, line, mark)
    try:
        await until(lambda: len(numbers_in(noted)) == 18)
        numbers = numbers_in(noted)
        session.kill()
        session.wait()
        await until(lambda: not any(is_running(pid) for pid in numbers) and not marked(mark.encode()))
    finally:
        session.kill()
        session.wait()
        end([pid for pid in numbers_in(noted) if is_running(pid)])


@pytest.mark.slow
async def test_a_session_killed_at_any_moment_leaves_no_process(tmp_path: Path) -> None:
    """Also between the start of a process and the word about it: what carries the mark is ended."""
    for number in range(6):
        mark = f"moment-{os.getpid()}-{number}"
        line = "echo x >> started; sleep 1000"
        session = start_session(tmp_path, line, mark)
        try:
            await until(partial(is_marked, mark))
        finally:
            session.kill()
            session.wait()
        try:
            await until(partial(is_gone, mark))
        finally:
            end(marked(mark.encode()))


def test_a_killed_reaper_is_followed_by_another_that_knows_all(tmp_path: Path) -> None:
    sleepers = [subprocess.Popen(["sleep", "1000"], start_new_session=True) for _ in range(2)]
    reaper = Reaper(tmp_path.name)
    try:
        reaper.watch(sleepers[0].pid)
        first = reaper.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        # Only when it is gone does the pipe have no reader.
        os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
        reaper.watch(sleepers[1].pid)
        assert reaper.pid != first
        # Beside it, because the dead are this process's to collect, and the reaper waits for that.
        closing = threading.Thread(target=reaper.close)
        closing.start()
        assert [sleeper.wait(5) for sleeper in sleepers] == [-signal.SIGTERM] * 2
        closing.join(10)
        assert not closing.is_alive()
    finally:
        end([sleeper.pid for sleeper in sleepers])
        reaper.close()


def test_a_reaper_ends_no_group_that_it_was_told_to_forget(tmp_path: Path) -> None:
    sleeper = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    reaper = Reaper(tmp_path.name)
    try:
        reaper.watch(sleeper.pid)
        reaper.forget(sleeper.pid)
        reaper.close()
        assert sleeper.poll() is None
        with pytest.raises(OSError, match="has ended"):
            reaper.watch(sleeper.pid)
    finally:
        sleeper.kill()
        sleeper.wait()


async def test_the_reaper_is_there_before_the_first_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or a session that is killed right after it started one would leave it forever."""
    started: list[str] = []
    real = subprocess.Popen

    def noting(command: list[str], **more: Any) -> subprocess.Popen[bytes]:
        started.append("reaper" if "-I" in command else command[0])
        return real(command, **more)

    monkeypatch.setattr(subprocess, "Popen", noting)
    async with system_processes(tmp_path) as processes:
        await run(tmp_path, processes, "true")

    assert started == ["reaper", "true"]


async def test_a_session_that_starts_no_process_starts_no_reaper(tmp_path: Path) -> None:
    async with open_processes(blocking=ThreadBlocking(), ids=SystemIds(), folder=tmp_path, mark="none") as processes:
        assert processes.new_output().parent == tmp_path

    assert names(tmp_path) == []


# --- programs that are talked to --------------------------------------------------------------------------------------


async def talk(processes: SystemProcesses, folder: Path, script: str, said: bytes = b"") -> tuple[bytes, PipedProcess]:
    """Say something to a shell script, and return what it answered up to a line feed."""
    command = ("sh", "-c", script)
    async with processes.open_piped(command, cwd=folder, complaints=folder / "complaints", env={"A": "b"}) as piped:
        await piped.stdin.send_all(said)
        heard = b""
        while not heard.endswith(b"\n"):
            chunk = await piped.stdout.receive_some()
            if not chunk:
                break
            heard += chunk
    return heard, piped


async def test_a_program_is_talked_to_and_its_complaints_are_kept(tmp_path: Path) -> None:
    async with system_processes(tmp_path) as processes:
        heard, piped = await talk(
            processes, tmp_path, "read x; echo $A $x; echo first >&2; echo last >&2; exit 3", b"c\n"
        )

    assert heard == b"b c\n"
    assert (piped.exit_code, piped.last_words) == (3, "first\nlast")
    assert size_and_mode(tmp_path / "complaints")[1] == 0o600


async def test_a_program_ends_by_itself_when_its_input_is_closed(tmp_path: Path) -> None:
    async with system_processes(tmp_path) as processes:
        _, piped = await talk(processes, tmp_path, "echo; while read x; do :; done; exit 4")

    assert piped.exit_code == 4


@pytest.mark.parametrize("traps", ["", "trap '' TERM;"])
async def test_a_program_that_does_not_end_is_ended_with_all_that_it_started(tmp_path: Path, traps: str) -> None:
    async with system_processes(tmp_path) as processes:
        _, piped = await talk(processes, tmp_path, f"{traps} sleep 1000 & echo; while :; do sleep 0.05; done")

        assert piped.exit_code is None
        assert members(piped.pid) == []


async def test_a_program_that_ended_is_noticed_also_where_others_hold_its_output(tmp_path: Path) -> None:
    command = ("sh", "-c", "sleep 1000 & exit 0")
    async with system_processes(tmp_path) as processes:
        async with processes.open_piped(command, cwd=tmp_path, complaints=tmp_path / "complaints") as piped:
            with trio.fail_after(60):
                await piped.wait_ended()
        assert (piped.exit_code, members(piped.pid)) == (0, [])


async def test_a_program_that_cannot_be_started_says_why(tmp_path: Path) -> None:
    async with system_processes(tmp_path) as processes:
        with pytest.raises(ToolError, match="/no/such cannot be started: no such file or directory"):
            async with processes.open_piped(("/no/such",), cwd=tmp_path, complaints=tmp_path / "complaints"):
                raise AssertionError("it was started")


@pytest.mark.parametrize("step", range(1, 30, 2))
def test_a_program_that_is_talked_to_ends_wherever_its_owner_is_cancelled(tmp_path: Path, step: int) -> None:
    mark = f"talk-{os.getpid()}-{step}"
    instrument = CancelAt([step])

    async def main() -> None:
        async with system_processes(tmp_path, mark=mark) as processes:
            with trio.CancelScope() as scope:
                instrument.aim(scope.cancel)
                await talk(processes, tmp_path, "read x; echo $x; read y", b"c\n")
            instrument.rest()
            assert marked(mark.encode()) == []

    trio.run(main, instruments=[instrument])
