"""Teammates: idle and reported once, aborted, failed, crashed, restarted."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import trio
from trio.testing import MockClock

from greenroom.actors import State
from greenroom.agents import AgentDefinition, Note
from greenroom.core import Event, InternalError, ProviderError
from greenroom.hooks import HookEvent
from greenroom.mailbox import Delivery, Lane
from greenroom.models import AnswerLike, Call, ModelRequest
from greenroom.supervisor import Restart
from greenroom.tasks import TaskState
from greenroom.teams import ItemStatus, MemberStatus, Team, TeammateIdled, TeammateLeft
from greenroom.teams._board_messages import CreateItem
from tests.agents.crews import Crew, ScriptedHooks, main_messages, told, violations
from tests.agents.pages import Page, agent, answers_in, in_order, last_texts
from tests.teams.crews import open_lead, open_team

MATE = AgentDefinition(name="mate", system_prompt="You help.")


@attrs.frozen
class Scene:
    """A crew with a team, and what is put on record there."""

    crew: Crew
    team: Team

    def of(self, kind: type[Event]) -> list[Any]:
        """Return the events of a kind so far."""
        return list(told(self.crew, kind))

    @property
    def lead_read(self) -> str:
        """All that the lead has read."""
        return "\n".join(main_messages(self.crew))

    @property
    def notices(self) -> list[Mapping[str, Any]]:
        """Return what the lead has read of mates that are idle or have ended."""
        lines = self.lead_read.splitlines()
        found = [json.loads(line) for line in lines if line.startswith('{"type": "')]
        return [{"idleReason": "available", **line} if line["type"] == "idle_notification" else line for line in found]

    async def item(self, subject: str = "one") -> None:
        """Put an item on the board."""
        await self.team.board.ref.ask(CreateItem(subject=subject, description="", by="host"))


@asynccontextmanager
async def opened(
    folder: Path,
    mate: Page,
    *,
    main: Page | None = None,
    wait_s: float = 1.0,
    strategy: str = "one_for_one",
    **more: Any,
) -> AsyncIterator[Scene]:
    async with open_lead(
        folder,
        main or in_order(otherwise="Noted."),
        pages={"mate": mate, **more.pop("pages", {})},
        wait_s=wait_s,
        **more,
    ) as crew:
        async with open_team(crew, "crew", strategy=strategy) as team:
            await crew.run("You lead.")
            yield Scene(crew, team)
    assert violations(crew) == []


def completes(request: ModelRequest) -> AnswerLike:
    """Complete the item that was handed over last, then say so."""
    text = "\n".join(message.text for message in request.messages if "Task #" in message.text)
    if last_texts(request).startswith("Task #"):
        return Call("TaskUpdate", {"taskId": text.rsplit("Task #", 1)[1].split()[0], "status": "completed"})
    return "SECRET OUTPUT"


# --- idle ---------------------------------------------------------------------------------------------------------------


async def test_the_end_of_a_turn_is_one_notice_without_what_was_said(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (7), line 6."""
    async with opened(tmp_path, in_order("SECRET OUTPUT")) as scene:
        mate = await scene.team.spawn("ann", definition=MATE, prompt="Look.")
        await scene.crew.wait_quiet()

        assert [(notice["from"], notice["idleReason"]) for notice in scene.notices] == [("ann", "available")]
        assert "SECRET OUTPUT" not in scene.lead_read
        assert mate.status is MemberStatus.IDLE
        assert [(one.name, one.reason) for one in scene.of(TeammateIdled)] == [("ann", "available")]


async def test_a_hundred_turns_in_which_nothing_is_done_are_one_notice(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """RC-49."""
    async with opened(tmp_path, in_order(otherwise="Hm."), wait_s=0) as scene:
        mate = await scene.team.spawn("ann", definition=MATE)
        for _ in range(100):
            mate.ref.tell(Note("Hello!", "bob"))
            await scene.crew.wait_quiet()
        await trio.testing.wait_all_tasks_blocked()

        assert len(scene.notices) == 1
        assert len(scene.of(TeammateIdled)) == 100


async def test_who_goes_on_with_the_next_item_is_not_idle_in_between(tmp_path: Path, autojump_clock: MockClock) -> None:
    """RC-49, RC-50: the last notice names the item that was completed."""
    async with opened(tmp_path, completes) as scene:
        for subject in ("one", "two", "three"):
            await scene.item(subject)
        await scene.team.spawn("ann", definition=MATE)
        await scene.crew.wait_quiet()

        assert {item.status for item in scene.team.board.items()} == {ItemStatus.COMPLETED}
        (notice,) = scene.notices
        assert (notice["completedTaskId"], notice["idleReason"]) == ("3", "available")


async def test_notices_of_many_mates_are_one_turn_of_the_lead(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with opened(tmp_path, in_order("Done.")) as scene:
        asked = len(main_messages(scene.crew))
        for number in range(5):
            await scene.team.spawn(f"m{number}", definition=MATE, prompt="Look.")
        await scene.crew.wait_quiet()

        assert sorted(notice["from"] for notice in scene.notices) == [f"m{number}" for number in range(5)]
        assert len(main_messages(scene.crew)) - asked <= 4, "one turn for the first, one for those that came meanwhile"


async def test_the_lead_reads_only_the_latest_word_about_a_mate(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with opened(tmp_path, in_order(otherwise="Hm."), main=in_order("Ready.", otherwise="Noted.")) as scene:
        ann = await scene.team.spawn("ann", definition=MATE)
        scene.crew.main.ref.suspend()
        for _ in range(3):
            ann.tell("And now?")
            await trio.sleep(10)
        scene.crew.main.ref.resume()
        await scene.crew.wait_quiet()

        assert len(scene.of(TeammateIdled)) == 3
        assert len(scene.notices) == 1


async def test_an_item_is_for_whoever_is_idle_and_not_for_whoever_reads_mail(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with opened(tmp_path, in_order(otherwise="Hm."), wait_s=10.0) as scene:
        ann, _ = [await scene.team.spawn(name, definition=MATE) for name in ("ann", "bob")]
        await trio.sleep(1)
        ann.tell("Think about it.")
        await trio.sleep(1)
        await scene.item()

        assert [item.owner for item in scene.team.board.items()] == ["bob"]


async def test_mail_that_came_first_is_read_before_an_item(tmp_path: Path, autojump_clock: MockClock) -> None:
    """An item that was handed out in the same moment waits behind what was said."""
    read: list[str] = []

    def mate(request: ModelRequest) -> AnswerLike:
        read.append(last_texts(request))
        return "Hm."

    async with opened(tmp_path, mate) as scene:
        ann = await scene.team.spawn("ann", definition=MATE)
        await scene.crew.wait_quiet()
        ann.ref.suspend()
        await scene.item()
        ann.ref.tell(Note("Wait!", "bob"), Lane.LATER)
        ann.ref.resume()
        await scene.crew.wait_quiet()

        assert ["Wait!" in text for text in read] == [True, False]
        assert "Task #1" in read[1]


# --- two scopes ---------------------------------------------------------------------------------------------------------


async def test_an_abort_ends_the_turn_and_a_kill_the_mate(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (7), line 10."""
    async with opened(tmp_path, in_order("Late.", "Later."), wait_s=5.0) as scene:
        mate = await scene.team.spawn("ann", definition=MATE, prompt="Look.")
        await trio.sleep(1)
        assert (await mate.abort_turn("enough").wait_ended()).state is State.KILLED
        await scene.crew.wait_quiet()
        assert (mate.state, mate.status) == (State.RUNNING, MemberStatus.IDLE)
        assert [notice["idleReason"] for notice in scene.notices] == ["interrupted"]

        mate.kill("no longer needed")
        await mate.wait_ended()
        await scene.crew.wait_quiet()

        assert mate.status is MemberStatus.ENDED
        assert mate.tell("hello?") is Delivery.CLOSED
        assert [notice["type"] for notice in scene.notices] == ["idle_notification", "teammate_terminated"]
        assert "no longer needed" in scene.notices[-1]["message"]
        assert [one.state for one in scene.of(TeammateLeft)] == ["killed"]


async def test_the_name_of_one_that_has_ended_is_not_given_again(tmp_path: Path, autojump_clock: MockClock) -> None:
    """RC-96: three of a name are three names, and an item stays with the one that had it."""
    async with opened(tmp_path, in_order("Done.")) as scene:
        first = await scene.team.spawn("writer", definition=MATE)
        first.kill()
        await first.wait_ended()
        others = [await scene.team.spawn("writer", definition=MATE) for _ in range(2)]

        assert [other.name for other in others] == ["writer-2", "writer-3"]
        assert [other.id for other in others] == ["writer-2@crew", "writer-3@crew"]
        assert [one.color for one in (first, *others)] == ["blue", "green", "yellow"]


async def test_a_mate_has_no_mates_and_no_agents_in_the_background(tmp_path: Path, autojump_clock: MockClock) -> None:
    """CL-45; Behaviours (7), line 9."""
    refused: list[str] = []
    calls: list[AnswerLike] = [
        agent("x", run_in_background=True),
        agent("x", subagent_type="scout"),
        agent("what is here?"),
    ]

    def mate(request: ModelRequest) -> AnswerLike:
        said = answers_in(request)
        if said:
            refused.append(last_texts(request))
        return calls[said] if said < len(calls) else "Done."

    agents = {"scout": {"description": "x", "prompt": "x", "background": True}}
    async with opened(tmp_path, mate, agents=agents, wait_s=0.1) as scene:
        await scene.team.spawn("ann", definition=MATE, prompt="Look.")
        await scene.crew.wait_quiet()

    assert "in the background" in refused[0]
    assert "always does" in refused[1]
    assert "Report on: what is here?" in refused[2]


async def test_a_mate_waits_for_its_agent_however_long_that_takes(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Nothing moves to the background by itself there."""
    async with opened(tmp_path, in_order(agent("what is here?"), otherwise="Done."), wait_s=500.0) as scene:
        await scene.team.spawn("ann", definition=MATE, prompt="Look.")
        await trio.sleep(900)
        (child,) = [task for task in scene.crew.tasks.all() if task.info.kind == "local_agent"]
        assert (child.state, child.is_background) == (TaskState.RUNNING, False)
        await scene.crew.wait_quiet()


# --- failures and crashes -----------------------------------------------------------------------------------------------


async def test_the_lead_is_told_of_a_turn_that_failed_and_a_message_wakes_the_mate(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """CL-48."""
    answers: list[AnswerLike | Exception] = [ProviderError("too much", kind="overloaded_error", status=529), "Now."]

    def mate(_: ModelRequest) -> AnswerLike:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async with opened(tmp_path, mate) as scene:
        ann = await scene.team.spawn("ann", definition=MATE, prompt="Look.")
        await scene.crew.wait_quiet()
        assert [(notice["idleReason"], "too much" in notice["failureReason"]) for notice in scene.notices] == [
            ("failed", True)
        ]
        assert ann.status is MemberStatus.IDLE

        ann.tell("Once more.")
        await scene.crew.wait_quiet()

        assert [notice["idleReason"] for notice in scene.notices] == ["failed", "available"]
        assert not answers


async def test_the_lead_is_told_of_a_failure_also_where_the_item_is_tried_again_at_once(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """CL-48: the item comes back, and whoever is idle takes it, which may be the same mate."""
    answers: list[Exception] = [ProviderError("too much", kind="overloaded_error", status=529)]

    def mate(request: ModelRequest) -> AnswerLike:
        if answers:
            raise answers.pop()
        return completes(request)

    async with opened(tmp_path, mate) as scene:
        await scene.team.spawn("ann", definition=MATE)
        await scene.item()
        await scene.crew.wait_quiet()

        assert [(notice["from"], notice["idleReason"]) for notice in scene.notices] == [
            ("ann", "failed"),
            ("ann", "available"),
        ]
        assert {item.status for item in scene.team.board.items()} == {ItemStatus.COMPLETED}


def crashing(times: int, rest: Page) -> tuple[Page, Callable[[], int]]:
    """Return a page on which a promise does not hold so many times, and how often it was asked."""
    asked = 0

    def page(request: ModelRequest) -> AnswerLike:
        nonlocal asked
        asked += 1
        if asked <= times:
            raise InternalError("a promise does not hold")
        return rest(request)

    return page, lambda: asked


async def test_a_mate_that_crashed_comes_back_with_its_conversation_and_its_item(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """One hidden note to go on, and nobody else is handed the item."""
    seen: list[str] = []

    def rest(request: ModelRequest) -> AnswerLike:
        seen.append("\n".join(message.text for message in request.messages))
        said = answers_in(request)
        return "Done." if said else Call("TaskUpdate", {"taskId": "1", "status": "completed"})

    page, _ = crashing(1, rest)
    async with opened(tmp_path, page) as scene:
        ann = await scene.team.spawn("ann", definition=MATE)
        await scene.team.spawn("bob", definition=AgentDefinition(name="general-purpose", system_prompt=""))
        await scene.item()
        await scene.crew.wait_quiet()

        (item,) = scene.team.board.items()
        assert (item.owner, item.status) == ("ann", ItemStatus.COMPLETED)
        assert "Task #1 is yours" in seen[0]
        assert seen[0].count("Continue from where you left off.") == 1
        assert ann.state is State.RUNNING
        assert [(notice["from"], notice["completedTaskId"]) for notice in scene.notices] == [("ann", "1")]


async def test_one_that_crashes_too_often_is_ended_and_the_lead_is_told_why(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    page, asked = crashing(100, in_order())
    async with opened(tmp_path, page) as scene:
        ann = await scene.team.spawn("ann", definition=MATE)
        await scene.item()
        await ann.wait_ended()
        await scene.team.spawn("bob", definition=AgentDefinition(name="general-purpose", system_prompt=""))
        await scene.crew.wait_quiet()

        assert asked() == 4
        assert scene.notices[0]["type"] == "teammate_terminated"
        assert "a promise does not hold" in scene.notices[0]["message"]
        assert [item.owner for item in scene.team.board.items()] == ["bob"]


async def test_one_that_never_comes_back_is_ended_by_its_first_crash(tmp_path: Path, autojump_clock: MockClock) -> None:
    page, asked = crashing(100, in_order())
    async with opened(tmp_path, page) as scene:
        ann = await scene.team.spawn("ann", definition=MATE, prompt="Look.", restart=Restart.TEMPORARY)
        assert (await ann.wait_ended()).state is State.FAILED
        await scene.crew.wait_quiet()

        assert asked() == 1
        assert "failed" in scene.notices[0]["message"]


async def test_a_strategy_takes_neighbours_along_and_they_go_on(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Whoever is restarted with a neighbour keeps its item and goes on with it."""
    page, _ = crashing(1, in_order("Well."))
    asked: list[str] = []

    def slow(request: ModelRequest) -> AnswerLike:
        asked.append(last_texts(request))
        return "Done."

    async with opened(tmp_path, page, pages={"slow": slow}, strategy="one_for_all", wait_s=20.0) as scene:
        bob = await scene.team.spawn("bob", definition=AgentDefinition(name="slow", system_prompt=""))
        await scene.item()
        await trio.sleep(10)
        await scene.team.spawn("ann", definition=MATE, prompt="Look.")
        await trio.sleep(60)

        (item,) = scene.team.board.items()
        assert item.owner == "bob"
        assert bob.ref.state is State.RUNNING
        assert [text for text in asked if "Continue from where" in text]


# --- hooks --------------------------------------------------------------------------------------------------------------


async def test_a_hook_keeps_a_mate_going_with_what_it_says(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (3), line 8."""
    hooks = ScriptedHooks(HookEvent.TEAMMATE_IDLE, [{"block_reasons": ("Look once more.",)}, {}])
    seen: list[str] = []

    def mate(request: ModelRequest) -> AnswerLike:
        seen.append(last_texts(request))
        return "Done."

    async with opened(tmp_path, mate, hooks=hooks, wait_s=0) as scene:
        await scene.team.spawn("ann", definition=MATE, prompt="Look.")
        await scene.crew.wait_quiet()

        assert len(seen) == 2
        assert "Look once more." in seen[1]
        assert [notice["idleReason"] for notice in scene.notices] == ["available"]
        assert [(one.teammate_name, one.team_name) for one in hooks.told] == [("ann", "crew")] * 2


async def test_a_hook_ends_a_mate(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (3), line 8."""
    hooks = ScriptedHooks(HookEvent.TEAMMATE_IDLE, [{"stops": True, "stop_reason": "it is enough"}])
    async with opened(tmp_path, in_order("Done."), hooks=hooks, wait_s=0) as scene:
        mate = await scene.team.spawn("ann", definition=MATE, prompt="Look.")
        assert (await mate.wait_ended()).state is State.KILLED
        await scene.crew.wait_quiet()

        assert "it is enough" in scene.notices[-1]["message"]
