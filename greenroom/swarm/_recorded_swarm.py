"""A recorded swarm, as it would be begun today: its program, and the arguments of its session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, Final

from greenroom.core import ActorEnded, StartFailed, Stopping, TurnFailed, TurnKilled, Undelivered, UsageError
from greenroom.core.sources import find_places
from greenroom.session import EVENTS, Session, SessionEnded
from greenroom.swarm._resumption import read_beginning
from greenroom.swarm._swarm import PLAYBOOK_SETTINGS, SwarmRun, work_on
from greenroom.swarm._swarm_budget import model_settings
from greenroom.swarm._swarm_plan import SwarmOptions, checked_folder, is_playbook, make_swarm_plan
from greenroom.swarm._view import LinesView
from greenroom.swarm.recipes import find_recipe
from greenroom.trace import find_run, read_end

_OF_STOPS: Final = (ActorEnded, StartFailed, Stopping, TurnFailed, TurnKilled, Undelivered)
"""Errors of the work on a swarm that was stopped, by a signal or at its budget."""


def recorded_swarm(run: str, runs: Path) -> tuple[Callable[[Session], Awaitable[None]], dict[str, Any]]:
    """Return the program of a recorded swarm, and the arguments with which its session is opened, all of today.

    Raises:
        UsageError: The run does not exist, or is not a swarm's; its recipe or its folder cannot be used.
        JournalError: Its journal cannot be read.
    """
    journal = find_run(run, runs)
    try:
        _, began = read_beginning(run, runs)
    except UsageError:
        raise UsageError(
            f"{journal.parent.name} is not a run of greenroom swarm; for other sessions, call greenroom.rerun with their program"
        ) from None
    has_failed = any(
        isinstance(entry.event, SessionEnded) and entry.event.error for entry in read_end(journal, EVENTS).entries
    )
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
        with nullcontext() if has_failed else suppress(*_OF_STOPS):  # as in the recorded run
            await work_on(session, options, plan, LinesView(), found)

    return work, {
        "cwd": plan.folder,
        "main": plan.lead,
        "tools": plan.tools,
        "sources": ("managed",),
        "settings": settings,
        "masks_forms": True,
        "permission_mode": plan.recipe.permission_mode,
    }
