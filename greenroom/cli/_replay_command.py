"""The command `greenroom replay`: its arguments and exit codes.

It only reads, so it can show a run that is still in progress. Exit codes are 0, 1 for an unsound or different run, 2 for
a mistake; a reader that goes away early, such as `head`, does not change them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from greenroom.replay import ExportFormat, ReplayOptions, show_replay

EXIT_SAME: Final = 0
EXIT_DIFFERENT: Final = 1


def replay_command(
    run: str = "last",
    /,
    *,
    at: int | None = None,
    actor: str | None = None,
    check: bool = False,
    diff: str | None = None,
    recent: bool = False,
    play: bool = False,
    export: ExportFormat | None = None,
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
    play
        Show the run on a screen, at any moment: left and right by event, space plays, ? lists the keys. With --at: from there.
    export
        Print the run as JSON for other programs: "chrome" for Perfetto and chrome://tracing, "otlp" for OpenTelemetry.
    output
        The file that an export goes to, instead of standard output.
    json
        Print one JSON object instead of text.
    runs
        The folder of the runs; by default GREENROOM_RUNS, or .greenroom/runs in the project of the current folder.
    """
    options = ReplayOptions(
        run=run,
        at=at,
        actor=actor,
        check=check,
        diff=diff,
        recent=recent,
        play=play,
        export=export,
        output=output,
        json=json,
        runs=runs,
    )
    return EXIT_SAME if show_replay(options) else EXIT_DIFFERENT
