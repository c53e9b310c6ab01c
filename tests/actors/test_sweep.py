"""The exhaustive sweep over actors: an abort or a kill before every step of a run breaks no promise (I-30)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import attrs
import pytest
import trio

from greenroom.actors import Behavior, Context, Request, Unfinished
from greenroom.core import ActorEnded, Level, TurnFailed, TurnKilled
from greenroom.supervisor import SupervisorSpec
from greenroom.testing import CancelAt, cancel_sweep
from tests.actors.situations import AT_ONCE, runtime

if TYPE_CHECKING:
    from typing import Any

    from greenroom.actors import Ref

pytestmark = pytest.mark.slow  # they are run again and again, each time cut at another moment

MESSAGES = 5


@attrs.frozen
class Number(Request[int]):
    """Asks for its own double."""

    value: int


class Worker(Behavior["int | Number"]):
    """Keeps what it has processed, as its last act in a turn."""

    journal = Level.FULL
    done: list[int]

    def __init__(self, done: list[int]) -> None:
        self.done = done

    async def on_message(self, message: int | Number, ctx: Context) -> None:
        await trio.lowlevel.checkpoint()
        await trio.sleep(0.5)
        value = message.value if isinstance(message, Number) else message
        if isinstance(message, Number):
            ctx.reply(value * 2)
        self.done.append(value)


class Again(Worker):
    unfinished = Unfinished.REQUEUE


class PlainWorker(Behavior["int | Number"]):
    journal = Level.FULL

    def __init__(self, done: list[int]) -> None:
        self.done = done

    def on_message(self, message: int | Number, ctx: Context) -> None:
        value = message.value if isinstance(message, Number) else message
        if isinstance(message, Number):
            ctx.reply(value * 2)
        self.done.append(value)


@attrs.define
class Result:
    """Where each message ended, and how each ask did."""

    done: list[int] = attrs.Factory(list)
    dead: list[int] = attrs.Factory(list)
    accepted: list[int] = attrs.Factory(list)
    asks: Counter[str] = attrs.Factory(Counter)

    def faults(self) -> list[str]:
        ends = Counter(self.done + self.dead)
        found = [f"{number} was lost" for number in self.accepted if not ends[number]]
        return found + [f"{number} ended {count} times" for number, count in ends.items() if count > 1]


async def work(at: CancelAt, strike: str, behavior: Any, messages: int) -> Result:
    """Tell and ask an actor; the runtime's own record is checked when it has closed."""
    result = Result()
    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor: Ref[Any] = await opened.spawn(behavior, result.done)

        async def ask(number: int) -> None:
            try:
                assert await actor.ask(Number(number), timeout_s=60) == number * 2
                result.asks["answer"] += 1
            except (ActorEnded, TurnFailed, TurnKilled) as error:
                result.asks[type(error).__name__] += 1

        at.aim(getattr(actor, strike))
        async with trio.open_nursery() as nursery:
            for number in range(messages):
                if number % 2:
                    nursery.start_soon(ask, number)
                if not number % 2 and actor.tell(number) == "accepted":
                    result.accepted.append(number)
                await trio.sleep(0.3)
        await trio.sleep(10)
        at.rest()
    assert opened.statistics().open_timers == 0
    asked = {letter.message.value for letter in opened.dead_letters.latest() if isinstance(letter.message, Number)}
    result.dead += [letter.message for letter in opened.dead_letters.latest() if isinstance(letter.message, int)]
    result.dead = [number for number in result.dead if number in result.accepted]
    result.done = [number for number in result.done if number not in asked]
    return result


def sweep(strike: str, behavior: Any, *, messages: int = MESSAGES, pairs: bool = False) -> tuple[int, list[Result]]:
    async def scenario(at: CancelAt) -> Result:
        return await work(at, strike, behavior, messages)

    runs = cancel_sweep(scenario, pairs=pairs)
    faults = [f"{run.steps}: {fault}" for run in runs for fault in run.result.faults()]
    assert faults == []
    return len(runs), [run.result for run in runs]


@pytest.mark.promise("I-12", "I-30", "I-33")
@pytest.mark.parametrize("behavior", [Worker, Again, PlainWorker])
@pytest.mark.parametrize("strike", ["abort_turn", "kill", "stop"])
def test_wherever_an_actor_is_struck_each_message_ends_once_and_each_ask_settles(strike: str, behavior: Any) -> None:
    """RC-10, CL-14."""
    runs, results = sweep(strike, behavior)

    assert runs > 15
    assert all(sum(result.asks.values()) == MESSAGES // 2 for result in results)


@pytest.mark.promise("I-22", "I-24", "I-30")
@pytest.mark.parametrize("behavior", [Worker, Again])
def test_an_abort_anywhere_costs_at_most_one_message(behavior: Any) -> None:
    _, results = sweep("abort_turn", behavior)

    for result in results:
        unfinished = len(result.dead) + result.asks["TurnKilled"]
        assert unfinished <= 1
        if behavior is Again:
            assert result.dead == []


@pytest.mark.slow
@pytest.mark.promise("I-30")
@pytest.mark.parametrize("strike", ["abort_turn", "kill"])
def test_nor_do_two_strikes_break_anything(strike: str) -> None:
    runs, results = sweep(strike, Worker, messages=2, pairs=True)

    assert runs > 50
    assert all(sum(result.asks.values()) == 1 for result in results)


@pytest.mark.promise("I-33", "I-30")
def test_wherever_an_asker_is_cancelled_the_actor_goes_on() -> None:
    async def scenario(at: CancelAt) -> list[int]:
        done: list[int] = []
        async with runtime() as opened:
            actor: Ref[Any] = await opened.spawn(Worker, done)
            with trio.CancelScope() as scope:
                at.aim(scope.cancel)
                for number in range(3):
                    await actor.ask(Number(number))
            at.rest()
            assert await actor.ask(Number(9)) == 18
        assert opened.statistics().open_timers == 0
        return done

    runs = cancel_sweep(scenario)

    assert {len(run.result) for run in runs} == {2, 3, 4}
