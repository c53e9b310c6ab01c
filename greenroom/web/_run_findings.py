"""The problems of a run for a page: looked for in a thread, once for all viewers, and at a pace that leaves the machine to the run.

Rule 1: while a run grows, looking takes at most a tenth of the time. Rule 2: of a run that is too long to be held whole, those problems are
listed that single events tell.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, final

import trio

from greenroom.core.ports import Blocking
from greenroom.core.texts import as_json
from greenroom.terminal import counted
from greenroom.trace import Entry, JournalText, RunIndex

MAX_CHECKED: Final = 200_000
"""Events of a run of which all problems are looked for."""
REST: Final = 9
"""The rest after a look, as a multiple of the time that it took."""
TELLING: Final = frozenset(
    {
        "ask.refused",
        "actor.end",
        "actor.new",
        "actor.unresponsive",
        "child.restarted",
        "inbox.poisoned",
        "item.assigned",
        "item.claimed",
        "item.completed",
        "item.deleted",
        "item.released",
        "mail.quarantined",
        "message.died",
        "message.returned",
        "model.retried",
        "supervisor.escalated",
    }
)
"""Kinds of events that tell a problem, or with whom and what it was about, beside those that failed."""
_SENSELESS: Final = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
_READ: Final = 2_000
"""Events that are read at once."""
_LEFT_OUT: Final = f"This run has more than {MAX_CHECKED:,} events: its invariants, waits and slow ends are not listed here, but by greenroom replay --check."

FindProblems = Callable[..., Sequence[Mapping[str, Any]]]
"""Called with the journal of a run and its folder: returns its problems, each with `kind`, `seq`, `t` and `text`. It blocks. With
`is_whole=False` there are only events that tell a problem."""


@final
class RunFindings:
    """The problems of one run.

    Args:
        journal: Its journal.
        find_problems: Finds them.
        blocking: Runs what blocks.
    """

    def __init__(self, journal: Path, find_problems: FindProblems, blocking: Blocking) -> None:
        self._journal = journal
        self._find_problems = find_problems
        self._blocking = blocking
        self._lock = trio.Lock()
        self._known = -1
        """Number of events that were looked at."""
        self._body = b""
        self._rests_until_s = 0.0

    async def look(self, index: RunIndex) -> bytes:
        """Return the problems as JSON, with the number of events that were looked at: those of now, or of the last look."""
        async with self._lock:
            count, began_s = len(index), trio.current_time()
            if count != self._known and (self._known < 0 or began_s >= self._rests_until_s):
                self._body = await self._blocking.run(self._find, index, count)
                self._known, now_s = count, trio.current_time()
                self._rests_until_s = now_s + REST * (now_s - began_s)
        return self._body

    def _find(self, index: RunIndex, count: int) -> bytes:
        return as_json(look_for_problems(index, count, self._journal, self._find_problems))


def look_for_problems(index: RunIndex, count: int, journal: Path, find_problems: FindProblems) -> dict[str, Any]:
    """Return the problems that the first events of a run tell, why some may be left out, and the number of events. It blocks."""
    is_whole = count <= MAX_CHECKED
    entries = list(_entries(index, range(count) if is_whole else _telling(index, count)))
    assert index.header is not None
    text = JournalText(path=journal, header=index.header, entries=entries, torn_bytes=0)
    problems = [
        *problems_in(text, journal.parent, find_problems if is_whole else partial(find_problems, is_whole=False))
    ]
    if index.damage:
        damage = f"{counted(index.damaged_lines, 'line')} left out: {index.damage}"
        problems.append({"kind": "unsound", "seq": 0, "t": 0.0, "text": damage})
    return {"problems": problems, "why": "" if is_whole else _LEFT_OUT, "events": count}


def _telling(index: RunIndex, count: int) -> Sequence[int]:
    failures = index.failures[: bisect_left(index.failures, count)]
    return sorted({*index.positions_of(TELLING, count), *failures})


def _entries(index: RunIndex, positions: Sequence[int]) -> Iterator[Entry]:
    if isinstance(positions, range):
        for begin in range(0, len(positions), _READ):
            yield from index.entries(begin, min(begin + _READ, len(positions)))
    else:
        for position in positions:
            yield from index.entries(position, position + 1)


def problems_in(text: JournalText, folder: Path, find_problems: FindProblems) -> Sequence[Mapping[str, Any]]:
    """Return the problems of a run; of one whose events hold invalid values, that as the only one."""
    try:
        return find_problems(text, folder)
    except _SENSELESS as error:  # a journal may say anything
        why = f"an event has an invalid value ({type(error).__name__}: {error}), so problems cannot be listed"
        return [{"kind": "unsound", "seq": 0, "t": 0.0, "text": why}]
