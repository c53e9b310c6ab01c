"""Keepers: what is put is read once, its turn is reported, and its session is closed when it is idle."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from greenroom.core import JournalError
from greenroom.gateway.config._clock_and_limits import LimitsConfig
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.record._gateway_journal import GatewayRecord
from greenroom.gateway.record._machines import EndCause, SessionState
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.inbox import HUMAN, BoxFull
from greenroom.models import Call, ModelRequest, ScriptStep, ToolResultBlock
from greenroom.session import MessageAppended
from greenroom.tasks import TaskState
from greenroom.tools import tool
from tests.gateway.keepers.keeping import MAIN, opened, uuid


async def test_an_input_begins_a_turn_whose_reply_is_reported(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with opened(tmp_path, ["Hello, Ada."]) as gateway:
        assert await gateway.say("Hello.", uuid(1))
        await gateway.watcher.wait_ends(1)

        (end,) = gateway.watcher.ends
        assert (end.session, end.items, end.reply) == (str(MAIN), (uuid(1),), "Hello, Ada.")
        assert (end.state, end.cause, end.error) == (TaskState.COMPLETED, EndCause.ITSELF, "")
        assert end.line
        assert [request.model for request in end.requests] == ["scripted"]
        assert gateway.watcher.queued == [(str(MAIN), (uuid(1),), "main")]
        assert gateway.watcher.began == [(str(MAIN), (uuid(1),))]
        assert gateway.record.registry.sessions[str(MAIN)].state is SessionState.OPEN
        assert gateway.lanes.statistics()["main"].active == 0


async def test_an_idle_session_is_closed_and_opened_again_with_its_conversation(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    asked: list[int] = []

    def count(request: ModelRequest) -> str:
        asked.append(len(request.messages))
        return f"reply {len(asked)}"

    async with opened(tmp_path, count) as gateway:
        await gateway.say("First.", uuid(1))
        await gateway.watcher.wait_ends(1)
        await trio.sleep(700)
        assert gateway.record.registry.sessions[str(MAIN)].state is SessionState.CLOSED
        assert gateway.keepers.open_count == 0

        await gateway.say("Second.", uuid(2))
        await gateway.watcher.wait_ends(2)

        assert [end.reply for end in gateway.watcher.ends] == ["reply 1", "reply 2"]
        assert asked == [1, 3]
        assert gateway.record.registry.inbound == {}


async def test_the_same_input_again_changes_nothing(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with opened(tmp_path, ["One."]) as gateway:
        assert await gateway.say("Hello.", uuid(1))
        assert not await gateway.say("Hello.", uuid(1))
        await gateway.watcher.wait_ends(1)
        assert not await gateway.say("Hello.", uuid(1))
        await trio.sleep(5)

        assert [end.items for end in gateway.watcher.ends] == [(uuid(1),)]


@pytest.mark.promise("A29-a")
async def test_a_session_for_which_too_much_waits_takes_no_more(tmp_path: Path, autojump_clock: MockClock) -> None:
    config = GatewayConfig(limits=LimitsConfig(waiting_inputs=3))
    async with opened(tmp_path, lambda _: "Done.", wait_s=10, config=config) as gateway:
        await gateway.say("First.", uuid(1))
        await gateway.watcher.wait_began(1)
        for number in (2, 3, 4):
            await gateway.say("More.", uuid(number), queue="followup")
        with pytest.raises(BoxFull, match=r"3 inputs wait, which is limits\.waitingInputs"):
            await gateway.say("Too much.", uuid(5))
        await gateway.watcher.wait_ends(2)
        await gateway.say("Again.", uuid(6))
        await gateway.watcher.wait_ends(5)
        assert gateway.record.registry.inbound == {}


async def test_an_owners_text_is_the_users_and_no_command_line(tmp_path: Path, autojump_clock: MockClock) -> None:
    seen: list[str] = []

    def look(request: ModelRequest) -> str:
        seen.append(str(request.messages[-1].content))
        return "Read."

    async with opened(tmp_path, [look]) as gateway:
        await gateway.say("!touch x", uuid(1))
        await gateway.watcher.wait_ends(1)

        assert "!touch x" in seen[0]
        appended = [event.appended for _, event in gateway.events if isinstance(event, MessageAppended)]
        assert appended[0].origin == HUMAN
        assert appended[0].uuid == uuid(1)


# --- stops and turns aside ----------------------------------------------------------------------------------------------


@tool(name="look")
async def look(what: str) -> str:
    """Look at something.

    Args:
        what: The thing.
    """
    return what


async def test_a_stopped_turn_is_reported_with_who_stopped_it(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with opened(tmp_path, lambda _: "Late.", wait_s=100) as gateway:
        await gateway.say("Work.", uuid(1))
        await gateway.watcher.wait_began(1)

        assert await gateway.keepers.stop_turn(str(MAIN), who="ada")

        (end,) = gateway.watcher.ends
        assert (end.state, end.cause, end.who, end.items) == (TaskState.KILLED, EndCause.STOP, "ada", (uuid(1),))
        assert not await gateway.keepers.stop_turn(str(MAIN), who="ada")
        assert gateway.record.registry.inbound == {}


async def test_an_input_that_comes_again_while_it_is_recorded_is_accepted_once(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with opened(tmp_path, lambda _: "Done.") as gateway:

        async def say(number: int, steps: int) -> None:
            for _ in range(steps):
                await trio.lowlevel.checkpoint()
            await gateway.say("Hello.", uuid(number))

        for number in range(1, 4):
            async with trio.open_nursery() as nursery:
                for steps in range(0, 60, 3):
                    nursery.start_soon(say, number, steps + number)
            await gateway.watcher.wait_ends(number)

        assert [end.items for end in gateway.watcher.ends] == [(uuid(1),), (uuid(2),), (uuid(3),)]


async def test_an_item_that_waits_is_withdrawn_alone(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with opened(tmp_path, lambda _: "Done.", wait_s=10) as gateway:
        await gateway.say("Work.", uuid(1))
        await gateway.watcher.wait_began(1)
        await gateway.say("And this.", uuid(2), queue="followup")
        await gateway.say("And that.", uuid(3))

        assert await gateway.keepers.stop_turn(str(MAIN), who="ada", item=uuid(2))
        assert await gateway.keepers.stop_turn(str(MAIN), who="ada", item=uuid(3))
        await gateway.watcher.wait_ends(3)

        ends = {end.items: end.state for end in gateway.watcher.ends}
        assert ends == {
            (uuid(1),): TaskState.COMPLETED,
            (uuid(2),): TaskState.KILLED,
            (uuid(3),): TaskState.KILLED,
        }


@pytest.mark.promise("A10-f", "A10-i")
async def test_a_turn_that_waits_for_its_place_is_stopped_at_once(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with opened(tmp_path, lambda _: "Done.", wait_s=10, widths={"main": 1}) as gateway:
        await gateway.say("Work.", uuid(1))
        await gateway.watcher.wait_began(1)
        other = SessionKey.parse("agent:main:irc:dm:bob")
        await gateway.say("Wait.", uuid(2), other)
        await trio.testing.wait_all_tasks_blocked()
        assert gateway.lanes.statistics()["main"].waiting == 1

        start = trio.current_time()
        assert await gateway.keepers.stop_turn(str(other), who="bob")
        assert trio.current_time() == start
        await gateway.watcher.wait_ends(2)

        assert [(end.session, end.state) for end in gateway.watcher.ends] == [
            (str(other), TaskState.KILLED),
            (str(MAIN), TaskState.COMPLETED),
        ]
        assert gateway.keepers.open_count == 1
        assert gateway.lanes.statistics()["main"].waiting == 0


async def test_a_turn_aside_is_offered_its_tools_and_refused_them(tmp_path: Path, autojump_clock: MockClock) -> None:
    offered: list[list[str]] = []
    script = ["Found.", [Call("look", {"what": "x"})], "Summary."]

    def noting(answer: Any) -> Any:
        def play(request: ModelRequest) -> Any:
            offered.append([offer.name for offer in request.tools])
            return answer

        return play

    async with opened(tmp_path, [noting(answer) for answer in script], tools=[look]) as gateway:
        await gateway.say("Work.", uuid(1))
        await gateway.watcher.wait_ends(1)

        said = (await gateway.keepers.ask_aside(str(MAIN), "Summarize.", within_s=60, max_requests=2)).text

        assert said == "Summary."
        assert offered == [["look"]] * 3
        assert len(gateway.watcher.ends) == 1
        results = [
            block
            for _, event in gateway.events
            if isinstance(event, MessageAppended)
            for block in event.appended.message.content
            if isinstance(block, ToolResultBlock)
        ]
        assert [block.is_error for block in results] == [True]


async def test_a_turn_aside_ends_at_its_limits(tmp_path: Path, autojump_clock: MockClock) -> None:
    calls = [[Call("look", {"what": str(number)})] for number in range(3)]
    script = ["Found.", *calls[:2], ScriptStep(answer=calls[2], wait_s=1), "One request too many."]
    async with opened(tmp_path, script, tools=[look]) as gateway:
        await gateway.say("Work.", uuid(1))
        await gateway.watcher.wait_ends(1)
        assert not (await gateway.keepers.ask_aside(str(MAIN), "Summarize.", within_s=60, max_requests=2)).text

    async with opened(tmp_path / "slow", lambda _: "Late.", wait_s=100) as gateway:
        await gateway.say("Work.", uuid(1))
        await gateway.watcher.wait_ends(1)
        start = trio.current_time()
        assert not (await gateway.keepers.ask_aside(str(MAIN), "Summarize.", within_s=60, max_requests=2)).text
        assert trio.current_time() - start == pytest.approx(60, abs=0.1)
        await gateway.say("More.", uuid(2))
        await gateway.watcher.wait_ends(2)
        assert gateway.watcher.ends[1].reply == "Late."


async def test_an_input_that_the_disk_did_not_record_is_accepted_when_it_comes_again(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object) -> None:
        await trio.lowlevel.checkpoint()
        raise JournalError("journal", "no space left")

    async with opened(tmp_path, lambda _: "Done.") as gateway:
        await gateway.keepers.make(MAIN)
        with monkeypatch.context() as patch:
            patch.setattr(GatewayRecord, "write", full)
            with pytest.raises(JournalError):
                await gateway.say("Work.", uuid(1), queue="collect")

        assert await gateway.say("Work.", uuid(1), queue="collect")
        await gateway.watcher.wait_ends(1)
        assert not await gateway.say("Work.", uuid(1))

        assert [end.items for end in gateway.watcher.ends] == [(uuid(1),)]
        assert gateway.record.registry.inbound == {}


@pytest.mark.parametrize("mode", ["collect", "followup", "steer"])
async def test_an_input_that_comes_while_a_turn_aside_runs_is_handed_in_after_it(
    tmp_path: Path, mode: str, autojump_clock: MockClock
) -> None:
    async with opened(tmp_path, lambda _: "Done.", wait_s=10) as gateway, trio.open_nursery() as nursery:
        await gateway.say("Work.", uuid(1))
        await gateway.watcher.wait_ends(1)
        nursery.start_soon(partial(gateway.keepers.ask_aside, str(MAIN), "Summarize.", within_s=60, max_requests=2))
        await trio.sleep(1)
        await gateway.say("More.", uuid(2), queue=mode)
        with trio.fail_after(100):
            await gateway.watcher.wait_ends(2)
        assert gateway.watcher.ends[1].reply == "Done."
