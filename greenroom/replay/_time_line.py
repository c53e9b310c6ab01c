"""The time line of a run: its turns and what happened to them, with the shut-down in one line.

Must not know: the disk, the terminal.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, final

import attrs

from greenroom.replay._actor_names import ActorNames
from greenroom.replay._entry_words import RUN
from greenroom.terminal import counted, printable, seconds, tally
from greenroom.trace import Entry, open_spans, spans, split_processes

MAX_ROWS: Final = 30
"""Rows of a time line; of a longer one the uneventful part in the middle is summed up."""
_FIRST: Final = 8
_TEXT: Final = 100


@final
@attrs.frozen
class TimeLineRow:
    """A turn, an incarnation, or something that happened to one."""

    seq: int
    t: float
    took_s: float | None
    """None for a moment, and for what has no end on record."""
    name: str
    text: str
    is_notable: bool
    """True if it is always shown."""


def time_line(entries: Sequence[Entry], names: ActorNames) -> list[TimeLineRow]:
    """Return the rows of a run in order: turns of its agents, or of all actors if there are none, and moments.

    Actors without turns on record, which most plain ones are, have a row for each incarnation.
    """
    agents = {entry.event.actor for entry in entries if entry.kind == "agent.defined"}
    above = {entry["supervisor"] for entry in entries if entry.kind == "actor.new"}
    taking_turns = {entry.event.actor for entry in entries if entry.kind == "turn.begin"}
    done = _TurnWork(entries)
    rows = []
    pairs: list[tuple[Entry, Entry | None]] = [*spans(entries), *((begin, None) for begin in open_spans(entries))]
    for begin, end in pairs:
        actor = begin.event.actor
        is_turn = begin.kind == "turn.begin" and (not agents or actor in agents)
        is_plain_life = begin.kind == "actor.begin" and not agents and actor not in taking_turns | above
        if is_turn or is_plain_life:
            what = f"turn {begin['turn']}" if is_turn else f"incarnation {begin.event.inc}"
            state = "open" if end is None else str(end["state"])
            words = [f"{what} {state}", *done.between(begin, end)]
            words += [names.in_text(str(end["error"]))] if end is not None and end["error"] else []
            took_s = None if end is None else end.t - begin.t
            text = printable(", ".join(words), _TEXT)
            rows.append(TimeLineRow(begin.seq, begin.t, took_s, names[actor], text, state != "completed"))
    rows += _moments(entries, names)
    return sorted(rows, key=lambda row: row.seq)


class _TurnWork:
    """Requests, calls and last words of each actor, by position."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._requests: dict[str, list[int]] = {}
        self._calls: dict[str, list[tuple[int, str]]] = {}
        self._said: dict[str, list[tuple[int, str]]] = {}
        for entry in entries:
            actor = entry.event.actor
            match entry.kind:
                case "model.begin":
                    self._requests.setdefault(actor, []).append(entry.seq)
                case "tool.begin":
                    self._calls.setdefault(actor, []).append((entry.seq, entry["tool"]))
                case "agent.spoke":
                    self._said.setdefault(actor, []).append((entry.seq, entry["text"]))

    def between(self, begin: Entry, end: Entry | None) -> Iterator[str]:
        actor, first, last = begin.event.actor, begin.seq, end.seq if end is not None else 2**63
        seqs = self._requests.get(actor, [])
        if number := bisect_left(seqs, last) - bisect_left(seqs, first):
            yield counted(number, "request")
        calls = self._calls.get(actor, [])
        if tools := Counter(
            tool for _, tool in calls[bisect_left(calls, (first, "")) : bisect_left(calls, (last, ""))]
        ):
            yield tally(tools)
        said = self._said.get(actor, [])
        for _, text in said[bisect_left(said, (first, "")) : bisect_left(said, (last, ""))]:
            yield f'"{printable(text, 50)}"'


def _moments(entries: Sequence[Entry], names: ActorNames) -> Iterator[TimeLineRow]:
    """Yield what happened to turns and actors: who ended them, what came back, what was refused."""
    closes_at = shut_down_at(entries)
    for number, part in enumerate(split_processes(entries)):
        if number and part:
            yield _moment(part[0], RUN, "opened again by another process")
    for entry in entries:
        name = names[entry.event.actor]
        match entry.kind:
            case "turn.abort_requested" | "actor.kill_requested" | "actor.stop_requested" if entry.seq < closes_at:
                cause, verb = entry["cause"], entry.kind.partition(".")[2].removesuffix("_requested")
                yield _moment(entry, name, f"{verb} requested by {names[cause.who]}: {cause.why}")
            case "child.restarted":
                yield _moment(entry, names[entry["child"]], f"restart {entry['restarts']} in {entry['delay_s']:g} s")
            case "item.released":
                yield _moment(entry, entry["owner"], f"item {entry['item']} came back: {entry['why']}")
            case "ask.refused":
                yield _moment(entry, name, f"ask of {names[entry['target']]} refused, it would deadlock")
            case "step.blocked":
                yield _moment(entry, names[entry["who"]], f"blocked the event loop for {seconds(entry['seconds'])}")
            case "supervisor.escalated":
                yield _moment(entry, name, f"gave up on {names[entry['child']]}")


def _moment(entry: Entry, name: str, text: str) -> TimeLineRow:
    return TimeLineRow(entry.seq, entry.t, None, name, printable(text, _TEXT), is_notable=True)


def shut_down_at(entries: Sequence[Entry]) -> int:
    """Return the number of the event with which the last process began to shut down; one that is never reached if it did not.

    That is the first request to stop or suspend an actor after the last turn of an agent, in a process whose root ended.
    """
    last = list(split_processes(entries))[-1] if entries else []
    root = next((entry.event.actor for entry in last if entry.kind == "actor.new" and not entry["supervisor"]), None)
    stop = next((place for place, entry in enumerate(last) if _is_of_root(entry, root)), None)
    if stop is None:
        return 2**63
    agents = {entry.event.actor for entry in last if entry.kind == "agent.defined"}
    after = max(
        (n for n, entry in enumerate(last[:stop]) if entry.kind == "turn.end" and entry.event.actor in agents),
        default=stop,
    )
    return next(
        entry.seq for entry in last[min(after, stop) :] if entry.kind in {"actor.stop_requested", "actor.suspended"}
    )


def _is_of_root(entry: Entry, root: str | None) -> bool:
    return entry.kind == "actor.stop_requested" and entry.event.actor == root


def lines_of(entries: Sequence[Entry], rows: Sequence[TimeLineRow], *, most: int = MAX_ROWS) -> Iterator[str]:
    """Yield the time line, the uneventful part of a long one summed up."""
    if not rows:
        return
    width = max(len(row.name) for row in rows)
    yield f"{'event':>6} {'at':>9} {'took':>8}  {'who':<{width}}  what"
    hidden: list[TimeLineRow] = []
    shown = _chosen(rows, most)
    for row in rows:
        if row.seq not in shown:
            hidden.append(row)
            continue
        yield from _summed_up(hidden)
        hidden = []
        took = "" if row.took_s is None else seconds(row.took_s)
        yield f"{row.seq:>6} {_at(row.t):>9} {took:>8}  {row.name:<{width}}  {row.text}".rstrip()
    yield from _summed_up(hidden)
    closes_at = shut_down_at(entries)
    if closing := [entry for entry in entries if entry.seq >= closes_at]:
        ended = sum(entry.kind == "actor.end" for entry in closing)
        text = f"shut-down: {counted(ended, 'actor')} ended, {counted(len(closing), 'event')} (--all has them)"
        took = seconds(closing[-1].t - closing[0].t)
        yield f"{closes_at:>6} {_at(closing[0].t):>9} {took:>8}  {RUN:<{width}}  {text}"


def _at(t: float) -> str:
    return f"{t:.3f}" if t < 1000 else f"{t:.1f}"


def _chosen(rows: Sequence[TimeLineRow], most: int) -> set[int]:
    """Return the numbers of the rows to show: the first and last ones, and notable ones between them, the latest if they are many."""
    if len(rows) <= most:
        return {row.seq for row in rows}
    notable = [row.seq for row in rows if row.is_notable][-(most // 2) :]
    left = most - len(notable)
    first = [row.seq for row in rows[: min(_FIRST, left // 2)]]
    return {*notable, *first, *(row.seq for row in rows[-(left - len(first)) :])}


def _summed_up(hidden: Sequence[TimeLineRow]) -> Iterator[str]:
    if hidden:
        by_name = Counter(row.name for row in hidden)
        few = tally(dict(by_name.most_common(5))) + (", ..." if len(by_name) > 5 else "")
        yield f"       ... {len(hidden):,} more until {hidden[-1].t:.3f}: {few}"
