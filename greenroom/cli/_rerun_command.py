"""The command `greenroom rerun`: its arguments and exit codes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import attrs
from cyclopts import Parameter

from greenroom.cli._branch_command import BranchFlags, branch_off
from greenroom.core import UsageError
from greenroom.reruns import AtDifference, Program, print_rerun, read_arguments, rerun
from greenroom.trace import find_run, runs_folder


def rerun_command(
    run: str = "last",
    /,
    *,
    flags: BranchFlags = BranchFlags(),  # noqa: B008 - frozen
    runs: Path | None = None,
    at_difference: AtDifference = "stop",
    update: bool = False,
    json: Annotated[bool, Parameter(help="Print the result as one JSON object.")] = False,
) -> int:
    """Do a recorded run again from its record, with the code of today, and name the first difference.

    No model is asked, no process is started, and no file is written outside the new run folder, but for the record itself with
    --update. Exit codes: 0 for a run that is equal or was updated, 1 for a different one, 2 for a mistake. With --from, any run is
    continued from one of its events, on a live model; the exit codes are those of the command that began it.

    Parameters
    ----------
    run
        A run folder, the id of a run, or "last"; recorded with --record, unless it is continued.
    runs
        The folder of the runs; by default GREENROOM_RUNS, or .greenroom/runs in the project of the current folder.
    at_difference
        "stop" at the first difference, or "go-on" with the recorded answers as long as they fit.
    update
        Replace the requests and inputs on record by those of today if nothing else differs; the answers stay.
    """
    flags.check()
    if flags.from_ is not None and (update or at_difference != "stop"):
        raise UsageError("--from continues a run, and compares nothing: leave out --update and --at-difference")
    place = runs_folder(runs)
    folder = find_run(run, place).parent
    if flags.from_ is not None:
        return branch_off(folder, place, flags, is_json=json)
    program, opening = _recorded_program(folder, place)
    return print_rerun(rerun(folder, program, at_difference=at_difference, update=update, **opening), is_json=json)


def _recorded_program(folder: Path, runs: Path) -> tuple[Program, dict[str, Any]]:
    """Return the program of a recorded run, and the arguments of its session."""
    arguments = read_arguments(folder)
    if arguments:
        from greenroom.cli._run_command import options_of
        from greenroom.cli._run_flags import read_invocation
        from greenroom.headless import repeated_run

        flags, prompt, ceiling_s = read_invocation(arguments, folder.name)
        return repeated_run(attrs.evolve(options_of(flags), prompt=prompt, ceiling_s=ceiling_s))
    from greenroom.swarm import recorded_swarm

    return recorded_swarm(str(folder), runs)
