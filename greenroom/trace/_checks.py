"""The invariants that one journal can show, as a table of named checks.

    for violation in check_journal(journal.entries, folds=FOLDS):
        print(violation.seq, violation.id, violation.text)

A check is a pure function over the entries of one process; a `session.begin` in the middle starts the next one. A check
knows kinds and fields, not classes, and shares no state with the folds, so that each reveals the other's mistakes. In a
run without `session.end`, an open span is not a violation by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, TypeAlias, final

import attrs

from greenroom.trace._checks_cycles import linked_end_first, refused_rings
from greenroom.trace._checks_ends import (
    killed_in_time,
    nothing_ran_before_the_begin,
    requested_before_commit,
    rungs_in_order,
    turns_leave_nothing,
)
from greenroom.trace._checks_inbox import InboxRecord, balance, items_end_once
from greenroom.trace._checks_machines import (
    abort_before_kill,
    incarnations_in_turn,
    known_words,
    legal_edges,
    nothing_after_the_end,
    one_terminal_event,
    one_turn_at_a_time,
    requests_in_time,
    turn_numbers,
    turns_end_first,
)
from greenroom.trace._checks_mail import (
    capacity_kept,
    conserved,
    lane_order,
    leased_once,
    now_first,
    postponed_come_back,
)
from greenroom.trace._checks_service import (
    later_is_served,
    mail_gets_its_turn,
    mail_outlives_restarts,
    pinned_stays,
    refused_without_trace,
)
from greenroom.trace._checks_supervision import (
    back_off_waited,
    nothing_left,
    own_stops_restart_nobody,
    restart_window,
    restarted_together,
    stopped_in_order,
    supervisors_end_last,
)
from greenroom.trace._checks_teams import idle_own_nothing_untold, owners_go_on
from greenroom.trace._checks_tree import gone_means_gone, names_lead_to_one, numbering, restart_budget, restarts_decided
from greenroom.trace._entries import Entry
from greenroom.trace._needs import FULL, KILL_GRACE, SESSION_END, SUPERVISORS, TURNS, JournalNeed
from greenroom.trace._spans import open_spans, paired
from greenroom.trace._world import BEGINS, ENDS, Fold, World, fold

Finding: TypeAlias = tuple[int, str]
"""Number of the violating event, and the violation in words."""


@final
@attrs.frozen
class Check:
    """One invariant, and the function that finds violating events."""

    id: str
    sentence: str
    find: Callable[[Sequence[Entry]], Iterator[Finding]]
    needs: JournalNeed | None = None
    """Content that a journal needs before the check can find anything; None if every journal has it."""
    is_whole: bool = False
    """True if it checks the whole journal instead of one process at a time."""


@final
@attrs.frozen(order=True)
class Violation:
    """An event that violates an invariant."""

    seq: int
    id: str
    text: str


def _restart_limits(entries: Sequence[Entry]) -> Iterator[Finding]:
    yield from restart_budget(entries)
    yield from restart_window(entries)


def _turns_end_what_they_began(entries: Sequence[Entry]) -> Iterator[Finding]:
    yield from turns_leave_nothing(entries)
    yield from linked_end_first(entries)


INBOX: Final = "I-56"
CHECKS: Final = (
    Check("I-1", "machines move along legal edges", legal_edges),
    Check("I-2", "one terminal event per incarnation and per turn", one_terminal_event),
    Check("I-3", "nothing of an incarnation comes after its end, save what its end led to", nothing_after_the_end),
    Check("I-4", "a turn begins only in a running actor without another turn", one_turn_at_a_time, TURNS),
    Check("I-5", "a turn ends before its actor", turns_end_first, TURNS),
    Check("I-6", "turns are numbered without gaps", turn_numbers, TURNS),
    Check("I-7", "no code ran of what ended before it began", nothing_ran_before_the_begin),
    Check("I-10", "a lane is served in the order of its puts", lane_order, FULL),
    Check("I-11", "next and later are served only when now is empty", now_first, FULL),
    Check("I-12", "every message ends in exactly one way", conserved, FULL),
    Check("I-13", "a message is leased once at a time and acknowledged once", leased_once, FULL),
    Check("I-14", "next and later keep within the capacity", capacity_kept, FULL),
    Check("I-15", "what a mailbox refused has left no gap in its numbers", refused_without_trace, FULL),
    Check("I-17", "a restart keeps the mail, save what was for the one incarnation", mail_outlives_restarts, FULL),
    Check("I-18", "later is served after at most 16 of next", later_is_served, FULL),
    Check("I-19", "what was postponed comes back in order, with the next state", postponed_come_back, FULL),
    Check("I-22", "a turn is killed by its own scope only on request", abort_before_kill, TURNS),
    Check(
        "I-23",
        "what a turn began has ended when it has, and an abort leaves the actor alive",
        _turns_end_what_they_began,
        TURNS,
    ),
    Check("I-24", "after a turn, mail that waits is taken within a bounded number of steps", mail_gets_its_turn, FULL),
    Check("I-26", "a kill is over within its grace", killed_in_time, KILL_GRACE),
    Check("I-27", "a supervisor's stop, abort and kill of a child come in order, none too early", rungs_in_order),
    Check("I-28", "a request that comes too late emits nothing", requests_in_time),
    Check("I-29", "a turn that was asked to end does not end as if nothing had been", requested_before_commit, TURNS),
    Check("I-31", "an actor that is gone has no name, no mail and no events", gone_means_gone),
    Check("I-35", "one incarnation at a time, numbered without gaps", incarnations_in_turn),
    Check("I-36", "a restart was decided, and nobody was restarted who was asked to end", restarts_decided),
    Check("I-37", "restarts keep within the budget, and end with an escalation", _restart_limits),
    Check("I-38", "a strategy stops and starts exactly its set, in its order", restarted_together),
    Check("I-39", "children end in the reverse order of their start, save in pools", stopped_in_order, SUPERVISORS),
    Check("I-40", "what a supervisor ended itself makes it neither restart nor give up", own_stops_restart_nobody),
    Check("I-42", "a name leads to one living actor", names_lead_to_one),
    Check("I-43", "no id is given twice, and pinned mail reaches only its incarnation", pinned_stays),
    Check("I-44", "a supervisor ends after all of its children", supervisors_end_last),
    Check("I-45", "an ask is refused only where it would close a circle", refused_rings),
    Check("I-47", "seq is gapless, and parents come first", numbering, is_whole=True),
    Check("I-48", "begin and end are paired", paired),
    Check("I-49", "after a shutdown nobody is there, no name is taken, no mail waits", nothing_left),
    Check("I-51", "a restart waits its back-off, by the run's clock", back_off_waited),
    Check("I-53", "the owner of an item has a turn, mail, or somebody was told of it", owners_go_on),
    Check("I-54", "who is idle or has ended owns no item that nobody was told of", idle_own_nothing_untold),
    Check("I-55", "states, reasons and other words of events exist", known_words),
    Check(INBOX, "an item is accepted before it is taken, and ends once", items_end_once, is_whole=True),
)
WITH_FOLDS: Final = ("I-8", "folding is legal, repeatable, and the same in two halves")
AT_THE_END: Final = ("I-9", "nothing is open when its session has ended")
"""The two checks that `check_journal` does itself: they need more than the entries of one process."""


def unchecked(entries: Sequence[Entry]) -> dict[str, str]:
    """Return the ids of the checks that a journal cannot answer, each with the missing content."""
    without = {check.id: check.needs.words for check in CHECKS if check.needs and not check.needs.is_met(entries)}
    return without if has_ended(entries) else {**without, AT_THE_END[0]: SESSION_END.words}


def check_journal(
    entries: Sequence[Entry], *, folds: Iterable[Fold] = (), checks: Iterable[Check] = CHECKS
) -> list[Violation]:
    """Return every violation, in the order of the events; empty for a sound journal.

    Args:
        entries: A whole journal, or everything that a recorder passed to a listener.
        folds: If given, I-8 is checked too: folding is legal, repeatable and the same in two halves.
        checks: The table.
    """
    processes = list(split_processes(entries))
    found = [
        Violation(seq, check.id, text)
        for check in checks
        for part in ([entries] if check.is_whole else processes)
        for seq, text in check.find(part)
    ]
    found += [Violation(seq, AT_THE_END[0], text) for seq, text in _still_open(processes)]
    folds = tuple(folds)
    if folds:
        found += [Violation(seq, WITH_FOLDS[0], text) for seq, text in _folds_well(entries, folds)]
    return sorted(found)


def check_inbox(entries: Sequence[Entry], record: InboxRecord) -> list[Violation]:
    """Return every item of a run whose journal, transcript and store do not agree (I-56).

    Args:
        entries: A whole journal.
        record: What the transcript and the store hold.
    """
    return sorted(Violation(seq, INBOX, text) for seq, text in balance(entries, record))


def split_processes(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """Split a journal where another process resumed it."""
    begins = [place for place, entry in enumerate(entries) if entry.kind in BEGINS]
    edges = [0, *begins[1:], len(entries)]
    for begin, end in pairwise(edges):
        yield entries[begin:end]


def has_ended(entries: Sequence[Entry]) -> bool:
    """Return True if the last session of a journal has ended; without sessions, its last runtime."""
    return end_of(entries) is not None


def end_of(entries: Sequence[Entry]) -> Entry | None:
    """Return the event that ended a journal: that of its last session, else of its last root supervisor."""
    last = list(split_processes(entries))[-1]
    ends = {entry.event.actor: entry for entry in last if entry.kind in {*ENDS, "actor.end"}}
    if any(entry.kind in BEGINS | ENDS for entry in last):
        return next((entry for entry in reversed(last) if entry.kind in ENDS), None)
    roots = [entry.event.actor for entry in last if entry.kind == "actor.new" and not entry.get("supervisor", "?")]
    return ends.get(roots[-1]) if roots and not open_spans(last) else None


def _still_open(processes: Sequence[Sequence[Entry]]) -> Iterator[Finding]:
    """Find spans that had not ended although their session has (I-9)."""
    for entries in processes:
        if has_ended(entries):
            for entry in open_spans(entries):
                yield (
                    entry.seq,
                    f"{entry.kind} of {entry.event.actor or 'the run'} has no end, but its session has ended",
                )


def _folds_well(entries: Sequence[Entry], folds: Sequence[Fold]) -> Iterator[Finding]:
    whole = fold(entries, folds)
    for fault in whole.faults:
        yield fault.seq, fault.why
    middle = len(entries) // 2
    first_half = fold(entries[:middle], folds)
    rest = _continue(first_half.copy(), entries[middle:])
    if rest != whole or fold(entries, folds) != whole:
        yield whole.seq, "folding again, or in two halves, gives a different state"
    if first_half != fold(entries[:middle], folds):
        yield first_half.seq, "continuing a fold changed an earlier state"


def _continue(world: World, entries: Iterable[Entry]) -> World:
    for entry in entries:
        world.apply(entry)
    return world
