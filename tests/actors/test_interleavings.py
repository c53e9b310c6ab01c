"""The same small team under any order of tasks: no promise breaks, and the same choices give the same record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom.actors import Behavior, Context, Request, TurnNoted
from greenroom.core import ActorEnded, AskTimedOut, Level, TurnFailed, TurnKilled
from greenroom.supervisor import Strategy, SupervisorSpec, open_runtime
from greenroom.testing import double_run, run_virtual, virtual_ports
from tests.actors.invariants import violations
from tests.actors.situations import AT_ONCE

if TYPE_CHECKING:
    from typing import Any

    from greenroom.actors import Ref
    from greenroom.core import Record

CHOICES = st.lists(st.integers(0, 7), max_size=200)


class Get(Request[int]):
    """Asks for what was counted."""


class Counter(Behavior["int | Get"]):
    """Counts, and trips over zero."""

    journal = Level.FULL

    def __init__(self) -> None:
        self.total = 0

    async def on_message(self, message: int | Get, ctx: Context) -> None:
        await trio.lowlevel.checkpoint()
        if isinstance(message, Get):
            ctx.reply(self.total)
        else:
            self.total += 1 // message


class PlainCounter(Behavior["int | Get"]):
    journal = Level.FULL

    def __init__(self) -> None:
        self.total = 0

    def on_message(self, message: int | Get, ctx: Context) -> None:
        if isinstance(message, Get):
            ctx.reply(self.total)
        else:
            self.total += 1 // message


async def team(strategy: Strategy) -> list[Record]:
    """Make several tasks tell, ask, abort, crash and end three actors at once."""
    spec = SupervisorSpec(strategy=strategy, intensity=100, backoff=AT_ONCE)
    async with open_runtime(ports=virtual_ports(), spec=spec) as opened:
        one, two, plain = [await opened.spawn(behavior) for behavior in (Counter, Counter, PlainCounter)]

        async def bother(messages: list[int], *actors: Ref[Any]) -> None:
            for message in messages:
                for actor in actors:
                    actor.tell(message)
                    await trio.lowlevel.checkpoint()

        async def ask(actor: Ref[Any]) -> None:
            try:
                await actor.ask(Get(), timeout_s=1)
            except (ActorEnded, AskTimedOut, TurnFailed, TurnKilled):
                pass

        async def disturb() -> None:
            for _ in range(3):
                await trio.lowlevel.checkpoint()
            one.abort_turn()
            await trio.lowlevel.checkpoint()
            two.kill()
            plain.stop()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(bother, [1, 0, 1], one, two, plain)
            nursery.start_soon(bother, [1, 1], plain, one)
            nursery.start_soon(ask, one)
            nursery.start_soon(ask, two)
            nursery.start_soon(ask, plain)
            nursery.start_soon(disturb)
    return opened.recorder.latest()


@pytest.mark.promise("I-1", "I-4", "I-10", "I-12", "I-22", "I-33", "I-36", "I-47")
@given(CHOICES, st.sampled_from(Strategy))
def test_no_order_of_tasks_breaks_a_promise(choices: list[int], strategy: Strategy) -> None:
    assert violations(run_virtual(team, strategy, choices=choices).result) == []


@pytest.mark.promise("I-46")
@given(CHOICES, st.sampled_from(Strategy))
def test_the_same_choices_give_the_same_record(choices: list[int], strategy: Strategy) -> None:
    double_run(team, strategy, choices=choices)


@pytest.mark.slow
def test_there_are_many_orders_to_explore() -> None:
    records = {repr(run_virtual(team, Strategy.ONE_FOR_ONE, choices=seed).result) for seed in range(60)}

    assert len(records) > 40


@pytest.mark.promise("I-21")
@given(CHOICES, st.integers(0, 6))
def test_an_abort_while_idle_leaves_the_record_as_it_would_be_without(choices: list[int], when: int) -> None:
    async def scenario(is_aborting: bool) -> list[Record]:
        async with open_runtime(ports=virtual_ports()) as opened:
            actor = await opened.spawn(Counter)
            for step in range(8):
                if step == when and is_aborting and not actor.is_busy:
                    actor.abort_turn()
                if step % 3 == 0:
                    actor.tell(1)
                await trio.lowlevel.checkpoint()
        return opened.recorder.latest()

    records = [run_virtual(scenario, is_aborting, choices=choices).result for is_aborting in (True, False)]

    assert records[0] == records[1]


@pytest.mark.promise("I-50")
@given(CHOICES)
def test_how_much_is_recorded_changes_no_order_and_no_outcome(choices: list[int]) -> None:
    class Terse(Counter):
        journal = Level.LIFECYCLE

    class Medium(Counter):
        journal = Level.TURNS

    async def scenario(behavior: type[Counter]) -> list[tuple[str, float]]:
        log: list[tuple[str, float]] = []
        async with open_runtime(ports=virtual_ports(), spec=SupervisorSpec(intensity=9, backoff=AT_ONCE)) as opened:
            actors = [await opened.spawn(behavior) for _ in range(2)]

            async def bother(messages: list[int], actor: Ref[Any]) -> None:
                for message in messages:
                    log.append((actor.tell(message), trio.current_time()))
                    await trio.lowlevel.checkpoint()
                total = await actor.ask(Get())
                log.append((f"total {total}", trio.current_time()))

            async with trio.open_nursery() as nursery:
                for actor in actors:
                    nursery.start_soon(bother, [1, 0, 1, 1], actor)
                await trio.lowlevel.checkpoint()
                log.append((actors[0].abort_turn().status, trio.current_time()))
        return log

    runs = [run_virtual(scenario, behavior, choices=choices) for behavior in (Terse, Medium, Counter)]

    assert runs[0] == runs[1] == runs[2]


def test_a_terse_journal_has_no_turns() -> None:
    class Terse(Counter):
        journal = Level.LIFECYCLE

    async def scenario() -> list[Record]:
        async with open_runtime(ports=virtual_ports()) as opened:
            actor = await opened.spawn(Terse)
            for _ in range(3):
                actor.tell(1)
            await trio.sleep(1)
            actor.tell(1)
            await trio.lowlevel.checkpoint()
            actor.abort_turn()
        return opened.recorder.latest()

    records = run_virtual(scenario).result

    assert all(record[0] < 0 or record[2].level is Level.LIFECYCLE for record in records)
    assert sum(record[2] is TurnNoted for record in records) == 4
