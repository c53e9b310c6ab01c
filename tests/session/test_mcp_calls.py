"""Calls of MCP servers that take long: they go on in the background, as tasks, and what they come to is told once."""

from __future__ import annotations

import base64
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import example, given
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.agents._turn_hooks import running_tasks
from greenroom.core import Cause, TurnKilled
from greenroom.core.ports import Ports
from greenroom.headless._background_wait import wait_background
from greenroom.mcp._peer import ToolInfo
from greenroom.models import AnswerLike, Call, ModelRequest
from greenroom.session import Session
from greenroom.testing import run_virtual, virtual_ports
from tests.agents.pages import agent, answers_in, in_order, last_texts
from tests.core.images import png
from tests.mcp.fakes import ECHO, WORK, FakePeers, FakeServer
from tests.mcp.real import BOUND_S, EVERYTHING, until
from tests.session.crashes import RecordingDisk, recording_ports, tasks_of, told_in
from tests.session.far_server import settings
from tests.session.teamwork import main_messages, notices, open_teamwork, violations

DISABLED = "GREENROOM_DISABLE_BACKGROUND_TASKS"
TIMER = "GREENROOM_AUTO_BACKGROUND_TASKS"
LIMIT = "GREENROOM_MCP_AUTO_BACKGROUND_MS"


def work(takes_s: float, **more: Any) -> Call:
    return Call("mcp__far__work", {"takes_s": takes_s, **more})


class Scene:
    """A session whose main agent has a server that takes its time."""

    def __init__(self, session: Session, server: FakeServer) -> None:
        self.session = session
        self.server = server

    @property
    def task(self) -> Any:
        """The only task."""
        (one,) = self.session.tasks.table.all()
        return one

    async def interrupted_after(self, seconds: float) -> None:
        """Take a turn that is interrupted after so many seconds."""

        async def run() -> None:
            with pytest.raises(TurnKilled):
                await self.session.run("go")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            await trio.sleep(seconds)
            self.session.interrupt()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> FakeServer:
    made = FakeServer(WORK, ECHO)
    monkeypatch.setattr("greenroom.mcp._server_group.SdkPeers", lambda **_: FakePeers(far=made))
    for name in (DISABLED, TIMER, LIMIT):
        monkeypatch.delenv(name, raising=False)
    return made


@asynccontextmanager
async def scene(folder: Path, server: FakeServer, *answers: AnswerLike, **more: Any) -> AsyncIterator[Scene]:
    options = {"settings": settings(), "wait_s": 0.0, **more}
    async with open_teamwork(folder, in_order(*answers), **options) as session:
        yield Scene(session, server)


async def resumed(run: Path, folder: Path) -> Session:
    """Open a run again in another process, as it were, and return its session when that has come to rest and ended."""
    async with open_teamwork(
        folder, lambda _: "Noted.", settings=settings(), resume=run, ports=virtual_ports(1)
    ) as second:
        await second.wait_quiet()
    return second


def result_of(notice: str) -> str:
    return notice.partition("<result>")[2].partition("</result>")[0]


# --- moving -------------------------------------------------------------------------------------------------------------


async def test_a_call_that_takes_long_goes_on_and_its_result_comes_as_one_notice(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock
) -> None:
    async with scene(tmp_path, server, work(300, text="<found it>"), "I wait.", "I have it.") as one:
        answer = await one.session.run("go")
        answered_s = trio.current_time()
        (status,) = one.session.tasks.all()
        await trio.sleep(300)
        task = one.task

    assert (answer.text, answered_s) == ("I wait.", 120)
    assert (status.kind, status.state, status.description) == ("mcp_task", "running", "work of far")
    assert status.id.startswith("m")
    text = main_messages(one.session)[2]
    assert text == (
        f"The call did not end within 120 s and was moved to the background with ID: {status.id}. "
        f"A notice brings its result, which is also written to: {status.output_file}"
    )
    (notice,) = notices(one.session)
    assert result_of(notice) == "<found it>"
    assert '<summary>MCP call "work of far" completed</summary>' in notice
    assert await trio.Path(status.output_file).read_text() == "<found it>"
    assert (task.state, task.exit_code) == ("completed", None)
    assert told_in(one.session.run_folder) == {f"{status.id}.1": 1}
    assert violations(one.session) == []


async def test_a_call_that_ends_in_time_is_its_own_result(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock
) -> None:
    async with scene(tmp_path, server, work(119, text="here"), "Fine.") as one:
        await one.session.run("go")
        await trio.sleep(500)
        activity = [each.activity for each in one.session.agents.all()]

    assert main_messages(one.session)[2:] == ["here", "Fine."]
    assert not one.task.is_background
    assert activity == [""]
    assert violations(one.session) == []


@pytest.mark.parametrize(
    ("environ", "interactive", "moves_at_s"),
    [
        ({}, True, 120),
        ({}, False, None),
        ({TIMER: "1"}, False, 120),
        ({TIMER: "0"}, False, None),
        ({TIMER: "0"}, True, 120),
        ({LIMIT: "5000"}, True, 5),
        ({LIMIT: "5000"}, False, None),
        ({"CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS": "7000", TIMER: "1"}, False, 7),
        ({LIMIT: "0"}, True, None),
        ({DISABLED: "1"}, True, None),
        ({DISABLED: "1", TIMER: "1"}, False, None),
    ],
)
async def test_who_watches_and_what_is_set_say_when_a_call_is_moved(
    tmp_path: Path,
    server: FakeServer,
    autojump_clock: MockClock,
    environ: dict[str, str],
    interactive: bool,
    moves_at_s: float | None,
) -> None:
    """0 is off; without a person only where the timer is on; never where nothing may run in the background."""
    given = {**settings(interactive=interactive), "env": environ}
    async with scene(tmp_path, server, work(1_000, text="late"), "Next.", settings=given) as one:
        await one.session.run("go")
        took_s = trio.current_time()

    assert took_s == (1_000 if moves_at_s is None else moves_at_s)
    assert (main_messages(one.session)[2] == "late") == (moves_at_s is None)


async def test_a_setting_says_how_long_and_a_variable_that_is_none_changes_nothing(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock
) -> None:
    given = settings(mcp={"background_after_s": 3}, env={LIMIT: "soon"})
    async with scene(tmp_path, server, work(50), "Next.", settings=given) as one:
        await one.session.run("go")
        assert trio.current_time() == 3
        assert any(LIMIT in problem and "whole number from 0" in problem for problem in one.session.problems)


async def test_calls_of_children_and_forks_wait_forever(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock
) -> None:
    """Not from children."""
    delegation = {"interactive": True, "fork": "explicit", "auto_background_ms": 0}
    main = in_order(agent("child"), agent("fork", subagent_type="fork"), "I wait.")
    heard: list[str] = []

    def child(request: ModelRequest) -> AnswerLike:
        heard.append(last_texts(request))
        return "I have it." if heard[-1] == "late" else work(300, text="late")

    pages = {"general-purpose": child, "fork": child}
    given = {**settings(), "delegation": delegation}
    async with open_teamwork(tmp_path, main, pages=pages, settings=given) as session:
        await session.run("go")
        await trio.sleep(1_000)
        kinds = [task.kind for task in session.tasks.all()]

    assert kinds == ["local_agent", "local_agent"]
    assert heard.count("late") == 2


async def test_a_person_moves_a_call_before_its_time(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock
) -> None:
    async with scene(tmp_path, server, work(60, text="late"), "I wait.", "I have it.") as one:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(one.session.run, "go")
            await trio.sleep(10)
            (moved,) = one.session.tasks.background_all()
        assert trio.current_time() == 10
        await trio.sleep(100)

    assert main_messages(one.session)[2].startswith(f"The call was moved to the background with ID: {moved}.")
    assert [result_of(notice) for notice in notices(one.session)] == ["late"]


# --- what it comes to ---------------------------------------------------------------------------------------------------


async def test_a_moved_call_that_fails_says_why(tmp_path: Path, server: FakeServer, autojump_clock: MockClock) -> None:
    text = "no such luck\nand more of it"
    async with scene(tmp_path, server, work(300, text=text, is_error=True), "I wait.", "I see.") as one:
        await one.session.run("go")
        await trio.sleep(300)

    (notice,) = notices(one.session)
    assert "<status>failed</status>" in notice
    assert '<summary>MCP call "work of far" failed: no such luck</summary>' in notice
    assert result_of(notice) == text
    assert violations(one.session) == []


async def test_a_call_that_fails_in_time_is_an_error_result(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock
) -> None:
    async with scene(tmp_path, server, work(3, text="no luck", is_error=True), "I see.") as one:
        await one.session.run("go")

    assert main_messages(one.session)[2] == "no luck"
    assert (one.task.state, one.task.error) == ("failed", "it answered with an error")
    assert notices(one.session) == []


async def test_an_answer_that_is_no_result_is_the_words_of_the_server(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock
) -> None:
    server.tools = (ToolInfo(name="refuse"),)
    async with scene(tmp_path, server, Call("mcp__far__refuse", {}), "I see.") as one:
        await one.session.run("go")

    assert main_messages(one.session)[2] == "no such luck"
    assert (one.task.state, one.task.error) == ("failed", "no such luck")


async def test_a_server_that_is_lost_ends_its_moved_calls_with_what_they_had_said(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock
) -> None:
    async with scene(tmp_path, server, work(600, says="half of it"), "I wait.", "I see.") as one:
        await one.session.run("go")
        await trio.sleep(400)
        doing = [each.activity for each in one.session.agents.all()]
        server.die("it fell over")
        await trio.sleep(10)

    (notice,) = notices(one.session)
    assert doing == [""]
    assert "it was lost while it ran work: it fell over" in notice
    assert result_of(notice) == "(so far: half of it)"


async def test_an_image_of_a_moved_call_is_kept_in_a_file_that_is_named(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock
) -> None:
    """A notice is text: nothing in it may claim to be shown."""
    picture = base64.b64encode(png(4, 4)).decode()
    async with scene(tmp_path, server, work(300, picture=picture), "I wait.", "I see.") as one:
        await one.session.run("go")
        await trio.sleep(300)

    (notice,) = notices(one.session)
    assert "not shown" in result_of(notice)
    path = trio.Path(result_of(notice).partition("saved as ")[2].rstrip("]"))
    assert await path.read_bytes() == png(4, 4)


# --- ending it ----------------------------------------------------------------------------------------------------------


async def test_an_interrupt_before_the_move_cancels_the_call_at_its_server(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock
) -> None:
    async with scene(tmp_path, server, work(300), "Again.") as one:
        await one.interrupted_after(50)
        assert (server.cancelled, one.task.state) == (1, "killed")
        await trio.sleep(500)

    assert notices(one.session) == []
    assert violations(one.session) == []


async def test_an_interrupt_after_the_move_leaves_it_alone(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock
) -> None:
    async with scene(tmp_path, server, work(300, text="late"), work(2_000), "Again.") as one:
        await one.interrupted_after(150)
        assert server.cancelled == 1
        await trio.sleep(300)

    assert [result_of(notice) for notice in notices(one.session)] == ["late"]


@pytest.mark.parametrize("by", ["TaskStop", "kill_all", "kill_task"])
async def test_whoever_ends_a_moved_call_cancels_it_at_its_server(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock, by: str
) -> None:
    """TaskStop tells of the end by its result, what a person does by a notice; never both."""

    def main(request: ModelRequest) -> AnswerLike:
        said = answers_in(request)
        if said == 0:
            return work(1_000)
        if said == 1 and by == "TaskStop":
            return Call("TaskStop", {"task_id": last_texts(request).partition("ID: ")[2].partition(".")[0]})
        return "Noted."

    async with open_teamwork(tmp_path, main, settings=settings()) as session:
        await session.run("go")
        (task,) = session.tasks.table.all()
        if by == "kill_all":
            assert session.tasks.kill_all() == [task.info.id]
        elif by == "kill_task":
            assert session.tasks.kill(task.info.id)
        await trio.sleep(1)
        await session.wait_quiet()

    assert (server.cancelled, task.state) == (1, "killed")
    assert len(notices(session)) == (by != "TaskStop")
    if by == "TaskStop":
        assert f"Successfully stopped task: {task.info.id}" in main_messages(session)[4]
        assert '"task_type": "mcp_task"' in main_messages(session)[4]
    assert violations(session) == []


@pytest.mark.parametrize(("wait_ms", "status"), [(30_000, "timeout"), (400_000, "success")])
async def test_task_output_waits_for_a_moved_call_and_takes_its_notice(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock, wait_ms: int, status: str
) -> None:

    def main(request: ModelRequest) -> AnswerLike:
        said = answers_in(request)
        if said == 0:
            return work(300, text="late", says="on its way")
        task = last_texts(request).partition("ID: ")[2].partition(".")[0]
        return Call("TaskOutput", {"task_id": task, "timeout": wait_ms}) if said == 1 else "Noted."

    async with open_teamwork(tmp_path, main, settings=settings()) as session:
        await session.run("go")
        await trio.sleep(500)

    (answer,) = [text for text in main_messages(session) if "retrieval_status" in text]
    assert f"<retrieval_status>{status}</retrieval_status>" in answer
    assert "<task_type>mcp_task</task_type>" in answer
    assert ("<output>\nlate\n</output>" if status == "success" else "(so far: on its way)") in answer
    assert len(notices(session)) == (status != "success")


@pytest.mark.parametrize("how", ["leave", "linger", "stop", "kill"])
async def test_the_end_of_a_session_ends_moved_calls_and_is_told_when_it_is_resumed(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock, how: str
) -> None:
    async with scene(tmp_path, server, work(1_000), "I wait.") as one:
        await one.session.run("go")
        if how == "stop":
            one.session.stop("enough")
        elif how == "kill":
            one.session.kill("enough")
        elif how == "linger":
            one.session.tasks.end_calls(Cause("session", "the session ends"))
            await trio.sleep(100)

    is_own = how in {"leave", "linger"}
    expected = Cause("session", "the session ends") if is_own else Cause("host", "enough")
    assert (one.task.state, one.task.cause) == ("killed", expected)
    assert (server.cancelled, server.open_now) == (1, 0)
    assert [view.state for view in tasks_of(one.session.run_folder).values()] == ["killed"]
    assert main_messages(one.session)[3:] == ["I wait."]  # no turn was begun for it
    assert violations(one.session) == []

    second = await resumed(one.session.run_folder, tmp_path)
    assert len(notices(second)) == 1


async def test_hooks_are_told_of_moved_calls(tmp_path: Path, server: FakeServer, autojump_clock: MockClock) -> None:
    async with scene(tmp_path, server, work(1_000), "I wait.") as one:
        await one.session.run("go")
        home = one.session.agents.pool.main_home
        assert home is not None
        (entry,) = running_tasks(home)

    assert (entry.type, entry.server, entry.tool) == ("MCP task", "far", "work")
    assert entry.command is None


@pytest.mark.slow  # it starts a Python that imports the SDK
async def test_a_moved_call_of_a_real_server_is_cancelled_there_when_its_task_is_ended(tmp_path: Path) -> None:
    note = tmp_path / "note"

    def noted() -> list[str]:
        return note.read_text().split() if note.exists() else []

    given = {
        "mcpServers": {"all": {"command": sys.executable, "args": [str(EVERYTHING)]}},
        "mcp": {"background_after_s": 1.5},
        "delegation": {"interactive": True},
    }
    main = in_order(Call("mcp__all__wait", {"file": str(note)}), Call("mcp__all__echo", {"text": "still here"}))
    with trio.fail_after(BOUND_S):
        async with open_teamwork(tmp_path, main, settings=given, ports=Ports(), wait_s=0.0) as session:
            await session.run("go")
            await until(lambda: noted() == ["begun"])
            (moved,) = session.tasks.kill_all("enough")
            await until(lambda: noted() == ["begun", "cancelled"])
            await session.wait_quiet()
            await session.run("And?")

    (notice,) = notices(session)
    assert f"<task-id>{moved}</task-id>" in notice
    assert "was stopped by host: enough" in notice
    assert "still here" in main_messages(session)[4]


# --- after a crash ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("crash_s", [200, 300])
async def test_what_a_moved_call_came_to_is_told_once_wherever_the_crash_was(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock, crash_s: float
) -> None:
    disk = RecordingDisk()
    answers = (work(300, text="late"), "I wait.", "I have it.")
    async with scene(tmp_path, server, *answers, ports=recording_ports(disk)) as one:
        await one.session.run("go")
        await trio.sleep(crash_s - 120 - 0.5)
        before = len(disk.writes)
        await trio.sleep(50)
        counts = range(before, len(disk.writes)) if crash_s == 300 else (before,)
    assert counts
    seen = set()
    for count in counts:
        run = disk.restore(count, one.session.run_folder, tmp_path / "crashed")
        second = await resumed(run, tmp_path)
        (view,) = tasks_of(run).values()
        (notice,) = notices(second)
        assert told_in(run) == {view.notice_id: 1}
        assert result_of(notice) == ("late" if view.state == "completed" else "")
        assert ("was lost" in notice) == (view.state == "failed")
        seen.add(str(view.state))
    assert seen == ({"failed"} if crash_s == 200 else {"failed", "completed"})


async def test_a_result_that_nobody_had_read_before_the_crash_is_read_after_it(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock
) -> None:
    """The notice tells what the output file holds."""
    disk = RecordingDisk()
    ports = recording_ports(disk)
    async with scene(tmp_path, server, work(150, text="late"), "I wait.", wait_s=100.0, ports=ports) as one:
        with trio.move_on_after(300):
            await one.session.run("go")
        assert one.task.is_finished
        count = len(disk.writes)
    run = disk.restore(count, one.session.run_folder, tmp_path / "crashed")
    second = await resumed(run, tmp_path)

    (view,) = tasks_of(run).values()
    (notice,) = notices(second)
    assert view.state == "completed"
    assert result_of(notice) == "late"
    assert told_in(run) == {view.notice_id: 1}


# --- any order ----------------------------------------------------------------------------------------------------------


@example(takes_s=2, steps=[(1, "interrupt"), (0, "move")], is_error=False)
@given(
    st.integers(1, 300),
    st.lists(st.tuples(st.integers(0, 200), st.sampled_from(["move", "kill", "interrupt", "die"])), max_size=4),
    st.booleans(),
)
def test_whatever_happens_a_call_has_one_end_that_is_told_once(
    takes_s: int,
    steps: list[tuple[int, str]],
    is_error: bool,
) -> None:
    """By the result of the call, or by one notice; an interrupted call has neither, and says that it was.

    One that is moved in the very step in which it is interrupted goes on: its result says the one, and a notice tells its end.
    """
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        far = FakeServer(WORK)
        patch.setattr("greenroom.mcp._server_group.SdkPeers", lambda **_: FakePeers(far=far))
        run_virtual(_carry_out, Path(folder), far, takes_s, steps, is_error)


async def _carry_out(
    folder: Path,
    far: FakeServer,
    takes_s: int,
    steps: list[tuple[int, str]],
    is_error: bool,
) -> None:
    async with scene(folder, far, work(takes_s, text="the result", is_error=is_error), "Noted.") as one:

        async def run() -> None:
            try:
                await one.session.run("go")
            except TurnKilled:
                pass

        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            for wait_s, what in steps:
                await trio.sleep(wait_s)
                match what:
                    case "move":
                        one.session.tasks.background_all()
                    case "kill":
                        one.session.tasks.kill_all()
                    case "interrupt":
                        one.session.interrupt()
                    case _ if far.peer is not None:
                        far.die()
        await trio.sleep(1_000)
        tasks = one.session.tasks.table.all()

    assert len(tasks) <= 1
    for task in tasks:
        assert task.is_finished
        texts = main_messages(one.session)
        is_moved = any("was moved to the background" in text for text in texts)
        assert len(notices(one.session)) == task.is_background
        assert task.is_background == is_moved or (
            not is_moved and (0, "move") in steps and any("interrupted" in text for text in texts)
        )
    assert violations(one.session) == []


# --- without a person ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ceiling_s", "waited_s", "left"), [(600.0, 180, 0), (20.0, 20, 1)])
async def test_a_headless_run_waits_for_moved_calls_as_for_agents(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock, ceiling_s: float, waited_s: float, left: int
) -> None:
    """Their results are waited for up to the ceiling, and not for the few seconds that commands get."""
    given = {**settings(interactive=False), "env": {TIMER: "1"}}
    async with scene(tmp_path, server, work(300, text="late"), "I wait.", "I have it.", settings=given) as one:
        await one.session.run("go")
        began_s = trio.current_time()
        await wait_background(one.session, ceiling_s=ceiling_s)
        took_s = trio.current_time() - began_s
        assert len(one.session.tasks.table.running()) == left

    assert took_s == waited_s
    assert len(notices(one.session)) == 1 - left
