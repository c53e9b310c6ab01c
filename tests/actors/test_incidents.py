"""Turns that swallow their cancel, and errors that hide behind another one: said where they were seen, and only there."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

import anyio
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom.actors import AbortRequested, Context, TurnEnded
from greenroom.actors._lifecycle import masked_error
from greenroom.testing import SeesCancels, cancel_sweep, run_virtual
from tests.actors.situations import Do, Doer, Gate, Oops, Survivor, events, runtime

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from greenroom.actors import Ref
    from greenroom.testing import CancelAt


async def in_an_ask(other: Ref[Any]) -> None:
    await other.ask(Do(Gate()))


async def for_an_end(other: Ref[Any]) -> None:
    await other.wait_ended()


async def elsewhere(other: Ref[Any]) -> None:
    await trio.sleep_forever()


def struck(
    waits: Callable[[Ref[Any]], Awaitable[object]],
    *,
    instruments: Any = (),
    strike: str = "abort_turn",
    late: bool = False,
) -> tuple[TurnEnded, Any]:
    """Run a turn that catches its cancel and returns; return how it ended, and the counters."""

    async def scenario() -> tuple[TurnEnded, Any]:
        async with runtime() as opened:
            other = await opened.spawn(Survivor)
            actor = await opened.spawn(Survivor)

            async def swallow(ctx: Context) -> None:
                if late:
                    getattr(ctx.ref, strike)()
                    return
                try:
                    await waits(other)
                except trio.Cancelled:  # noqa: ASYNC103 - what must not be done
                    return  # noqa: ASYNC104

            actor.tell(swallow)
            await trio.sleep(1)
            if not late:
                getattr(actor, strike)()
            await trio.sleep(1)
            statistics = opened.statistics()
        return next(event for event in events(opened, TurnEnded) if event.actor == actor.id), statistics

    return run_virtual(scenario, instruments=instruments).result


@pytest.mark.promise("I-29")
@pytest.mark.parametrize("strike", ["abort_turn", "kill"])
@pytest.mark.parametrize("waits", [in_an_ask, for_an_end])
def test_a_cancel_that_was_swallowed_in_a_wait_of_ours_is_called_so(
    waits: Any, strike: str, caplog: pytest.LogCaptureFixture
) -> None:
    ended, statistics = struck(waits, strike=strike)

    assert (ended.state, ended.late_cancel, ended.swallowed) == ("completed", True, True)
    assert statistics.swallowed_cancels == 1
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


@pytest.mark.promise("I-29")
def test_elsewhere_it_is_seen_by_the_instrument_of_the_test_kit_only() -> None:
    unseen, before = struck(elsewhere)
    seen, after = struck(elsewhere, instruments=[SeesCancels()])

    assert (unseen.state, unseen.late_cancel, unseen.swallowed) == ("completed", True, False)
    assert (seen.state, seen.late_cancel, seen.swallowed) == ("completed", True, True)
    assert (before.swallowed_cancels, after.swallowed_cancels) == (0, 1)


@pytest.mark.promise("I-29")
@pytest.mark.parametrize("strike", ["abort_turn", "kill"])
def test_a_cancel_that_came_too_late_is_not_called_swallowed(strike: str) -> None:
    ended, statistics = struck(elsewhere, instruments=[SeesCancels()], strike=strike, late=True)

    assert (ended.state, ended.late_cancel, ended.swallowed) == ("completed", True, False)
    assert statistics.swallowed_cancels == 0


@pytest.mark.promise("I-29", "I-30")
@pytest.mark.parametrize("behavior", [Doer, Survivor])
def test_wherever_a_turn_is_aborted_it_is_swallowed_only_if_it_swallows(behavior: Any) -> None:
    """This one lets its cancels pass, and catches those of its own scopes."""

    async def scenario(at: CancelAt) -> list[bool]:
        async with runtime() as opened:
            other = await opened.spawn(Survivor)
            actor = await opened.spawn(behavior)

            async def work(ctx: Context) -> None:
                with trio.move_on_after(1):
                    await other.ask(Do(Gate()))
                await trio.sleep(1)

            at.aim(actor.abort_turn)
            actor.tell(work)
            await trio.sleep(5)
            at.rest()
            other.abort_turn()
        return [event.swallowed for event in events(opened, TurnEnded)]

    runs = cancel_sweep(scenario)

    assert len(runs) > 5
    assert not any(swallowed for run in runs for swallowed in run.result)


# --- what is hidden -------------------------------------------------------------------------------------------------


def ended_by_abort(job: Callable[[Context], Awaitable[None]], *, is_struck: bool = True) -> tuple[TurnEnded, Any]:
    async def scenario() -> tuple[TurnEnded, Any]:
        async with runtime() as opened:
            actor = await opened.spawn(Survivor)
            actor.tell(job)
            await trio.sleep(1)
            if is_struck:
                actor.abort_turn()
            await trio.sleep(9)
            assert len(events(opened, AbortRequested)) == is_struck
            return events(opened, TurnEnded)[0], opened.statistics()

    return run_virtual(scenario).result


async def waits_in_finally(ctx: Context) -> None:
    try:
        with trio.CancelScope(shield=True):
            await trio.sleep(2)
        raise Oops("hidden")
    finally:
        await trio.sleep(1)  # noqa: ASYNC102 - what must not be done


async def fails_in_finally(ctx: Context) -> None:
    try:
        await trio.sleep(2)
    finally:
        raise Oops


async def lets_it_pass(ctx: Context) -> None:
    await trio.sleep(3)


def test_an_error_that_a_cancel_hides_is_on_record(caplog: pytest.LogCaptureFixture) -> None:
    ended, statistics = ended_by_abort(waits_in_finally)

    assert (ended.state, ended.masked_error) == ("killed", "Oops: hidden")
    assert statistics.masked_errors == 1
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


async def reads_a_pipe(ctx: Context) -> None:
    read_end, write_end = os.pipe()
    async with trio.lowlevel.FdStream(read_end) as stream, trio.lowlevel.FdStream(write_end):
        await stream.receive_some()


async def reads_a_stream_of_another_library(ctx: Context) -> None:
    sender, receiver = anyio.create_memory_object_stream[int](0)
    with sender, receiver:
        await receiver.receive()


async def waits_in_finally_for_a_pipe(ctx: Context) -> None:
    try:
        raise Oops("hidden")
    finally:
        await reads_a_pipe(ctx)  # noqa: ASYNC102 - what must not be done


@pytest.mark.parametrize("waits", [reads_a_pipe, reads_a_stream_of_another_library])
def test_a_wait_that_is_cancelled_hides_nothing(
    waits: Callable[[Context], Awaitable[None]], caplog: pytest.LogCaptureFixture
) -> None:
    ended, statistics = ended_by_abort(waits)

    assert (ended.state, ended.masked_error) == ("killed", "")
    assert statistics.masked_errors == 0
    assert not caplog.records


def test_an_error_behind_a_wait_that_is_cancelled_is_on_record() -> None:
    ended, _ = ended_by_abort(waits_in_finally_for_a_pipe)

    assert ended.masked_error == "Oops: hidden"


def test_a_cancel_that_an_error_hides_is_on_record() -> None:
    ended, statistics = ended_by_abort(fails_in_finally)

    assert (ended.state, ended.during_kill, ended.masked_error) == ("failed", True, "Cancelled")
    assert statistics.masked_errors == 1


def test_what_hides_nothing_is_not_counted() -> None:
    async def times_out(ctx: Context) -> None:
        with trio.fail_after(1):
            await trio.sleep(2)

    killed, quiet = ended_by_abort(lets_it_pass)
    failed, unasked = ended_by_abort(times_out, is_struck=False)

    assert (killed.state, killed.masked_error) == ("killed", "")
    assert (failed.state, failed.masked_error) == ("failed", "")
    assert quiet.masked_errors == unasked.masked_errors == 0


@pytest.mark.slow
@given(
    st.recursive(st.builds(ValueError), lambda inner: st.lists(inner, min_size=1).map(lambda e: ExceptionGroup("", e)))
)
def test_errors_without_a_context_hide_nothing_whatever_their_shape(error: Exception) -> None:
    assert not masked_error(error)


def test_contexts_that_run_in_a_circle_are_read_once() -> None:
    first, second = ValueError(), ValueError()
    first.__context__, second.__context__ = second, first

    assert not masked_error(first)
