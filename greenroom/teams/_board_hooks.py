"""Hooks of the board: run before an item is created, and before it is completed.

They run in the caller's turn, never within a step of the board, which checks again afterwards. If a hook refuses,
nothing happens and the model reads the reason. At the end of a turn they are asked about everything that the member
still works on; that completes nothing.
"""

from __future__ import annotations

from greenroom.agents import Hooking, latest_hooking
from greenroom.hooks import HookEvent
from greenroom.hooks.inputs import HookInput, TaskCompletedInput, TaskCreatedInput
from greenroom.teams._board_items import Item
from greenroom.teams._member_names import LEAD
from greenroom.teams._roster import Roster


def has_hooks(roster: Roster, me: str, event: HookEvent) -> bool:
    """Return True if any hook would run for a member at this event."""
    return _hooking(roster, me, event) is not None


async def refuse_creation(roster: Roster, me: str, item_id: str, subject: str, description: str) -> str:
    """Run `TaskCreated` for an item about to be created; return the reason for a refusal, or an empty text.

    If cancelled, it returns after the hooks have ended.
    """
    told = TaskCreatedInput(
        task_id=item_id, task_subject=subject, task_description=description or None, **_told_of(roster, me)
    )
    return await _ask(roster, me, told)


async def refuse_completion(roster: Roster, me: str, item: Item, *, on_idle: bool = False) -> str:
    """Run `TaskCompleted` for an item about to be completed; return the reason for a refusal, or an empty text.

    Args:
        roster: The team.
        me: The member that completes it, or whose turn ends.
        item: The item.
        on_idle: True if its owner's turn ends without completing it.

    Raises:
        StoppedByHook: A hook ends the member.
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
    """Run `TaskCompleted` for a member's items in progress at the end of its turn; return the remaining work, if any.

    Called within that turn, between its last message and `TeammateIdle`.

    Raises:
        StoppedByHook: A hook ends the member.
    """
    if not has_hooks(roster, me, HookEvent.TASK_COMPLETED):
        return ""
    reasons = [await refuse_completion(roster, me, item, on_idle=True) for item in roster.home.state.in_progress(me)]
    return "\n".join(filter(None, reasons))


def _told_of(roster: Roster, me: str) -> dict[str, str | None]:
    return {"teammate_name": None if me == LEAD else me, "team_name": roster.team or None}


def _hooking(roster: Roster, me: str, event: HookEvent) -> Hooking | None:
    member = roster.members.get(me)
    hooking = None if member is None else latest_hooking(member.home)
    return hooking if hooking is not None and hooking.has(event) else None


async def _ask(roster: Roster, me: str, told: HookInput) -> str:
    hooking = _hooking(roster, me, told.event)
    return "" if hooking is None else (await hooking.run(told)).reason
