"""Keepers: what is put is read once, its turn is reported, and its session is closed when it is idle."""

from __future__ import annotations

from pathlib import Path

import trio
from trio.testing import MockClock

from greenroom.gateway.record._machines import EndCause, SessionState
from greenroom.inbox import HUMAN
from greenroom.models import ModelRequest
from greenroom.session import MessageAppended
from greenroom.tasks import TaskState
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
