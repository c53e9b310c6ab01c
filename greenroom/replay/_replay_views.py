"""The views of a run that `greenroom replay` offers, and which options go together."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, ParamSpec, final

import attrs

from greenroom.core import JournalError, UsageError
from greenroom.gateway.record import EVENTS, find_journal
from greenroom.replay._entry_words import paths_of
from greenroom.replay._event_rows import recent as what_led_to
from greenroom.replay._event_rows import transitions
from greenroom.replay._moment import moment
from greenroom.replay._play import play_run
from greenroom.replay._run_check import checked, compared
from greenroom.replay._run_export import ExportFormat, exported
from greenroom.replay._run_standing import Standing, StandingWriter, cut_at, standing_of, writer_of
from greenroom.replay._run_summary import summary
from greenroom.session import FOLDS
from greenroom.terminal import Page, drop_output, flush_output, program
from greenroom.trace import JournalText, read_journal, read_recent, runs_folder

P = ParamSpec("P")
_DAMAGED: Final = re.compile(r"line (\d+) is damaged")


@final
@attrs.frozen(kw_only=True)
class ReplayOptions:
    """A question about a run, as somebody asks it on the command line."""

    run: str = "last"
    """A run folder, a journal file, the id of a run, or "last"; the state folder of a gateway, or STATE/ID."""
    at: int | None = None
    """The number of the last event to look at."""
    actor: str | None = None
    """A pattern of paths or ids."""
    check: bool = False
    diff: str | None = None
    """Another run."""
    recent: bool = False
    play: bool = False
    """On a screen."""
    export: ExportFormat | None = None
    output: Path | None = None
    json: bool = False
    runs: Path | None = None
    """The folder of the runs; None for the usual one."""


def show_replay(options: ReplayOptions) -> bool:
    """Print what was asked of a run; returns False for an unsound or different one.

    Raises:
        UsageError: Options that do not go together, or name nothing of this run.
        JournalError: It is not a journal, or it is damaged.
    """
    _refuse(options)
    if options.play:
        play_run(options.run, runs=options.runs, at="" if options.at is None else str(options.at))
        return True
    path = find_journal(options.run, place := runs_folder(options.runs))
    writer, whole = writer_of(path), _read(path)
    journal = _until(whole, options.at)
    if options.export is not None:
        return _printed(exported, journal, options.export, options.output)
    standing = standing_of(whole, journal, without_end=writer.standing)
    is_good = True
    if options.diff is not None:
        other = find_journal(options.diff, place)
        names, paths = (options.run, options.diff), (path, other)
        page, is_good = compared(journal, _until(_read(other), options.at), names=names, paths=paths)
    elif options.check:
        page, is_good = checked(journal, FOLDS, folder=path.parent, standing=standing, writer=writer)
    elif options.recent:
        page = what_led_to(journal, read_recent(path, EVENTS), chosen=_chosen(journal, options.actor))
    elif options.at is not None:
        page = moment(journal, FOLDS, chosen=_chosen(journal, options.actor))
    else:
        page = _whole_run(journal, _chosen(journal, options.actor), standing, writer)
    _printed(page.print, is_json=options.json)
    return is_good


def _refuse(options: ReplayOptions) -> None:
    """Refuse options that do not go together."""
    asked = {
        "--check": options.check,
        "--diff": options.diff is not None,
        "--export": options.export is not None,
        "--recent": options.recent,
        "--play": options.play,
    }
    questions = [name for name, is_asked in asked.items() if is_asked]
    if len(questions) > 1:
        raise UsageError(f"{' and '.join(questions)} are {len(questions)} questions; ask one at a time")
    if options.actor is not None and questions not in ([], ["--recent"]):
        raise UsageError("--check, --diff and --export look at the whole run; leave out --actor")
    if options.play and options.json:
        raise UsageError("--play shows a screen; leave out --json, or --play")
    if asked["--export"] and options.json:
        raise UsageError("--export prints JSON of its own; leave out --json")
    if options.output is not None and not asked["--export"]:
        raise UsageError("--output is where an export goes; say --export chrome or --export otlp")


def _printed(print_it: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> bool:
    """Print something to a reader that may go away early; returns True."""
    try:
        print_it(*args, **kwargs)
        flush_output()
    except BrokenPipeError:  # the reader has seen enough
        drop_output()
    return True


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
