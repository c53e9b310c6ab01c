"""A run as the page of another process follows it: what is told of it, and how soon."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from greenroom.trace import LockState
from greenroom.web import _shown_run
from greenroom.web._run_facts import RunStanding
from greenroom.web._shown_run import ShownRun
from tests.web.recorded_run import RECORDED, make_run

TOLD_S = 1.0


async def wait_for(shown: ShownRun, standing: RunStanding) -> None:
    """Wait until viewers are woken and told; it is an error if that takes longer than a second."""
    with trio.fail_after(TOLD_S):
        while shown.standing is not standing:
            await shown.news.wait()


@pytest.mark.promise("V-told")
async def test_a_cut_and_a_resumption_are_told_within_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    locks = [LockState.HELD]
    monkeypatch.setattr(_shown_run, "read_lock", lambda _: (locks[0], None))
    journal = make_run(tmp_path, RECORDED[:101])
    shown = ShownRun(journal)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(shown.read_on)
        for pause_s in (10.0, 11.3, 12.7):
            await trio.sleep(pause_s)
            assert shown.standing is RunStanding.RUNNING
            locks[0] = LockState.FREE
            await wait_for(shown, RunStanding.BROKEN_OFF)
            await trio.sleep(pause_s)
            locks[0] = LockState.HELD
            with journal.open("ab") as file:
                file.write(RECORDED[len(shown.index) + 1])
            await wait_for(shown, RunStanding.RUNNING)
        nursery.cancel_scope.cancel()
    shown.close()


@pytest.mark.promise("V-told")
@pytest.mark.parametrize("standing", [RunStanding.VANISHED, RunStanding.REPLACED])
async def test_a_run_that_goes_or_is_replaced_is_told_within_a_second(
    tmp_path: Path, standing: RunStanding, autojump_clock: MockClock
) -> None:
    journal = make_run(tmp_path)
    shown = ShownRun(journal)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(shown.read_on)
        await trio.sleep(10)
        if standing is RunStanding.VANISHED:
            journal.unlink()
        else:
            journal.write_bytes(b"".join(RECORDED[:20]))
        await wait_for(shown, standing)
        nursery.cancel_scope.cancel()
    assert len(shown.index) == len(RECORDED) - 1
    shown.close()


def test_a_run_that_was_closed_is_freed_without_the_garbage_collector(tmp_path: Path) -> None:
    shown = ShownRun(make_run(tmp_path))
    while shown.rows()["events"] < len(shown.index):
        shown._advance(100)
    parts = [weakref.ref(part) for part in (shown, shown._world, shown._world.columns, shown.index)]
    shown.close()
    gc.disable()
    try:
        del shown
        assert [part() for part in parts] == [None] * len(parts)
    finally:
        gc.enable()
