"""The command `greenroom watch`: its arguments."""

from __future__ import annotations

from pathlib import Path


def watch_command(run: str = "last", /, *, runs: Path | None = None) -> int:
    """Watch a run of another process on a screen, or one that has ended; nothing of it is changed.

    Without a terminal, what happens is printed, a line for each event that matters, until the run ends.

    Parameters
    ----------
    run
        A run folder, a journal file, the id of a run, or "last"; STATE/ID for the session of a gateway.
    runs
        The folder of the runs; by default GREENROOM_RUNS, or .greenroom/runs in the project of the current folder.
    """
    from greenroom.replay import watch_run

    return watch_run(run, runs=runs)
