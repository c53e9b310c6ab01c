"""Runs over real sessions with a scripted model: from a message in a chat to the result of the sub-agent in it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock

from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.keepers._keepers import KeeperSet, open_keepers
from greenroom.gateway.keepers._seams import NewInput
from greenroom.gateway.lanes._lanes import TurnLanes
from greenroom.gateway.record._gateway_events import GatewayBegan
from greenroom.gateway.record._gateway_journal import GatewayRecord, open_gateway_journal
from greenroom.gateway.record._machines import DeliveryState
from greenroom.gateway.record._recovery_plan import Recovery
from greenroom.gateway.routing._session_key import room_key
from greenroom.gateway.runs._deliveries import open_deliveries
from greenroom.gateway.runs._run_ids import run_item
from greenroom.gateway.runs._run_service import Runs
from greenroom.gateway.tools._session_tools import session_tools
from greenroom.gateway.tools._session_view import SessionView
from greenroom.inbox import HUMAN
from greenroom.models import Call, ModelRequest, PlaybookModel
from greenroom.store import open_inbox_store
from greenroom.tasks import TaskState
from greenroom.testing import virtual_ports
from tests.gateway.runs.fakes import CHAT, MAIN, FakeChannel, configured, settle


@attrs.define
class RealGateway:
    record: GatewayRecord
    runs: Runs
    keepers: KeeperSet
    channel: FakeChannel
    requests: list[ModelRequest]

    @property
    def registry(self) -> Any:
        return self.record.registry

    async def say(self, text: str, id_: str) -> None:
        await self.keepers.put(MAIN, NewInput(id=id_, text=text, origin=HUMAN, route=CHAT))


@asynccontextmanager
async def opened(
    folder: Path,
    script: Callable[[ModelRequest], Any],
    channel: FakeChannel,
    *,
    wait_s: float = 1.0,
    width: int = 4,
    children: int = 8,
    shares: bool = False,
    config: GatewayConfig | None = None,
) -> AsyncIterator[RealGateway]:
    """Open a gateway without doors in a folder, on what earlier ones left there."""
    state, ports, config = folder / "state", virtual_ports(1), config or GatewayConfig()
    state.mkdir(exist_ok=True)
    requests: list[ModelRequest] = []

    def answer(request: ModelRequest) -> Any:
        requests.append(request)
        return script(request)

    model = PlaybookModel({"main": answer}, wait_s=wait_s)
    lanes = TurnLanes({"main": width, "subagent": children})
    async with (
        open_gateway_journal(state, ports=ports) as record,
        open_deliveries(lambda: config, record, lambda *_: channel, ports.clock) as deliveries,
    ):
        await record.write(GatewayBegan(at_s=ports.clock.wall().timestamp(), process=1))
        store = await open_inbox_store(state / "inbox.sqlite", blocking=ports.blocking, wall=ports.clock.wall)
        runs = Runs(lambda: config, record, deliveries, ports, state)
        view = SessionView(
            config=lambda: config,
            registry=record.registry,
            lanes=lanes,
            ports=ports,
            state=state,
            hears_others=(lambda _: False) if shares else None,
        )
        try:
            async with (
                open_keepers(
                    config=lambda: config,
                    record=record,
                    store=store,
                    lanes=lanes,
                    watcher=runs,
                    on_event=lambda *_: None,
                    open_model=lambda *_: model,
                    tools_for=lambda key: session_tools(key, runs, view),
                    ports=ports,
                    state_folder=state,
                ) as keepers,
                runs.serve(keepers),
            ):
                await runs.recover(Recovery(takes_keys=lambda _: False))
                yield RealGateway(record, runs, keepers, channel, requests)
        finally:
            with trio.CancelScope(shield=True):
                await store.aclose()


def last_text(request: ModelRequest) -> str:
    """Return the last texts of a request."""
    return "\n".join(str(getattr(block, "text", block)) for block in request.messages[-1].content)


def scripted(request: ModelRequest) -> Any:
    """Answer as the requester, and as its sub-agent."""
    text = str(request.messages[-1])
    if "Your run has ended" in text:
        return "there are 42 files"
    if "count the files" in text and "please" not in text:
        return "I counted: 42"
    if "please count" in text:
        return [Call("sessions_spawn", {"task": "count the files", "label": "files"})]
    if "A sub-agent that you started" in text:
        return "NO_REPLY"
    return "it is on its way"


async def test_a_spawned_sub_agent_announces_to_the_chat_once(tmp_path: Path, autojump_clock: MockClock) -> None:
    channel = FakeChannel()
    async with opened(tmp_path, scripted, channel) as gateway:
        await gateway.say("please count", "00000000-0000-4000-8000-000000000001")
        with trio.fail_after(600):
            while len(channel.chat) < 2:  # noqa: ASYNC110 - virtual time
                await trio.sleep(1)
        (run,) = gateway.registry.runs
        await settle(gateway, run)  # type: ignore[arg-type]

        assert channel.texts[0] == "it is on its way"
        assert channel.texts[1].startswith(
            '"files"\nStatus: success\nResult: there are 42 files\nNotes: -\nStats: runtime 1s'
        )
        assert len(channel.chat) == 2
        row = gateway.registry.runs[run]
        past = await gateway.keepers.find_turn(row.session, row.session_id, run_item(run))
        spent = [each.usage.output_tokens for each in past.requests if each.usage is not None]
        assert len(spent) == 2
        assert f", {sum(spent)} out," in channel.texts[1]  # the announce step included


async def test_a_run_that_a_restart_cut_is_resumed_and_announced_once(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """GW-03, GW-28: the start folds the gateway's journal, and the session's own journal says how far the run was."""
    channel = FakeChannel()
    async with opened(tmp_path, scripted, channel, wait_s=20.0) as gateway:
        await gateway.say("please count", "00000000-0000-4000-8000-000000000001")
        with trio.fail_after(600):
            while not gateway.registry.runs:  # noqa: ASYNC110 - virtual time
                await trio.sleep(1)
        (run,) = gateway.registry.runs
        await trio.sleep(5)
        assert gateway.registry.runs[run].began_s
        assert not gateway.registry.runs[run].is_ended

    async with opened(tmp_path, scripted, channel, wait_s=20.0) as gateway:
        await settle(gateway, run)  # type: ignore[arg-type]
        await trio.sleep(200)

        assert gateway.registry.runs[run].state is TaskState.COMPLETED
        texts = channel.texts
        assert sum(text.startswith('"files"\nStatus: success') for text in texts) == 1
        assert len(texts) == 2


async def test_a_chain_of_messages_ends_on_one_place(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Main asks a room and waits, the room asks another one and waits: all three end, on a lane of width 1."""
    rooms = [room_key("main", "irc", "group", name) for name in ("#a", "#b")]

    def script(request: ModelRequest) -> Any:
        text = str(request.messages[-1])
        if len(request.messages) > 1:
            return "it ended" if "the end" in text or "it ended" in text else "no"
        for said, room in (("to a", rooms[0]), ("to b", rooms[1])):
            if said in text:
                return [
                    Call("sessions_send", {"sessionKey": str(room), "message": "to b" if said == "to a" else "last"})
                ]
        return "the end"

    channel = FakeChannel()
    async with opened(tmp_path, scripted, channel) as gateway:
        await gateway.say("please count", "00000000-0000-4000-8000-000000000001")
        with trio.fail_after(600):
            while len(channel.chat) < 2:  # noqa: ASYNC110 - virtual time
                await trio.sleep(1)
        (run,) = gateway.registry.runs
        await settle(gateway, run)  # type: ignore[arg-type]

        assert channel.texts[0] == "it is on its way"
        assert channel.texts[1].startswith(
            '"files"\nStatus: success\nResult: there are 42 files\nNotes: -\nStats: runtime 1s'
        )
        assert len(channel.chat) == 2


@pytest.mark.promise("A6-f")
async def test_results_beyond_the_cap_are_posted_whole_and_named_in_a_summary(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """A crowd of sub-agents ends while their requester works: the chat does not wait, and nothing of them is lost."""
    channel, numbers = FakeChannel(), range(1, 26)
    rounds = 0

    def play(request: ModelRequest) -> Any:
        nonlocal rounds
        text = last_text(request)
        if "please count" in text:
            return [Call("sessions_spawn", {"task": f"count {each}", "label": f"label {each:02}"}) for each in numbers]
        if "Your run has ended" in text:
            return "result of " + re.findall(r"count (\d+)", str(request.messages[0]))[0]
        if re.search(r"count \d+$", text, re.MULTILINE):
            return "counted"
        if "A sub-agent that you started" in str(request.messages[-1]):
            return "NO_REPLY"
        rounds += 1
        return Call("session_status", {}) if rounds < 60 else "I am through"

    config = configured(max_children_per_agent=30)
    async with opened(tmp_path, play, channel, config=config) as gateway:
        await gateway.say("please count", "00000000-0000-4000-8000-000000000001")
        with trio.fail_after(3600):
            while len(channel.chat) < 25:  # noqa: ASYNC110 - virtual time
                await trio.sleep(1)
        assert rounds < 60
        await settle(gateway, *gateway.registry.runs)  # type: ignore[arg-type]
        with trio.fail_after(3600):
            while gateway.registry.inbound:  # noqa: ASYNC110 - virtual time
                await trio.sleep(1)

        shown = [re.findall(r"label \d+", text)[0] for text in channel.texts if "Result: result of" in text]
        (turn,) = [request for request in gateway.requests if "earlier, not shown in full" in last_text(request)]
        whole = re.findall(r'^"(label \d+)"$', last_text(turn), re.MULTILINE)
        (summary,) = [line for line in last_text(turn).splitlines() if "earlier, not shown in full" in line]
        results = [row.delivery for row in gateway.registry.completions.values()]

        named = re.findall(r"label \d+", summary)
        assert (len(whole), len(named), summary[:9]) == (20, 5, "5 earlier")
        assert sorted(shown) == sorted(whole + named) == [f"label {each:02}" for each in numbers]
        assert {row.state for row in results} == {DeliveryState.DELIVERED}
        assert {row.text for row in results} == {text for text in channel.texts if "Result: result of" in text}


async def test_a_result_is_told_while_other_sub_agents_wait_to_begin(tmp_path: Path, autojump_clock: MockClock) -> None:
    """An announce step takes a place of the same lane; it does not queue behind all runs that have not begun."""
    channel, untold, most = FakeChannel(), set(), 0

    def play(request: ModelRequest) -> Any:
        nonlocal most
        text = last_text(request)
        number = "".join(re.findall(r"count (\d+)", str(request.messages[0])))
        if "please count" in text:
            return [Call("sessions_spawn", {"task": f"count {each}"}) for each in range(10)]
        if "Your run has ended" in text:
            untold.discard(number)
            return f"result of {number}"
        if number:
            untold.add(number)
            most = max(most, len(untold))
            return "counted"
        return "NO_REPLY"

    config = configured(max_children_per_agent=10)
    async with opened(tmp_path, play, channel, children=2, config=config) as gateway:
        await gateway.say("please count", "00000000-0000-4000-8000-000000000001")
        with trio.fail_after(600):
            while len(channel.chat) < 10:  # noqa: ASYNC110 - virtual time
                await trio.sleep(1)

        assert most <= 4  # the width, and again as many that wait for a place to tell it
