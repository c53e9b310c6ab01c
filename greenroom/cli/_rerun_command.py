"""The command `greenroom rerun`: its arguments and exit codes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import attrs
from cyclopts import Parameter

from greenroom.reruns import AtDifference, Program, print_rerun, read_arguments, rerun
from greenroom.trace import find_run, runs_folder


def rerun_command(
    run: str = "last",
    /,
    *,
    runs: Path | None = None,
    at_difference: AtDifference = "stop",
    update: bool = False,
    json: Annotated[bool, Parameter(help="Print the result as one JSON object.")] = False,
) -> int:
    """Do a recorded run again from its record, with the code of today, and name the first difference.

    No model is asked, no process is started, and no file is written outside the new run folder. Exit codes: 0 for an equal
    run, 1 for a different one, 2 for a mistake.

    Parameters
    ----------
    run
        A run folder, the id of a run, or "last"; a run of `greenroom run` or `greenroom swarm` with --record.
    runs
        The folder of the runs; by default GREENROOM_RUNS, or .greenroom/runs in the project of the current folder.
    at_difference
        "stop" at the first difference, or "go-on" with the recorded answers as long as they fit.
    update
        Go on, and put what is asked for today into the record if nothing but requests and inputs differs; the answers stay.
    """
    place = runs_folder(runs)
    folder = find_run(run, place).parent
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
