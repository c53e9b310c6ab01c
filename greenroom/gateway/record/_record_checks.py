"""The invariants that a gateway's journal alone can show, for `greenroom replay --check`.

    for violation in check_journal(entries, checks=RECORD_CHECKS):
        print(violation.seq, violation.text)

Each check counts for itself: none of them trusts the registry, save the first, which folds it. The widths of lanes are in no journal: a
turn gives its place back before its end is on record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from greenroom.core import IllegalTransition
from greenroom.gateway.record._gateway_events import GatewaySnapshot
from greenroom.gateway.record._machines import SendResult
from greenroom.gateway.record._registry import Registry
from greenroom.trace import Check, Entry

Finding: TypeAlias = tuple[int, str]
"""Number of the violating event, and the violation in words."""


def legal_events(entries: Sequence[Entry]) -> Iterator[Finding]:
    """G-1: an event is possible in the state that those before it add up to."""
    registry = Registry()
    for entry in entries:
        try:
            registry.fold(entry.event)
        except (IllegalTransition, ValueError) as error:
            yield entry.seq, f"{entry.kind} is not possible here: {error}"


def runs_end_once(entries: Sequence[Entry]) -> Iterator[Finding]:
    """G-2: a run that is registered ends at most once, and its completion is composed at most once, behind its end."""
    runs, ended, composed = _known(entries, "runs"), _known(entries, "ended"), set[str]()
    for entry in entries:
        if entry.kind == "run.registered":
            if entry["run"] in runs:
                yield entry.seq, f"run {entry['run']} is registered twice"
            runs.add(entry["run"])
        elif entry.kind == "run.ended":
            if entry["run"] not in runs:
                yield entry.seq, f"run {entry['run']} ends and was never registered"
            if entry["run"] in ended:
                yield entry.seq, f"run {entry['run']} ends twice"
            ended.add(entry["run"])
        elif entry.kind == "completion.composed":
            if entry["run"] not in ended:
                yield entry.seq, f"the completion of run {entry['run']} is composed before its end"
            if entry["run"] in composed:
                yield entry.seq, f"the completion of run {entry['run']} is composed twice"
            composed.add(entry["run"])


def parts_arrive_once(entries: Sequence[Entry]) -> Iterator[Finding]:
    """G-3: a part is taken by its channel at most once, and each try has the same key and the same bytes."""
    sent: dict[tuple[str, int], tuple[str, str]] = {}
    taken: set[tuple[str, int]] = set()
    for entry in entries:
        if entry.kind not in {"delivery.began", "delivery.ended"}:
            continue
        place = entry["delivery"], entry["part"]
        shown = f"part {place[1]} of {place[0]}"
        if place in taken:
            yield entry.seq, f"{entry.kind} of {shown}, which the channel has taken"
        if entry.kind == "delivery.began":
            bytes_ = entry["key"], entry["digest"]
            if sent.setdefault(place, bytes_) != bytes_:
                yield entry.seq, f"{shown} is sent with another key or text than before"
        elif entry["result"] == SendResult.TAKEN:
            taken.add(place)


def items_settle_once(entries: Sequence[Entry]) -> Iterator[Finding]:
    """G-4: an input is accepted once before it is taken, and settled at most once, with the reason."""
    waiting = _known(entries, "inbound")
    for entry in entries:
        if entry.kind == "inbound.accepted":
            if entry["item"] in waiting:
                yield entry.seq, f"item {entry['item']} is accepted twice"
            waiting.add(entry["item"])
        elif entry.kind in {"inbound.taken", "inbound.settled"}:
            if entry["item"] not in waiting:
                yield entry.seq, f"{entry.kind} of item {entry['item']}, which does not wait"
            if entry.kind == "inbound.settled":
                waiting.discard(entry["item"])
                if not entry["why"]:
                    yield entry.seq, f"item {entry['item']} is settled without a reason"


def archives_are_at_rest(entries: Sequence[Entry]) -> Iterator[Finding]:
    """G-5: a session is archived only behind the ends of its runs, and with no input that waits."""
    open_runs: dict[str, str] = {}
    waiting: dict[str, str] = {}
    for entry in entries:
        if entry.kind == "run.registered":
            open_runs[entry["run"]] = entry["session"]
        elif entry.kind == "run.ended":
            open_runs.pop(entry["run"], None)
        elif entry.kind == "inbound.accepted":
            waiting[entry["item"]] = entry["session"]
        elif entry.kind == "inbound.settled":
            waiting.pop(entry["item"], None)
        elif entry.kind == "session.archived":
            for what, rows in (("run", open_runs), ("item", waiting)):
                for name in [name for name, session in rows.items() if session == entry["session"]]:
                    yield entry.seq, f"session {entry['session']} is archived, and {what} {name} has not ended"


def nothing_open_at_the_end(entries: Sequence[Entry]) -> Iterator[Finding]:
    """G-6: behind an end in order no session is open."""
    sessions: dict[str, int] = {}
    for entry in entries:
        if entry.kind in {"gateway.begin", "gateway.snapshot"}:
            sessions.clear()
        elif entry.kind == "session.opened":
            sessions[entry["session"]] = entry.seq
        elif entry.kind == "session.closed":
            sessions.pop(entry["session"], None)
        elif entry.kind == "gateway.end":
            for session, seq in sessions.items():
                yield entry.seq, f"session {session}, opened at {seq}, is open at the end"


def _known(entries: Sequence[Entry], what: str) -> set[str]:
    """Return what the snapshot with which a journal begins knows already: ids of runs, of ended runs, or of items."""
    first = next((entry.event for entry in entries if isinstance(entry.event, GatewaySnapshot)), None)
    if first is None:
        return set()
    registry = Registry.from_snapshot(first.state)
    if what == "inbound":
        return set(registry.inbound)
    runs = [*registry.runs.values(), *registry.recent.values()]
    return {run.id for run in runs if what == "runs" or run.is_ended}


RECORD_CHECKS: Final = (
    Check("G-1", "an event is possible in the state that those before it add up to", legal_events, is_whole=True),
    Check("G-2", "a run has one end, and one completion behind it", runs_end_once, is_whole=True),
    Check("G-3", "a part arrives once; its key and bytes never change", parts_arrive_once, is_whole=True),
    Check("G-4", "an input is settled once, with the reason, or waits", items_settle_once, is_whole=True),
    Check("G-5", "an archived session has no run and no input left", archives_are_at_rest, is_whole=True),
    Check("G-6", "behind an end in order no session is open", nothing_open_at_the_end, is_whole=True),
)
"""The checks of a gateway's journal, beside those of every journal."""


def checks_for(entries: Sequence[Entry]) -> tuple[Check, ...]:
    """Return the checks for a journal beside `CHECKS`; none if it is not a gateway's."""
    is_gateway = any(entry.kind == "gateway.begin" for entry in entries)
    return RECORD_CHECKS if is_gateway else ()
