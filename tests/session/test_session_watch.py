"""`session.watch()`: the state after each item is the fold of the journal up to it, however slow the reader is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from greenroom.core import Recorder
from greenroom.models import PlaybookModel
from greenroom.session import EVENTS, FOLDS, Session, open_session
from greenroom.session.parts import _session_watch
from greenroom.session.parts._session_watch import SessionWatch, WatchedChange
from greenroom.testing import virtual_ports
from greenroom.tools.builtin import STANDARD_TOOLS
from greenroom.trace import JOURNAL, RunIndex, World, fold, read_journal
from tests.agents.pages import agent, in_order

Seen = list[tuple[WatchedChange, World]]
BOOK = {"main": in_order(agent("job"), "It is done.", "Yes."), "general-purpose": in_order("Done.", "Again.")}


async def watched(
    folder: Path, *, capacity: int = 10_000, every_s: float = 0.0, prompts: int = 1, before: int = 0
) -> tuple[Seen, Path]:
    """Return what a reader saw of a session, item by item, and the journal."""
    seen: Seen = []

    async def read(session: Session, *, task_status: trio.TaskStatus[None]) -> None:
        async with session.watch(capacity=capacity) as view:
            task_status.started()
            async for change in view:
                seen.append((change, view.state.copy()))
                await trio.sleep(every_s)

    async with trio.open_nursery() as nursery:
        async with open_session(
            model=PlaybookModel(BOOK), cwd=folder, tools=STANDARD_TOOLS, ports=virtual_ports(), runs=folder / "runs"
        ) as session:
            for _ in range(before):
                await session.run("Begin.")
            await nursery.start(read, session)  # noqa: ASYNC111 - the reader ends with the session
            for _ in range(prompts):
                await session.run("Do the job.")
                await trio.sleep(60)
        journal = session.run_folder / JOURNAL
    return seen, journal


def check(seen: Seen, journal: Path) -> None:
    entries = read_journal(journal, EVENTS).entries
    for change, state in seen:
        assert state == fold(entries, FOLDS, at=change.seq)
        assert (change.seq, change.t) == (state.seq, state.t)
    assert seen[-1][1] == fold(entries, FOLDS)


async def test_a_quick_reader_gets_every_event_after_the_first_snapshot(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    seen, journal = await watched(tmp_path, before=1)

    check(seen, journal)
    changes = [change for change, _ in seen]
    assert [change.event is None for change in changes] == [True] + [False] * (len(changes) - 1)
    assert [change.seq for change in changes] == [*range(changes[0].seq, changes[-1].seq + 1)]
    assert changes[0].seq > 5
    assert not any(change.is_late for change in changes)
    named = {(section, subject) for change in changes for section, subject in change.subjects}
    assert {section for section, _ in named} >= {"actors", "agents"}


@pytest.mark.promise("X-watch")
@pytest.mark.parametrize("held", [1_000_000, 5], ids=["recorder", "file"])
async def test_a_slow_reader_is_late_and_never_wrong(
    held: int, tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lost events come from the recorder, or from the journal's file if that holds no more of them."""
    monkeypatch.setattr(Recorder, "latest", lambda recorder: list(recorder._ring)[-held:])
    opened: list[RunIndex] = []

    def open_index(*of: Any) -> RunIndex:
        opened.append(RunIndex(*of))
        return opened[-1]

    monkeypatch.setattr(_session_watch, "RunIndex", open_index)

    seen, journal = await watched(tmp_path, capacity=3, every_s=0.5, prompts=2)

    check(seen, journal)
    assert sum(change.is_late for change, _ in seen) >= 2
    assert all(change.event is None for change, _ in seen if change.is_late)
    assert len(opened) == (held == 5), "the file is indexed once"
    assert not any(index.bytes_used and index._file.size for index in opened), "the file is closed"


async def test_a_cancelled_reader_loses_nothing(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with open_session(
        model=PlaybookModel(BOOK), cwd=tmp_path, ports=virtual_ports(), runs=tmp_path / "runs"
    ) as session:
        async with session.watch() as view:
            first = await anext(view)
            with trio.move_on_after(5) as scope:
                while True:
                    first = await anext(view)
            assert scope.cancelled_caught
            await session.run("Hello.")

            change = await anext(view)

    assert isinstance(view, SessionWatch)
    assert change.seq == first.seq + 1


async def test_a_watch_of_an_ended_session_ends(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with open_session(
        model=PlaybookModel(BOOK), cwd=tmp_path, ports=virtual_ports(), runs=tmp_path / "runs"
    ) as session:
        pass

    async with session.watch() as view:
        changes = [change async for change in view]

    assert [change.event for change in changes] == [None]
    assert view.state == fold(read_journal(session.run_folder / JOURNAL, EVENTS).entries, FOLDS)
