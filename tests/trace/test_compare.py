"""Invariants that take two runs: real pairs of runs hold them, and a doctored one does not."""

from __future__ import annotations

from typing import Any, Final

import pytest
import trio

from greenroom.actors import AbortRequested, Behavior
from greenroom.core import Cause, Level
from greenroom.supervisor import Runtime
from greenroom.trace import Entry
from greenroom.trace._compare import COMPARED
from tests.trace.planting import Entries, Mutation, at, change, drop, insert, place, same
from tests.trace.scenarios import SCENARIOS, Double, Scenario, Worker, run_entries, work


def found(id: str, left: Entries, right: Entries) -> list[tuple[int, str]]:  # noqa: A002 - the word of the table
    return list(COMPARED[id].find(left, right))


def names_it(id: str, left: Entries, right: Entries) -> bool:  # noqa: A002
    """Whether a difference is found, and told with an event of the second run."""
    one = found(id, left, right)
    return bool(one) and all(seq in {entry.seq for entry in right} | {0} and text for seq, text in one)


# --- I-46 -------------------------------------------------------------------------------------------------------------


@pytest.mark.promise("I-46")
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_the_same_scenario_and_seed_give_the_same_journal(scenario: Scenario) -> None:
    assert found("I-46", run_entries(scenario), run_entries(scenario)) == []


@pytest.mark.parametrize(
    "mutate", [drop("turn.end"), at("turn.end", t=lambda one: one.t + 1), change("turn.end", to={"state": "failed"})]
)
def test_the_first_difference_of_two_journals_is_told(mutate: Mutation) -> None:
    entries = run_entries(work)
    first = place(entries, "turn.end")

    [(seq, text)] = found("I-46", entries, mutate(list(entries)))

    assert seq == entries[first].seq
    assert "turn.end" in text


# --- I-21 -------------------------------------------------------------------------------------------------------------


def with_abort(*, while_idle: bool) -> Scenario:
    async def scenario(runtime: Runtime) -> None:
        worker = await runtime.spawn(Worker, name="worker")
        worker.tell(0.5)
        await trio.sleep(1)
        if while_idle:
            worker.abort_turn()
        worker.tell(0.5)
        await trio.sleep(1)

    return scenario


@pytest.mark.promise("I-21")
def test_an_abort_of_an_idle_actor_leaves_the_journal_as_it_would_be() -> None:
    without, with_ = (run_entries(with_abort(while_idle=idle)) for idle in (False, True))

    assert found("I-21", without, with_) == []


def test_an_idle_abort_that_is_remembered_is_found() -> None:
    without, with_ = (run_entries(with_abort(while_idle=idle)) for idle in (False, True))

    sticky = change("turn.end", nth=1, to={"state": "killed"})(with_)

    assert names_it("I-21", without, sticky)


def test_the_request_itself_is_no_difference() -> None:
    without = run_entries(with_abort(while_idle=False))
    request = insert("turn.end", lambda one: AbortRequested(**same(one, turn=1, cause=Cause("host", "idle"))))

    assert found("I-21", without, request(list(without))) == []


# --- I-25 -------------------------------------------------------------------------------------------------------------


class Asker(Behavior[Any]):
    """Tells its neighbour what it is told, and then takes its time."""

    journal = Level.FULL

    async def on_message(self, message: Any, ctx: Any) -> None:
        neighbour, what = message
        neighbour.tell(what)
        await trio.sleep(2)
        neighbour.tell(what)


def with_neighbours(*, is_aborted: bool) -> Scenario:
    async def scenario(runtime: Runtime) -> None:
        neighbour = await runtime.spawn(Worker, name="neighbour")
        apart = await runtime.spawn(Worker, name="apart")
        asker = await runtime.spawn(Asker, name="asker")
        asker.tell((neighbour, 0.25))
        apart.tell(0.5)
        neighbour.tell(0.5)
        await trio.sleep(1)
        if is_aborted:
            asker.abort_turn()
        apart.tell(0.5)
        await apart.ask(Double(1))
        await trio.sleep(3)

    return scenario


@pytest.mark.promise("I-25")
def test_an_abort_changes_only_the_messages_of_its_neighbours() -> None:
    without, with_ = (run_entries(with_neighbours(is_aborted=aborted)) for aborted in (False, True))

    assert sum(one.kind == "turn.end" for one in without) == 1 + sum(one.kind == "turn.end" for one in with_)
    assert found("I-25", without, with_) == []


def test_whatever_happens_in_a_turn_that_it_led_to_is_left_out() -> None:
    without, with_ = (run_entries(with_neighbours(is_aborted=aborted)) for aborted in (False, True))
    actor = without[place(without, "actor.new", path="neighbour")].event.actor
    [begin] = [
        entry for entry in without if entry.kind == "turn.begin" and entry.event.actor == actor and entry["turn"] == 3
    ]
    request = insert(
        "turn.begin",
        lambda one: AbortRequested(**same(one, turn=3, cause=Cause("host", "planted"))),
        actor=actor,
        turn=3,
    )

    assert begin.event.parent
    assert found("I-25", request(list(without)), with_) == []


@pytest.mark.parametrize("name", ["neighbour", "apart"])
def test_an_abort_that_reaches_somebody_else_is_found(name: str) -> None:
    without, with_ = (run_entries(with_neighbours(is_aborted=aborted)) for aborted in (False, True))
    actor = with_[place(with_, "actor.new", path=name)].event.actor
    own = [one for one in with_ if one.kind == "turn.end" and one.event.actor == actor and not _is_told(one, with_)]

    mutate = change("turn.end", to={"state": "killed"}, actor=actor, turn=own[0]["turn"])

    assert names_it("I-25", without, mutate(list(with_)))


def _is_told(end: Entry, entries: Entries) -> bool:
    """Whether the turn handles what somebody else sent it."""
    begin = entries[place(entries, "turn.begin", actor=end.event.actor, turn=end["turn"])]
    return bool(begin.event.parent)


# --- I-50 -------------------------------------------------------------------------------------------------------------

LEVELS: Final = [Level.LIFECYCLE, Level.TURNS, Level.FULL]


def at_level(level: Level) -> Scenario:
    behavior: Any = type("Worker", (Worker,), {"journal": level})

    async def scenario(runtime: Runtime) -> None:
        workers = [await runtime.spawn(behavior, name=name) for name in ("one", "two")]
        for worker in workers:
            for message in (0.25, "boom", 0.5):
                worker.tell(message)
        await trio.sleep(0.3)
        workers[0].kill()
        await trio.sleep(2)

    return scenario


@pytest.mark.promise("I-50")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("other", LEVELS)
def test_how_much_is_recorded_changes_nothing(level: Level, other: Level) -> None:
    assert found("I-50", run_entries(at_level(level)), run_entries(at_level(other))) == []


@pytest.mark.parametrize("level", LEVELS)
def test_another_outcome_or_order_under_another_level_is_found(level: Level) -> None:
    left, right = run_entries(at_level(Level.FULL)), run_entries(at_level(level))
    first, second = (place(right, "actor.end", nth) for nth in (0, 1))
    swapped = list(right)
    swapped[first], swapped[second] = swapped[second], swapped[first]

    assert names_it("I-50", left, change("actor.end", to={"state": "completed"})(list(right)))
    assert names_it("I-50", left, swapped)
    assert names_it("I-50", left, drop("actor.gone")(list(right)))
