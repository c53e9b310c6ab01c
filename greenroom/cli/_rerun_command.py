"""The command `greenroom rerun`: its arguments and exit codes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from greenroom.cli._branch_command import BranchFlags, branch_off
from greenroom.reruns import print_rerun, rerun
from greenroom.swarm import recorded_swarm
from greenroom.trace import find_run, runs_folder


def rerun_command(
    run: str = "last",
    /,
    *,
    flags: BranchFlags = BranchFlags(),  # noqa: B008 - frozen
    runs: Path | None = None,
    json: Annotated[bool, Parameter(help="Print the result as one JSON object.")] = False,
) -> int:
    """Do a recorded swarm again from its record, with the code of today, and name the first difference.

    No model is asked, no process is started, and no file is written outside the new run folder. Exit codes: 0 for an equal
    run, 1 for a different one, 2 for a mistake. With --from, any run is continued from one of its events, on a live model; the
    exit codes are those of the command that began it.

    Parameters
    ----------
    run
        A run folder, the id of a run, or "last"; recorded with --record unless it is continued.
    runs
        The folder of the runs; by default GREENROOM_RUNS, or .greenroom/runs in the project of the current folder.
    """
    flags.check()
    place = runs_folder(runs)
    folder = find_run(run, place).parent
    if flags.from_ is not None:
        return branch_off(folder, place, flags, is_json=json)
    program, opening = recorded_swarm(str(folder), place)
    return print_rerun(rerun(folder, program, **opening), is_json=json)
