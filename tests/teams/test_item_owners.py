"""The board of a team of models: whose an item is, what its owner is told, and the hooks that refuse to have it created or done."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from greenroom.agents import AgentDefinition
from greenroom.hooks import HookEvent
from greenroom.models import AnswerLike, Call, ModelRequest, ToolResultBlock
from greenroom.teams import Edit, EditItem, Item, ItemClaimed, Team, refuse_idling
from greenroom.teams._board_items import MAX_FAILURES
from greenroom.teams._board_messages import Edited
from tests.agents.crews import Crew, ScriptedHooks, main_messages, told
from tests.agents.pages import Page, in_order
from tests.teams.crews import open_lead, open_team

MATE = AgentDefinition(name="mate", system_prompt="You help.")
IDLE = in_order("idle")


def calling(*calls: Call) -> Callable[[ModelRequest], AnswerLike]:
    """Return a role that makes these calls, one after the other, and says what it read last."""

    def answer(request: ModelRequest) -> AnswerLike:
        made = sum(len(message.tool_uses) for message in request.messages)
        return calls[made] if made < len(calls) else "done"

    return answer


CREATE = Call("TaskCreate", {"subject": "one", "description": "all of it"})
COMPLETE = Call("TaskUpdate", {"taskId": "1", "status": "completed"})


@asynccontextmanager
async def opened(folder: Path, lead: Page, mate: Page = IDLE, **more: Any) -> AsyncIterator[tuple[Crew, Team]]:
    """Open a crew whose lead has a team of mates."""
    async with open_lead(folder, lead, pages={"mate": mate}, **more) as crew, open_team(crew, "crew") as team:
        yield crew, team


async def run(folder: Path, hooks: ScriptedHooks, *calls: Call) -> tuple[list[str], tuple[Item, ...]]:
    """Run a lead that makes these calls; return what it read, and the board."""
    async with opened(folder, calling(*calls), hooks=hooks, wait_s=0) as (crew, team):
        await crew.run("Go.")
        assert crew.home.conversation is not None
        read = [block for message in crew.home.conversation.messages for block in message.content]
        return [block.content for block in read if isinstance(block, ToolResultBlock)], team.board.items()


async def test_a_hook_refuses_an_item_before_anybody_can_be_handed_it(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Behaviours (3), line 7: it is never on the board, the model reads why, and its id is nobody's ever after."""
    hooks = ScriptedHooks(HookEvent.TASK_CREATED, [{"block_reasons": ("not without a test",)}])
    both = [CREATE, Call("TaskCreate", {"subject": "two", "description": ""})]

    texts, items = await run(tmp_path, hooks, *both)

    assert texts == ["the task was not created: not without a test"] * 2
    assert items == ()


async def test_what_a_hook_lets_pass_is_created_with_the_id_that_it_was_told(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    hooks = ScriptedHooks(HookEvent.TASK_CREATED, [{}])

    texts, items = await run(tmp_path, hooks, CREATE, CREATE)

    assert texts[0] == '{"task":{"id":"1","subject":"one"}}'
    assert [(item.id, item.subject) for item in items] == [("1", "one"), ("2", "one")]
    first = hooks.told[0]
    assert (first.task_id, first.task_subject, first.task_description) == ("1", "one", "all of it")
    assert (first.team_name, first.teammate_name) == ("crew", None)


async def test_a_hook_keeps_an_item_from_being_completed(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (3), line 7: it stays as it is, and the model reads why."""
    hooks = ScriptedHooks(HookEvent.TASK_COMPLETED, [{"block_reasons": ("run the tests",)}])

    texts, items = await run(tmp_path, hooks, CREATE, COMPLETE)

    assert "the task was not completed: run the tests" in texts[1]
    assert items[0].status == "pending"
    assert hooks.told[0].task_id == "1"


async def test_a_hook_is_not_asked_about_what_the_board_refuses_or_what_is_done(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    hooks = ScriptedHooks(HookEvent.TASK_COMPLETED, [{}])
    unknown = Call("TaskUpdate", {"taskId": "7", "status": "completed"})

    texts, items = await run(tmp_path, hooks, CREATE, unknown, COMPLETE, COMPLETE)

    assert "task_not_found" in texts[1]
    assert items[0].status == "completed"
    assert len(hooks.told) == 1


async def test_at_the_end_of_a_turn_hooks_are_asked_about_all_that_a_mate_works_on(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Its name is told; what they say is what it has to do first; nothing is completed by that."""
    hooks = ScriptedHooks(HookEvent.TASK_COMPLETED, [{"block_reasons": ("unfinished",)}])
    async with opened(tmp_path, calling(CREATE), in_order("I stop."), hooks=hooks) as (crew, team):
        await team.spawn("ann", definition=MATE)
        await crew.run("Go.")
        await crew.wait_quiet()
        before = len(hooks.told)

        reason = await refuse_idling(team.roster, "ann")

        assert reason == "unfinished"
        assert hooks.told[before].teammate_name == "ann"
        assert team.board.items()[0].status == "in_progress"
        assert await refuse_idling(team.roster, "team-lead") == ""


async def test_twins_are_never_handed_what_is_anothers(tmp_path: Path, autojump_clock: MockClock) -> None:
    """RC-96: three that want one name, one item: one of them has it, and its end gives back nothing of the others."""
    async with opened(tmp_path, calling(CREATE), lambda _: "I look at it.", wait_s=1.0) as (crew, team):
        mates = [await team.spawn("Writer", definition=MATE) for _ in range(3)]
        await crew.run("Go.")
        await crew.wait_quiet()
        (item,) = team.board.items()
        owners = [mate for mate in mates if mate.name == item.owner]

        for mate in mates:
            if mate not in owners:
                mate.kill()
        await crew.wait_quiet()

        assert [mate.name for mate in mates] == ["Writer", "Writer-2", "Writer-3"]
        assert len(owners) == 1
        assert team.board.items() == (item,)


async def test_a_mate_that_is_given_an_item_reads_whose_it_is(tmp_path: Path, autojump_clock: MockClock) -> None:
    """A `task_assignment` from who gave it, while it cannot begin with it."""
    seen: list[str] = []

    def mate(request: ModelRequest) -> AnswerLike:
        seen.append(request.messages[-1].text)
        return "I look at it."

    def lead(request: ModelRequest) -> AnswerLike:
        is_on = any(message.text == "Go on." for message in request.messages)
        return calling(CREATE, two, own, *([give] if is_on else []))(request)

    own = Call("TaskUpdate", {"taskId": "1", "status": "in_progress", "addBlocks": ["2"]})
    two = Call("TaskCreate", {"subject": "two", "description": "later"})
    give = Call("TaskUpdate", {"taskId": "2", "owner": "ann"})
    async with opened(tmp_path, lead, mate, wait_s=1.0) as (crew, team):
        await crew.run("Go.")
        await team.spawn("ann", definition=MATE)
        await crew.run("Go on.")
        await crew.wait_quiet()

        assert team.board.items()[1].owner == "ann"
    read = seen[0]
    assert '"type": "task_assignment", "taskId": "2", "subject": "two", "description": "later"' in read


async def test_an_item_that_was_taken_back_before_its_turn_begins_begins_none(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """It waits behind what its owner works on; by then it is somebody else's."""
    seen: list[str] = []

    def mate(request: ModelRequest) -> AnswerLike:
        seen.append(request.messages[-1].text.split(":")[0])
        return "I look at it."

    async def lead(team: Team, **changes: Any) -> None:
        answer = await team.board.ref.ask(EditItem(edit=Edit(by="team-lead", **changes)))
        assert isinstance(answer, Edited), answer

    async with opened(tmp_path, calling(CREATE, CREATE), mate, wait_s=10.0) as (crew, team):
        await crew.run("Go.")
        await team.spawn("ann", definition=MATE)
        await trio.sleep(5)
        await lead(team, item="2", owner="ann", status="in_progress")
        await lead(team, item="2", owner="team-lead", status="in_progress")
        await crew.wait_quiet()

    assert seen == ["Task #1 is yours"]


@pytest.mark.parametrize("more", [{}, {"owner": "ann"}, {"description": "I cannot do it"}])
async def test_a_mate_that_gives_its_item_back_is_not_handed_it_again_and_the_lead_is_told_why(
    tmp_path: Path, autojump_clock: MockClock, more: dict[str, str]
) -> None:
    """The crew comes to rest; the lead says more about the item, and it is done."""
    turns: list[str] = []

    def mate(request: ModelRequest) -> AnswerLike:
        asked = [
            text
            for message in request.messages
            if message.role == "user" and (text := message.text).startswith("Task #1")
        ]
        if request.messages[-1].text == asked[-1]:
            turns.append(asked[-1])
            give_back = Call("TaskUpdate", {"taskId": "1", "status": "pending", **more})
            return COMPLETE if "with more" in asked[-1] else give_back
        return "That is all."

    def lead(request: ModelRequest) -> AnswerLike:
        is_on = any(message.text == "Go on." for message in request.messages)
        say_more = Call("TaskUpdate", {"taskId": "1", "description": "all of it, with more", "owner": "ann"})
        return calling(CREATE, Call("TaskList"), *([say_more] if is_on else []))(request)

    async with opened(tmp_path, lead, mate, wait_s=1.0) as (crew, team):
        await team.spawn("ann", definition=MATE)
        await crew.run("Go.")
        with trio.fail_after(600):
            await crew.wait_quiet()
        assert len(turns) == 1
        assert team.board.items()[0].held_back.startswith("given back by ann: not handed to them before")
        assert not team.board.has_claimable
        read = main_messages(crew)
        assert sum("There is nobody else who is given it." in one for one in read) == 1

        await crew.run("Go on.")
        await crew.wait_quiet()

        assert len(turns) == 2
        assert team.board.items()[0].status == "completed"
        assert len(told(crew, ItemClaimed)) == 2


async def test_an_item_that_nobody_keeps_is_handed_to_nobody_in_the_end(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Each of many mates gives it back: after some of them the lead has to look at it, and its list says so."""
    give_back = Call("TaskUpdate", {"taskId": "1", "status": "pending"})
    async with opened(tmp_path, calling(CREATE), calling(give_back), wait_s=1.0) as (crew, team):
        for _ in range(MAX_FAILURES + 2):
            await team.spawn("ann", definition=MATE)
        await crew.run("Go.")
        with trio.fail_after(600):
            await crew.wait_quiet()

        (item,) = team.board.items()
        assert len(told(crew, ItemClaimed)) == item.failures == MAX_FAILURES
        assert item.held_back.startswith("it failed or came back 3 times, the last time because: given back")
