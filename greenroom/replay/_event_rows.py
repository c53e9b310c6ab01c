"""The events of a run as tables (number, time, actor, event, details): its transitions, and what led to failures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from greenroom.replay._entry_words import RUN, facts_of, paths_of, worded
from greenroom.replay._selection import EventSelection
from greenroom.terminal import Page, counted, first_of
from greenroom.trace import Entry, JournalText, RecentMoment

NOTHING: Final = "nothing was kept: nothing failed, or the journal has all there is to know of what did"
MAX_ROWS: Final = 400
NAME_WIDTH: Final = 24
# Nothing about a machine, unless one asks for it.
_MAIL: Final = (
    "message.put",
    "message.leased",
    "message.acked",
    "message.postponed",
    "message.returned",
    "name.registered",
    "name.released",
)


def transitions(journal: JournalText, wanted: EventSelection) -> Page:
    """List the events of a run that somebody asked for, the latest ones; mail only if it was asked for."""
    entries = wanted.of(journal.entries)
    if wanted.has_no_mail:
        entries = [entry for entry in entries if entry.kind not in _MAIL]
    latest, left_out = (entries, 0) if wanted.is_all else first_of(entries[::-1], MAX_ROWS)
    lines = list(rows(entries if wanted.is_all else latest[::-1], paths_of(journal.entries))) if entries else []
    if left_out:
        lines.insert(1, f"       ... {left_out:,} before these; --all has them")
    facts = {"transitions": [facts_of(entry) for entry in entries]}
    return Page(facts=facts, lines=[f"{len(entries):,} of {counted(len(journal.entries), 'event')}", *lines])


def rows(entries: Sequence[Entry], paths: dict[str, str]) -> Iterable[str]:
    """Yield a heading and a line for each event."""
    names = [shortened(paths.get(entry.event.actor, entry.event.actor) or RUN) for entry in entries]
    width = max(map(len, [*names, "actor"]))
    yield f"{'seq':>6} {'t':>9}  {'actor':<{width}} event"
    for entry, name in zip(entries, names, strict=True):
        again = f"({entry.event.inc}) " if entry.event.inc > 1 else ""
        yield f"{entry.seq:>6} {entry.t:>9.3f}  {name:<{width}} {again}{entry.kind} {worded(entry, paths)}".rstrip()


def shortened(path: str, width: int = NAME_WIDTH) -> str:
    """Return a path that fits its column; the end says more than the beginning."""
    return path if len(path) <= width else "…" + path[1 - width :]


def recent(journal: JournalText, moments: Iterable[RecentMoment], *, chosen: AbstractSet[str] | None) -> Page:
    """List the moments that were kept, the latest last; with `chosen`, only what is about those actors."""
    by_seq, paths = {entry.seq: entry for entry in journal.entries}, paths_of(journal.entries)
    shown = [(moment, _about(moment, chosen)) for moment in moments if moment.seq in by_seq]  # `--at` omits later ones
    facts = [
        {"seq": moment.seq, "t": moment.t, "why": moment.why, "recent": [facts_of(entry) for entry in entries]}
        for moment, entries in shown
    ]
    lines = [line for moment, entries in shown for line in _lines_of(moment, by_seq[moment.seq], entries, paths)]
    return Page(facts={"moments": facts}, lines=lines or [NOTHING])


def _about(moment: RecentMoment, chosen: AbstractSet[str] | None) -> Sequence[Entry]:
    return [entry for entry in moment.entries if chosen is None or entry.event.actor in chosen]


def _lines_of(moment: RecentMoment, at: Entry, entries: Sequence[Entry], paths: Mapping[str, str]) -> Iterator[str]:
    if moment.why == at.kind:
        who = paths.get(at.event.actor, at.event.actor) or RUN
        yield f"around event {moment.seq}, {at.kind} of {who}: {worded(at, paths)}"
    else:
        yield f"after event {moment.seq}, because it was requested: {moment.why}"
    if entries:
        yield from (f"  {line}" for line in rows(entries, dict(paths)))
    else:
        yield "  nothing about these actors"
    if moment.is_last:
        yield "  the process kept no more moments; what led to its later failures is unknown"
    yield ""
