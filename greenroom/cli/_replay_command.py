"""The command `greenroom replay`: what a run did, as its journal tells it.

It only reads, so it can show a run that is still in progress. The options select the view: a check, a comparison, one
moment, or the whole run. Exit codes are 0, 1 for an unsound or different run, 2 for a mistake; a reader that goes away
early, such as `head`, does not change them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Final

from cyclopts import Parameter

from greenroom.cli._page import Page, paths_of
from greenroom.cli._replay_check import checked, compared
from greenroom.cli._replay_export import Format, exported
from greenroom.cli._replay_moment import moment
from greenroom.cli._replay_standing import Standing, StandingWriter, cut_at, standing_of, writer_of
from greenroom.cli._replay_summary import summary
from greenroom.cli._replay_table import recent as what_led_to
from greenroom.cli._replay_table import transitions
from greenroom.core import JournalError, UsageError
from greenroom.gateway.record import EVENTS, find_journal
from greenroom.session import FOLDS
from greenroom.terminal import drop_output, flush_output, program
from greenroom.trace import JournalText, read_journal, read_recent, runs_folder

EXIT_SAME: Final = 0
EXIT_DIFFERENT: Final = 1
_DAMAGED: Final = re.compile(r"line (\d+) is damaged")


def replay_command(
    run: str = "last",
    /,
    *,
    at: int | None = None,
    actor: str | None = None,
    check: bool = False,
    diff: str | None = None,
    recent: bool = False,
    export: Format | None = None,
    output: Annotated[Path | None, Parameter(alias="-o")] = None,
    json: bool = False,
    runs: Path | None = None,
) -> int:
    """Show what a run did: a summary and its transitions.

    Parameters
    ----------
    run
        A run folder, a journal file, the id of a run, or "last"; the state folder of a gateway, or STATE/ID for the session of its run.
    at
        Show the whole tree as it was after the event with this number.
    actor
        Only actors whose path or id fits this pattern, such as "session/teams/*".
    check
        Verify the invariants that a journal can show; exit code 1 when one is broken.
    diff
        Another run to compare with; exit code 1 when they differ.
    recent
        Show what happened around each failure: the turns of plain actors, which the journal leaves out.
    export
        Print the run as JSON for other programs: "chrome" for Perfetto and chrome://tracing, "otlp" for OpenTelemetry.
    output
        The file that an export goes to, instead of standard output.
    json
        Print one JSON object instead of text.
    runs
        The folder of the runs; by default GREENROOM_RUNS, or .greenroom/runs in the project of the current folder.
    """
    asked = {"--check": check, "--diff": diff is not None, "--export": export is not None, "--recent": recent}
    _refuse(asked, has_actor=actor is not None, has_json=json, has_output=output is not None)
    path = find_journal(run, place := runs_folder(runs))
    writer, whole = writer_of(path), _read(path)
    journal = _until(whole, at)
    standing = standing_of(whole, journal, without_end=writer.standing)
    if export is not None:
        return _shown(lambda: exported(journal, export, output), EXIT_SAME)
    is_good = True
    if diff is not None:
        other = find_journal(diff, place)
        page, is_good = compared(journal, _until(_read(other), at), names=(run, diff), paths=(path, other))
    elif check:
        page, is_good = checked(journal, FOLDS, folder=path.parent, standing=standing, writer=writer)
    elif recent:
        page = what_led_to(journal, read_recent(path, EVENTS), chosen=_chosen(journal, actor))
    elif at is not None:
        page = moment(journal, FOLDS, chosen=_chosen(journal, actor))
    else:
        page = _whole_run(journal, _chosen(journal, actor), standing, writer)
    return _shown(lambda: page.print(is_json=json), EXIT_SAME if is_good else EXIT_DIFFERENT)


def _refuse(asked: Mapping[str, bool], *, has_actor: bool, has_json: bool, has_output: bool) -> None:
    """Refuse options that do not go together."""
    questions = [name for name, is_asked in asked.items() if is_asked]
    if len(questions) > 1:
        raise UsageError(f"{' and '.join(questions)} are {len(questions)} questions; ask one at a time")
    if has_actor and questions not in ([], ["--recent"]):
        raise UsageError("--check, --diff and --export look at the whole run; leave out --actor")
    if asked["--export"] and has_json:
        raise UsageError("--export prints JSON of its own; leave out --json")
    if has_output and not asked["--export"]:
        raise UsageError("--output is where an export goes; say --export chrome or --export otlp")


def _shown(show: Callable[[], None], code: int) -> int:
    try:
        show()
        flush_output()
    except BrokenPipeError:  # the reader has seen enough
        drop_output()
    return code


def _read(path: Path) -> JournalText:
    """Read a journal.

    Raises:
        JournalError: It is not a journal, or it is damaged; the text says what can be done.
    """
    try:
        return read_journal(path, EVENTS)
    except JournalError as error:
        found = _DAMAGED.match(error.why)
        if found is None:
            raise
        # What the parser says about a line helps nobody; where it is, and what is still whole, does.
        head = f"head -n {int(found[1]) - 1} {shlex.quote(str(path))} > part.jsonl"
        why = (
            f"line {found[1]} is damaged; what comes before it can be replayed: {head} && {program()} replay part.jsonl"
        )
        raise JournalError(str(path), why) from None


def _until(journal: JournalText, at: int | None) -> JournalText:
    """Leave out what came after a moment."""
    if at is None:
        return journal
    last = journal.entries[-1].seq if journal.entries else 0
    if not 1 <= at <= last:
        raise UsageError(f"--at {at}: the events of this run have the numbers 1 to {last}")
    return cut_at(journal, at)


def _chosen(journal: JournalText, pattern: str | None) -> set[str] | None:
    """Return the ids of the actors that fit a pattern; None when there is no pattern."""
    if pattern is None:
        return None
    paths = paths_of(journal.entries)
    found = {one for one, path in paths.items() if fnmatchcase(path, pattern) or fnmatchcase(one, pattern)}
    if not found:
        raise UsageError(f"--actor {pattern!r} fits none of the {len(paths)} actors of this run")
    return found


def _whole_run(journal: JournalText, chosen: set[str] | None, standing: Standing, writer: StandingWriter) -> Page:
    first = summary(journal, FOLDS, chosen=chosen, standing=standing, writer=writer)
    second = transitions(journal, chosen=chosen)
    facts: Mapping[str, Any] = {**first.facts, **second.facts}
    lines: Sequence[str] = [*first.lines, "", *second.lines]
    return Page(facts=facts, lines=lines)
