"""More ways in which a journal can be unsound, and mutations of sound ones, which some check always objects to."""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.actors import (
    AbortRequested,
    ActorBegan,
    ActorCreated,
    ActorExited,
    ActorResumed,
    ActorSuspended,
    ActorUnresponsive,
    StopRequested,
    TurnBegan,
    TurnEnded,
)
from greenroom.actors._events import WatchFailed
from greenroom.agents.events import AgentDefined
from greenroom.core import Cause, Event
from greenroom.mailbox import MessageDied, MessageLeased
from greenroom.supervisor import ChildRestarted
from greenroom.trace import CHECKS, Check, Entry, check_journal, unchecked
from tests.trace.crafted import (
    FLAGS,
    NEW,
    KillRequestedWithGrace,
    MessagePutPinned,
    SupervisorOpened,
    crowded,
    stop_the_oldest_first,
    told,
    turn,
    with_grace,
)
from tests.trace.planting import Entries, Mutation, change, drop, in_session, insert, move, place, run, same
from tests.trace.scenarios import FOLDS, SCENARIOS, Scenario, edges, run_entries, together, work

SOUND: Final = {scenario: run_entries(scenario) for scenario in SCENARIOS}
HOST: Final = Cause("host", "planted")


def ids(entries: Entries) -> set[str]:
    return {violation.id for violation in check_journal(entries, folds=FOLDS)}


def both(first: Mutation, second: Mutation) -> Mutation:
    return lambda entries: second(first(entries))


def ended(state: str) -> dict[str, Any]:
    return {"state": state, "by": "own", "cause": None, "error": "", **FLAGS}


# --- what is unsound --------------------------------------------------------------------------------------------------


def child_of(one: Entry) -> Event:
    return ActorCreated(**{**NEW, "descent": one.event.actor}, actor="a9")


def defined(one: Entry) -> Event:
    return AgentDefined(**same(one, definition="d", model="m", transcript=""))


def killed_with_its_turn(_: Entries) -> Entries:
    return run(
        ActorCreated(**NEW, actor="a1"),
        ActorBegan(actor="a1", inc=1),
        TurnBegan(actor="a1", inc=1, turn=1, msg=1),
        TurnEnded(actor="a1", inc=1, turn=1, msg=1, **ended("killed")),
        ActorExited(actor="a1", inc=1, **ended("killed")),
    )


def pinned_and_leased_by_the_next(_: Entries) -> Entries:
    return run(
        ActorCreated(**NEW, actor="a1"),
        MessagePutPinned(actor="a1", inc=1, msg=1, lane="next", type="int"),
        MessageLeased(actor="a1", inc=2, msg=1, lane="next"),
    )


def death_at_a_restart(*, put_in: int, is_pinned: bool = True) -> Entries:
    new: list[Event] = [ActorCreated(**{**NEW, "inc": number}, actor="a1") for number in (1, 2, 3)]
    exits: list[Event] = [ActorExited(actor="a1", inc=number, **ended("failed")) for number in (1, 2)]
    message = MessagePutPinned(actor="a1", inc=put_in, msg=1, lane="next", type="int", is_pinned=is_pinned)
    death = MessageDied(actor="a1", inc=2, msg=1, lane="next", type="int", reason="ended", was_put=True)
    early, late = ([message], []) if put_in == 1 else ([], [message])
    return run(new[0], *early, exits[0], new[1], *late, exits[1], death, new[2])


def three_siblings(*stops: str) -> Entries:
    """A supervisor with three children decides to restart all, and stops two of them in this order."""
    new: list[Event] = [ActorCreated(**{**NEW, "supervisor": "s"}, actor=text) for text in ("a1", "a2", "a3")]
    asked: list[Event] = []
    for stop in stops:
        asked.append(StopRequested(actor=stop, inc=1, cause=Cause("s", "together"), grace_s=5.0))
        asked.append(ActorExited(actor=stop, inc=1, **ended("completed")))
    return run(*new, ActorExited(actor="a1", inc=1, **ended("failed")), restart_of_all(), *asked)


def restart_of_all() -> Event:
    return ChildRestarted(actor="s", inc=1, child="a1", together=("a1", "a2", "a3"), delay_s=0.0, restarts=1)


def stop_without_a_decision(entries: Entries) -> Entries:
    new = entries[place(entries, "actor.new", path="team/first")]
    stop = StopRequested(actor=new.event.actor, inc=1, cause=Cause(new["supervisor"], "planted"), grace_s=5.0)
    return insert("actor.begin", lambda _: stop, actor=new.event.actor, inc=1)(entries)


def start_the_second_first(entries: Entries) -> Entries:
    where = place(entries, "actor.new", inc=2)
    return move(entries, where, where + 4)


UNSOUND: Final[dict[str, tuple[Scenario, Mutation, str]]] = {
    "a child of one that never began": (edges, insert("actor.kill_requested", child_of), "I-7"),
    "a lease that overtakes, and was not picked": (
        edges,
        change("message.leased", to={"is_picked": False}, msg=3),
        "I-10",
    ),
    "a lease although now is waiting": (edges, change("message.leased", to={"is_picked": False}, msg=5), "I-11"),
    "a refusal of what was put": (
        work,
        insert(
            "message.put",
            lambda one: MessageDied(**same(one, msg=one["msg"], lane="next", type="x", reason="full", was_put=False)),
        ),
        "I-15",
    ),
    "a message that is out while its actor restarts": (work, drop("message.died", nth=1, reason="failed"), "I-17"),
    "a death at a restart of what was put before": (work, lambda _: death_at_a_restart(put_in=1), "I-17"),
    "a death at a restart of what was for everybody": (
        work,
        lambda _: death_at_a_restart(put_in=2, is_pinned=False),
        "I-17",
    ),
    "an abort that ends the actor": (work, killed_with_its_turn, "I-23"),
    "an actor that nobody asked, given up on": (
        work,
        insert("actor.begin", lambda one: ActorUnresponsive(**same(one))),
        "I-27",
    ),
    "an agent that completes although aborted": (
        work,
        both(
            change("turn.end", to={"state": "completed", "late_cancel": True}, state="killed"),
            insert("actor.begin", defined, nth=1),
        ),
        "I-29",
    ),
    "more restarts than the window allows": (together, told("team", intensity=1, strategy="one_for_all"), "I-37"),
    "a set that the strategy does not have": (together, told("team", strategy="one_for_one"), "I-38"),
    "a stop that no decision is about": (together, stop_without_a_decision, "I-38"),
    "the oldest stopped first": (work, lambda _: three_siblings("a2", "a3"), "I-38"),
    "the second started first": (together, start_the_second_first, "I-38"),
    "a pinned message leased by the next": (work, pinned_and_leased_by_the_next, "I-43"),
    "a child that is left": (edges, drop("actor.gone", nth=1), "I-44"),
    "a name that is left": (work, drop("name.released"), "I-49"),
    "mail that is left": (work, drop("message.acked"), "I-49"),
    "an event after everything": (work, insert("actor.gone", lambda one: ActorBegan(**same(one)), nth=-1), "I-49"),
}


@pytest.mark.parametrize("name", UNSOUND)
def test_what_is_unsound_is_found(name: str) -> None:
    scenario, mutate, id_ = UNSOUND[name]

    assert id_ in ids(mutate(list(SOUND[scenario])))


# --- what is not ------------------------------------------------------------------------------------------------------

SOUND_TOO: Final[dict[str, tuple[Scenario, Mutation]]] = {
    "kills that keep to their grace": (work, with_grace),
    "a root that ends its children in order": (work, told("")),
    "a pool that ends them in any order": (
        work,
        lambda entries: change("supervisor.opened", to={"stop_order": "together"})(stop_the_oldest_first(entries)),
    ),
    "a team restarted as its strategy says": (together, told("team", strategy="one_for_all", intensity=2)),
    "a callback that failed after the end": (
        work,
        insert("actor.gone", lambda one: WatchFailed(**same(one, parent=one.seq, error="ValueError"))),
    ),
}


@pytest.mark.parametrize("name", SOUND_TOO)
def test_what_is_sound_passes(name: str) -> None:
    scenario, mutate = SOUND_TOO[name]

    assert check_journal(mutate(list(SOUND[scenario])), folds=FOLDS) == []


def exited(actor: str, state: str = "completed", **fields: Any) -> Event:
    return ActorExited(**{"actor": actor, "inc": 1, **ended(state), **fields})


def asked_to_stop(actor: str, who: str = "s") -> Event:
    return StopRequested(actor=actor, inc=1, cause=Cause(who, "planted"), grace_s=5.0)


def test_an_actor_that_was_crowded_out_until_it_was_stopped_is_found() -> None:
    assert "I-24" in ids(run(*crowded(), asked_to_stop("a1"), exited("a1")))


def test_one_that_was_on_its_way_out_may_have_left_its_mail() -> None:
    assert "I-24" not in ids(run(*crowded(), asked_to_stop("a1"), exited("a1", "failed")))


def test_a_suspended_actor_may_leave_its_mail_until_it_is_resumed() -> None:
    events = crowded()
    where = next(place for place, one in enumerate(events) if one.actor == "a2" and one.kind == "message.put")
    suspended = ActorSuspended(actor="a1", inc=1, cause=HOST)
    resumed = ActorResumed(actor="a1", inc=1, cause=HOST)

    assert "I-24" not in ids(run(*events[:where], suspended, *events[where:], resumed, *turn("a1", 2)))
    assert "I-24" in ids(run(*events[:where], suspended, resumed, *events[where:], *turn("a1", 2)))


def test_a_child_that_is_restarted_was_not_spawned_again() -> None:
    """Its spawner may be waiting for its own restart meanwhile."""
    child = {**NEW, "descent": "a1", "supervisor": "s"}
    entries = run(
        ActorCreated(**NEW, actor="a1"),
        ActorCreated(**{**child, "inc": 2}, actor="a2"),
        exited("a1", "killed"),
    )

    assert "I-7" not in ids(entries)


def test_poison_may_die_between_two_incarnations() -> None:
    death = MessageDied(actor="a1", inc=1, msg=1, lane="next", type="int", reason="poison", was_put=True)
    entries = run(
        ActorCreated(**NEW, actor="a1"), exited("a1", "failed"), death, ActorCreated(**{**NEW, "inc": 2}, actor="a1")
    )

    assert "I-17" not in ids(entries)


def killed_late(*between: tuple[float, Event]) -> Entries:
    """A kill with a quarter of a second of grace at 1.0, these events, and the end at 9.0."""
    new = [ActorCreated(**{**NEW, "supervisor": above}, actor=one) for one, above in (("a1", "s"), ("a2", "a1"))]
    kill = KillRequestedWithGrace(actor="a1", inc=1, cause=HOST, grace_s=0.25)
    timed = [*((0.0, one) for one in new), (1.0, kill), *between, (9.0, exited("a1", "killed"))]
    return [Entry(seq, t, one.kind, one) for seq, (t, one) in enumerate(timed, 1)]


def test_a_kill_whose_end_comes_late_is_found() -> None:
    assert "I-26" in ids(killed_late())


@pytest.mark.parametrize(
    "event",
    [
        TurnEnded(actor="a1", inc=1, turn=1, msg=1, **ended("killed")),
        exited("a2", "killed"),
        ActorUnresponsive(actor="a1", inc=1),
    ],
    ids=["its turn", "its child", "given up on"],
)
def test_the_grace_of_a_kill_counts_from_what_had_to_end_first(event: Event) -> None:
    assert "I-26" not in ids(killed_late((8.9, event)))


def test_the_decision_of_a_supervisor_is_aborted_as_soon_as_it_is_to_end() -> None:
    stop = asked_to_stop("a1")
    abort = AbortRequested(actor="a1", inc=1, turn=1, cause=Cause("s", "planted"))
    new = ActorCreated(**NEW, actor="a1")
    child = ActorCreated(**{**NEW, "supervisor": "a1"}, actor="a2")

    assert "I-27" in ids(run(new, stop, abort))
    assert "I-27" not in ids(run(new, child, stop, abort))


def test_a_neighbour_is_stopped_only_when_the_one_before_it_has_ended() -> None:
    new = [ActorCreated(**NEW, actor=text) for text in ("a1", "a2", "a3")]
    begun: list[Event] = [*new, exited("a1", "failed"), restart_of_all()]
    stops = [asked_to_stop("a3"), asked_to_stop("a2")]

    assert "I-38" in ids(run(*begun, *stops))
    assert "I-38" not in ids(run(*begun, stops[0], ActorUnresponsive(actor="a3", inc=1), stops[1]))


def test_decisions_about_single_children_do_not_wait_for_each_other() -> None:
    new: list[Event] = [ActorCreated(**NEW, actor=text) for text in ("a1", "a2")]
    decided = [
        ChildRestarted(actor="s", inc=1, child=one, together=(one,), delay_s=0.0, restarts=number)
        for number, one in enumerate(("a1", "a2"), 1)
    ]
    again = [ActorCreated(**{**NEW, "inc": 2}, actor=text) for text in ("a2", "a1")]

    assert "I-38" not in ids(run(*new, exited("a1", "failed"), exited("a2", "failed"), *decided, *again))


def test_the_next_child_may_be_stopped_when_one_was_given_up_on() -> None:
    new = [ActorCreated(**NEW, actor=text) for text in ("a1", "a2")]
    opened = SupervisorOpened(actor="s", inc=1, stop_order="reverse")
    stops = [asked_to_stop("s", "host"), asked_to_stop("a2")]
    begun: list[Event] = [opened, *new, *stops]

    assert "I-39" in ids(run(*begun, asked_to_stop("a1")))
    assert "I-39" not in ids(run(*begun, ActorUnresponsive(actor="a2", inc=1), asked_to_stop("a1")))


def test_restarts_count_only_within_their_window() -> None:
    mutate = told("team", intensity=1, strategy="one_for_all", period_s=0.5)

    assert "I-37" not in ids(mutate(list(SOUND[together])))


def test_neighbours_stopped_in_reverse_order_are_no_violation() -> None:
    assert "I-38" not in ids(three_siblings("a3", "a2"))


def test_what_was_for_one_incarnation_may_die_with_it() -> None:
    assert "I-17" not in ids(death_at_a_restart(put_in=2))


def test_a_picked_lease_may_overtake() -> None:
    """A drain of one class leaves the others where they are, also those in `now`."""
    picked = [entry for entry in SOUND[edges] if entry.kind == "message.leased" and entry["is_picked"]]

    assert [entry["msg"] for entry in picked] == [3, 5]
    assert ids(SOUND[edges]) == set()


# --- mutations --------------------------------------------------------------------------------------------------------

OF_MACHINES: Final = ("actor.new", "actor.begin", "actor.end", "actor.gone", "turn.begin", "turn.end")
SEEN: Final = (*OF_MACHINES, "name.registered", "name.released", "message.put", "message.leased", "message.acked")


def places(scenario: Scenario) -> list[int]:
    return [number for number, one in enumerate(SOUND[scenario]) if one.kind in SEEN]


def hides(entries: Entries, where: int) -> bool:
    """Whether a journal without this event is that of another sound run: one in which a kill came before the begin."""
    begin = entries[where]
    rest = [entry for entry in entries if (entry.event.actor, entry.event.inc) == (begin.event.actor, begin.event.inc)]
    is_killed = any(entry.kind == "actor.end" and entry["state"] == "killed" for entry in rest)
    return begin.kind == "actor.begin" and is_killed and not any(one.kind == "turn.begin" for one in rest)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_each_event_that_is_missing_or_there_twice_is_found(scenario: Scenario) -> None:
    entries = SOUND[scenario]
    for where in places(scenario):
        for times in (0, 2):
            mutated = in_session([*entries[:where], *[entries[where]] * times, *entries[where + 1 :]])
            assert check_journal(mutated) or (not times and hides(entries, where)), entries[where]


@given(st.sampled_from(SCENARIOS), st.data())
def test_two_events_of_a_machine_that_change_places_are_always_found(scenario: Scenario, data: st.DataObject) -> None:
    entries = list(SOUND[scenario])
    first = data.draw(st.sampled_from([place for place in places(scenario) if entries[place].kind in OF_MACHINES]))
    actor = entries[first].event.actor
    later = [
        place
        for place in range(first + 1, len(entries))
        if entries[place].event.actor == actor and entries[place].kind in OF_MACHINES
    ]
    if not later or entries[later[0]].kind == entries[first].kind:
        return
    second = later[0]
    entries[first], entries[second] = entries[second], entries[first]

    assert check_journal(in_session(entries), folds=FOLDS)


# --- what a journal holds too little for ------------------------------------------------------------------------------


def test_what_was_not_checked_is_told_with_what_it_would_take() -> None:
    silent = [one for one in SOUND[work] if one.kind not in {"supervisor.opened", "actor.kill_requested"}]
    lifecycle = [entry for entry in silent if entry.kind.startswith("actor.") and entry.get("journal") != "full"]

    assert unchecked(silent).keys() == {"I-26", "I-39"}
    assert unchecked(silent[:-3]).keys() == {"I-9", "I-26", "I-39"}
    assert unchecked(lifecycle).keys() >= {"I-10", "I-12", "I-18", "I-24"}
    assert unchecked(in_session(silent)).keys() == {"I-26", "I-39"}
    assert unchecked(with_grace(told("")(list(SOUND[work])))).keys() == set()


@pytest.mark.parametrize("check", [check for check in CHECKS if check.needs], ids=lambda one: one.id)
def test_a_check_that_needs_more_than_there_is_finds_nothing(check: Check) -> None:
    assert check_journal([], checks=[check]) == []
