"""The command line of `greenroom swarm`: its flags, and what is wrong with them.

Rule 1: a mistake is said before anything starts. Must not know: what a swarm does.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Final

import attrs
from cyclopts import Parameter

from greenroom.core import UsageError

MAX_AGENTS: Final = 1_000
DONE: Final = 0


def _flag(text: str) -> Any:
    """Return what help says of a flag."""
    return Parameter(help=text)


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class SwarmFlags:
    """The flags of the command."""

    task: Annotated[
        str | None,
        _flag(
            "What to do there; by default a survey of its code. The playbook searches for the words of any other task."
        ),
    ] = None
    agents: Annotated[
        int, _flag("Number of teammates beside the lead, in each role whose recipe does not say how many.")
    ] = 4
    model: Annotated[str | None, _flag('"playbook", or the name of a Claude model.')] = None
    max_budget_usd: Annotated[
        float | None,
        _flag(
            "US dollars that it may cost, resumed runs included; the swarm stops before a request that may cost more."
        ),
    ] = None
    runs: Annotated[
        Path | None,
        _flag(
            "Where run folders go; by default GREENROOM_RUNS, or .greenroom/runs of the project around the current folder."
        ),
    ] = None
    json: Annotated[bool, _flag("Print each event as one JSON object a line.")] = False
    latency: Annotated[float, _flag("Seconds that the playbook waits before each answer, to watch it work.")] = 0.0
    recipe: Annotated[
        str | None,
        _flag("Who works on what: the name of a recipe, or a file that ends in .toml or .py; by default the survey."),
    ] = None
    recipes: Annotated[bool, _flag("List the recipes that come with greenroom, and do nothing else.")] = False
    chaos: Annotated[
        bool,
        _flag("Put failures into the run: refusals, cut and hanging answers of the model, crashes of mates."),
    ] = False
    seed: Annotated[
        int | None,
        _flag("With --chaos: which failures; the same ones for the same number, as far as the agents say the same."),
    ] = None
    resume: Annotated[
        str | None,
        _flag(
            "Go on with a swarm that was cut short: its id, its run folder, or `last`; with the folder and the recipe it had."
        ),
    ] = None


def swarm_command(
    path: Annotated[Path, _flag("The folder to survey.")] = Path(),
    /,
    *,
    flags: SwarmFlags = SwarmFlags(),
) -> int:
    """Run a swarm and return the exit code."""
    from greenroom.swarm import DEFAULT_RECIPE, SwarmOptions, list_recipes, resumed, run_swarm

    if flags.recipes:
        list_recipes()
        return DONE
    if not 1 <= flags.agents <= MAX_AGENTS:
        raise UsageError(f"--agents has to be between 1 and {MAX_AGENTS}, not {flags.agents}")
    if not (math.isfinite(flags.latency) and flags.latency >= 0):
        raise UsageError(f"--latency has to be a number of seconds from 0, not {flags.latency}")
    max_usd = flags.max_budget_usd
    if max_usd is not None and not (math.isfinite(max_usd) and max_usd > 0):
        raise UsageError(f"--max-budget-usd must be a number above 0, got {max_usd}")
    if flags.seed is not None and not flags.chaos:
        raise UsageError("--seed says which failures --chaos puts into the run; give both, or neither")
    options = SwarmOptions(
        path=path,
        task=(flags.task or "").strip(),
        agents=flags.agents,
        model=(flags.model or "").strip(),
        runs=flags.runs,
        is_json=flags.json,
        latency_s=flags.latency,
        recipe=flags.recipe or DEFAULT_RECIPE,
        max_usd=max_usd,
        seed=(flags.seed or 0) if flags.chaos else None,
    )
    if flags.resume is not None:
        if path != Path() or flags.task or flags.recipe:
            raise UsageError("--resume goes on with what a run was begun as: leave out the folder, --task and --recipe")
        options = resumed(options, flags.resume)
    return run_swarm(options)
