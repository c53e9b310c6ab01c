"""The views of a run that `greenroom replay` offers, and which options go together."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Final, final

import attrs

from greenroom.core import JournalError, UsageError
from greenroom.gateway.record import events_of, find_journal
from greenroom.replay._actor_names import ActorNames
from greenroom.replay._entry_words import paths_of
from greenroom.replay._event_rows import recent as what_led_to
from greenroom.replay._event_rows import transitions
from greenroom.replay._first_screen import first_screen
from greenroom.replay._moment import moment
from greenroom.replay._pager import print_page, printed
from greenroom.replay._run_check import checked, compared
from greenroom.replay._run_export import ExportFormat, WriteHtml, export_run
from greenroom.replay._run_standing import Standing, StandingWriter, cut_at, standing_of, writer_of
from greenroom.replay._run_summary import summary
from greenroom.replay._selection import EventSelection, check_place, seq_at
from greenroom.session import FOLDS
from greenroom.terminal import Page, program
from greenroom.trace import JournalText, read_journal, read_recent, runs_folder

_DAMAGED: Final = re.compile(r"line (\d+) is damaged")


@final
@attrs.frozen(kw_only=True)
class ReplayOptions:
    """A question about a run, as somebody asks it on the command line."""

    run: str = "last"
    """A run folder, a journal file, the id of a run, or "last"; the state folder of a gateway, or STATE/ID."""
    at: str | None = None
    """The place of the last event to look at: its number, a time such as `8.0s`, `end` or `before-failure`."""
    actor: str | None = None
    """Patterns of paths, names or ids."""
    since: str | None = None
    until: str | None = None
    """Places, as for `at`."""
    kind: str | None = None
    """Patterns of kinds."""
    item: str | None = None
    grep: str | None = None
    is_all: bool = False
    check: bool = False
    is_verbose: bool = False
    """True to be told what was not checked, too."""
    diff: str | None = None
    """Another run."""
    recent: bool = False
    play: bool = False
    """On a screen."""
    transcript: str | None = None
    """The agent whose story is told."""
    export: ExportFormat | None = None
    output: Path | None = None
    content: str | None = None
    """The words that an export holds: `none`, `short` or `all`."""
    write_html: WriteHtml | None = None
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
        from greenroom.replay._play import play_run

        play_run(options.run, runs=options.runs, at=options.at or "")
        return True
    path = find_journal(options.run, place := runs_folder(options.runs))
    if options.export is not None:
        return printed(
            export_run,
            path,
            options.export,
            options.output,
            content=options.content or "short",
            since=options.since,
            until=options.until or options.at,
            write_html=options.write_html,
        )
    writer, whole = writer_of(path), _read(path)
    journal = _until(whole, options.at)
    standing = standing_of(whole, journal, without_end=writer.standing)
    is_good = True
    if options.diff is not None:
        other = find_journal(options.diff, place)
        names, paths = (options.run, options.diff), (path, other)
        compare = compared
        if options.is_all:
            from greenroom.replay._run_comparison import compared_whole as compare
        page, is_good = compare(journal, _until(_read(other), options.at), names=names, paths=paths)
    elif options.check:
        page, is_good = checked(
            journal, FOLDS, folder=path.parent, standing=standing, writer=writer, is_verbose=options.is_verbose
        )
    elif options.recent:
        page = what_led_to(journal, read_recent(path, events_of(path)), chosen=_chosen(journal, options.actor))
    elif options.transcript is not None:
        from greenroom.replay._agent_story import agent_story

        page = agent_story(journal, options.transcript, folder=path.parent, is_all=options.is_all)
    elif options.at is not None:
        page = moment(journal, FOLDS, chosen=_chosen(journal, options.actor))
    else:
        page = _whole_run(journal, options, path.parent, standing, writer)
    if options.json:
        return printed(page.print, is_json=True) and is_good
    return printed(print_page, page, os.environ.get("PAGER")) and is_good


def _refuse(options: ReplayOptions) -> None:
    """Refuse options that do not go together."""
    asked = {
        "--check": options.check,
        "--diff": options.diff is not None,
        "--export": options.export is not None,
        "--recent": options.recent,
        "--play": options.play,
        "--transcript": options.transcript is not None,
    }
    questions = [name for name, is_asked in asked.items() if is_asked]
    if len(questions) > 1:
        raise UsageError(f"{' and '.join(questions)} are {len(questions)} questions; ask one at a time")
    if options.actor is not None and questions not in ([], ["--recent"]):
        raise UsageError(f"{questions[0]} looks at the whole run; leave out --actor")
    if options.play and options.json:
        raise UsageError("--play shows a screen; leave out --json, or --play")
    _refuse_of_export(options)
    narrowing = {
        "--since": options.since,
        "--until": options.until,
        "--kind": options.kind,
        "--item": options.item,
        "--grep": options.grep,
    }
    for name, place in {"--at": options.at, "--since": options.since, "--until": options.until}.items():
        if place is not None and not options.play:  # the screen has places of its own
            check_place(place, option=name)
    narrowed = [name for name, value in narrowing.items() if value is not None]
    if asked["--export"]:
        narrowed = [name for name in narrowed if name not in {"--since", "--until"}]
    if narrowed and (questions or options.at is not None):
        other = questions[0] if questions else "--at"
        raise UsageError(f"{narrowed[0]} selects events of the whole run; leave out {other}")


def _refuse_of_export(options: ReplayOptions) -> None:
    """Refuse options that an export does not have, or has alone."""
    if options.export is None:
        if options.output is not None:
            raise UsageError("--output is where an export goes; say --export and a format")
        if options.content is not None:
            raise UsageError("--content needs --export; leave out --content, or add --export")
        return
    if options.json:
        raise UsageError("--export has a format of its own; leave out --json")
    if options.at is not None and options.until is not None:
        raise UsageError("--at and --until are the same place of an export; leave out one of them")
    if options.export is ExportFormat.HTML:
        if options.output is None:
            raise UsageError("--export html needs a file; name one with --output")
        if options.since is not None:
            raise UsageError("--export html holds a run from its beginning; leave out --since")


def _read(path: Path) -> JournalText:
    """Read a journal.

    Raises:
        JournalError: It is not a journal, or it is damaged; the text says what can be done.
    """
    try:
        return read_journal(path, events_of(path))
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


def _until(journal: JournalText, at: str | None) -> JournalText:
    """Leave out what came after a moment."""
    return journal if at is None else cut_at(journal, seq_at(at, journal.entries, option="--at"))


def _chosen(journal: JournalText, pattern: str | None) -> set[str] | None:
    """Return the ids of the actors that fit a pattern; None when there is no pattern."""
    return None if pattern is None else ActorNames(paths_of(journal.entries)).matching(pattern)


def _whole_run(
    journal: JournalText, options: ReplayOptions, folder: Path, standing: Standing, writer: StandingWriter
) -> Page:
    chosen = _chosen(journal, options.actor)
    wanted = EventSelection(
        since=options.since,
        until=options.until,
        kind=options.kind,
        item=options.item,
        grep=options.grep,
        actors=chosen,
        is_all=options.is_all,
    )
    if not wanted.is_asked:
        return first_screen(journal, FOLDS, folder=folder, standing=standing, writer=writer)
    listed = transitions(journal, wanted)
    summed_up = summary(journal, FOLDS, chosen=chosen, standing=standing, writer=writer)
    lines = listed.lines if chosen is None else [*summed_up.head, *summed_up.figures, "", *listed.lines]
    return Page(facts={**summed_up.facts, **listed.facts}, lines=lines)
