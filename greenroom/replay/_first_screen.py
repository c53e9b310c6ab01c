"""The first screen of a run: its standing, what went wrong, its time line, its figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from greenroom.replay._actor_names import ActorNames
from greenroom.replay._entry_words import paths_of
from greenroom.replay._event_rows import rows, transitions
from greenroom.replay._run_check import violations_of
from greenroom.replay._run_problems import ProblemKind, RunProblem, find_problems
from greenroom.replay._run_standing import Standing, StandingWriter, open_work
from greenroom.replay._run_summary import summary
from greenroom.replay._selection import EventSelection
from greenroom.replay._time_line import lines_of, time_line
from greenroom.session import FOLDS
from greenroom.terminal import Page, counted, first_of, seconds
from greenroom.trace import Entry, Fold, JournalText, has_ended

_TOLD_BY_ALL: Final = frozenset({ProblemKind.UNSOUND, ProblemKind.STUCK, ProblemKind.SLOW})
"""Kinds of problems that only all events of a run together tell."""
MAX_CHECKED: Final = 100_000
"""Events of a run whose invariants are checked for the first screen; for a longer one `--check` is asked."""
MAX_OF_A_KIND: Final = 5
MAX_OPEN: Final = 10
MAX_EVENTS: Final = 40
"""Events that are shown of a run without turns and actors."""
_WITH_OPEN: Final = {Standing.BROKEN_OFF, Standing.UNKNOWN, Standing.CUT}


def first_screen(
    journal: JournalText, folds: Iterable[Fold], *, folder: Path, standing: Standing, writer: StandingWriter
) -> Page:
    """Return the first screen of a run."""
    entries = journal.entries
    names = ActorNames(paths_of(entries))
    summed_up = summary(journal, folds, chosen=None, standing=standing, writer=writer)
    is_checked = len(entries) <= MAX_CHECKED
    violations = violations_of(entries, folds, folder=folder, standing=standing) if is_checked else ()
    problems = find_problems(entries, violations, names)
    line_rows = time_line(entries, names)
    facts: dict[str, Any] = {
        **summed_up.facts,
        "problems": [attrs.asdict(problem) for problem in problems],
        "is_checked": is_checked,
        "time_line": [attrs.asdict(row) for row in line_rows],
        **transitions(journal, EventSelection()).facts,
    }
    lines = [*summed_up.head]
    if standing in _WITH_OPEN:
        lines += _open_lines(entries)
    lines += ["", *_problem_lines(problems, is_checked=is_checked), ""]
    lines += lines_of(entries, line_rows) if line_rows else rows(entries[-MAX_EVENTS:], paths_of(entries))
    hint = "--play shows it on a screen at any moment; --actor GLOB narrows, --all has every event, --transcript AGENT one story"
    return Page(facts=facts, lines=[*lines, "", *summed_up.figures, "", hint])


def problem_facts(journal: JournalText, folder: Path, *, is_whole: bool = True) -> list[dict[str, Any]]:
    """Return the problems of a run for a page, each with `kind`, `seq`, `t` and `text`.

    Args:
        journal: The journal of the run.
        folder: The run folder.
        is_whole: False if it holds only events that tell a problem: those that take the others to see are left out.
    """
    entries = journal.entries
    standing = Standing.ENDED if is_whole and has_ended(entries) else Standing.UNKNOWN
    is_checked = is_whole and bool(entries)
    violations = violations_of(entries, FOLDS, folder=folder, standing=standing) if is_checked else ()
    found = find_problems(entries, violations, ActorNames(paths_of(entries)))
    return [attrs.asdict(problem) for problem in found if is_whole or problem.kind not in _TOLD_BY_ALL]


def _open_lines(entries: Sequence[Entry]) -> Iterator[str]:
    shown, left = first_of(open_work(entries, 0.0), MAX_OPEN)
    for line in shown:
        yield f"open      {line['what']} for {seconds(line['for_s'])} (event {line['seq']})"
    if left:
        yield f"          ... {left:,} more; --check lists them"


def _problem_lines(problems: Sequence[RunProblem], *, is_checked: bool) -> Iterator[str]:
    for kind in dict.fromkeys(problem.kind for problem in problems):
        shown, left = first_of([problem for problem in problems if problem.kind is kind], MAX_OF_A_KIND)
        for problem in shown:
            yield f"{kind.value:<9} {problem.text} (event {problem.seq}, {problem.t:.3f} s)"
        if left:
            yield f"          ... {left:,} more; --json has all"
    if not is_checked:
        yield f"the invariants of more than {counted(MAX_CHECKED, 'event')} are checked by --check only"
    elif not problems:
        yield "nothing failed, and no invariant is broken"
