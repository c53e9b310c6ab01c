"""Every check passes on sound runs, and finds the fault that is planted for it."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Final, final

import attrs
import pytest

from greenroom.actors import (
    AbortRequested,
    ActorBegan,
    ActorCreated,
    ActorExited,
    KillRequested,
    NameRegistered,
    TurnBegan,
)
from greenroom.actors._events import AskRefused
from greenroom.agents.events import ToolBegan
from greenroom.core import Cause, Event
from greenroom.mailbox import MessageDied, MessagePut
from greenroom.session import EVENTS
from greenroom.supervisor import ChildRestarted
from greenroom.teams import TeammateIdled
from greenroom.trace import (
    CHECKS,
    Check,
    Entry,
    check_journal,
    full_actors,
    has_ended,
    open_spans,
    read_journal,
    spans,
    split_processes,
)
from greenroom.trace._checks import AT_THE_END, WITH_FOLDS
from tests.trace.crafted import accepted, crowd_out, stop_the_oldest_first, taken, with_grace
from tests.trace.planting import (
    BEGIN,
    END,
    Entries,
    Mutation,
    at,
    change,
    drop,
    entry_of,
    evolved,
    in_session,
    insert,
    move,
    numbered,
    place,
    repeat,
    run,
    same,
)
from tests.trace.scenarios import FOLDS, SCENARIOS, Scenario, edges, run_entries, states, together, work

SOUND: Final = {scenario: run_entries(scenario) for scenario in SCENARIOS}
WORK: Final = SOUND[work]


def swap_leases(entries: Entries) -> Entries:
    """Make two messages of one lane change places where they are leased, and wherever else they turn up."""
    box = next(entry.event.actor for entry in entries if entry.kind == "message.leased" and entry["msg"] == 3)
    first, second = (place(entries, "message.leased", actor=box, lane="next", nth=nth) for nth in (0, 1))
    one, other = entries[first]["msg"], entries[second]["msg"]
    to = {one: other, other: one}
    return [
        attrs.evolve(entry, event=evolved(entry.event, msg=to.get(entry["msg"], entry["msg"])))
        if entry.event.actor == box
        and entry.kind in {"message.leased", "message.acked", "message.died", "turn.begin", "turn.end"}
        else entry
        for entry in entries
    ]


def put_now(before: Entry) -> Event:
    return MessagePut(actor=before.event.actor, inc=before.event.inc, msg=before["msg"] + 900, lane="now", type="int")


@final
@attrs.frozen(kw_only=True)
class ActorCreatedWithCapacity(Event):
    """What `actor.new` would be if it told the capacity."""

    kind: ClassVar[str] = "actor.new"

    path: str
    behavior: str
    supervisor: str
    journal: str
    capacity: int


def with_capacity(entries: Entries) -> Entries:
    def told(event: Event) -> Event:
        if not isinstance(event, ActorCreated):
            return event
        names = ("actor", "inc", "parent", "path", "behavior", "supervisor", "journal")
        return ActorCreatedWithCapacity(**{name: getattr(event, name) for name in names}, capacity=2)

    return [attrs.evolve(entry, event=told(entry.event)) for entry in entries]


def skip_a_number(entries: Entries) -> Entries:
    return entries[:10] + entries[11:]


def end_in_the_middle(entries: Entries) -> Entries:
    """The session has ended, and the root has not."""
    cut = place(entries, "actor.end", nth=-1)
    return numbered([*entries[:cut], entry_of(END)])


def abandoned() -> Entries:
    """A recorded run: a teammate's turn is aborted, and its item stays its own."""
    return list(read_journal(Path(__file__).resolve().parents[1] / "histories/abandoned-item.jsonl", EVENTS).entries)


def idle_beside_its_item() -> Entries:
    """The same run, and the teammate says that it is idle."""
    entries = abandoned()
    cut = place(entries, "turn.end", state="killed")
    who = entries[cut].event.actor
    idle = TeammateIdled(actor=who, inc=1, team="crew", name="ann", reason="interrupted", item="1")
    return [*entries[: cut + 1], Entry(entries[cut].seq, entries[cut].t, idle.kind, idle), *entries[cut + 1 :]]


HOST: Final = Cause("host", "planted")
PLANTED: Final[dict[str, tuple[Scenario, Mutation]]] = {
    "I-1": (work, repeat("actor.begin")),
    "I-2": (work, repeat("turn.end")),
    "I-3": (work, insert("actor.end", lambda one: TurnBegan(**same(one, turn=99, msg=1)))),
    "I-4": (work, insert("turn.begin", lambda one: TurnBegan(**same(one, turn=one["turn"] + 1, msg=1)))),
    "I-5": (work, drop("turn.end", state="failed")),
    "I-6": (work, change("turn.begin", to={"turn": 7}, turn=2)),
    "I-7": (edges, insert("actor.kill_requested", lambda one: TurnBegan(**same(one, turn=1, msg=1)))),
    "I-8": (work, repeat("actor.begin")),
    "I-9": (work, end_in_the_middle),
    "I-10": (work, swap_leases),
    "I-11": (work, insert("message.put", put_now, lane="next")),
    "I-12": (work, drop("message.acked")),
    "I-13": (work, repeat("message.leased")),
    "I-14": (work, with_capacity),
    "I-15": (work, drop("message.put", nth=1)),
    "I-17": (
        work,
        insert(
            "actor.end",
            lambda one: MessageDied(**same(one, msg=2, lane="next", type="float", reason="closed", was_put=True)),
            nth=1,
            state="failed",
        ),
    ),
    "I-18": (edges, change("message.leased", to={"lane": "next"}, lane="later")),
    "I-19": (states, drop("actor.entered")),
    "I-22": (work, drop("turn.abort_requested")),
    "I-23": (
        work,
        insert(
            "turn.begin", lambda one: ToolBegan(**same(one, turn=one["turn"], round=1, call="c", tool="t", summary=""))
        ),
    ),
    "I-24": (work, crowd_out),
    "I-26": (work, lambda entries: with_grace(entries, late_s=0.5)),
    "I-27": (edges, at("turn.abort_requested", t=lambda one: one.t - 0.25)),
    "I-28": (work, insert("actor.end", lambda one: KillRequested(**same(one, cause=HOST, parent=one.seq)))),
    "I-29": (work, change("turn.end", to={"state": "completed", "late_cancel": False}, state="killed")),
    "I-31": (work, drop("name.released")),
    "I-35": (work, insert("actor.begin", lambda one: _next_incarnation(one.event.actor))),
    "I-36": (work, drop("child.restarted")),
    "I-37": (together, insert("supervisor.escalated", lambda one: _restart(one.event.actor, one.seq))),
    "I-38": (together, change("child.restarted", to={"together": ("a2", "a1")})),
    "I-39": (work, stop_the_oldest_first),
    "I-40": (
        edges,
        insert("actor.stop_requested", lambda one: _restart(one["cause"].who, 0, child=one.event.actor), nth=1),
    ),
    "I-42": (work, insert("name.registered", lambda one: NameRegistered(actor="a9", inc=1, name=one["name"]))),
    "I-43": (work, repeat("actor.new", nth=1, later=9)),
    "I-45": (
        work,
        insert("actor.kill_requested", lambda one: AskRefused(**same(one, target="b", ring=("a", "c", "a")))),
    ),
    "I-44": (work, lambda entries: move(entries, place(entries, "actor.end", -1), place(entries, "actor.end", -2))),
    "I-47": (work, skip_a_number),
    "I-48": (work, drop("turn.begin")),
    "I-49": (work, drop("actor.gone")),
    "I-55": (work, change("turn.end", to={"by": "somebody"})),
    "I-56": (work, lambda _: run(accepted("1"), taken("1"), taken("1"))),
    "I-51": (work, at("actor.begin", t=lambda one: one.t - 0.05, inc=2)),
    "I-53": (work, lambda _: abandoned()),
    "I-54": (work, lambda _: idle_beside_its_item()),
}


def _next_incarnation(actor: str) -> Event:
    return ActorCreated(actor=actor, inc=2, path="", behavior="B", supervisor="", descent="", journal="lifecycle")


def _restart(actor: str, seq: int, child: str = "a9") -> Event:
    return ChildRestarted(actor=actor, inc=1, child=child, together=(child,), delay_s=0.0, restarts=1, parent=seq)


# --- sound runs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_sound_run_has_no_violation(scenario: Scenario, seed: int) -> None:
    entries = run_entries(scenario, seed)

    assert check_journal(entries, folds=FOLDS) == []
    assert check_journal(in_session(entries), folds=FOLDS) == []


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_every_prefix_of_a_sound_run_is_sound(scenario: Scenario) -> None:
    """All are safety properties: whatever is open has just not ended yet."""
    entries = SOUND[scenario]
    for end in range(0, len(entries), 3):
        assert check_journal(entries[:end], folds=FOLDS) == []


def test_nothing_at_all_is_sound() -> None:
    assert check_journal([], folds=FOLDS) == []


# --- planted faults ---------------------------------------------------------------------------------------------------


def test_a_fault_is_planted_forevery_check() -> None:
    assert PLANTED.keys() == {check.id for check in CHECKS} | {WITH_FOLDS[0], AT_THE_END[0]}


@pytest.mark.parametrize("id", PLANTED)
def test_a_planted_fault_is_found(id: str) -> None:  # noqa: A002 - the word of the check
    scenario, mutate = PLANTED[id]

    found = check_journal(mutate(list(SOUND[scenario])), folds=FOLDS)

    assert id in {violation.id for violation in found}
    assert found == sorted(found)
    assert all(violation.text and "\n" not in violation.text for violation in found)


@pytest.mark.parametrize("check", CHECKS, ids=lambda one: one.id)
def test_a_check_alone_names_an_event_of_the_journal(check: Check) -> None:
    scenario, mutate = PLANTED[check.id]
    mutated = mutate(list(SOUND[scenario]))

    found = check_journal(mutated, checks=[check])

    assert {violation.id for violation in found} == {check.id}
    assert {violation.seq for violation in found} <= {entry.seq for entry in mutated}


MORE: Final[dict[str, tuple[Scenario, Mutation, str]]] = {
    "an end to no terminal state": (work, change("turn.end", to={"state": "running"}), "I-1"),
    "an end to no state at all": (work, change("actor.end", to={"state": "vanished"}), "I-1"),
    "an end of what never was": (work, drop("actor.new", nth=-1), "I-1"),
    "a turn in an actor that is not running": (work, drop("actor.begin", nth=2), "I-4"),
    "a first turn that is not 1": (work, change("turn.begin", to={"turn": 3}, turn=1), "I-6"),
    "a message acknowledged twice": (work, repeat("message.acked"), "I-13"),
    "a message put twice": (work, repeat("message.put"), "I-12"),
    "a lease of what was never put": (work, change("message.leased", to={"msg": 77}), "I-12"),
    "a death of what was never put": (work, change("message.died", to={"msg": 77}, type="float"), "I-12"),
    "an abort of a turn that is over": (
        work,
        insert("turn.end", lambda one: AbortRequested(**same(one, turn=one["turn"], cause=HOST, parent=one.seq))),
        "I-28",
    ),
    "an event about somebody who is gone": (
        work,
        insert("actor.gone", lambda one: MessagePut(**same(one, msg=999, lane="now", type="int"))),
        "I-31",
    ),
    "what was postponed comes back too late": (
        states,
        lambda entries: move(
            entries, place(entries, "message.returned", nth=1), place(entries, "message.leased", lane="next", nth=4)
        ),
        "I-19",
    ),
    "what was postponed is leased from where it waits": (states, drop("message.returned", nth=1), "I-19"),
    "what was postponed comes back in another order": (
        states,
        change("message.leased", to={"msg": 2}, nth=4, lane="next"),
        "I-19",
    ),
    "an incarnation left out": (work, change("actor.new", to={"inc": 3}, inc=2), "I-35"),
    "a restart of one who was asked to end": (
        work,
        insert("turn.end", lambda one: KillRequested(**same(one, cause=HOST)), state="failed"),
        "I-36",
    ),
    "more restarts counted than made": (together, change("child.restarted", to={"restarts": 9}), "I-37"),
    "a budget that was overdrawn": (together, change("supervisor.escalated", to={"restarts": 1}), "I-37"),
    "a name freed by somebody else": (work, change("name.released", to={"actor": "a9"}), "I-42"),
    "a parent that comes later": (work, change("actor.begin", to={"parent": 500}), "I-47"),
    "a number twice": (work, lambda entries: [*entries[:5], entries[4], *entries[5:]], "I-47"),
    "a turn that outlives its actor": (work, drop("turn.end", state="failed"), "I-48"),
}


@pytest.mark.parametrize("name", MORE)
def test_other_ways_to_be_unsound_are_found(name: str) -> None:
    scenario, mutate, id_ = MORE[name]
    assert id_ in {violation.id for violation in check_journal(mutate(list(SOUND[scenario])), folds=FOLDS)}


def test_a_turn_whose_deadline_passed_needs_no_request() -> None:
    entries = drop("turn.abort_requested")(list(WORK))
    entries = change("turn.end", to={"cause": Cause("deadline", "too long")}, by="own")(entries)
    assert check_journal(entries, folds=FOLDS) == []


# --- several processes ------------------------------------------------------------------------------------------------


def crashed_and_reopened() -> Entries:
    """A run cut in the middle, and another process that goes on with the journal, with the same ids."""
    first = [entry_of(BEGIN), *WORK[: len(WORK) // 2]]
    offset = max(entry.seq for entry in WORK)
    second = [
        Entry(
            entry.seq + offset,
            entry.t,
            entry.kind,
            attrs.evolve(entry.event, parent=entry.event.parent and entry.event.parent + offset),
        )
        for entry in WORK
    ]
    return numbered([*first, entry_of(BEGIN), *second, entry_of(END)])


def test_what_a_crash_left_open_is_no_violation() -> None:
    entries = crashed_and_reopened()

    assert len(list(split_processes(entries))) == 2
    assert has_ended(entries)
    assert check_journal(entries, folds=FOLDS) == []


def test_numbers_go_on_across_processes() -> None:
    entries = crashed_and_reopened()
    middle = place(entries, "session.begin", nth=1)
    broken = [*entries[:middle], *(attrs.evolve(entry, seq=entry.seq + 1) for entry in entries[middle:])]
    assert "I-47" in {violation.id for violation in check_journal(broken)}


# --- what is open -----------------------------------------------------------------------------------------------------


def test_what_is_open_is_listed_in_order() -> None:
    cut = place(WORK, "turn.end", nth=1)
    opened = open_spans(WORK[:cut])

    assert [entry.kind for entry in opened if entry.kind == "turn.begin"]
    assert [entry.seq for entry in opened] == sorted(entry.seq for entry in opened)
    assert open_spans(WORK) == []


def test_an_actor_that_was_only_created_is_open_and_may_end_without_a_begin() -> None:
    events: list[Event] = [
        ActorCreated(actor="a1", inc=1, path="", behavior="B", supervisor="", descent="", journal="full"),
        ActorExited(
            actor="a1",
            inc=1,
            state="killed",
            by="own",
            cause=HOST,
            error="",
            late_cancel=False,
            during_kill=False,
            cleanup_cut=False,
        ),
    ]
    entries = numbered(list(map(entry_of, events)))

    assert open_spans(entries[:1]) == entries[:1]
    assert check_journal(entries, folds=FOLDS) == []


def test_a_begin_finds_the_end_that_shares_its_fields() -> None:
    pairs = [(begin, end) for begin, end in spans(WORK) if begin.kind == "turn.begin"]

    assert len(pairs) == sum(entry.kind == "turn.end" for entry in WORK)
    for begin, end in pairs:
        assert (begin.event.actor, begin["turn"], begin["msg"]) == (end.event.actor, end["turn"], end["msg"])
        assert begin.seq < end.seq


def test_only_actors_whose_mail_is_on_record_are_checked_for_it() -> None:
    behaviors = {entry.event.actor: entry["behavior"] for entry in WORK if entry.kind == "actor.new"}
    assert {behaviors[actor] for actor in full_actors(WORK)} == {"Worker"}
    assert ActorBegan not in {type(entry.event) for entry in WORK if entry.kind == "message.put"}
