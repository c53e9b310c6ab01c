"""Places in a run (`41`, `8.0s`, `end`, `before-failure`), and the events that somebody asked for.

Must not know: the disk, the terminal.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, final

import attrs

from greenroom.core import UsageError
from greenroom.replay._actor_names import ActorNames
from greenroom.replay._entry_words import paths_of, worded
from greenroom.replay._run_problems import ProblemKind, find_problems
from greenroom.trace import Entry

if TYPE_CHECKING:  # only an export reads by an index
    from greenroom.trace import RunIndex

END: Final = "end"
BEFORE_FAILURE: Final = "before-failure"
_TIME: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|min|m|h)")
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_NUMBER: Final = re.compile(r"-?\d+")


def seq_at(place: str, entries: Sequence[Entry], *, option: str) -> int:
    """Return the number of the event at a place: the last one that had happened by then.

    Args:
        place: The number of an event, a time since the beginning such as `8.0s`, `500ms` or `2min`, `end`, or
            `before-failure`, the event before the first failure.
        entries: Those of the run.
        option: The option that it was given to, for errors.

    Raises:
        UsageError: It is none of these, or the run has no such place.
    """
    if not entries:
        raise UsageError(f"{option} {place}: this run has no events yet")
    last = entries[-1].seq
    if place == END:
        return last
    if place == BEFORE_FAILURE:
        return _before_failure(entries, option)
    t = _time_of(place)
    if t is not None:
        before = [entry.seq for entry in entries if entry.t <= t]
        if not before:
            raise UsageError(f"{option} {place}: the first event of this run is at {entries[0].t:.3f} s")
        return before[-1]
    check_place(place, option=option)
    if not 1 <= int(place) <= last:
        raise UsageError(f"{option} {place}: the events of this run have the numbers 1 to {last}")
    return int(place)


def count_until(place: str, index: RunIndex, *, option: str = "--until") -> int:
    """Return how many events had happened at a place, as for `seq_at`, of a run that is not in memory.

    Raises:
        UsageError: The place cannot be read, or the run does not have it.
    """
    if not len(index):
        raise UsageError(f"{option} {place}: this run has no events yet")
    if place == END:
        return len(index)
    if place == BEFORE_FAILURE:
        if not index.failures or not index.failures[0]:
            raise UsageError(f"{option} {BEFORE_FAILURE}: nothing failed in this run")
        return index.failures[0]
    t = _time_of(place)
    if t is not None:
        if not (count := index.count_at(t)):
            raise UsageError(f"{option} {place}: the first event of this run is at {index.time_s(0):.3f} s")
        return count
    check_place(place, option=option)
    last = index.seq(len(index) - 1)
    if not 1 <= int(place) <= last:
        raise UsageError(f"{option} {place}: the events of this run have the numbers 1 to {last}")
    return index.count_until(seq=int(place))


def count_from(place: str, index: RunIndex, *, option: str) -> int:
    """Return how many events come before a place.

    Raises:
        UsageError: The place cannot be read, or the run does not have it.
    """
    t = _time_of(place)
    if t is not None:
        return index.count_at(math.nextafter(t, -math.inf))
    return count_until(place, index, option=option) - 1


def check_place(place: str, *, option: str) -> None:
    """Raise `UsageError` for a text that is not a place in any run; see `seq_at`."""
    if place not in (END, BEFORE_FAILURE) and _time_of(place) is None and _NUMBER.fullmatch(place) is None:
        words = f"the number of an event, a time such as 8.0s, {END} or {BEFORE_FAILURE}"
        raise UsageError(f"{option} must be {words}, got {place!r}")


def _time_of(place: str) -> float | None:
    """Return the seconds of a time; None for any other place."""
    found = _TIME.fullmatch(place)
    return None if found is None else float(found[1]) * _SECONDS[found[2]]


def _before_failure(entries: Sequence[Entry], option: str) -> int:
    names = ActorNames(paths_of(entries))
    failures = [problem.seq for problem in find_problems(entries, (), names) if problem.kind is ProblemKind.FAILED]
    before = [entry.seq for entry in entries if failures and entry.seq < min(failures)]
    if not before:
        raise UsageError(f"{option} {BEFORE_FAILURE}: nothing failed in this run")
    return before[-1]


@final
@attrs.frozen(kw_only=True)
class EventSelection:
    """The events that somebody asked for; every part that is given has to fit."""

    since: str | None = None
    """The place of the first event."""
    until: str | None = None
    """The place of the last event."""
    kind: str | None = None
    """Patterns of kinds, such as `turn.*`, separated by commas."""
    item: str | None = None
    """Id of an item of a board: its events, and those of its owners while they have it."""
    grep: str | None = None
    """A regular expression; a row fits if it is found in it, whatever its case."""
    actors: AbstractSet[str] | None = None
    """Ids of actors."""
    is_all: bool = False
    """True for every event, mail included, however many they are."""

    @property
    def is_asked(self) -> bool:
        """True if anything was asked for."""
        parts = (self.since, self.until, self.kind, self.item, self.grep, self.actors)
        return self.is_all or any(part is not None for part in parts)

    @property
    def has_no_mail(self) -> bool:
        """True if the way of each message is left out: nothing was asked for that could be about mail."""
        return not self.is_all and self.kind is None and self.grep is None and self.item is None and self.actors is None

    def of(self, entries: Sequence[Entry]) -> list[Entry]:
        """Return the events that fit.

        Raises:
            UsageError: A place that the run does not have, an unknown item, or an invalid regular expression.
        """
        first_t = None if self.since is None else _time_of(self.since)
        first = 0 if self.since is None or first_t is not None else seq_at(self.since, entries, option="--since")
        last = seq_at(self.until, entries, option="--until") if self.until is not None else None
        fits = [
            entry
            for entry in entries
            if entry.seq >= first and (first_t is None or entry.t >= first_t) and (last is None or entry.seq <= last)
        ]
        if self.kind is not None:
            patterns = [part.strip() for part in self.kind.split(",")]
            fits = [entry for entry in fits if any(fnmatchcase(entry.kind, pattern) for pattern in patterns)]
            if not fits and not any(fnmatchcase(entry.kind, pattern) for entry in entries for pattern in patterns):
                kinds = ", ".join(sorted({entry.kind for entry in entries}))
                raise UsageError(f"--kind {self.kind!r} fits no event of this run; expected one of: {kinds}")
        if self.item is not None:
            story = set(_story_of_item(entries, self.item.removeprefix("#")))
            if not story:
                raise UsageError(f"--item {self.item}: this run has no such item")
            fits = [entry for entry in fits if entry.seq in story]
        if self.actors is not None:
            fits = [entry for entry in fits if entry.event.actor in self.actors]
        return [*_found(fits, entries, self.grep)] if self.grep is not None else fits


def _found(fits: Sequence[Entry], entries: Sequence[Entry], grep: str) -> Iterator[Entry]:
    try:
        wanted = re.compile(grep, re.IGNORECASE)
    except re.error as error:
        raise UsageError(f"--grep must be a regular expression, got {grep!r}: {error}") from None
    paths = paths_of(entries)
    for entry in fits:
        if wanted.search(f"{paths.get(entry.event.actor, entry.event.actor)} {entry.kind} {worded(entry, paths)}"):
            yield entry


_OF_OWNER: Final = ("turn.", "model.retried", "actor.", "child.", "tool.end")


def _story_of_item(entries: Sequence[Entry], item: str) -> Iterator[int]:
    """Yield the numbers of the events of an item, and of the turns and ends of its owner while it has the item."""
    actors: dict[tuple[str, str], str] = {}
    owner = None
    for entry in entries:
        if entry.kind == "mate.joined":
            actors[entry["team"], entry["name"]] = entry.event.actor
        if entry.kind.startswith("item.") and entry.get("item") == item:
            if entry.kind in {"item.claimed", "item.assigned"}:
                owner = actors.get((entry["team"], entry["owner"]))
            elif entry.kind in {"item.completed", "item.released", "item.deleted"}:
                owner = None
            yield entry.seq
        elif (entry.get("item") == item and entry.kind.startswith("mate.")) or (
            owner is not None and entry.event.actor == owner and entry.kind.startswith(_OF_OWNER)
        ):
            yield entry.seq
