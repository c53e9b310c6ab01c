"""Hooks around the items of a team's board, through whole turns: real commands that refuse what is to be created or completed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from greenroom.agents import AgentDefinition
from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel
from greenroom.session import open_session
from greenroom.teams import Item, refuse_idling
from tests.session.test_hooks import answering, hook, told
from tests.session.test_permissions import home, project, results

__all__ = ["home", "project"]  # fixtures

LEAD = AgentDefinition(name="lead", system_prompt="You lead.")
MATE = AgentDefinition(name="mate", system_prompt="You help.")
NO = {"decision": "block", "reason": "not without a test"}


def calling(*calls: Call) -> Any:
    """Return a role that makes these calls, one after the other, and says what it read last."""

    def answer(request: ModelRequest) -> AnswerLike:
        made = sum(len(message.tool_uses) for message in request.messages)
        return calls[made] if made < len(calls) else "done"

    return answer


CREATE = Call("TaskCreate", {"subject": "one", "description": "all of it"})
COMPLETE = Call("TaskUpdate", {"taskId": "1", "status": "completed"})


async def run(project: Path, settings: dict[str, Any], *calls: Call) -> tuple[list[str], tuple[Item, ...]]:
    """Let a lead make calls; returns what it read, and the board."""
    model = PlaybookModel({"lead": calling(*calls), "mate": lambda _: "idle"})
    async with open_session(
        main=LEAD, model=model, cwd=project, runs=project.parent / "runs", settings=settings
    ) as session:
        async with session.open_team("crew") as team:
            await session.run("Go.")
            return [one.content for one in results(session)], team.board.items()


@pytest.mark.parametrize("command", ["echo 'not without a test' >&2; exit 2", None])
async def test_a_hook_refuses_an_item_before_anybody_can_be_handed_it(project: Path, command: str | None) -> None:
    """Row 3.7 (agents 3.38): it is never on the board, the model reads why, and its id is nobody's ever after."""
    settings = hook("TaskCreated", command or answering(project, NO))
    both = [CREATE, Call("TaskCreate", {"subject": "two", "description": ""})]

    texts, items = await run(project, settings, *both)

    assert texts == ["the task was not created: not without a test"] * 2
    assert items == ()


async def test_what_a_hook_lets_pass_is_created_with_the_id_that_it_was_told(project: Path) -> None:
    texts, items = await run(project, hook("TaskCreated", answering(project, {})), CREATE, CREATE)

    assert texts[0] == '{"task":{"id":"1","subject":"one"}}'
    assert [(one.id, one.subject) for one in items] == [("1", "one"), ("2", "one")]
    first = told(project)[0]
    assert (first["task_id"], first["task_subject"], first["task_description"]) == ("1", "one", "all of it")
    assert first["team_name"] == "crew"
    assert "teammate_name" not in first


async def test_a_hook_keeps_an_item_from_being_completed(project: Path) -> None:
    """Row 3.7 (agents 3.38): it stays as it is, and the model reads why."""
    settings = hook("TaskCompleted", "cat >> told; echo >> told; echo 'run the tests' >&2; exit 2")

    texts, items = await run(project, settings, CREATE, COMPLETE)

    assert "the task was not completed: run the tests" in texts[1]
    assert items[0].status == "pending"
    assert told(project)[0]["task_id"] == "1"


async def test_a_hook_is_not_asked_about_what_the_board_refuses_or_what_is_done(project: Path) -> None:
    settings = hook("TaskCompleted", answering(project, {}))
    unknown = Call("TaskUpdate", {"taskId": "7", "status": "completed"})

    texts, items = await run(project, settings, CREATE, unknown, COMPLETE, COMPLETE)

    assert "task_not_found" in texts[1]
    assert items[0].status == "completed"
    assert len(told(project)) == 1


async def test_at_the_end_of_a_turn_hooks_are_asked_about_all_that_a_mate_works_on(project: Path) -> None:
    """Agents 3.27, 7.60: its name is told; what they say is what it has to do first; nothing is completed by that."""
    settings = hook("TaskCompleted", "cat >> told; echo >> told; echo 'unfinished' >&2; exit 2")
    model = PlaybookModel({"lead": calling(CREATE), "mate": lambda _: "I stop."})
    async with open_session(
        main=LEAD, model=model, cwd=project, runs=project.parent / "runs", settings=settings
    ) as session:
        async with session.open_team("crew") as team:
            await team.spawn("ann", definition=MATE)
            await session.run("Go.")
            await session.wait_quiet()
            before = len(told(project)) if (project / "told").exists() else 0

            reason = await refuse_idling(team.roster, "ann")

            assert reason == "unfinished"
            assert told(project)[before]["teammate_name"] == "ann"
            assert team.board.items()[0].status == "in_progress"
            assert await refuse_idling(team.roster, "team-lead") == ""
