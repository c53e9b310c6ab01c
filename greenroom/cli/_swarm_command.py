"""The command line of `greenroom swarm`: its flags and their checks.

A mistake is said before anything starts.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Final

import attrs
from cyclopts import Parameter

from greenroom.cli._page_flags import page_opener
from greenroom.core import UsageError
from greenroom.trace import Durability

MAX_AGENTS: Final = 1_000


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
        int | None, _flag("Number of teammates in each role for which the recipe gives no number; 4 by default.")
    ] = None
    model: Annotated[str | None, _flag('"playbook", or the name of a Claude model.')] = None
    max_budget_usd: Annotated[
        float | None,
        _flag(
            "Maximum cost in US dollars, including resumed runs; the swarm stops before a request that might exceed it."
        ),
    ] = None
    yes: Annotated[bool, _flag("Start without asking whether the estimated cost is agreed to.")] = False
    runs: Annotated[Path | None, _flag("The folder for run folders; by default GREENROOM_RUNS, or the project's.")] = (
        None
    )
    durability: Annotated[Durability | None, _flag('What the record survives: "process" (kill -9) or "power".')] = None
    record: Annotated[
        bool | None,
        Parameter(
            help="Keep what models and tools answered in the run folder, for `greenroom rerun`, which is the default.",
            negative="--no-record",
        ),
    ] = None
    json: Annotated[bool, _flag("Print each event as one JSON object per line.")] = False
    latency: Annotated[
        float | None,
        _flag(
            "Seconds that the playbook waits before each answer; by default 0.3 on a terminal (0.8 for few files), else 0."
        ),
    ] = None
    recipe: Annotated[
        str | None,
        _flag("The recipe: the name of a built-in one, or a .toml or .py file; by default survey."),
    ] = None
    recipes: Annotated[bool, _flag("List the recipes that come with greenroom, and do nothing else.")] = False
    chaos: Annotated[
        bool,
        _flag("Inject failures: model requests that are refused, answers that are cut or stall, crashes of teammates."),
    ] = False
    seed: Annotated[
        int | None,
        _flag(
            "With --chaos: the seed of the failures; the same seed causes the same failures if the agents send the same "
            "requests."
        ),
    ] = None
    page: Annotated[
        bool,
        _flag("Serve a page of the run for a browser on this machine while it goes on, and print its address."),
    ] = False
    port: Annotated[int | None, _flag("The port of the page; by default any free one.")] = None
    hosts: Annotated[
        str | None,
        _flag(
            "Have the items worked on by agents on hosts that Ray places: ray:NUMBER for a cluster of this machine that is "
            "started for the run, or ray:NUMBER@ADDRESS for that at HOST:PORT or `auto`."
        ),
    ] = None
    resume: Annotated[
        str | None,
        _flag(
            "Resume an interrupted swarm, given by its id, its run folder or `last`, with its original folder, recipe and model."
        ),
    ] = None


def swarm_command(
    path: Annotated[Path, _flag("The folder to survey.")] = Path(),
    /,
    *,
    flags: SwarmFlags = SwarmFlags(),
) -> int:
    """Run a swarm and return the exit code."""
    from greenroom.hosting import hosts_opener
    from greenroom.swarm import DEFAULT_AGENTS, DEFAULT_RECIPE, SwarmOptions, list_recipes, resumed, run_swarm

    if flags.recipes:
        list_recipes()
        return 0
    if flags.agents is not None and not 1 <= flags.agents <= MAX_AGENTS:
        raise UsageError(f"--agents must be between 1 and {MAX_AGENTS}, got {flags.agents}")
    if flags.latency is not None and not (math.isfinite(flags.latency) and flags.latency >= 0):
        raise UsageError(f"--latency must be a number of seconds, at least 0, got {flags.latency}")
    max_usd = flags.max_budget_usd
    if max_usd is not None and not (math.isfinite(max_usd) and max_usd > 0):
        raise UsageError(f"--max-budget-usd must be a number above 0, got {max_usd}")
    if flags.seed is not None and not flags.chaos:
        raise UsageError("--seed says which failures --chaos puts into the run; give both, or neither")
    if max_usd is not None and flags.hosts is not None:
        raise UsageError("--max-budget-usd cannot be combined with --hosts: the cost of agents on hosts is not counted")
    options = SwarmOptions(
        path=path,
        task=(flags.task or "").strip(),
        agents=flags.agents or DEFAULT_AGENTS,
        model=(flags.model or "").strip(),
        runs=flags.runs,
        durability=flags.durability,
        is_json=flags.json,
        records=flags.record,
        latency_s=flags.latency,
        recipe=flags.recipe or DEFAULT_RECIPE,
        max_usd=max_usd,
        is_agreed=flags.yes,
        seed=(flags.seed or 0) if flags.chaos else None,
        open_page=page_opener(flags.port, is_page=flags.page),
        open_hosts=None if flags.hosts is None else hosts_opener(flags.hosts),
    )
    if flags.resume is not None:
        if path != Path() or flags.task or flags.recipe or flags.agents is not None:
            raise UsageError("--resume cannot be combined with PATH, --task, --recipe or --agents")
        options = resumed(options, flags.resume)
    return run_swarm(options)
