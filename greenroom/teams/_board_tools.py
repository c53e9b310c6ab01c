"""The tools of the board: list, read, create and change its tasks.

Results are JSON, with the fields of the leading coding agent. Must not know: mail.
"""

from __future__ import annotations

import json
from typing import Any, Literal

import attrs

from greenroom.core import ActorEnded, AskTimedOut, JournalError, TurnFailed, TurnKilled, Undelivered
from greenroom.teams._board import CreateItem, EditItem
from greenroom.teams._items import BoardState, Edit, Item, Refused
from greenroom.teams._roster import Roster
from greenroom.tools import Tool, ToolError, tool


def board_tools(roster: Roster, me: str) -> tuple[Tool, ...]:
    """Return the board's tools of the member called `me`."""
    return (_create_tool(roster, me), _get_tool(roster), _list_tool(roster), _update_tool(roster, me))


def _create_tool(roster: Roster, me: str) -> Tool:
    @tool(name="TaskCreate")
    async def create(subject: str, description: str, activeForm: str = "") -> str:  # noqa: N803, ARG001 - the schema
        """Put a task on the team's board. Idle teammates claim tasks by themselves, the lowest id first.

        Args:
            subject: A short title.
            description: All that whoever takes it needs to know.
            activeForm: How to show it while it is worked on.
        """
        item = await _ask(roster, CreateItem(subject=subject, description=description, by=me))
        return _json({"task": {"id": item.id, "subject": item.subject}})

    return create


def _get_tool(roster: Roster) -> Tool:
    @tool(name="TaskGet", read_only=True)
    async def get(taskId: str) -> str:  # noqa: N803 - the name in the schema
        """Read one task of the team's board.

        Args:
            taskId: Its id.
        """
        item = roster.home.state.items.get(taskId)
        return _json({"task": _describe(roster.home.state, item) if item is not None else None})

    return get


def _list_tool(roster: Roster) -> Tool:
    @tool(name="TaskList", read_only=True)
    async def show() -> str:
        """List the tasks of the team's board with their status and owner."""
        state = roster.home.state
        keys = ("id", "subject", "status", "owner", "blockedBy")
        described = (_describe(state, item) for item in state.items.values())
        return _json({"tasks": [{key: one[key] for key in keys if key in one} for one in described]})

    return show


def _update_tool(roster: Roster, me: str) -> Tool:
    @tool(name="TaskUpdate")
    async def update(
        taskId: str,  # noqa: N803 - the names in the schema
        status: Literal["pending", "in_progress", "completed", "deleted"] | None = None,
        owner: str | None = None,
        subject: str | None = None,
        description: str | None = None,
        addBlockedBy: list[str] | None = None,  # noqa: N803
    ) -> str:
        """Change a task of the team's board: claim it, complete it, give it back, say more about it.

        Args:
            taskId: Its id.
            status: `completed` when the work is done.
            owner: Who works on it; by default, with `in_progress`, you.
            subject: A new title.
            description: A new description.
            addBlockedBy: Ids of tasks that have to be completed first.
        """
        edit = Edit(
            item=taskId,
            by=me,
            status=status,
            owner=owner,
            subject=subject,
            description=description,
            add_blocked_by=tuple(addBlockedBy or ()),
        )
        before = roster.home.state.items.get(taskId)
        after = await _ask(roster, EditItem(edit=edit))
        if isinstance(after, Refused):
            raise ToolError(_json({"success": False, "taskId": taskId, "error": after.text}))
        return _json(_changes(taskId, before, after))

    return update


async def _ask(roster: Roster, request: Any) -> Any:
    try:
        roster.check_open()
        answer = await roster.board.ask(request)
    except (ActorEnded, AskTimedOut, JournalError, TurnFailed, TurnKilled, Undelivered) as error:
        raise ToolError(f"the board did not take it: {error}") from error
    try:
        await roster.wait_durable()
    except JournalError as error:
        raise ToolError(f"the board took it, but it may be lost: {error}") from error
    return answer


def _describe(state: BoardState, item: Item) -> dict[str, Any]:
    blocks = [one.id for one in state.items.values() if item.id in one.blocked_by]
    described: dict[str, Any] = {
        "id": item.id,
        "subject": item.subject,
        "description": item.description,
        "status": item.status.value,
        "owner": item.owner,
        "blocks": blocks,
        "blockedBy": list(state.open_blockers(item)),
    }
    return {key: value for key, value in described.items() if key != "owner" or value}


def _changes(item_id: str, before: Item | None, after: Item | None) -> dict[str, Any]:
    if before is None or after is None:
        return {"success": True, "taskId": item_id, "updatedFields": ["deleted"] if after is None else []}
    fields = [field.name for field in attrs.fields(Item) if getattr(before, field.name) != getattr(after, field.name)]
    changes: dict[str, Any] = {"success": True, "taskId": item_id, "updatedFields": fields}
    if before.status is not after.status:
        changes["statusChange"] = {"from": before.status.value, "to": after.status.value}
    return changes


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
