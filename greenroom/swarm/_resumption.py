"""Resuming a swarm that was interrupted: its original options, and the first steps of its team.

A swarm is resumed as it was begun: same recipe, folder, task and number of teammates; only the model may be another. A
teammate resumes the turn that was cut, with its item.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import StrEnum
from itertools import cycle
from pathlib import Path
from typing import Any, Final

import attrs
from attrs.validators import ge, instance_of

from greenroom.core import UsageError
from greenroom.session import Session, find_session
from greenroom.teams import LEAD, Edit, EditItem, ItemStatus, Team
from greenroom.trace import JOURNAL, find_run

BEGINNING: Final = "swarm.json"
"""The file of a run folder that says what a swarm was begun as."""

GOES_ON: Final = (
    "This run was stopped, and goes on now. The board has what was put there before, and your team is there with all that it knew: look "
    "at TaskList first, and add only what is missing."
)


@attrs.frozen(kw_only=True)
class SwarmBeginning:
    """The original options of a swarm."""

    path: str = attrs.field(validator=instance_of(str))
    task: str = attrs.field(validator=instance_of(str))
    agents: int = attrs.field(validator=[instance_of(int), ge(1)])
    recipe: str = attrs.field(validator=instance_of(str))
    model: str = attrs.field(default="", validator=instance_of(str))
    """The model that was asked for; empty if it was left to the recipe."""

    @property
    def files(self) -> dict[str, bytes]:
        """The file for the run folder, by its name."""
        return {BEGINNING: json.dumps(attrs.asdict(self), ensure_ascii=False).encode() + b"\n"}


def read_beginning(run: str, runs: Path) -> tuple[Path | None, SwarmBeginning]:
    """Return the folder of a run to resume, None if nothing was said in it; and the arguments that its swarm was begun with.

    Args:
        run: A run folder, an id, or `last`.
        runs: The folder of the runs.

    Raises:
        UsageError: The run does not exist, or is not a swarm's.
    """
    place = find_run(run, runs)
    folder = place.parent if place.name == JOURNAL else place
    try:
        values: dict[str, Any] = json.loads((folder / BEGINNING).read_bytes())
        began = SwarmBeginning(**values)
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(
            f"{folder.name} cannot be resumed as a swarm: its {BEGINNING} is missing or malformed; start a new one"
        ) from error
    try:
        return find_session(folder, runs), began
    except UsageError:
        return None, began


async def hand_out_again(team: Team) -> None:
    """Return the items of those who are gone to the board, and assign those that were held back to the teammates in turn.

    A teammate that is there again keeps its item: it resumes the turn that was cut, or is handed the item again. Resuming is the user's word that a held-back item is to be tried again: what made it fail, such as a budget, may be gone.
    """
    mates = cycle(team.teammates)
    for item in team.board.items():
        if item.status is ItemStatus.IN_PROGRESS and item.owner not in team.teammates:
            await team.board.ref.ask(EditItem(edit=Edit(item=item.id, by=LEAD, status="pending")))
        elif item.is_held_back:
            await team.board.ref.ask(EditItem(edit=Edit(item=item.id, by=LEAD, owner=next(mates))))


class LeadStep(StrEnum):
    """The first step of the lead of a resumed swarm."""

    RESUME = "resume"
    """It resumes the turn in which its process ended."""
    WAIT = "wait"
    """Something comes to it by itself: unread mail, or the report of a teammate that works."""
    PROMPT = "prompt"
    """Nothing would wake it, so it is prompted."""


def plan_lead(*, is_busy: bool, was_cut: bool, is_coming: bool) -> LeadStep:
    """Return the step that costs the fewest requests.

    Args:
        is_busy: The lead is in a turn, or has mail.
        was_cut: Its process ended in its last turn.
        is_coming: A teammate works, or is about to.
    """
    if was_cut:  # it is held until then, whatever waits for it
        return LeadStep.RESUME
    if is_busy:
        return LeadStep.WAIT
    return LeadStep.WAIT if is_coming else LeadStep.PROMPT


async def lead_on(session: Session, prompt: str, *, is_done: Callable[[], bool]) -> None:
    """Have the lead continue: resume its turn, or wait for what wakes it; prompt it again if nothing does."""
    activity = session.activity()
    first = plan_lead(is_busy=activity.is_busy, was_cut=session.was_cut, is_coming=activity.agents > 0)
    if first is LeadStep.RESUME:
        await session.resume_turn()
        return
    if first is LeadStep.WAIT:
        await session.wait_quiet()
    if not is_done():
        await session.run(f"{prompt}\n\n{GOES_ON}")
