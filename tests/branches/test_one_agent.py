"""A run of one agent, continued from one of its events."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from greenroom.branches import branch
from greenroom.core import UsageError
from greenroom.session import EVENTS, open_session
from greenroom.testing import run_virtual, virtual_ports
from greenroom.trace import JOURNAL, diff_runs, read_header, read_journal
from tests.branches.recorded_runs import PORTS, Watched, cut_at, go_on, problems_of, record_one, wait_quiet


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Watched]:
    """A folder, a run in it of two prompts, and what its model was asked."""
    folder = tmp_path_factory.mktemp("one")
    watched = Watched()
    return folder, record_one(folder, watched, "Look.", "Look again."), watched


@pytest.mark.promise("W-cut", "W-said")
def test_every_event_gives_a_sound_branch_or_names_one(recorded: tuple[Path, Path, Watched]) -> None:
    """The cut is consistent, and the conversation is one that a provider accepts, whatever event is named."""
    _, run, _ = recorded
    last = read_journal(run / JOURNAL, EVENTS).entries[-1].seq

    for at in range(-1, last + 3):
        assert problems_of(cut_at(run, at)) == [], at


@pytest.mark.promise("W-once")
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(1, 90))
def test_nothing_before_the_event_is_done_again(recorded: tuple[Path, Path, Watched], at: int) -> None:
    """The first request of the branch is the recorded one with another system prompt; the answers before it are not asked for."""
    folder, run, watched = recorded
    made = cut_at(run, at, changes={"system:main": "Be brief."})
    main, again = made.stands[0], Watched()

    go_on(folder, made.folder, again.model, wait_quiet)

    if main.edge.is_idle:
        assert again.asked == []
        return
    before = [stand for stand in watched.asked if stand.messages == again.asked[0].messages]
    assert len(before) == 1
    assert before[0].system != again.asked[0].system
    assert "Be brief." in again.asked[0].system
    assert before[0].tools == again.asked[0].tools
    left = [request for request in watched.asked if len(request.messages) >= len(before[0].messages)]
    assert len(again.asked) <= len(left)


@pytest.mark.promise("W-once")
def test_an_agent_is_cut_at_its_last_request(recorded: tuple[Path, Path, Watched]) -> None:
    _, run, _ = recorded
    entries = read_journal(run / JOURNAL, EVENTS).entries
    began = [entry.seq for entry in entries if entry.kind == "model.begin"]

    for seq in began[1:3]:
        stands = [branch(run, at, ports=PORTS).stands[0].place for at in (seq - 2, seq - 1, seq + 1)]
        assert stands == [began[began.index(seq) - 1], seq, seq]


@pytest.mark.promise("W-same")
def test_a_branch_without_changes_repeats_the_run(recorded: tuple[Path, Path, Watched]) -> None:
    folder, run, watched = recorded
    at = next(entry.seq for entry in read_journal(run / JOURNAL, EVENTS).entries if entry.kind == "tool.end")
    made, again = branch(run, at, ports=PORTS), Watched()

    go_on(folder, made.folder, again.model, wait_quiet)

    first = made.stands[0].edge.round - 1
    assert [request.messages for request in again.asked] == [
        request.messages for request in watched.asked[first : first + len(again.asked)]
    ]
    assert again.asked[0].system == watched.asked[first].system


@pytest.mark.promise("W-origin")
def test_the_original_is_only_read_and_the_branch_names_it(recorded: tuple[Path, Path, Watched]) -> None:
    _, run, _ = recorded
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}

    made = branch(run, 30, changes={"system:main": "Be brief."}, ports=PORTS)

    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
    about = read_header(made.folder / JOURNAL).about
    assert (about["from_run"], about["from_seq"], about["changes"]) == (run.name, 30, ["system:main"])
    left, right = (read_journal(folder / JOURNAL, EVENTS).entries for folder in (run, made.folder))
    assert diff_runs(left[: len(right)], right) is None or made.left_out > 0


def test_a_branch_of_a_branch_names_the_branch(recorded: tuple[Path, Path, Watched]) -> None:
    folder, run, _ = recorded
    first = branch(run, 30, changes={"system:main": "Be brief."}, ports=PORTS)
    go_on(folder, first.folder, Watched().model, wait_quiet)
    last = read_journal(first.folder / JOURNAL, EVENTS).entries[-1].seq

    for at in range(1, last, 5):
        second = cut_at(first.folder, at)
        assert problems_of(second) == [], at
        assert read_header(second.folder / JOURNAL).about["from_run"] == first.folder.name


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"system:boss": "x"}, "expected one of: main"),
        ({"definition:boss": "x"}, "expected one of: main"),
        ({"message:2": "x"}, "there are the lines 1"),
        ({"result:toolu_0": "x"}, "the last: "),
        ({"mood": "x"}, "expected one of: system:AGENT"),
        ({"settings": "[]"}, "must be a JSON object"),
    ],
)
def test_a_change_that_fits_nothing_is_refused(
    recorded: tuple[Path, Path, Watched], changes: dict[str, str], says: str
) -> None:
    """The line says what there is, and no folder is left behind."""
    _, run, _ = recorded
    before = sorted(run.parent.iterdir())

    with pytest.raises(UsageError, match=says):
        branch(run, 30, changes=changes, ports=PORTS)

    assert sorted(run.parent.iterdir()) == before


@pytest.mark.promise("W-once")
def test_a_message_that_waited_is_read_once_in_the_branch(tmp_path: Path) -> None:
    """It waited at the event; later in the run it was read, and its words stand there."""

    async def run() -> Path:
        async with open_session(
            model=Watched().model, cwd=tmp_path, runs=tmp_path / "runs", ports=virtual_ports()
        ) as session:
            session.send("Look.")
            await trio.sleep(1.5)
            session.send("And look there.")
            await session.wait_quiet()
        return session.run_folder

    recorded = run_virtual(run).result
    accepted = [
        entry.seq for entry in read_journal(recorded / JOURNAL, EVENTS).entries if entry.kind == "inbox.accepted"
    ]
    made, again = branch(recorded, accepted[1], ports=PORTS), Watched()

    go_on(tmp_path, made.folder, again.model, wait_quiet)

    assert made.left_out
    said = [str(message.content) for message in again.asked[-1].messages]
    assert sum("And look there." in text for text in said) == 1
    assert "And look there." not in str(again.asked[0].messages[0].content)
