"""The hooks of the board: what users have run before an item is created, and before it is completed.

Rule 1: they run in the turn of whoever calls, never within a step of the board, which checks again afterwards. Rule 2: what
they refuse does not happen, and the model reads why. Rule 3: the end of a turn asks them about everything that its member
still works on, and completes nothing.
"""

from __future__ import annotations

from greenroom.agents import Hooking
from greenroom.hooks import HookEvent
from greenroom.hooks.inputs import HookInput, TaskCompletedInput, TaskCreatedInput
from greenroom.teams._items import Item
from greenroom.teams._names import LEAD
from greenroom.teams._roster import Roster


def has_hooks(roster: Roster, me: str, event: HookEvent) -> bool:
    """Whether anything would run for a member at this event."""
    return _hooking(roster, me, event) is not None


async def refuse_creation(roster: Roster, me: str, item_id: str, subject: str, description: str) -> str:
    """Run `TaskCreated` for an item that is to be created; returns why it is not to be, empty if it may be.

    Cancelled, the hooks have ended when it is left.
    """
    told = TaskCreatedInput(
        task_id=item_id, task_subject=subject, task_description=description or None, **_told_of(roster, me)
    )
    return await _ask(roster, me, told)


async def refuse_completion(roster: Roster, me: str, item: Item, *, on_idle: bool = False) -> str:
    """Run `TaskCompleted` for an item that is to be completed; returns why it is not to be, empty if it may be.

    Args:
        roster: The team.
        me: The member that says that it is done, or whose turn ends.
        item: The item.
        on_idle: Whether the turn of its owner ends without a word about it.

    Raises:
        StoppedByHook: A hook wants the member to end.
    """
    told = TaskCompletedInput(
        task_id=item.id,
        task_subject=item.subject,
        task_description=item.description or None,
        on_idle=on_idle,
        **_told_of(roster, me),
    )
    return await _ask(roster, me, told)


async def refuse_idling(roster: Roster, me: str) -> str:
    """Run `TaskCompleted` for all that a member works on when its turn ends; returns what it has to do first, if anything.

    Called within that turn, between its last word and `TeammateIdle` (agents 3.27, 7.60).

    Raises:
        StoppedByHook: A hook wants the member to end.
    """
    if not has_hooks(roster, me, HookEvent.TASK_COMPLETED):
        return ""
    reasons = [await refuse_completion(roster, me, item, on_idle=True) for item in roster.home.state.in_progress(me)]
    return "\n".join(filter(None, reasons))


def _told_of(roster: Roster, me: str) -> dict[str, str | None]:
    return {"teammate_name": None if me == LEAD else me, "team_name": roster.team or None}


def _hooking(roster: Roster, me: str, event: HookEvent) -> Hooking | None:
    member = roster.members.get(me)
    hooking = None if member is None else member.home.hooking
    return hooking if hooking is not None and hooking.has(event) else None


async def _ask(roster: Roster, me: str, told: HookInput) -> str:
    hooking = _hooking(roster, me, told.event)
    return "" if hooking is None else (await hooking.run(told)).reason
