"""The answer to `greenroom replay --recent`: what happened around each failure, as far as only the recorder knew it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from greenroom.cli._page import RUN, Page, facts_of, paths_of, worded
from greenroom.cli._replay_table import rows
from greenroom.trace import Entry, JournalText, Moment

NOTHING: Final = "nothing was kept: nothing failed, or the journal has all there is to know of what did"


def recent(journal: JournalText, moments: Iterable[Moment], *, chosen: AbstractSet[str] | None) -> Page:
    """List the moments that were kept, the latest last; with `chosen`, only what is about those actors."""
    by_seq, paths = {entry.seq: entry for entry in journal.entries}, paths_of(journal.entries)
    shown = [(one, _about(one, chosen)) for one in moments if one.seq in by_seq]  # `--at` leaves the later ones out
    facts = [
        {"seq": one.seq, "t": one.t, "why": one.why, "recent": [facts_of(entry) for entry in entries]}
        for one, entries in shown
    ]
    lines = [line for one, entries in shown for line in _lines(one, by_seq[one.seq], entries, paths)]
    return Page(facts={"moments": facts}, lines=lines or [NOTHING])


def _about(moment: Moment, chosen: AbstractSet[str] | None) -> Sequence[Entry]:
    return [one for one in moment.entries if chosen is None or one.event.actor in chosen]


def _lines(moment: Moment, at: Entry, entries: Sequence[Entry], paths: Mapping[str, str]) -> Iterator[str]:
    if moment.why == at.kind:
        who = paths.get(at.event.actor, at.event.actor) or RUN
        yield f"around event {moment.seq}, {at.kind} of {who}: {worded(at, paths)}"
    else:
        yield f"after event {moment.seq}, because somebody asked: {moment.why}"
    if entries:
        yield from (f"  {line}" for line in rows(entries, dict(paths)))
    else:
        yield "  nothing about these actors"
    if moment.is_last:
        yield "  so many moments a process keeps by itself; what led to later failures of it is not known"
    yield ""
