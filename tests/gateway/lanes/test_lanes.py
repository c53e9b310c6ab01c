"""Turns that wait for places: order, aborts, loans, and turns of real sessions."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from greenroom.core import TurnKilled
from greenroom.gateway.lanes._lanes import TurnLanes
from greenroom.gateway.lanes._places import TurnClaim, WaitsInCircle
from greenroom.models import PlaybookModel
from greenroom.session import Session, open_session
from greenroom.testing import virtual_ports


@pytest.mark.promise("A10-a", "A10-b")
async def test_turns_of_a_lane_never_exceed_its_width_and_begin_in_order(autojump_clock: MockClock) -> None:
    lanes, began, most = TurnLanes({"subagent": 8}), [], 0

    async def turn(number: int) -> None:
        nonlocal most
        async with lanes.place(f"s{number}", "subagent"):
            began.append((trio.current_time(), number))
            most = max(most, lanes.statistics()["subagent"].active)
            await trio.sleep(1)

    async with trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(turn, number)
            await trio.testing.wait_all_tasks_blocked()

    assert [number for _, number in sorted(began)] == list(range(20))
    assert most == 8
    assert lanes.statistics()["subagent"].active == 0


@pytest.mark.promise("A10-f")
async def test_cancelled_wait_takes_no_place_and_leaves_nothing(autojump_clock: MockClock) -> None:
    """GW-19: the state of a lane is the claims of the turns that are in it."""
    lanes = TurnLanes({})
    async with lanes.place("a", "main"):
        with trio.move_on_after(1):
            async with lanes.place("b", "main"):
                pytest.fail("there is no place")
        assert lanes.statistics()["main"].waiting == 0

    async with lanes.place("c", "main"):
        assert lanes.statistics()["main"].active == 1


@pytest.mark.promise("A10-g")
async def test_turns_that_fail_in_any_way_return_their_places(autojump_clock: MockClock) -> None:
    """GW-17: a place belongs to the block of its turn."""
    lanes = TurnLanes({"main": 3})

    async def turn(number: int) -> None:
        try:
            with trio.move_on_after(number % 7):
                async with lanes.place(f"s{number}", "main"):
                    await trio.sleep(number % 5)
                    raise ValueError(number)
        except ValueError:
            pass

    async with trio.open_nursery() as nursery:
        for number in range(1000):
            nursery.start_soon(turn, number)

    statistics = lanes.statistics()["main"]
    assert (statistics.active, statistics.lent, statistics.waiting) == (0, 0, 0)


async def test_wait_is_reported_once_after_two_seconds(autojump_clock: MockClock) -> None:
    reports: list[tuple[str, int]] = []
    lanes = TurnLanes({}, on_long_wait=lambda claim, ahead: reports.append((claim.session, ahead)))

    async def turn(session: str) -> None:
        async with lanes.place(session, "main"):
            await trio.sleep(1.5)

    async with trio.open_nursery() as nursery:
        for session in "abcd":
            nursery.start_soon(turn, session)
            await trio.testing.wait_all_tasks_blocked()

    assert sorted(reports) == [("c", 0), ("d", 1)]


async def test_chain_of_waits_ends_in_a_lane_of_one_place(autojump_clock: MockClock) -> None:
    lanes, order = TurnLanes({"main": 1}), []

    async def turn(session: str, others: str) -> None:
        async with lanes.place(session, "main") as claim:
            if others:
                await lanes.lend(claim, others[0], lambda: turn(others[0], others[1:]))
            order.append(session)
            await trio.sleep(1)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(turn, "a", "bc")
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(turn, "d", "")

    assert order == ["c", "b", "a", "d"]


async def test_wait_that_times_out_goes_on_with_a_place_of_its_own(autojump_clock: MockClock) -> None:
    lanes = TurnLanes({"main": 1})
    log: list[str] = []

    async def slow() -> None:
        async with lanes.place("b", "main"):
            await trio.sleep(10)
        log.append("b")

    async def asking(claim: TurnClaim, nursery: trio.Nursery) -> None:
        nursery.start_soon(slow)
        with trio.move_on_after(1):
            await trio.sleep_forever()

    async with trio.open_nursery() as nursery, lanes.place("a", "main") as claim:
        await lanes.lend(claim, ["b"], lambda: asking(claim, nursery))
        log.append("a")

    assert log == ["b", "a"]


async def test_circle_of_waits_is_refused_at_once(autojump_clock: MockClock) -> None:
    lanes = TurnLanes({"main": 2})
    async with AsyncExitStack() as held, trio.open_nursery() as nursery:
        first, second = [await held.enter_async_context(lanes.place(session, "main")) for session in "ab"]

        async def forever() -> None:
            await lanes.lend(first, ["b"], trio.sleep_forever)

        nursery.start_soon(forever)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(WaitsInCircle), trio.fail_after(60):
            await lanes.lend(second, ["a"], trio.sleep_forever)
        nursery.cancel_scope.cancel()


# --- turns of sessions --------------------------------------------------------------------------------------------------


async def test_turns_of_sessions_wait_for_their_places(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Five sessions, two places; one turn is ended while it waits, and the message after it is read."""
    lanes, ends = TurnLanes({"main": 2}), []

    async def chat(session: Session, name: str) -> None:
        try:
            await session.run("Work.")
            ends.append(f"{name} done at {trio.current_time() - start:.0f}")
        except TurnKilled:
            ends.append(f"{name} ended")

    async with AsyncExitStack() as opened:
        sessions = {
            name: await opened.enter_async_context(
                open_session(
                    model=PlaybookModel({"main": lambda _: "Done."}, wait_s=10),
                    cwd=tmp_path,
                    runs=tmp_path / name,
                    tools=(),
                    ports=virtual_ports(1),
                    turn_place=partial(lanes.place, name, "main"),
                )
            )
            for name in "abcde"
        }
        start = trio.current_time()
        async with trio.open_nursery() as nursery:
            for name, session in sessions.items():
                nursery.start_soon(chat, session, name)
                await trio.testing.wait_all_tasks_blocked()
            assert lanes.statistics()["main"].waiting == 3
            sessions["d"].interrupt("not needed")
            await trio.testing.wait_all_tasks_blocked()
            most = lanes.statistics()["main"].active

    assert most == 2
    assert sorted(ends) == ["a done at 10", "b done at 10", "c done at 20", "d ended", "e done at 20"]
    assert sessions["d"].budget.spent.calls == 0
    assert (lanes.statistics()["main"].active, lanes.statistics()["main"].waiting) == (0, 0)
