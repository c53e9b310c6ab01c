"""A recorded swarm, as it would be begun today: its program, and the arguments of its session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from greenroom.core import ActorEnded, StartFailed, Stopping, TurnFailed, TurnKilled, Undelivered
from greenroom.core.sources import find_places
from greenroom.session import Session
from greenroom.swarm._resumption import read_beginning
from greenroom.swarm._swarm import PLAYBOOK_SETTINGS, SwarmRun, work_on
from greenroom.swarm._swarm_budget import model_settings
from greenroom.swarm._swarm_plan import SwarmOptions, checked_folder, is_playbook, make_swarm_plan
from greenroom.swarm._view import LinesView
from greenroom.swarm.recipes import find_recipe


def recorded_swarm(run: str, runs: Path) -> tuple[Callable[[Session], Awaitable[None]], dict[str, Any]]:
    """Return the program of a recorded swarm, and the arguments with which its session is opened, all of today.

    Raises:
        UsageError: The run does not exist, or is not a swarm's; its recipe or its folder cannot be used.
    """
    _, began = read_beginning(run, runs)
    options = SwarmOptions(
        path=Path(began.path),
        task=began.task,
        agents=began.agents,
        recipe=began.recipe,
        model=began.model,
        has_key=True,  # a recorded run on rules names its model
    )
    recipe = find_recipe(options.recipe)
    plan = make_swarm_plan(options, recipe, checked_folder(options.path))
    is_rule_based = is_playbook(options)
    settings = model_settings(find_places(Path.cwd()), max_usd=None, is_rule_based=is_rule_based)
    settings |= {"recovery": {"cut_turns": "leave"}, **(PLAYBOOK_SETTINGS if is_rule_based else {})}

    async def work(session: Session) -> None:
        found = SwarmRun(folder=session.run_folder)
        with suppress(ActorEnded, StartFailed, Stopping, TurnFailed, TurnKilled, Undelivered):
            await work_on(session, options, plan, LinesView(), found)

    return work, {
        "cwd": plan.folder,
        "main": plan.lead,
        "tools": plan.tools,
        "sources": ("managed",),
        "settings": settings,
        "permission_mode": plan.recipe.permission_mode,
    }
