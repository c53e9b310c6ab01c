"""Messages that servers push: what is one, who may push, and how many are taken."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import mcp_types
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import JournalError, Recorder, event_of
from greenroom.core.ports import Ports, SeededIds
from greenroom.inbox import Attributes, InboxItem, Origin, OriginKind, make_item
from greenroom.mcp import Channels, ChannelSettings, Http, McpServices, ServerConfig, Stdio, start_servers
from greenroom.mcp._channel_messages import PUSH, ChannelPush, read_push
from greenroom.mcp._channels import BURST, MAX_UNREAD, QUIET_S, TELL_S
from greenroom.mcp._events import McpPushIgnored
from greenroom.mcp._message_decoder import read
from greenroom.mcp._pending_requests import Answers
from greenroom.supervisor import open_runtime
from greenroom.tools import open_processes
from tests.mcp.channel_server import MALFORMED
from tests.mcp.real import BOUND_S

SERVER = Path(__file__).with_name("channel_server.py")
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def push(text: str = "hello", **more: Any) -> ChannelPush:
    return ChannelPush(content=text, **more)


# --- what is a message --------------------------------------------------------------------------------------------------


@given(st.one_of(_JSON, st.fixed_dictionaries({}, optional={"content": _JSON, "meta": _JSON})))
def test_any_parameters_are_a_message_or_a_fault(params: object) -> None:
    made = read_push(params, is_declared=True)

    assert bool(made.fault) != bool(made.content)
    assert "\n" not in made.fault
    made.content.encode()
    if not made.fault:
        assert isinstance(params, Mapping)
        assert len(made.attributes) + made.left_out == len(params.get("meta") or {})


@pytest.mark.parametrize("params", MALFORMED, ids=lambda value: repr(value)[:20])
def test_malformed_notification_reaches_the_listener_as_a_fault(params: object) -> None:
    heard: list[ChannelPush] = []
    answers = Answers(heard.append)
    line = {"jsonrpc": "2.0", "method": PUSH, **({} if params is None else {"params": params})}
    for message in read(json.dumps(line).encode()):
        assert answers.take(message) == ([], [])

    (made,) = heard
    assert made.fault


def test_a_server_pushes_only_if_its_handshake_declares_it() -> None:
    heard: list[ChannelPush] = []
    declared: tuple[dict[str, Any], ...] = (
        {},
        {"experimental": {"claude/channel": {}}},
        {"experimental": {"other": {}}},
    )
    for capabilities in declared:
        answers = Answers(heard.append)
        answers.note_sent(mcp_types.JSONRPCRequest(jsonrpc="2.0", id=1, method="initialize"))
        answers.take(mcp_types.JSONRPCResponse(jsonrpc="2.0", id=1, result={"capabilities": capabilities}))
        answers.take(mcp_types.JSONRPCNotification(jsonrpc="2.0", method=PUSH, params={"content": "x"}))

    assert [made.is_declared for made in heard] == [False, True, False]


# --- how many are taken -------------------------------------------------------------------------------------------------


class Inbox:
    """An inbox that nobody reads until a test does."""

    def __init__(self) -> None:
        self.items: list[InboxItem] = []
        self.had: list[InboxItem] = []
        self.error: JournalError | None = None

    async def accept(self, item_id: str, text: str, *, origin: Origin, attributes: Attributes = ()) -> bool:
        await trio.lowlevel.checkpoint()
        if self.error is not None:
            raise self.error
        item = make_item(text, uuid=item_id, origin=origin)
        self.items.append(attrs.evolve(item, attributes=attributes))
        self.had.append(self.items[-1])
        return True

    def queued(self) -> list[InboxItem]:
        return self.items

    def texts(self, kind: OriginKind = OriginKind.CHANNEL) -> list[str]:
        return [item.text for item in self.had if item.origin.kind is kind]

    @property
    def notes(self) -> list[str]:
        return [text.splitlines()[1] for text in self.texts(OriginKind.AUTO_CONTINUATION)]


class Scene:
    def __init__(self, **listed: int) -> None:
        self.recorder = Recorder(now=trio.current_time)
        settings = {name: ChannelSettings(per_minute=number) for name, number in listed.items()}
        self.channels = Channels(settings, self.recorder, SeededIds(1))
        self.inbox = Inbox()

    @property
    def ignored(self) -> list[tuple[str, str, int]]:
        events = [event_of(record) for record in self.recorder.latest()]
        return [(event.server, event.reason, event.count) for event in events if isinstance(event, McpPushIgnored)]


@asynccontextmanager
async def scene(**listed: int) -> AsyncIterator[Scene]:
    made = Scene(**listed)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(made.channels.run, made.inbox.accept, made.inbox.queued)
        yield made
        nursery.cancel_scope.cancel()


@pytest.mark.promise("R12-a")
async def test_a_flood_is_bounded_and_its_rest_is_told_once(virtual_time: None) -> None:
    async with scene(ci=60, other=60) as made:
        for number in range(10_000):
            made.channels.receive("ci", push(f"message {number}"))
        made.channels.receive("other", push("alone"))
        await trio.sleep(QUIET_S + 0.1)

        assert [text for text in made.inbox.texts() if text != "alone"] == [f"message {n}" for n in range(BURST)]
        assert "alone" in made.inbox.texts()
        assert made.inbox.notes == [
            "9980 messages of channel 'ci' were dropped: too many came at once, or wait to be read."
        ]
        await trio.sleep(10 * TELL_S)
        assert len(made.inbox.notes) == 1
    assert made.ignored == [("ci", "rate", 9_980)]


@pytest.mark.promise("R12-a")
async def test_a_flood_without_end_has_one_unread_note_and_few_unread_messages(virtual_time: None) -> None:
    async with scene(ci=60) as made:
        for _ in range(3_000):  # ten minutes
            made.channels.receive("ci", push())
            await trio.sleep(0.2)
        assert len(made.inbox.texts()) == MAX_UNREAD
        assert len(made.inbox.notes) == 1
        made.inbox.items.clear()  # it was read
        await trio.sleep(TELL_S + 1)

        assert len(made.inbox.notes) == 2
        counts = [int(text.split()[0]) for text in made.inbox.notes]
        assert sum(counts) == 3_000 - MAX_UNREAD
    assert sum(count for _, _, count in made.ignored) == 3_000 - MAX_UNREAD


async def test_a_channel_goes_on_at_its_rate_after_a_flood(virtual_time: None) -> None:
    async with scene(ci=6) as made:
        for _ in range(BURST + 1):
            made.channels.receive("ci", push())
        for _ in range(10):
            await trio.sleep(10.1)
            made.channels.receive("ci", push("later"))
        await trio.sleep(1)

        assert made.inbox.texts().count("later") == 10


@pytest.mark.promise("R12-a")
async def test_what_is_not_taken_is_said_once_and_counted(virtual_time: None) -> None:
    async with scene(ci=60) as made:
        for _ in range(100):
            made.channels.receive("stranger", push())
            made.channels.receive("ci", push(is_declared=False))
            made.channels.receive("ci", push(is_of_agent=True))
            made.channels.receive("ci", ChannelPush(fault="content must be text"))
        made.channels.receive("ci", push(left_out=2))
        await trio.sleep(2 * TELL_S)

        assert made.inbox.texts() == ["hello"]
        assert made.inbox.notes == []
    reasons = [("stranger", "unlisted", 1), ("ci", "undeclared", 1), ("ci", "of-agent", 1)]
    assert made.ignored == [*reasons, ("ci", "malformed", 1), ("ci", "meta", 1)]


async def test_a_store_that_fails_drops_counts_and_goes_on(virtual_time: None) -> None:
    async with scene(ci=60) as made:
        made.inbox.error = JournalError("inbox.sqlite", "the disk is full")
        made.channels.receive("ci", push("lost"))
        await trio.sleep(1)
        made.inbox.error = None
        made.channels.receive("ci", push("kept"))
        await trio.sleep(TELL_S)

        assert made.inbox.texts() == ["kept"]
        assert len(made.inbox.notes) == 1
    assert made.ignored == [("ci", "unstored", 1)]


async def test_dropped_messages_are_on_record_when_the_session_ends_before_they_are_told(virtual_time: None) -> None:
    async with scene(ci=60) as made:
        for _ in range(BURST + 5):
            made.channels.receive("ci", push())
        await trio.sleep(0.1)
    assert made.ignored == [("ci", "rate", 5)]


# --- real transports ----------------------------------------------------------------------------------------------------


@asynccontextmanager
async def pushed(
    folder: Path, config: ServerConfig
) -> AsyncIterator[trio.MemoryReceiveChannel[tuple[str, ChannelPush]]]:
    """Start one server, and give what it pushes."""
    ports = Ports()
    put, get = trio.open_memory_channel[tuple[str, ChannelPush]](20_000)
    async with (
        open_processes(
            blocking=ports.blocking, ids=ports.ids, folder=folder / "tasks", mark="m", grace_s=0.3
        ) as programs,
        open_runtime(ports=ports) as runtime,
    ):
        services = McpServices(
            cwd=folder, ports=ports, programs=programs, on_push=lambda name, made: put.send_nowait((name, made))
        )
        await start_servers(runtime.root, [config], services)
        with trio.fail_after(BOUND_S):
            yield get


@pytest.mark.slow
async def test_pushes_of_a_program_arrive_in_order(tmp_path: Path) -> None:
    way = Stdio(command=sys.executable, args=(str(SERVER), "flood", "1000"))
    async with pushed(tmp_path, ServerConfig(name="ci", way=way)) as heard:
        made = [await heard.receive() for _ in range(1_000)]

    assert [item.content.split()[1] for _, item in made] == [str(number) for number in range(1_000)]
    assert {(name, item.is_declared, item.left_out) for name, item in made} == {("ci", True, 3)}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Async generator 'httpx?2.*' was garbage collected:ResourceWarning")
@pytest.mark.filterwarnings("ignore:Async generator 'httpcore2.*' was garbage collected:ResourceWarning")
async def test_pushes_over_http_arrive_on_the_servers_own_stream(tmp_path: Path, collected_here: None) -> None:
    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, answer_http, 0, host="127.0.0.1"))
        url = f"http://127.0.0.1:{listener.socket.getsockname()[1]}/mcp"
        async with pushed(tmp_path, ServerConfig(name="far", way=Http(url=url))) as heard:
            name, made = await heard.receive()
        nursery.cancel_scope.cancel()

    assert (name, made) == ("far", push("the build is red", attributes=(("run", "17"),)))


async def answer_http(stream: trio.SocketStream) -> None:
    """Answer a handshake, and push on the stream that the client opens for what the server says by itself."""
    async with stream:
        asked = b""
        while b"\r\n\r\n" not in asked:
            asked += await stream.receive_some()
        head, _, body = asked.partition(b"\r\n\r\n")
        size = next(
            (int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")), 0
        )
        while len(body) < size:
            body += await stream.receive_some()
        if head.startswith(b"GET"):
            said = json.dumps(
                {"jsonrpc": "2.0", "method": PUSH, "params": {"content": "the build is red", "meta": {"run": "17"}}}
            )
            await stream.send_all(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + f"data: {said}\n\n".encode()
            )
            await trio.sleep_forever()
        request = json.loads(body or b"{}")
        answer: dict[str, Any] | None = None
        if request.get("method") == "initialize":
            result = {
                "protocolVersion": request["params"]["protocolVersion"],
                "capabilities": {"experimental": {"claude/channel": {}}},
                "serverInfo": {"name": "far", "version": "0"},
            }
            answer = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        elif "id" in request:
            answer = {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no such method"}}
        content = b"" if answer is None else json.dumps(answer).encode()
        status = b"202 Accepted" if answer is None else b"200 OK\r\ncontent-type: application/json\r\nmcp-session-id: s"
        await stream.send_all(
            b"HTTP/1.1 %b\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b" % (status, len(content), content)
        )
