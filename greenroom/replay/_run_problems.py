"""Problems of a run, the worst first: failures, findings, waits, restarts, retries, slow ends, dead letters.

Must not know: the disk, the terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Final, final

import attrs

from greenroom.replay._actor_names import ActorNames
from greenroom.terminal import counted, printable, seconds
from greenroom.trace import Entry, Violation, find_slowness, spans, stranded_items

MAX_TEXT: Final = 200


class ProblemKind(StrEnum):
    """Kinds of problems, in the order in which they are shown."""

    FAILED = "failed"
    UNSOUND = "unsound"
    STUCK = "stuck"
    """Work that nobody is going to resume."""
    WAITS = "waits"
    """An actor waits for another one."""
    RESTARTED = "restarted"
    RETURNED = "returned"
    """Work that came back from its owner."""
    RETRIED = "retried"
    SLOW = "slow"
    DEAD = "dead"
    """A message that was never handled."""


@final
@attrs.frozen
class RunProblem:
    """One line about something that did not go as planned."""

    kind: ProblemKind
    seq: int
    """Number of the event to look at."""
    t: float
    text: str


def find_problems(entries: Sequence[Entry], violations: Iterable[Violation], names: ActorNames) -> list[RunProblem]:
    """Return the problems of a run, ordered by kind, then by event.

    Args:
        entries: Those of the run.
        violations: The broken invariants.
        names: Names of its actors.
    """
    times = {entry.seq: entry.t for entry in entries}
    found = [
        *_failures(entries, names),
        *(
            RunProblem(
                ProblemKind.UNSOUND, each.seq, times.get(each.seq, 0.0), f"{each.id}: {names.in_text(each.text)}"
            )
            for each in violations
        ),
        *(RunProblem(ProblemKind.STUCK, seq, times[seq], text) for seq, text in stranded_items(entries)),
        *_waits(entries, names),
        *_restarts(entries, names),
        *_returned(entries),
        *_retries(entries, names),
        *_unheeded(entries, names),
        *(
            RunProblem(ProblemKind.SLOW, slow.seq, times[slow.seq], names.in_text(slow.text))
            for slow in find_slowness(entries)
        ),
        *_dead_letters(entries, names),
    ]
    order = list(ProblemKind)
    return sorted(found, key=lambda problem: (order.index(problem.kind), problem.seq))


# --- failures ---------------------------------------------------------------------------------------------------------

_THINGS: Final = {"model": "request", "actor": "the actor", "turn": "turn", "tool": "call"}
_ALARMS: Final = {
    "actor.unresponsive": "does not end although it was killed",
    "inbox.poisoned": "gave up on an entry of its inbox",
    "mail.quarantined": "could not take a letter of its mail",
}


def _failures(entries: Sequence[Entry], names: ActorNames) -> Iterator[RunProblem]:
    """Yield failures; a request, its turn and its actor that fail with one error are one failure."""
    chains: list[list[Entry]] = []
    last: dict[str, list[Entry]] = {}
    tools: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        if entry.kind == "tool.end" and entry["state"] == "failed":
            tools.setdefault((entry.event.actor, entry["tool"]), []).append(entry)
        elif entry.kind.endswith(".end") and entry.get("state") == "failed":
            chain = last.get(entry.event.actor)
            if chain is not None and _is_same(chain[-1], entry):
                chain.append(entry)
            else:
                chains.append([entry])
                last[entry.event.actor] = chains[-1]
        elif entry.kind in _ALARMS:
            yield _problem(ProblemKind.FAILED, entry, f"{names[entry.event.actor]} {_ALARMS[entry.kind]}")
        elif entry.kind == "supervisor.escalated":
            who = f"{names[entry.event.actor]} gave up on {names[entry['child']]}"
            yield _problem(ProblemKind.FAILED, entry, f"{who} after {counted(entry['restarts'], 'restart')}")
    for chain in chains:
        things = dict.fromkeys(_thing(entry) for entry in chain)
        error = next((str(entry.get("error")) for entry in chain if entry.get("error")), "no error on record")
        text = f"{names[chain[0].event.actor]}: {', '.join(things)} failed: {error}"
        yield _problem(ProblemKind.FAILED, chain[0], names.in_text(text))
    for (actor, tool), ends in tools.items():
        times = "" if len(ends) == 1 else f" {len(ends):,} times"
        error = f": {ends[-1]['error']}" if ends[-1]["error"] else ""
        yield _problem(ProblemKind.FAILED, ends[-1], f"{names[actor]}: {tool} failed{times}{error}")


def _is_same(before: Entry, entry: Entry) -> bool:
    return before.get("error") == entry.get("error") and before.event.inc == entry.event.inc


def _thing(entry: Entry) -> str:
    what = entry.kind.removesuffix(".end")
    number = {"turn": "turn", "model": "round"}.get(what)
    return _THINGS.get(what, what) + (f" {entry[number]}" if number is not None else "")


def _problem(kind: ProblemKind, entry: Entry, text: str) -> RunProblem:
    return RunProblem(kind, entry.seq, entry.t, printable(text, MAX_TEXT))


# --- waits ------------------------------------------------------------------------------------------------------------


def _waits(entries: Sequence[Entry], names: ActorNames) -> Iterator[RunProblem]:
    """Yield the refused asks as rings, and the turns that still wait for a linked actor at the end."""
    linked: dict[tuple[str, str], Entry] = {}
    for entry in entries:
        actor = entry.event.actor
        match entry.kind:
            case "ask.refused":
                ring = " -> ".join(names[each] for each in entry["ring"])
                yield _problem(ProblemKind.WAITS, entry, f"{ring}: each waits for the next, so the ask was refused")
            case "turn.linked":
                linked[actor, entry["child"]] = entry
            case "turn.unlinked":
                linked.pop((actor, entry["child"]), None)
            case "turn.end" | "actor.end" | "actor.gone":
                is_gone = entry.kind == "actor.gone"
                linked = {
                    pair: link
                    for pair, link in linked.items()
                    if pair[0] != actor and not (is_gone and pair[1] == actor)
                }
    waits = {pair[0]: pair[1] for pair in linked}
    ends = set(waits.values())
    for (actor, child), link in linked.items():
        if actor not in ends:  # the first of a chain
            chain = [actor, child]
            while chain[-1] in waits and waits[chain[-1]] not in chain:
                chain.append(waits[chain[-1]])
            yield _problem(ProblemKind.WAITS, link, f"{' -> '.join(names[each] for each in chain)}: waiting")


# --- what was repeated ------------------------------------------------------------------------------------------------


def _restarts(entries: Sequence[Entry], names: ActorNames) -> Iterator[RunProblem]:
    restarted: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.kind == "child.restarted":
            restarted.setdefault(entry["child"], []).append(entry)
    errors = {
        entry.event.actor: entry["error"] for entry in entries if entry.kind == "actor.end" and entry.get("error")
    }
    for child, restarts in restarted.items():
        others = [names[each] for each in restarts[-1]["together"] if each != child]
        text = f"{names[child]} {counted(len(restarts), 'time')}"
        text += f", together with {', '.join(others)}" if others else ""
        text += f" after {names.in_text(errors[child])}" if child in errors else ""
        yield _problem(ProblemKind.RESTARTED, restarts[-1], text)


def _returned(entries: Sequence[Entry]) -> Iterator[RunProblem]:
    """Yield the items that came back from their owners, with what became of each."""
    now: dict[tuple[str, str], str] = {}
    for entry in entries:
        match entry.kind:
            case "item.claimed" | "item.assigned":
                now[entry["team"], entry["item"]] = f"taken by {entry['owner']} at {seconds(entry.t)}"
            case "item.completed":
                now[entry["team"], entry["item"]] = f"completed by {entry['by']} at {seconds(entry.t)}"
            case "item.released" | "item.deleted":
                now[entry["team"], entry["item"]] = "deleted" if entry.kind == "item.deleted" else "still open"
    for entry in entries:
        if entry.kind == "item.released":
            what = f"item {entry['item']} from {entry['owner']}: {entry['why']}"
            yield _problem(ProblemKind.RETURNED, entry, f"{what}; {now[entry['team'], entry['item']]}")


def _retries(entries: Sequence[Entry], names: ActorNames) -> Iterator[RunProblem]:
    retried: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        if entry.kind == "model.retried":
            retried.setdefault((entry.event.actor, entry["error"]), []).append(entry)
        elif entry.kind == "message.returned" and entry["attempts"]:
            retried.setdefault((entry.event.actor, ""), []).append(entry)
    for (actor, error), again in retried.items():
        if error:
            waited = seconds(sum(entry["delay_s"] for entry in again))
            text = f"{names[actor]}: {counted(len(again), 'attempt')} at a request failed ({error}), waited {waited}"
        else:
            text = f"{names[actor]}: {counted(len(again), 'message')} came back to its mailbox, the turn did not finish"
        yield _problem(ProblemKind.RETRIED, again[-1], text)


# --- ends and losses --------------------------------------------------------------------------------------------------


def _unheeded(entries: Sequence[Entry], names: ActorNames) -> Iterator[RunProblem]:
    """Yield what was asked to end and completed all the same: it swallowed its cancellation, or shielded itself."""
    asked: dict[str, Entry] = {}
    begun = {end.seq: begin for begin, end in spans(entries)}
    for entry in entries:
        actor = entry.event.actor
        match entry.kind:
            case "turn.abort_requested" | "actor.kill_requested":
                asked.setdefault(actor, entry)
            case "tool.end" if actor in asked and entry["state"] == "completed":
                request, begin = asked[actor], begun.get(entry.seq)
                if begin is not None and begin.seq < request.seq:
                    what = (
                        "the kill of its actor" if request.kind == "actor.kill_requested" else "the abort of its turn"
                    )
                    late = f"{entry['tool']} of {names[actor]} completed {seconds(entry.t - request.t)} after {what}"
                    yield _problem(ProblemKind.SLOW, entry, f"{late}: it swallowed its cancellation or was shielded")
            case "turn.end" | "actor.end":
                if entry["swallowed"]:
                    what = f"turn {entry['turn']} of {names[actor]}" if entry.kind == "turn.end" else names[actor]
                    yield _problem(ProblemKind.SLOW, entry, f"{what} swallowed its cancellation")
                asked.pop(actor, None)


def _dead_letters(entries: Sequence[Entry], names: ActorNames) -> Iterator[RunProblem]:
    """Yield dead letters by receiver, type and reason; those that somebody took back are none."""
    dead: dict[tuple[str, str, str], list[Entry]] = {}
    for entry in entries:
        if entry.kind == "message.died" and entry["reason"] != "withdrawn":
            dead.setdefault((entry.event.actor, entry["type"], entry["reason"]), []).append(entry)
    for (actor, type_, reason), letters in dead.items():
        # Of messages that were refused, only the 1st, 2nd, 4th, ... is on record.
        more = " or more" if len(letters) > 1 and not letters[0]["was_put"] else ""
        text = f"{len(letters):,}{more} {type_ or 'message'} to {names[actor]}: {_REASONS.get(reason, reason)}"
        yield _problem(ProblemKind.DEAD, letters[0], text)


_REASONS: Final = {
    "no_actor": "there is no such actor",
    "ended": "the actor had ended",
    "closed": "the mailbox was closed",
    "full": "the mailbox was full",
    "aborted": "the turn that handled it was aborted",
    "failed": "the turn that handled it failed",
    "poison": "no turn finished with it",
    "expired": "the asker no longer waited",
    "late_reply": "the answer came after the ask was over",
    "stash_overflow": "too many messages were postponed",
    "unhandled": "the actor does not know this type",
}
