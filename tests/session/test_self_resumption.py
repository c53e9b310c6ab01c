"""A session that is opened on a cut run: its turn is resumed before anything new, by itself or when the program says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from greenroom.actors import TurnBegan
from greenroom.agents import CONTINUE
from greenroom.core import TurnFailed
from greenroom.models import AnswerLike, Call, ModelRequest
from greenroom.session import EVENTS, Session, find_unfinished
from greenroom.testing import virtual_ports
from greenroom.tools import tool
from greenroom.trace import JOURNAL, read_header, read_journal
from tests.agents.pages import agent, asked, in_order
from tests.session.crashes import RecordingDisk, recording_ports, tasks_of, told_in, turns_in_closing
from tests.session.teamwork import main_messages, notices, open_teamwork, violations

LEAVE = {"recovery": {"cut_turns": "leave"}}
MEND = {"recovery": {"lost_agents": "resume"}}


@tool(name="Wait", read_only=True)
async def wait() -> str:
    """Wait forever."""
    await trio.sleep_forever()
    return ""


def waits(_: ModelRequest) -> AnswerLike:
    return Call("Wait", {})


def begins(request: ModelRequest) -> AnswerLike:
    """Start an agent that works forever, and then wait forever."""
    return agent("long", run_in_background=True) if len(request.messages) == 1 else Call("Wait", {})


async def killed(folder: Path, *, urgent: str = "") -> Path:
    """Return the run folder of a session that was killed in a turn, with an agent in the background.

    Args:
        urgent: A message for now that had been accepted, and had not reached the agent yet.
    """
    disk = RecordingDisk()
    pages = {"general-purpose": waits}
    async with (
        open_teamwork(folder, begins, pages=pages, tools=(wait,), ports=recording_ports(disk)) as session,
        trio.open_nursery() as nursery,
    ):
        session.send("go")
        await trio.sleep(30)
        count = len(disk.writes)
        if urgent:
            await session.inbox.wait_durable(session.send(urgent, priority="now"))
            count += 1 + next(at for at, write in enumerate(disk.writes[count:]) if urgent.encode() in write[1])
        session.kill()
        nursery.cancel_scope.cancel()
    return disk.restore(count, session.run_folder, folder / "runs" / "crashed")


def noting(seen: list[str]) -> Any:
    def noted(request: ModelRequest) -> AnswerLike:
        seen.append(request.messages[-1].text)
        return f"Noted {len(seen)}."

    return noted


@pytest.mark.promise("R7-turn")
async def test_a_cut_turn_is_resumed_before_anything_new(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Mechanism: the agent is held while its session opens, and the note that resumes its turn is the first thing it takes."""
    run = await killed(tmp_path, urgent="Something left.")
    seen: list[str] = []

    async with open_teamwork(tmp_path, noting(seen), resume=run, ports=virtual_ports(1)) as session:
        session.send("Something new.", priority="now")
        answer = await session.run("Something else.")
        await session.wait_quiet()

    assert CONTINUE in seen[0]  # what is sent for now may cut that turn, as any other, but does not come before it
    whole = "".join(main_messages(session))
    assert whole.index(CONTINUE) < min(whole.index("Something"), whole.index("<task-notification>"))
    assert answer.text != "Noted 1."
    assert set(told_in(run).values()) == {1}
    assert sum(CONTINUE in text for text in main_messages(session)) == 1
    assert violations(session) == []


@pytest.mark.promise("R7-turn")
async def test_a_cut_turn_is_resumed_once_its_session_is_open(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Mechanism: the agent is suspended from its start until its session has its servers, its schedules and its inbox."""
    run = await killed(tmp_path)
    before = len(turns_of(run))

    async with open_teamwork(tmp_path, noting([]), resume=run, ports=virtual_ports(1)) as session:
        opened = session.runtime.recorder.seq
        await session.wait_quiet()

    resumed, *_ = turns_of(run)[before:]
    assert resumed > opened


def turns_of(run: Path) -> list[int]:
    """Return the numbers of the events with which turns began."""
    entries = read_journal(run / JOURNAL, EVENTS).entries
    return [entry.seq for entry in entries if isinstance(entry.event, TurnBegan)]


async def test_resume_turn_waits_for_the_turn_that_resumes_itself(tmp_path: Path, autojump_clock: MockClock) -> None:
    run = await killed(tmp_path)
    seen: list[str] = []

    async with open_teamwork(tmp_path, noting(seen), resume=run, ports=virtual_ports(1)) as session:
        assert session.was_cut
        answer = await session.resume_turn()
        await session.wait_quiet()

    assert answer.text == "Noted 1."
    assert [CONTINUE in text for text in seen] == [True, False], "the turn, and the loss of the agent"


async def test_resume_turn_raises_what_ended_the_turn(tmp_path: Path, autojump_clock: MockClock) -> None:
    run = await killed(tmp_path)

    def fails(_: ModelRequest) -> AnswerLike:
        raise TurnFailed("x", "the model is away")

    async with open_teamwork(tmp_path, fails, resume=run, ports=virtual_ports(1)) as session:
        with pytest.raises(TurnFailed):
            await session.resume_turn()


@pytest.mark.promise("R7-leave")
async def test_a_turn_that_is_left_waits_for_the_program(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Mechanism: the agent stays held after the opening, with its mail, until the program resumes it or says something."""
    run = await killed(tmp_path)
    seen: list[str] = []

    async with open_teamwork(tmp_path, noting(seen), resume=run, settings=LEAVE, ports=virtual_ports(1)) as session:
        await session.wait_quiet()
        await trio.sleep(60)
        assert seen == []
        answer = await session.resume_turn()
        await session.wait_quiet()

    assert answer.text == "Noted 1."
    assert CONTINUE in seen[0]
    assert "<task-notification>" not in seen[0]
    assert set(told_in(run).values()) == {1}


@pytest.mark.parametrize("verb", ["run", "send"])
async def test_the_programs_word_takes_the_place_of_a_turn_that_is_left(
    verb: str, tmp_path: Path, autojump_clock: MockClock
) -> None:
    run = await killed(tmp_path)
    seen: list[str] = []

    async with open_teamwork(tmp_path, noting(seen), resume=run, settings=LEAVE, ports=virtual_ports(1)) as session:
        if verb == "run":
            await session.run("Rather this.")
        else:
            session.send("Rather this.")
        await session.wait_quiet()

    assert "Rather this." in seen[0]
    assert not any(CONTINUE in text for text in seen)


async def test_a_turn_that_was_interrupted_is_not_resumed_by_itself(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with open_teamwork(tmp_path, waits, tools=(wait,)) as first:
        first.send("go")
        await trio.sleep(10)
        await first.interrupt().wait_ended()
        await first.wait_quiet()
    seen: list[str] = []

    async with open_teamwork(tmp_path, noting(seen), resume=first.run_folder, ports=virtual_ports(1)) as session:
        await session.wait_quiet()

    assert seen == []


# --- agents that were lost ----------------------------------------------------------------------------------------------


def mends(request: ModelRequest) -> AnswerLike:
    return "It is done." if asked(request) and CONTINUE in request.messages[-1].text else Call("Wait", {})


@pytest.mark.promise("R7-agents")
async def test_a_lost_agent_is_resumed_under_its_id_three_times(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Mechanism: the registration of the run that makes a loss good says so; the journal counts them over all processes."""
    run = await killed(tmp_path)
    ((task, _),) = tasks_of(run)
    sessions: list[Session] = []
    for number in range(1, 5):
        disk = RecordingDisk()
        ports = recording_ports(disk, number)
        options: Any = {"pages": {"general-purpose": waits}, "tools": (wait,), "settings": MEND, "resume": run}
        async with open_teamwork(tmp_path, in_order(), ports=ports, **options) as session:
            await trio.sleep(30)
            views = tasks_of(run)
            count = {key: (view.recoveries, view.state.value) for key, view in views.items()}
            assert count.get((task, number + 1), (0, ""))[0] == (number if number < 4 else 0)
            await session._journal.commit()
            told = sum(told_in(run).values())
            session.kill()
            sessions.append(session)
        if number < 4:
            assert told == 0, "what is made good is not told"
            strip_ends(run)

    assert told_in(run) == {f"{task}.4": 1}
    assert "was lost" in notices(sessions[-1])[-1]
    assert tasks_of(run)[task, 4].state == "failed"


def strip_ends(run: Path) -> None:
    """Make a run look as if its process had been killed: the journal loses the ends that the session recorded."""
    path = run / JOURNAL
    lines = path.read_bytes().splitlines(keepends=True)
    last = max(at for at, line in enumerate(lines) if b'"task.begin"' in line)
    path.write_bytes(b"".join(lines[: last + 1]))


@pytest.mark.promise("R7-agents")
async def test_a_resumed_agent_reports_once_and_knows_what_was_cut(tmp_path: Path, autojump_clock: MockClock) -> None:
    run = await killed(tmp_path)
    ((task, _),) = tasks_of(run)
    read: list[str] = []

    def worker(request: ModelRequest) -> AnswerLike:
        read.append(str(request.messages[-1]))
        return "It is done."

    pages = {"general-purpose": worker}
    for number in (1, 2):
        ports = virtual_ports(number)
        async with open_teamwork(tmp_path, in_order(), pages=pages, settings=MEND, resume=run, ports=ports) as session:
            await session.wait_quiet()
        assert violations(session) == []

    assert told_in(run) == {f"{task}.2": 1}
    assert len(read) == 1
    assert "The process ended while" in read[0]
    assert "interrupted" not in read[0]


@pytest.mark.promise("R7-agents")
async def test_a_lost_agent_of_a_kind_that_runs_once_is_told(tmp_path: Path, autojump_clock: MockClock) -> None:
    disk = RecordingDisk()

    def main(request: ModelRequest) -> AnswerLike:
        return agent("look", subagent_type="Explore", run_in_background=True) if len(request.messages) == 1 else "ok"

    async with open_teamwork(
        tmp_path, main, pages={"Explore": waits}, tools=(wait,), ports=recording_ports(disk)
    ) as first:
        await first.run("go")
        await trio.sleep(5)
        count = len(disk.writes)
        first.kill()
    run = disk.restore(count, first.run_folder, tmp_path / "crashed")

    async with open_teamwork(tmp_path, in_order(), settings=MEND, resume=run, ports=virtual_ports(1)) as session:
        await session.wait_quiet()

    assert set(told_in(run).values()) == {1}
    assert [view.run for view in tasks_of(run).values()] == [1]


# --- closing ------------------------------------------------------------------------------------------------------------


@pytest.mark.promise("R7-closing")
@pytest.mark.parametrize("verb", ["leave", "stop"])
async def test_a_closing_session_begins_no_turn_and_each_end_is_told_once(
    verb: str, tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Mechanism: its agents are suspended when it begins to close; what comes later is told by the next process.

    Left at every half second of a run in which three agents end one after the other.
    """

    def main(request: ModelRequest) -> AnswerLike:
        starts = [agent(text, run_in_background=True) for text in ("first", "second", "third")]
        return starts if len(request.messages) == 1 else "Noted."

    def works(request: ModelRequest) -> AnswerLike:
        rounds = {"first": 2, "second": 4, "third": 20}[asked(request)]
        return Call("Glob", {"pattern": "*"}) if len(request.messages) < rounds else "Done."

    pages = {"general-purpose": works}
    for half_seconds in range(1, 22):
        async with open_teamwork(tmp_path, main, pages=pages, ports=virtual_ports(half_seconds)) as first:
            first.send("go")
            await trio.sleep(half_seconds / 2)
            closing = first.runtime.recorder.seq
            if verb == "stop":
                first.stop()
                await trio.sleep(0.2)
        assert turns_in_closing(first.run_folder, since=closing) == [], f"left after {half_seconds / 2} s"
        run = first.run_folder
        ports = virtual_ports(1000 + half_seconds)
        async with open_teamwork(tmp_path, lambda _: "Noted.", resume=run, ports=ports) as second:
            await second.wait_quiet()
        expected = {f"{task}.{number}": 1 for task, number in tasks_of(run)}
        assert told_in(run) == expected, f"left after {half_seconds / 2} s"
        assert not (await find_unfinished(run, run.parent, virtual_ports())).is_any


# --- before anything is opened -------------------------------------------------------------------------------------------


@pytest.mark.promise("R7-d")
async def test_unfinished_work_is_found_without_a_trace(tmp_path: Path, autojump_clock: MockClock) -> None:
    run = await killed(tmp_path)
    assert read_header(run / JOURNAL).run
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}

    found = await find_unfinished(run, run.parent, virtual_ports())

    assert (found.was_cut, found.ends) == (True, 1)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


# --- what is done twice --------------------------------------------------------------------------------------------------


@pytest.mark.promise("RM-10")
async def test_killed_at_any_write_a_turn_is_finished_and_little_is_repeated(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """RM-10. Mechanism: a call without a result is answered, not repeated; the conversation on disk says what was done."""
    ran: list[str] = []
    requests: list[int] = []

    @tool(name="Mark")
    async def mark(number: str) -> str:
        """Mark a number.

        Args:
            number: The number.
        """
        ran.append(number)
        await trio.sleep(0.3)
        return f"marked {number}"

    def main(request: ModelRequest) -> AnswerLike:
        requests.append(1)
        said = sum(message.role == "assistant" for message in request.messages)
        return Call("Mark", {"number": str(said)}) if said < 3 else "All done."

    disk = RecordingDisk()
    async with open_teamwork(tmp_path, main, tools=(mark,), ports=recording_ports(disk)) as first:
        first.send("go")
        await first.wait_quiet()
    whole, tried = len(requests), 0
    assert (whole, ran) == (4, ["0", "1", "2"])
    for count in range(6, len(disk.writes)):
        run = disk.restore(count, first.run_folder, tmp_path / "crashed")
        begun = (run / JOURNAL).read_bytes().count(b'"model.begin"') if (run / JOURNAL).exists() else 0
        if not begun:
            continue
        text = (run / "transcripts" / "main.jsonl").read_text()
        finished = {number for number in "012" if f"marked {number}" in text}
        requests.clear()
        ran.clear()
        async with open_teamwork(tmp_path, main, tools=(mark,), resume=run, ports=virtual_ports(count)) as second:
            await second.wait_quiet()
        assert main_messages(second)[-1] == "All done.", f"killed after {count} writes"
        assert begun + len(requests) <= whole + 1, f"killed after {count} writes"
        assert not finished & set(ran), f"killed after {count} writes"
        assert len(ran) == len(set(ran))
        tried += 1
    assert tried > 10
