"""The command `greenroom replay`: its arguments and exit codes.

It only reads, so it can show a run that is still in progress. Exit codes are 0, 1 for an unsound or different run, 2 for
a mistake; a reader that goes away early, such as `head`, does not change them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final, Literal

import attrs
from cyclopts import Parameter

from greenroom.cli._page_flags import checked_port
from greenroom.core import UsageError
from greenroom.replay import ExportFormat
from greenroom.terminal import for_reader

EXIT_SAME: Final = 0
EXIT_DIFFERENT: Final = 1
_RUN: Final = (
    'A run folder, a journal file, the id of a run, or "last"; the state folder of a gateway, or STATE/ID for the session '
    "of its run."
)


def _flag(text: str, **more: Any) -> Any:
    return Parameter(help=text, **more)


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class ReplayFlags:
    """The flags of the command, named as in `ReplayOptions`."""

    at: Annotated[
        str | None,
        _flag(
            "Show the whole tree as it was: after the event with this number, at a time such as 8.0s, at `end`, or "
            "`before-failure`."
        ),
    ] = None
    since: Annotated[str | None, _flag("Only events from this place on, as for --at.")] = None
    until: Annotated[str | None, _flag("Only events up to this place, as for --at.")] = None
    actor: Annotated[
        str | None,
        _flag(
            "Only actors whose path, name or id fits one of these patterns, such as `mate-1` or `session/teams/*,board`."
        ),
    ] = None
    kind: Annotated[str | None, _flag("Only events of these kinds, such as `item.*,turn.end`.")] = None
    item: Annotated[
        str | None, _flag("Only the events of this item of a board, and what happened to its owners meanwhile.")
    ] = None
    grep: Annotated[str | None, _flag("Only events in whose line this regular expression is found.")] = None
    is_all: Annotated[bool, _flag("Every event, in place of the first screen.", name="--all")] = False
    transcript: Annotated[
        str | None,
        _flag("Tell the story of one agent: prompts, answers, calls, mail; with --all, long texts in full."),
    ] = None
    check: Annotated[bool, _flag("Verify the invariants that a journal can show; exit code 1 when one is broken.")] = (
        False
    )
    is_verbose: Annotated[bool, _flag("With --check, also what was not checked.", name="--verbose")] = False
    diff: Annotated[
        str | None,
        _flag(
            "Another run to compare with; exit code 1 when they differ. With --all: every actor, totals and conversations, not only "
            "the first difference."
        ),
    ] = None
    recent: Annotated[
        bool,
        _flag("Show what happened around each failure: the turns of plain actors, which the journal leaves out."),
    ] = False
    play: Annotated[
        bool,
        _flag(
            "Show the run on a screen, at any moment: left and right by event, Space plays, ? lists the keys. With --at: "
            "from there."
        ),
    ] = False
    page: Annotated[
        bool,
        _flag(
            "Serve a page of the run for a browser on this machine, until Ctrl+C, and print its address. With --at: from there."
        ),
    ] = False
    port: Annotated[int | None, _flag("The port of the page; by default any free one.")] = None
    export: Annotated[
        ExportFormat | None,
        _flag(
            "Write the run for other programs: `perfetto` for ui.perfetto.dev, `chrome` for chrome://tracing, `otlp` for "
            "OpenTelemetry, a request a line, `html` for a browser: one file, which needs no greenroom."
        ),
    ] = None
    content: Annotated[
        Literal["none", "short", "all"] | None,
        _flag("Words in an export: `none`, `short` (160 characters of each text; the default), or `all`."),
    ] = None
    output: Annotated[
        Path | None, _flag("The file that an export goes to, instead of standard output.", alias="-o")
    ] = None
    json: Annotated[bool, _flag("Print one JSON object instead of text.")] = False
    runs: Annotated[
        Path | None,
        _flag(
            "The folder of the runs; by default GREENROOM_RUNS, or .greenroom/runs in the project of the current folder."
        ),
    ] = None


def replay_command(run: Annotated[str, _flag(_RUN)] = "last", /, *, flags: ReplayFlags = ReplayFlags()) -> int:
    """Show what a run did: its standing, its problems, its time line."""
    asked = attrs.asdict(flags, recurse=False)
    is_page, port = asked.pop("page"), asked.pop("port")
    port = checked_port(port, is_page=is_page)
    if is_page:
        return _show_page(run, flags, asked, port)
    if flags.export is ExportFormat.HTML:
        from greenroom.web import write_run_file

        asked["write_html"] = write_run_file
    from greenroom.replay import ReplayOptions, show_replay

    return EXIT_SAME if show_replay(ReplayOptions(run=run, **asked)) else EXIT_DIFFERENT


def _show_page(run: str, flags: ReplayFlags, asked: dict[str, Any], port: int) -> int:
    _refuse_others(asked, "--page shows", taken={"at", "runs"})
    from greenroom.replay import problem_facts
    from greenroom.web import show_page

    return show_page(run, runs=flags.runs, port=port, place=flags.at or "", find_problems=problem_facts, say=_say)


def _say(text: str) -> None:
    print(for_reader(text), flush=True)


def _refuse_others(asked: dict[str, Any], what: str, *, taken: set[str]) -> None:
    """Refuse flags that have no meaning for a whole run."""
    others = [name for name, value in asked.items() if value not in (None, False) and name not in taken]
    if others:
        raise UsageError(f"{what} the whole run; leave out --{others[0].removeprefix('is_')}")
