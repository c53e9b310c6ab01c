"""The board's tools as a model calls them: literal inputs and results, and what is refused in which words."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
import pytest
from trio.testing import MockClock

from greenroom.core import JournalError
from greenroom.teams import LEAD, _board_tools
from greenroom.teams._board_tools import NEXT, board_tools
from greenroom.teams._roster import Roster
from greenroom.tools import Tool, ToolContext, ToolError
from tests.teams.situations import Scene, open_scene
from tests.tools.calls import context

pytestmark = pytest.mark.usefixtures("autojump_clock")


@attrs.define(eq=False)
class Desk:
    """The tools of each member at a board."""

    scene: Scene
    roster: Roster
    context: ToolContext
    is_full: bool = False

    def tools(self, me: str) -> dict[str, Tool]:
        return {board_tool.name: board_tool for board_tool in board_tools(self.roster, me)}

    async def say(self, me: str, name: str, **values: Any) -> str:
        return await self.tools(me)[name].call(values, self.context)

    async def call(self, me: str, name: str, **values: Any) -> Any:
        """Call a tool; what programs read of it is what the model reads, save for a hint."""
        text = await self.say(me, name, **values)
        head = text.partition("\n\n")[0]
        assert json.loads(head) == self.context.workspace.attachments.pop(self.context.tool_use_id)
        return json.loads(head)

    async def refusal(self, me: str, name: str, **values: Any) -> Any:
        with pytest.raises(ToolError) as caught:
            await self.say(me, name, **values)
        return json.loads(str(caught.value))


@asynccontextmanager
async def open_desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async def wait_durable() -> None:
        pass

    def check_open() -> None:
        if desk.is_full:
            raise JournalError("journal.jsonl", "the disk is full")

    async with open_scene() as scene:
        roster = Roster(
            team="crew",
            board=scene.board,
            home=scene.home,
            emit=lambda _: 0,
            check_open=check_open,
            wait_durable=wait_durable,
            wall=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        )
        desk = Desk(scene, roster, context(tmp_path))
        yield desk


async def test_the_shapes_are_those_of_the_product(tmp_path: Path) -> None:
    """Literal inputs and results."""
    async with open_desk(tmp_path) as desk:
        made = await desk.call(LEAD, "TaskCreate", subject="one", description="all of it", activeForm="Doing one")
        await desk.call(LEAD, "TaskCreate", subject="two", description="d", metadata={"a": 1})
        linked = await desk.call(LEAD, "TaskUpdate", taskId="1", addBlocks=["2"])
        claimed = await desk.call("ann", "TaskUpdate", taskId="1", status="in_progress")

        assert made == {"task": {"id": "1", "subject": "one"}}
        assert linked == {"success": True, "taskId": "1", "updatedFields": ["blocks"]}
        assert claimed == {
            "success": True,
            "taskId": "1",
            "updatedFields": ["owner", "status"],
            "statusChange": {"from": "pending", "to": "in_progress"},
        }
        assert await desk.call("ann", "TaskGet", taskId="1") == {
            "task": {
                "id": "1",
                "subject": "one",
                "description": "all of it",
                "status": "in_progress",
                "blocks": ["2"],
                "blockedBy": [],
                "owner": "ann",
                "activeForm": "Doing one",
            }
        }
        assert await desk.call("ann", "TaskList") == {
            "tasks": [
                {"id": "1", "subject": "one", "status": "in_progress", "owner": "ann", "blockedBy": []},
                {"id": "2", "subject": "two", "status": "pending", "blockedBy": ["1"]},
            ]
        }
        assert await desk.call("ann", "TaskGet", taskId="7") == {"task": None}


async def test_fields_that_changed_are_named_as_in_the_schema(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        for subject in ("one", "two"):
            await desk.call(LEAD, "TaskCreate", subject=subject, description="")
        await desk.scene.join("ann")

        changed = await desk.call(
            LEAD,
            "TaskUpdate",
            taskId="#2",
            subject="deux",
            description="d",
            activeForm="f",
            metadata={"a": 1},
            addBlockedBy=["1"],
            owner="ann",
        )
        same = await desk.call(LEAD, "TaskUpdate", taskId="2", subject="deux")
        mine = await desk.call(LEAD, "TaskUpdate", taskId="2", owner="lead")
        deleted = await desk.call(LEAD, "TaskUpdate", taskId="2", status="deleted")

        fields = ["subject", "description", "activeForm", "metadata", "owner", "blockedBy"]
        assert changed["updatedFields"] == fields
        assert same == {"success": True, "taskId": "2", "updatedFields": []}
        assert mine["updatedFields"] == ["owner"]
        assert deleted == {
            "success": True,
            "taskId": "2",
            "updatedFields": ["deleted"],
            "statusChange": {"from": "pending", "to": "deleted"},
        }


async def test_who_completes_an_item_is_told_to_look_for_the_next(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        await desk.call(LEAD, "TaskCreate", subject="one", description="")

        first = await desk.say("ann", "TaskUpdate", taskId="1", status="completed")
        again = await desk.say("ann", "TaskUpdate", taskId="1", status="completed")

        assert first.endswith(f"\n\n{NEXT}")
        assert NEXT not in again


async def test_a_list_of_many_is_in_the_order_of_numbers_with_open_blockers_only(tmp_path: Path) -> None:
    """CL-47: 2 before 10; completing takes an item out of what others wait for."""
    async with open_desk(tmp_path) as desk:
        for number in range(1, 12):
            await desk.call(LEAD, "TaskCreate", subject=str(number), description="")
        await desk.call(LEAD, "TaskUpdate", taskId="11", addBlockedBy=["2", "10"])
        await desk.call("ann", "TaskUpdate", taskId="2", status="completed")

        tasks = (await desk.call("ann", "TaskList", status="all"))["tasks"]

        assert [task["id"] for task in tasks] == [str(number) for number in range(1, 12)]
        assert tasks[-1]["blockedBy"] == ["10"]
        assert (await desk.call("ann", "TaskGet", taskId="11"))["task"]["blockedBy"] == ["10"]
        assert (await desk.call("ann", "TaskGet", taskId="2"))["task"]["blocks"] == ["11"]


async def test_a_list_shows_what_is_open_unless_asked_and_findings_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_board_tools, "LIST_CHARS", 250)
    async with open_desk(tmp_path) as desk:
        for number in range(1, 6):
            await desk.call(LEAD, "TaskCreate", subject=str(number), description="")
        for number in range(1, 5):
            done = {"status": "completed", "findings": f"{number}" * 100}
            await desk.call("ann", "TaskUpdate", taskId=str(number), **done)

        def ids(listed: Any) -> list[str]:
            return [task["id"] for task in listed["tasks"]]

        opened = await desk.call(LEAD, "TaskList")
        first = await desk.call(LEAD, "TaskList", status="completed", findings=True)
        rest = await desk.call(LEAD, "TaskList", status="completed", findings=True, after=first["next"])

        assert (ids(opened), opened["completed"]) == (["5"], 4)
        assert (ids(first), ids(rest), "next" in rest) == (["1", "2"], ["3", "4"], False)
        assert [task["findings"][:1] for task in first["tasks"]] == ["1", "2"]
        assert ids(await desk.call(LEAD, "TaskList", status="all")) == ["1", "2", "3", "4", "5"]
        assert (await desk.call(LEAD, "TaskGet", taskId="4"))["task"]["findings"] == "4" * 100


async def test_what_is_refused_is_said_with_its_reason(tmp_path: Path) -> None:
    """Behaviours (7), line 2: of two that claim one item, one gets it and the other hears whose it is."""
    async with open_desk(tmp_path) as desk:
        for subject in ("one", "two"):
            await desk.call(LEAD, "TaskCreate", subject=subject, description="")
        await desk.call("ann", "TaskUpdate", taskId="1", status="in_progress", addBlocks=["2"])

        claimed = await desk.refusal("bob", "TaskUpdate", taskId="1", status="in_progress")
        blocked = await desk.refusal("bob", "TaskUpdate", taskId="2", status="in_progress")
        unknown = await desk.refusal("bob", "TaskUpdate", taskId="7", status="in_progress")
        nobody = await desk.refusal(LEAD, "TaskUpdate", taskId="2", owner="zoe")
        cycle = await desk.refusal(LEAD, "TaskUpdate", taskId="1", addBlockedBy=["2"])

        assert claimed == {
            "success": False,
            "taskId": "1",
            "updatedFields": [],
            "error": "already_claimed: task #1 is ann's; only ann or the lead may do that",
        }
        assert blocked["error"] == "blocked: task #2 waits for #1"
        assert unknown["error"] == "task_not_found: there is no task #7"
        assert nobody["error"].startswith("no_such_member: ")
        assert cycle["error"] == "cycle: then task #1 would wait for itself: #1 waits for #2, #2 waits for #1"


async def test_what_changes_while_a_hook_runs_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hook lets it pass, and meanwhile the lead has given the item to somebody else."""
    async with open_desk(tmp_path) as desk:
        await desk.call(LEAD, "TaskCreate", subject="one", description="")
        await desk.call("ann", "TaskUpdate", taskId="1", status="in_progress")

        async def let_pass(*_: object) -> str:
            await desk.scene.edit("1", LEAD, owner=LEAD)
            return ""

        monkeypatch.setattr("greenroom.teams._board_tools.has_hooks", lambda *_: True)
        monkeypatch.setattr("greenroom.teams._board_tools.refuse_completion", let_pass)
        refused = await desk.refusal("ann", "TaskUpdate", taskId="1", status="completed")

        assert refused["error"].startswith("already_claimed: ")
        assert desk.scene.items[0].status == "pending"


async def test_completing_frees_deleting_clears_and_no_id_comes_back(tmp_path: Path) -> None:
    """Behaviours (7), line 3."""
    async with open_desk(tmp_path) as desk:
        for subject in ("one", "two", "three"):
            await desk.call(LEAD, "TaskCreate", subject=subject, description="")
        await desk.call(LEAD, "TaskUpdate", taskId="2", addBlockedBy=["1", "3"])
        await desk.call("ann", "TaskUpdate", taskId="1", status="completed")
        await desk.call(LEAD, "TaskUpdate", taskId="3", status="deleted")

        claimed = await desk.call("bob", "TaskUpdate", taskId="2", status="in_progress")
        made = await desk.call(LEAD, "TaskCreate", subject="four", description="")

        assert claimed["success"]
        assert desk.scene.items[1].blocked_by == ("1",)
        assert made["task"]["id"] == "4"


async def test_nothing_is_promised_that_cannot_be_put_on_record(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        desk.is_full = True

        with pytest.raises(ToolError, match="the board did not take it"):
            await desk.say(LEAD, "TaskCreate", subject="one", description="")

        assert desk.scene.items == ()


async def test_metadata_that_is_too_much_makes_no_task(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with open_desk(tmp_path) as desk:
        with pytest.raises(ToolError, match="metadata"):
            await desk.say(LEAD, "TaskCreate", subject="one", description="", metadata={"a": "x" * 20_000})

        assert desk.scene.items == ()
