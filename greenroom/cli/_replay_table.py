"""The transitions of a run as a table: number, time, actor, event, details."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from greenroom.cli._page import RUN, Page, facts_of, first_of, paths_of, worded
from greenroom.trace import Entry, JournalText

MAX_ROWS: Final = 40
MAX_ROWS_OF_ACTORS: Final = 400
NAME_WIDTH: Final = 24
# What says nothing about a machine, unless one asks for its actor.
_MAIL: Final = (
    "message.put",
    "message.leased",
    "message.acked",
    "message.postponed",
    "message.returned",
    "name.registered",
    "name.released",
)


def transitions(journal: JournalText, *, chosen: AbstractSet[str] | None) -> Page:
    """List the transitions of a run, the latest ones; with `chosen`, everything about those actors."""
    if chosen is None:
        entries = [entry for entry in journal.entries if entry.kind not in _MAIL]
    else:
        entries = [entry for entry in journal.entries if entry.event.actor in chosen]
    most = MAX_ROWS if chosen is None else MAX_ROWS_OF_ACTORS
    latest, left_out = first_of(entries[::-1], most)
    lines = list(rows(latest[::-1], paths_of(journal.entries)))
    if left_out:
        hint = "--json has all" if chosen is not None else "--actor GLOB narrows, --json has all"
        lines.insert(1, f"       ... {left_out:,} before these; {hint}")
    return Page(facts={"transitions": [facts_of(entry) for entry in entries]}, lines=lines)


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
