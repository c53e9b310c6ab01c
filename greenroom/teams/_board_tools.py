"""The tools of the board: list, read, create and change its tasks.

Results are JSON with the field names of the leading coding agent; programs read the same values beside the text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, Literal

import attrs

from greenroom.core import ActorEnded, AskTimedOut, JournalError, TurnFailed, TurnKilled, Undelivered
from greenroom.core.texts import escape_text
from greenroom.hooks import HookEvent
from greenroom.teams._board_hooks import has_hooks, refuse_completion, refuse_creation
from greenroom.teams._board_items import Item, ItemStatus
from greenroom.teams._board_messages import CreateItem, Edited, EditItem, ReserveId
from greenroom.teams._board_state import BoardState
from greenroom.teams._edits import DELETED, Edit, EditRefused, plan_edit
from greenroom.teams._item_events import ItemCompleted, ItemLinked
from greenroom.teams._member_names import plain_name
from greenroom.teams._roster import Roster
from greenroom.tools import FunctionTool, Tool, ToolContext, ToolError, ToolFunction, tool

LIST_CHARS: Final = 60_000
"""Of findings in one list."""
NEXT: Final = "Task completed. Call TaskList now to find your next task, or to see what your work has unblocked."


def board_tools(roster: Roster, me: str) -> tuple[Tool, ...]:
    """Return the board tools of the member called `me`."""
    return tuple(attrs.evolve(shared, function=make(roster, me)) for shared, make in _shared_tools())


@cache
def _shared_tools() -> tuple[tuple[FunctionTool, Callable[[Any, str], ToolFunction]], ...]:
    """Return the tools without a member: their texts and schemas are shared, and are most of what a tool holds."""
    nobodys: Any = None
    made = []
    for name, make, is_read_only in (
        ("TaskCreate", _creating, False),
        ("TaskGet", _getting, True),
        ("TaskList", _listing, True),
        ("TaskUpdate", _updating, False),
    ):
        one = tool(name=name, read_only=is_read_only)(make(nobodys, ""))
        # Their effect is an event of the board, recorded before they answer: nothing has to be recorded before.
        made.append((attrs.evolve(one, records_itself=not is_read_only), make))
    return tuple(made)


def _creating(roster: Roster, me: str) -> ToolFunction:
    async def create(
        subject: str,
        description: str,
        ctx: ToolContext,
        activeForm: str = "",  # noqa: N803 - the name in the schema
        metadata: dict[str, Any] | None = None,
    ) -> str:
        """Put a task on the team's board. Idle teammates claim tasks by themselves, the lowest id first.

        Args:
            subject: A short title.
            description: All that its owner needs to know.
            activeForm: How to show it while it is worked on.
            metadata: Anything that programs are to find with it.
        """
        item_id = ""
        if has_hooks(roster, me, HookEvent.TASK_CREATED):
            item_id = await _ask(roster, ReserveId())
            reason = await refuse_creation(roster, me, item_id, subject, description)
            if reason:
                raise ToolError(f"the task was not created: {reason}")
        request = CreateItem(
            id=item_id, subject=subject, description=description, by=me, active_form=activeForm, metadata=metadata or {}
        )
        item = await _ask(roster, request)
        if isinstance(item, EditRefused):
            raise ToolError(f"the task was not created: {item.text}")
        return _answer(ctx, {"task": {"id": item.id, "subject": item.subject}})

    return create


def _getting(roster: Roster, _: str) -> ToolFunction:
    async def get(taskId: str, ctx: ToolContext) -> str:  # noqa: N803 - the name in the schema
        """Read one task of the team's board.

        Args:
            taskId: Its id.
        """
        item = roster.home.state.items.get(_plain_id(taskId))
        return _answer(ctx, {"task": None if item is None else _in_full(roster.home.state, item)})

    return get


def _listing(roster: Roster, _: str) -> ToolFunction:
    async def show(
        ctx: ToolContext,
        status: Literal["open", "completed", "all"] = "open",
        findings: bool = False,  # noqa: FBT001, FBT002 - the model calls by name
        after: str = "",
    ) -> str:
        """List the tasks of the team's board with their status and owner, the lowest id first: those that are not completed.

        Args:
            status: Which tasks.
            findings: Whether to show what was found, too. A long list comes in parts: `next` is the `after` of the next one.
            after: The id of a task; only those behind it.
        """
        return _answer(ctx, _listed(roster.home.state, status, after=_plain_id(after), is_full=findings))

    return show


def _listed(state: BoardState, status: str, *, after: str, is_full: bool) -> dict[str, Any]:
    """Return the tasks to show, up to the first that makes the answer too long."""
    begin = int(after) if after.isdecimal() else 0
    shown: list[dict[str, Any]] = []
    room = LIST_CHARS
    hidden = state.completed if status == "open" else 0
    for item in state.in_order():
        is_completed = item.status is ItemStatus.COMPLETED
        if item.number <= begin or (status != "all" and is_completed is not (status == "completed")):
            continue
        room -= len(item.findings) if is_full else 0
        if room < 0 and shown:
            return {"tasks": shown, "next": shown[-1]["id"]}
        shown.append({**_in_a_line(state, item), **({"findings": item.findings} if is_full and item.findings else {})})
    return {"tasks": shown, **({"completed": hidden} if hidden else {})}


def _updating(roster: Roster, me: str) -> ToolFunction:
    async def update(
        taskId: str,  # noqa: N803 - the names in the schema
        ctx: ToolContext,
        status: Literal["pending", "in_progress", "completed", "deleted"] | None = None,
        subject: str | None = None,
        description: str | None = None,
        activeForm: str | None = None,  # noqa: N803
        addBlocks: list[str] | None = None,  # noqa: N803
        addBlockedBy: list[str] | None = None,  # noqa: N803
        owner: str | None = None,
        metadata: dict[str, Any] | None = None,
        findings: str = "",
    ) -> str:
        """Change a task of the team's board: claim it, complete it, give it back, say more about it.

        Args:
            taskId: Its id.
            status: `in_progress` when you begin with it, which makes it yours if it is nobody's; `completed` when the work
                is done; `pending` to give it back; `deleted` to take it off the board.
            subject: A new title.
            description: A new description.
            activeForm: How to show it while it is worked on.
            addBlocks: Ids of tasks that have to wait for this one.
            addBlockedBy: Ids of tasks that have to be completed first.
            owner: The name of the member that is to do it; empty for nobody.
            metadata: Merged with what there is, by key; null takes a key away.
            findings: With `completed`: what you found, for the others to read on the board. Your turn ends with it.
        """
        edit = Edit(
            item=_plain_id(taskId),
            by=me,
            status=status,
            owner=plain_name(owner, roster.team) if owner else owner,
            subject=subject,
            description=description,
            active_form=activeForm,
            metadata=metadata,
            findings=findings.strip(),
            add_blocks=tuple(map(_plain_id, addBlocks or ())),
            add_blocked_by=tuple(map(_plain_id, addBlockedBy or ())),
        )
        if status == "completed":
            await _ask_hooks(roster, edit)
        answer = await _ask(roster, EditItem(edit=edit))
        if isinstance(answer, EditRefused):
            raise _refusal(edit, f"{answer.reason}: {answer.text}")
        if findings.strip() and status == "completed" and _works_on(roster, me, edit.item):
            ctx.end_turn()
            return _answer(ctx, _changes(edit, answer))
        is_completed = any(isinstance(event, ItemCompleted) for event in answer.events)
        return _answer(ctx, _changes(edit, answer), NEXT if is_completed else "")

    return update


def _works_on(roster: Roster, me: str, item_id: str) -> bool:
    """Return True if the turn of a member is about that item."""
    member = roster.members.get(me)
    return member is not None and member.item == item_id


async def _ask_hooks(roster: Roster, edit: Edit) -> None:
    """Run the hooks for a completion that the board would accept now; the board decides again afterwards."""
    if not has_hooks(roster, edit.by, HookEvent.TASK_COMPLETED):
        return
    plan = plan_edit(roster.home.state, edit, roster.home.members.keys(), one_each=roster.home.one_each)
    if isinstance(plan, EditRefused) or not any(isinstance(event, ItemCompleted) for event in plan):
        return
    reason = await refuse_completion(roster, edit.by, roster.home.state.items[edit.item])
    if reason:
        raise _refusal(edit, f"the task was not completed: {reason}")


def _refusal(edit: Edit, text: str) -> ToolError:
    return ToolError(_json({"success": False, "taskId": edit.item, "updatedFields": [], "error": text}))


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


# --- as JSON ----------------------------------------------------------------------------------------------------------


def _plain_id(text: str) -> str:
    """Return an id without the marks that models add."""
    return text.strip().removeprefix("#")


def _in_a_line(state: BoardState, item: Item) -> dict[str, Any]:
    owner = {"owner": item.owner} if item.owner else {}
    head = {"id": item.id, "subject": item.subject, "status": item.status.value}
    held_back = {"heldBack": item.held_back} if item.held_back else {}
    return {**head, **owner, "blockedBy": list(state.open_blockers(item)), **held_back}


def _in_full(state: BoardState, item: Item) -> dict[str, Any]:
    more = {
        "owner": item.owner,
        "activeForm": item.active_form,
        "metadata": dict(item.metadata),
        "findings": item.findings,
        "heldBack": item.held_back,
    }
    return {
        "id": item.id,
        "subject": item.subject,
        "description": item.description,
        "status": item.status.value,
        "blocks": list(state.blocks(item.id)),
        "blockedBy": list(state.open_blockers(item)),
        **{key: value for key, value in more.items() if value},
    }


def _changes(edit: Edit, done: Edited) -> dict[str, Any]:
    after = DELETED if done.after is None else done.after.status.value
    fields = [DELETED] if done.after is None else _fields(edit, done)
    changes: dict[str, Any] = {"success": True, "taskId": edit.item, "updatedFields": fields}
    if done.before.status != after:
        changes["statusChange"] = {"from": done.before.status.value, "to": after}
    return changes


_FIELDS: Final[Mapping[str, str]] = {
    "subject": "subject",
    "description": "description",
    "active_form": "activeForm",
    "metadata": "metadata",
    "owner": "owner",
    "status": "status",
    "blocked_by": "blockedBy",
}
"""Names of an item's fields in the schema."""


def _fields(edit: Edit, done: Edited) -> list[str]:
    changed = [name for field, name in _FIELDS.items() if getattr(done.before, field) != getattr(done.after, field)]
    blocks = any(isinstance(event, ItemLinked) and event.item != edit.item for event in done.events)
    return [*changed, "blocks"] if blocks else changed


def _answer(ctx: ToolContext, values: Mapping[str, Any], hint: str = "") -> str:
    ctx.attach(values)
    text = escape_text(_json(values))
    return f"{text}\n\n{hint}" if hint else text


_json: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
