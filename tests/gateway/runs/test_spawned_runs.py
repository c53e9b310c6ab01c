"""Runs over fake keepers: spawn, announce in each way, limits, stops, and the archive."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock

from greenroom.core import JournalError
from greenroom.gateway._gateway_errors import Conflict, Forbidden, NotFound
from greenroom.gateway.announce._announcement import SpentRequest
from greenroom.gateway.config._agents import AnnounceConfig
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._reader import config_converter
from greenroom.gateway.config._sections import MaintenanceConfig, SessionConfig
from greenroom.gateway.keepers._agent_setup import sessions_folder
from greenroom.gateway.keepers._seams import NewInput
from greenroom.gateway.record._machines import DeliveryState, SendResult, SessionState
from greenroom.gateway.record._recovery_plan import Resume
from greenroom.gateway.routing._chat_messages import ChatRoute
from greenroom.gateway.routing._session_key import SessionKey, child_key, direct_key
from greenroom.gateway.runs._archive_clock import ArchiveClock
from greenroom.gateway.runs._run_ids import announce_item
from greenroom.gateway.runs._run_stops import STOP_S, Stopped
from greenroom.gateway.runs._spawn_plan import SpawnRequest
from greenroom.inbox import HUMAN
from greenroom.models import Usage
from greenroom.tasks import TaskState
from greenroom.testing import virtual_ports
from tests.gateway.runs.fakes import (
    CHAT,
    MAIN,
    FakeChannel,
    FakeGateway,
    TurnDies,
    World,
    configured,
    open_fake_gateway,
    settle,
)
from tests.session.old_runs import OLD, make_run

KEY = str(MAIN)


def takes(seconds: float, reply: str = "done") -> Callable[[str, str], Awaitable[str]]:
    """Return turns of sub-agents that take a while; the requester says nothing."""

    async def turn(session: str, text: str) -> str:
        if session == KEY:
            return "NO_REPLY"
        await trio.sleep(seconds)
        return reply

    return turn


async def summary(session: str, text: str) -> str:
    return "42 files"


async def summarized(gateway: FakeGateway, **more: Any) -> str:
    """Start a sub-agent, and return the text in the chat once all is told."""
    run = await gateway.spawn(**more)
    await settle(gateway, run)
    return "\n".join(gateway.channel.texts)


# --- spawning -----------------------------------------------------------------------------------------------------------


@pytest.mark.promise("A2-a")
async def test_a_spawn_returns_while_its_run_works(autojump_clock: MockClock) -> None:
    async with open_fake_gateway(turn=takes(3600)) as gateway:
        begin_s = trio.current_time()
        answer = await gateway.runs.spawn(MAIN, SpawnRequest(task="count", model="gpt"), CHAT)

        assert trio.current_time() == begin_s
        shown = answer.to_json()
        assert shown["status"] == "accepted"
        assert shown["childSessionKey"].startswith("agent:main:subagent:")
        assert gateway.registry.runs[shown["runId"]].session == shown["childSessionKey"]
        assert (shown["modelApplied"], shown["resolvedModel"]) == (False, "sonnet")
        assert "'gpt'" in shown["warning"]


@pytest.mark.promise("A1-a", "A1-c")
async def test_two_spawns_of_one_moment_share_no_name(autojump_clock: MockClock) -> None:
    async with open_fake_gateway() as gateway:
        runs = [gateway.registry.runs[await gateway.spawn()] for _ in range(2)]

        assert all(re.fullmatch(r"agent:main:subagent:[0-9a-f-]{36}", run.session) for run in runs)
        assert len({name for run in runs for name in (run.id, run.session, run.session_id)}) == 6


@pytest.mark.promise("A21-c")
async def test_a_requester_answers_at_once_while_its_child_works(autojump_clock: MockClock) -> None:
    async with open_fake_gateway(turn=takes(3600)) as gateway:
        await gateway.spawn()
        await trio.sleep(60)
        begin_s = trio.current_time()
        run = await gateway.runs.begin(MAIN, "how is it going", HUMAN)
        ended = await gateway.runs.wait(run, timeout_s=60)

        assert ended.state is TaskState.COMPLETED
        assert trio.current_time() - begin_s < 1


@pytest.mark.promise("A21-f")
async def test_children_of_all_requesters_share_one_width(autojump_clock: MockClock) -> None:
    most = 0

    async def turn(session: str, text: str) -> str:
        nonlocal most
        working = [key for key in gateway.keepers.taken if ":subagent:" in key]
        most = max(most, len(working))
        await trio.sleep(10 if ":subagent:" in session else 0)
        return "NO_REPLY"

    async with open_fake_gateway(config=configured(max_children_per_agent=6), turn=turn) as gateway:
        other = direct_key("main", "bob", channel="irc")
        await gateway.record.write(*gateway.keepers.events_for_new(other))
        asked = [await gateway.runs.spawn(key, SpawnRequest(task="t"), CHAT) for key in (MAIN, other) for _ in range(6)]
        await settle(gateway, *(answer.run for answer in asked))

        assert [answer.status for answer in asked] == ["accepted"] * 12
        assert most == 8


@pytest.mark.promise("A2-g")
async def test_a_spawn_that_the_disk_refuses_leaves_nothing(autojump_clock: MockClock) -> None:
    world = World()
    with pytest.RaisesGroup(JournalError, flatten_subgroups=True, allow_unwrapped=True):
        async with open_fake_gateway(world) as gateway:
            world.disk.room_bytes = 10
            answer = await gateway.runs.spawn(MAIN, SpawnRequest(task="count"), CHAT)

            assert answer.status == "error"
            assert answer.error
            assert gateway.runs.list_for(KEY) == []
            assert gateway.registry.sessions[answer.session].state is SessionState.ARCHIVED
            later = await gateway.runs.spawn(MAIN, SpawnRequest(task="count"), CHAT)
            assert later.status == "error"
            assert later.session not in gateway.registry.sessions
    assert world.store.waiting == {}


@pytest.mark.promise("A2-h")
async def test_an_accepted_run_is_known_after_a_kill(autojump_clock: MockClock) -> None:
    world = World()
    async with open_fake_gateway(world, turn=takes(3600)) as gateway:
        run = await gateway.spawn()
        left = world.copy()
        gateway.registry.runs.clear()

    async with open_fake_gateway(left) as gateway:
        await settle(gateway, run)
        assert gateway.shown() == [("count the files", "Status: success")]


async def test_twenty_children_share_the_width_of_their_lane(autojump_clock: MockClock) -> None:
    config = configured(max_children_per_agent=20)
    async with open_fake_gateway(config=config, turn=takes(10)) as gateway:
        runs = [await gateway.spawn(f"task {number}") for number in range(20)]
        await settle(gateway, *runs)

        assert gateway.keepers.most_running <= 8 + 1  # the requester's own turn
        sessions = [gateway.registry.runs[run].session for run in runs]
        assert sorted(key for key in gateway.keepers.began if key != KEY) == sorted(sessions)
        assert len(gateway.shown()) == 20


# --- announcing ---------------------------------------------------------------------------------------------------------


@pytest.mark.promise("A6-a")
async def test_a_run_is_announced_from_the_child_to_the_chat_and_the_requester(autojump_clock: MockClock) -> None:
    """GW-05: a completion is a delivery to the chat and an input of the requester, each with its own state."""
    async with open_fake_gateway(aside=summary) as gateway:
        gateway.keepers.requests = (SpentRequest(model="m", usage=Usage(input_tokens=1000, output_tokens=234)),)
        text = await summarized(gateway, label="files")

        (asked,) = gateway.keepers.asked
        assert asked[0] != KEY
        assert text.splitlines()[:4] == ['"files"', "Status: success", "Result: 42 files", "Notes: -"]
        assert "tokens 1.0k in, 234 out, 1.2k total" in text
        (told,) = gateway.keepers.store.texts[KEY]
        assert text in told
        assert told.startswith("A sub-agent that you started has ended.")


@pytest.mark.promise("A6-e")
async def test_a_failed_run_has_no_announce_step(autojump_clock: MockClock) -> None:
    async def turn(session: str, text: str) -> str:
        if session == KEY:
            return "NO_REPLY"
        raise TurnDies("no such file")

    async with open_fake_gateway(turn=turn) as gateway:
        text = await summarized(gateway)

        assert gateway.keepers.asked == []
        assert "Status: error\nResult: (not available)\nNotes:\n> no such file\n> unfinished: half a sentence" in text


async def test_an_announce_step_has_a_minute(autojump_clock: MockClock) -> None:
    """GW-25: the text of an announcement is a template, and a summary is only one of its lines."""

    async def slow(session: str, text: str) -> str:
        await trio.sleep(61)
        return "too late"

    async with open_fake_gateway(aside=slow) as gateway:
        assert "Result: (not available)" in await summarized(gateway)


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        ("In my words: 42.", ["In my words: 42."]),
        (" no_reply ", []),
        ("", ["template"]),
        (TurnDies("overloaded"), ["template"]),
        (130.0, ["template"]),
    ],
)
@pytest.mark.promise("A6-k")
async def test_in_the_mode_turn_the_requester_says_it_or_the_template_does(
    autojump_clock: MockClock, reply: Any, shown: list[str]
) -> None:
    """GW-29: a turn without a visible reply, and one that takes too long, are replaced by the template."""

    async def turn(session: str, text: str) -> str:
        if session != KEY:
            return "counted"
        if isinstance(reply, TurnDies):
            raise reply
        if isinstance(reply, float):
            await trio.sleep(reply)
            return "said too late"
        return str(reply)

    config = configured(announce=AnnounceConfig(mode="turn"))
    async with open_fake_gateway(config=config, turn=turn) as gateway:
        run = await gateway.spawn()
        await settle(gateway, run)
        await trio.sleep(300)

        texts = ["template" if "Status: success" in text else text for text in gateway.channel.texts]
        assert texts == shown
        assert gateway.registry.completions[run].delivery.state is DeliveryState.DELIVERED


async def test_silent_and_unwoken_results_begin_no_turn(autojump_clock: MockClock) -> None:
    for announce, shown in ((AnnounceConfig(mode="silent"), 0), (AnnounceConfig(wake=False), 1)):
        async with open_fake_gateway(config=configured(announce=announce)) as gateway:
            run = await gateway.spawn()
            await settle(gateway, run)
            await trio.sleep(60)

            assert len(gateway.channel.chat) == shown
            assert KEY not in gateway.keepers.began
            assert gateway.registry.completions[run].delivery.state is DeliveryState.DELIVERED
            (waiting,) = gateway.keepers.store.waiting[KEY]
            assert waiting.id == announce_item(run)


async def test_a_result_goes_to_the_thread_of_its_message(autojump_clock: MockClock) -> None:
    """Two completions for two threads: each is posted in its own."""
    async with open_fake_gateway(aside=summary, turn=takes(1)) as gateway:
        routes = [ChatRoute(channel="matrix", peer="room", thread=name) for name in ("T", "U")]
        runs = [await gateway.spawn(route.thread, route=route) for route in routes]
        await settle(gateway, *runs)

        assert {(part.route.thread, part.text.splitlines()[0]) for part in gateway.channel.chat} == {
            ("T", '"T"'),
            ("U", '"U"'),
        }


async def test_the_reply_to_a_message_goes_where_it_came_from_once(autojump_clock: MockClock) -> None:
    async with open_fake_gateway() as gateway:
        await gateway.keepers.put(MAIN, NewInput(id="i1", text="hello", origin=HUMAN, route=CHAT))
        await trio.sleep(5)

        assert gateway.channel.texts == ["done: hello"]
        assert gateway.registry.inbound == {}


# --- limits of time -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("policy", "texts"), [("deny", 0), ("allow", 2)])
async def test_a_session_whose_policy_denies_it_sends_nothing(
    autojump_clock: MockClock, policy: str, texts: int
) -> None:
    async with open_fake_gateway() as gateway:
        await gateway.keepers.patch(KEY, {"send_policy": policy})
        await gateway.keepers.put(MAIN, NewInput(id="m1", text="hello", origin=HUMAN, route=CHAT))
        run = await gateway.spawn()
        await settle(gateway, run)
        await trio.sleep(60)

        assert len(gateway.channel.texts) == texts
        assert all(row.delivery.is_settled for row in gateway.registry.completions.values())
        assert gateway.registry.replies == {}


@pytest.mark.promise("A11-a", "A11-b")
async def test_a_run_is_ended_at_its_limit_and_announced(autojump_clock: MockClock) -> None:
    async with open_fake_gateway(turn=takes(10), aside=summary) as gateway:
        run = await gateway.spawn(limit_s=5)
        ended = await gateway.runs.wait(run, timeout_s=60)
        await settle(gateway, run)

        assert ended.words is not None
        assert ended.words.status == "timeout"
        assert ended.spent_s == pytest.approx(5)
        assert gateway.shown() == [("count the files", "Status: timeout")]
        assert gateway.registry.sessions[ended.session].state is not SessionState.ARCHIVED
        await trio.sleep(3700)
        assert gateway.registry.sessions[ended.session].state is SessionState.ARCHIVED


@pytest.mark.promise("A11-c")
async def test_waiting_for_a_place_is_no_working_time(autojump_clock: MockClock) -> None:
    async with open_fake_gateway(turn=takes(4), width=1) as gateway:
        runs = [await gateway.spawn(limit_s=5) for _ in range(5)]
        await settle(gateway, *runs)

        assert {gateway.registry.runs[run].state.value for run in runs} == {"completed"}


@pytest.mark.promise("A11-d")
async def test_a_run_without_a_limit_is_not_ended(autojump_clock: MockClock) -> None:
    async with open_fake_gateway(turn=takes(30 * 3600)) as gateway:
        run = await gateway.spawn(limit_s=0)
        await settle(gateway, run, within_s=40 * 3600)

        assert gateway.registry.runs[run].words is not None
        assert gateway.registry.runs[run].spent_s == pytest.approx(30 * 3600)


async def test_a_limit_goes_on_where_a_restart_cut_it(autojump_clock: MockClock) -> None:
    world = World()
    async with open_fake_gateway(world, turn=takes(100)) as gateway:
        run = await gateway.spawn(limit_s=20)
        await trio.sleep(8)
        await gateway.deliveries.post(CHAT, "a sign of life", "a")
        await trio.sleep(1)
        left = world.copy()
    await trio.sleep(1000)

    async with open_fake_gateway(left, turn=takes(100)) as gateway:
        begin_s = trio.current_time()
        await gateway.runs.wait(run, timeout_s=100)
        assert trio.current_time() - begin_s == pytest.approx(12, abs=0.2)
        assert gateway.registry.runs[run].cuts == 1


# --- stopping -----------------------------------------------------------------------------------------------------------


@pytest.mark.promise("A13-a", "A13-e")
async def test_a_stop_ends_all_children_of_a_session_and_counts_them(autojump_clock: MockClock) -> None:
    async with open_fake_gateway(turn=takes(3600), width=3) as gateway:
        runs = [await gateway.spawn() for _ in range(5)]
        await trio.sleep(1)
        assert gateway.keepers.running == 3

        stopped = await gateway.runs.stop(KEY, "ada")

        assert sorted(stopped.stopped) == sorted(runs)
        assert len(gateway.keepers.began) == 3
        assert {gateway.registry.runs[run].words.listed for run in runs} == {"stopped"}  # type: ignore[union-attr]
        assert (await gateway.runs.stop(KEY, "ada")).stopped == ()
        await settle(gateway, *runs)
        assert gateway.channel.chat == []


@pytest.mark.promise("A13-e")
async def test_a_stop_of_one_run_leaves_the_others(autojump_clock: MockClock) -> None:
    async with open_fake_gateway(turn=takes(100)) as gateway:
        first, second = await gateway.spawn(), await gateway.spawn()
        await trio.sleep(1)

        assert (await gateway.runs.stop(second, "ada")).stopped == (second,)
        assert not gateway.registry.runs[first].is_ended
        assert await gateway.runs.stop(second, "ada") == Stopped(ended_before=(second,))
        with pytest.raises(NotFound):
            await gateway.runs.stop("nothing", "ada")


async def test_stops_of_several_runs_wait_side_by_side(autojump_clock: MockClock) -> None:
    async with open_fake_gateway(turn=takes(300)) as gateway:
        runs = []
        for _ in range(3):
            runs.append(await gateway.spawn())
            gateway.keepers.stubborn.add(gateway.registry.runs[runs[-1]].session)
        await trio.sleep(1)
        start = trio.current_time()

        assert sorted((await gateway.runs.stop(runs, "ada")).failed) == sorted(runs)
        assert trio.current_time() - start < 2 * STOP_S


@pytest.mark.promise("A13-f")
async def test_a_child_that_ignores_its_stop_is_counted_as_failed(autojump_clock: MockClock) -> None:
    async with open_fake_gateway(turn=takes(300)) as gateway:
        run = await gateway.spawn()
        gateway.keepers.stubborn.add(gateway.registry.runs[run].session)
        await trio.sleep(1)

        stopped = await gateway.runs.stop(run, "ada")

        assert (stopped.stopped, stopped.failed) == ((), (run,))
        assert not gateway.registry.runs[run].is_ended
        assert gateway.lanes.statistics()["subagent"].active == 1
        await settle(gateway, run)
        assert gateway.registry.runs[run].is_ended


# --- the archive --------------------------------------------------------------------------------------------------------


@pytest.mark.promise("A12-a", "A12-c")
async def test_a_session_is_archived_an_hour_after_its_run_ended(autojump_clock: MockClock) -> None:
    """GW-16: a clock archives sessions of sub-agents by the time on record."""
    async with open_fake_gateway(turn=takes(3 * 3600)) as gateway:
        run = await gateway.spawn()
        session = gateway.registry.runs[run].session
        await settle(gateway, run, within_s=5 * 3600)
        ended_s = gateway.registry.runs[run].ended_s
        while gateway.registry.sessions[session].state is not SessionState.ARCHIVED:  # noqa: ASYNC110 - virtual time
            await trio.sleep(10)

        assert 3600 <= gateway.registry.sessions[session].archived_s - ended_s <= 3660


@pytest.mark.promise("A12-d")
async def test_the_archive_time_outlives_a_restart(autojump_clock: MockClock) -> None:
    world = World()
    async with open_fake_gateway(world) as gateway:
        run = await gateway.spawn()
        await settle(gateway, run)
        session, ended_s = gateway.registry.runs[run].session, gateway.registry.runs[run].ended_s
        await trio.sleep(59 * 60)
        left = world.copy()

    async with open_fake_gateway(left) as gateway:
        await trio.sleep(130)
        assert 3600 <= gateway.registry.sessions[session].archived_s - ended_s <= 3720


@pytest.mark.parametrize("kept_by", ["", "keep", "its age"])
async def test_what_was_archived_long_ago_is_removed(kept_by: str, tmp_path: Path, autojump_clock: MockClock) -> None:
    """GW-16: a run folder that somebody wants to keep stays; and so does its row."""
    config = GatewayConfig(session=SessionConfig(maintenance=MaintenanceConfig(prune_after=10 * 86400)))
    async with open_fake_gateway(World(channel=FakeChannel())) as gateway:
        run = await gateway.spawn(cleanup="delete")
        session = gateway.registry.runs[run].session
        await settle(gateway, run)
        await trio.sleep(1)
        row = gateway.registry.sessions[session]
        assert row.state is SessionState.ARCHIVED
        gateway.registry.sessions[session] = attrs.evolve(row, session_id=OLD)
        folder = make_run(sessions_folder(tmp_path, SessionKey.parse(session)), OLD, days_ago=324)
        if kept_by == "keep":
            (folder / "keep").touch()
        await trio.sleep((9 if kept_by == "its age" else 11) * 86400)
        clock = ArchiveClock(
            gateway.record, gateway.keepers, virtual_ports(1), lambda: config, tmp_path, gateway.runs.stop
        )
        await clock.sweep()

        assert folder.exists() == bool(kept_by)
        assert (session in gateway.registry.sessions) == bool(kept_by)


@pytest.mark.promise("A12-b", "A6-i")
async def test_cleanup_archives_behind_the_delivery_and_only_then(autojump_clock: MockClock) -> None:
    channel = FakeChannel(plan=[SendResult.REFUSED])
    async with open_fake_gateway(World(channel=channel)) as gateway:
        run = await gateway.spawn(cleanup="delete")
        session = gateway.registry.runs[run].session
        await settle(gateway, run)
        await trio.sleep(7200)
        assert gateway.registry.completions[run].delivery.state is DeliveryState.BLOCKED
        assert gateway.registry.sessions[session].state is not SessionState.ARCHIVED

        await gateway.deliveries.retry(f"run:{run}", "ada")
        await trio.sleep(1)

        row = gateway.registry.sessions[session]
        assert row.state is SessionState.ARCHIVED
        assert row.transcript.startswith("main.jsonl.deleted.2026-")
        assert row.transcript in channel.texts[0]


@pytest.mark.promise("A12-g")
async def test_an_archive_is_refused_for_main_sessions_and_undelivered_results(autojump_clock: MockClock) -> None:
    async with open_fake_gateway(World(channel=FakeChannel(plan=[SendResult.REFUSED]))) as gateway:
        run = await gateway.spawn()
        session = gateway.registry.runs[run].session
        await settle(gateway, run)

        with pytest.raises(Forbidden):
            await gateway.runs.archive(KEY, why="asked", who="ada")
        with pytest.raises(NotFound):
            await gateway.runs.archive(str(child_key("main", run)), why="asked", who="ada")
        with pytest.raises(Conflict):
            await gateway.runs.archive(session, why="asked", who="ada")
        assert gateway.keepers.archived == []


async def test_archive_time_0_is_never(autojump_clock: MockClock) -> None:
    async with open_fake_gateway(config=configured(archive_after_minutes=0)) as gateway:
        run = await gateway.spawn()
        await settle(gateway, run)
        await trio.sleep(80_000)

        assert gateway.keepers.archived == []


# --- after a start ------------------------------------------------------------------------------------------------------


async def test_a_turn_that_is_not_resumed_is_told_to_its_person(autojump_clock: MockClock) -> None:
    world = World()

    async def slow(session: str, text: str) -> str:
        await trio.sleep(100)
        return "late"

    async with open_fake_gateway(world, turn=slow) as gateway:
        await gateway.keepers.put(MAIN, NewInput(id="i1", text="hello", origin=HUMAN, route=CHAT))
        run = await gateway.spawn()
        await trio.sleep(10)
        left = world.copy()

    async with open_fake_gateway(left, recovery=Resume.NONE) as gateway:
        await settle(gateway, run)
        assert gateway.channel.texts[0].startswith("Your message was being answered when the gateway stopped")
        assert gateway.shown() == [("count the files", "Status: unknown")]
        assert gateway.registry.inbound.get("i1") is None


def test_prices_are_those_of_the_configuration_only() -> None:
    from greenroom.gateway.keepers._session_models import gateway_pricing

    cost = {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75}
    values = {"models": {"providers": {"anthropic": {"models": [{"id": "claude-a", "cost": cost}]}}}}
    config = config_converter().structure(values, GatewayConfig)
    usage = Usage(input_tokens=1_000_000, output_tokens=1_000_000)

    assert gateway_pricing(config).cost("claude-a", usage) == 18
    assert gateway_pricing(config).cost("claude-opus-5", usage) is None
