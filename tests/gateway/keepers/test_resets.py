"""Conversations that begin anew by themselves: when, and in which sessions."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.actors import TurnBegan
from greenroom.core import Event, ProviderError, UsageError
from greenroom.gateway._gateway_errors import NotFound
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._sections import ResetConfig, SessionConfig
from greenroom.gateway.keepers._agent_budgets import last_time
from greenroom.gateway.keepers._session_changes import reset_reason
from greenroom.gateway.keepers._turn_reporter import Aside, TurnReporter
from greenroom.gateway.keepers._waiting_items import WaitingItems
from greenroom.gateway.record._rows import SessionRow
from greenroom.gateway.routing._session_key import SessionKey, child_key, cron_key, direct_key, main_key, room_key
from greenroom.inbox import AUTO_CONTINUATION
from greenroom.models import ModelRequest
from greenroom.session import AnswerPiece, EventStream
from tests.gateway.keepers.keeping import MAIN, opened, uuid
from tests.gateway.keepers.standins import AGENT, ended

DAY_S = 86_400.0
IDLE = SessionConfig(reset=ResetConfig(mode="idle", idle_minutes=60))
DAILY = SessionConfig(reset=ResetConfig(mode="daily", at_hour=4), timezone="UTC")


def row(key: SessionKey, *, began_s: float, person_s: float, used_s: float) -> SessionRow:
    return SessionRow(key=str(key), session_id="s", made_s=0, began_s=began_s, person_s=person_s, used_s=used_s)


@pytest.mark.parametrize(
    ("config", "began_s", "person_s", "used_s", "now_s", "expected"),
    [
        (SessionConfig(), 0, 10, 10, 9 * DAY_S, ""),
        (IDLE, 0, 100, 100, 3700, ""),
        (IDLE, 0, 100, 100, 3701, "idle"),
        (IDLE, 0, 100, 3600, 3701, "idle"),  # a run or an announcement does not count as use
        (IDLE, 0, 0, 0, DAY_S, ""),  # nothing was said
        (DAILY, 0, 100, 100, 4 * 3600 - 1, ""),
        (DAILY, 0, 4 * 3600 - 1, 4 * 3600 - 1, 4 * 3600, "daily"),
        (DAILY, 4 * 3600, 4 * 3600, 4 * 3600 + 1, DAY_S, ""),
        (DAILY, 4 * 3600, 4 * 3600, 4 * 3600 + 1, DAY_S + 4 * 3600 + 1, "daily"),
    ],
)
def test_a_conversation_is_over_at_an_hour_or_when_people_do_not_use_it(
    config: SessionConfig, began_s: float, person_s: float, used_s: float, now_s: float, expected: str
) -> None:
    assert reset_reason(config, row(MAIN, began_s=began_s, person_s=person_s, used_s=used_s), now_s) == expected


def test_only_sessions_of_people_begin_anew() -> None:
    keys = {
        main_key("main"): "idle",
        direct_key("main", "ann", channel="irc"): "idle",
        room_key("main", "irc", "group", "#r"): "idle",
        child_key("main", uuid(1)): "",
        cron_key("main", "news", ""): "",
    }

    found = {key: reset_reason(IDLE, row(key, began_s=0, person_s=0, used_s=1), DAY_S) for key in keys}

    assert found == keys


@given(
    now_s=st.floats(1.7e9, 1.9e9),
    hour=st.integers(0, 23),
    zone=st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kolkata"]),
)
def test_the_last_time_of_an_hour_is_that_hour_within_a_day(now_s: float, hour: int, zone: str) -> None:
    found = last_time(now_s, hour, ZoneInfo(zone))

    assert now_s - DAY_S - 3600 <= found <= now_s
    local = datetime.fromtimestamp(found, UTC).astimezone(ZoneInfo(zone))
    is_skipped = local.utcoffset() != datetime.fromtimestamp(found - 3600, UTC).astimezone(ZoneInfo(zone)).utcoffset()
    assert local.hour == hour or is_skipped


async def test_an_idle_session_begins_anew_with_the_next_message_of_a_person(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    config = GatewayConfig(session=IDLE)
    async with opened(tmp_path, lambda request: f"{len(request.messages)}", wait_s=10, config=config) as gateway:

        async def say(number: int, after_s: float, **more: Any) -> None:
            await trio.sleep(after_s)
            await gateway.say("Hi.", uuid(number), **more)
            await gateway.watcher.wait_ends(number)

        await say(1, 0)
        await say(2, 3000)
        await say(3, 3500, origin=AUTO_CONTINUATION)
        former = gateway.record.registry.sessions[str(MAIN)].session_id
        async with trio.open_nursery() as nursery:  # of two messages at once, the first one begins anew
            await trio.sleep(200)
            nursery.start_soon(gateway.say, "Again.", uuid(4))
            nursery.start_soon(gateway.say, "And more.", uuid(5))
        await gateway.watcher.wait_ends(4)

        assert [end.reply for end in gateway.watcher.ends][:3] == ["1", "3", "5"]
        assert int(gateway.watcher.ends[3].reply) < 3
        fresh = gateway.record.registry.sessions[str(MAIN)]
        assert {end.session_id for end in gateway.watcher.ends[3:]} == {fresh.session_id} != {former}
        (archived,) = gateway.state.glob(f"agents/main/sessions/{former}/transcripts/*")
        assert archived.name.startswith("main.jsonl.deleted.")


async def test_a_turn_that_runs_is_never_cut_by_a_reset(tmp_path: Path, autojump_clock: MockClock) -> None:
    config = GatewayConfig(session=attrs.evolve(IDLE, close_after_minutes=600))
    async with opened(tmp_path, lambda request: f"{len(request.messages)}", wait_s=7200, config=config) as gateway:
        await gateway.say("Take your time.", uuid(1))
        await trio.sleep(4000)
        await gateway.say("Still there?", uuid(2))
        await gateway.watcher.wait_ends(1)

        assert len({end.session_id for end in gateway.watcher.ends}) == 1


# --- compaction ---------------------------------------------------------------------------------------------------------


def last_text(request: ModelRequest) -> str:
    return "\n".join(str(getattr(block, "text", "")) for block in request.messages[-1].content)


async def test_a_conversation_is_compacted_between_turns_and_reported_to_nobody(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    def play(request: ModelRequest) -> str:
        asks = "summary" in last_text(request).lower() and "What now?" not in last_text(request)
        return "<summary>They said hello.</summary>" if asks else f"{len(request.messages)} messages"

    async with opened(tmp_path, play, wait_s=10) as gateway:
        with pytest.raises(NotFound):
            await gateway.keepers.compact(str(MAIN), within_s=60)
        await gateway.keepers.make(MAIN)
        with pytest.raises(UsageError, match="nothing to compact"):
            await gateway.keepers.compact(str(MAIN), within_s=60)
        for number in (1, 2):
            await gateway.say("Hello.", uuid(number))
            await gateway.watcher.wait_ends(number)
        await gateway.say("Once more.", uuid(3))
        await gateway.watcher.wait_began(3)

        assert not await gateway.keepers.compact(str(MAIN), within_s=1)  # its turn runs
        await gateway.watcher.wait_ends(3)
        assert await gateway.keepers.compact(str(MAIN), within_s=60)
        await gateway.say("What now?", uuid(4))
        await gateway.watcher.wait_ends(4)

        assert [end.reply for end in gateway.watcher.ends][:3] == ["1 messages", "3 messages", "5 messages"]
        assert int(gateway.watcher.ends[3].reply.split()[0]) < 5
        assert gateway.keepers.broken == {}


async def test_the_pieces_of_a_summary_are_shown_to_nobody(autojump_clock: MockClock) -> None:
    stream, heard = EventStream(None), list[Event]()
    session = SimpleNamespace(main_id=AGENT, events=lambda: stream, wait_recorded=trio.lowlevel.checkpoint)
    parts = SimpleNamespace(on_event=lambda _, event: heard.append(event))
    untold = {"on_change": lambda: None, "wait_told": trio.sleep}
    reporter = TurnReporter(key="k", session_id="s", session=session, items=WaitingItems(), parts=parts, **untold)  # type: ignore[arg-type]
    piece = AnswerPiece(actor=AGENT, piece={"type": "content_block_delta"})

    async with trio.open_nursery() as nursery:
        nursery.start_soon(reporter.run)
        for number in (1, 2):
            if number == 1:
                reporter.begin_compaction(Aside("", 1))
            for event in (TurnBegan(actor=AGENT, turn=number, msg=number), piece, ended("completed", None)):
                values = [getattr(event, field.name) for field in attrs.fields(type(event))]
                stream.put((1, 0.0, type(event), *values))
            await trio.sleep(1)
            assert heard.count(piece) == number - 1
        nursery.cancel_scope.cancel()


async def test_a_failed_compaction_says_why_and_the_session_goes_on(tmp_path: Path, autojump_clock: MockClock) -> None:
    missing = ProviderError("no such model", kind="not_found", is_retryable=False)
    async with opened(tmp_path, ["Hello.", missing, "Still here."]) as gateway:
        await gateway.say("Hello.", uuid(1))
        await gateway.watcher.wait_ends(1)

        with pytest.raises(UsageError, match="no such model"):
            await gateway.keepers.compact(str(MAIN), within_s=60)
        await gateway.say("Are you there?", uuid(2))
        await gateway.watcher.wait_ends(2)

        assert [end.reply for end in gateway.watcher.ends] == ["Hello.", "Still here."]
