"""A chat over a served protocol: what is sent, what is shown, and what a break does."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest
import trio
import trio.testing

from greenroom.core import UsageError
from greenroom.gateway.chat._chat import Chat
from greenroom.gateway.chat._chat_screen import ChatScreen, LineEditor
from greenroom.gateway.rpc._client import open_client
from greenroom.gateway.rpc._methods import Answer, RpcCall
from greenroom.serving import Tcp, open_server
from greenroom.terminal import Key
from tests.gateway.rpc.peers import KEY, OPERATOR, House, open_house


class Output(io.StringIO):
    """Standard output that wakes a task that looks for a text."""

    def __init__(self) -> None:
        super().__init__()
        self.has_more = trio.Event()

    def write(self, text: str) -> int:
        self.has_more.set()
        self.has_more = trio.Event()
        return super().write(text)


@attrs.define
class Talk:
    """A chat in a gateway whose session repeats what it hears."""

    house: House
    chat: Chat
    out: Output
    history: list[dict[str, str]] = attrs.field(factory=list)
    stopped: trio.Event = attrs.field(factory=trio.Event)

    async def shows(self, text: str) -> None:
        """Wait until a text is shown."""
        with trio.fail_after(5):
            while text not in self.out.getvalue():
                await self.out.has_more.wait()

    def count(self, method: str) -> int:
        """Return how often a method was called."""
        return self.house.recorded.count(method)


@asynccontextmanager
async def talking(*, is_live: bool = False) -> AsyncIterator[Talk]:
    """Serve a gateway on a port, and chat with it."""

    async def send(call: RpcCall, params: Any) -> Answer:
        talk.history.append({"role": "assistant", "text": f"you said {params.message}"})
        hub = talk.house.hub
        hub.publish("agent", KEY, {"sessionKey": KEY, "phase": "start", "runId": call.id})
        if params.message != "wait":
            hub.publish("chat", KEY, {"sessionKey": KEY, "state": "final", "message": talk.history[-1]["text"]})
            hub.publish("agent", KEY, {"sessionKey": KEY, "phase": "end", "runId": call.id})
        await trio.lowlevel.checkpoint()
        return {"runId": call.id, "status": "started"}

    async def history(_: RpcCall, __: Any) -> Answer:
        await trio.lowlevel.checkpoint()
        return {"sessionKey": KEY, "messages": list(talk.history)}

    async def ended(_: RpcCall, __: Any) -> Answer:
        await trio.lowlevel.checkpoint()
        return {"status": "ok"}

    replaced = {"chat.send": send, "chat.history": history, "agent.wait": ended}
    out = Output()
    async with open_house(replaced=replaced) as house, open_server(house.rpc.endpoints(), listen=[Tcp()]) as server:
        screen = ChatScreen(out, is_live=is_live)
        talk = Talk(house, Chat(lambda: open_client(server.addresses[0], OPERATOR), KEY, screen), out)
        with trio.fail_after(10):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(talk.chat.converse)
                yield talk
                talk.chat.leave()


async def test_plain_chat_prints_replies_and_ends_when_they_have_come() -> None:
    async with talking() as talk:
        await talk.chat.say("hello")
        await talk.chat.say("again")
        await talk.chat.wait_answered()

    assert talk.out.getvalue() == "you said hello\nyou said again\n"


async def test_interrupt_ends_the_turn_and_stop_the_sub_agents_too() -> None:
    """RC-02: the key for the turn and the command for all of it are two methods."""
    async with talking() as talk:
        await talk.chat.abort()
        assert talk.count("chat.abort") == 0, "nothing runs"
        await talk.chat.say("wait")
        action = talk.chat.press(Key.ESCAPE)
        assert callable(action)
        await action()
        assert (talk.count("chat.abort"), talk.count("subagents.stop")) == (1, 0)
        await talk.chat.say("/stop")
        assert (talk.count("chat.abort"), talk.count("subagents.stop")) == (2, 1)
        assert talk.count("chat.send") == 1


async def test_question_is_answered_by_a_key_or_a_command() -> None:
    async with talking() as talk:
        await talk.chat.say("hello")
        for id_ in ("7", "8"):
            asked = {"approvalId": id_, "sessionKey": KEY, "tool": "Bash", "state": "asked"}
            talk.house.hub.publish("approval", KEY, asked)
        await talk.shows("approve 8?")
        assert [talk.chat.press(key) for key in "yes"] == [None] * 3, "the first letter of a message is not consent"
        assert talk.chat.press(Key.ENTER) == "yes"
        talk.chat.press("y")
        action = talk.chat.press(Key.ENTER)
        assert callable(action)
        await action()
        await talk.chat.say("/approve 8 deny")
        talk.chat.press("y")
        assert talk.chat.press(Key.ENTER) == "y", "without a question it is a message"

    decided = [params for method, params in talk.house.recorded.calls if method == "approvals.resolve"]
    assert [(params.approval_id, params.decision) for params in decided] == [("7", "once"), ("8", "deny")]


async def test_chat_connects_again_and_shows_what_it_missed() -> None:
    async with talking() as talk:
        await talk.chat.say("hello")
        await talk.shows("you said hello")
        talk.history.append({"role": "assistant", "text": "meanwhile"})
        talk.house.tokens.replace([])
        for conversation in list(talk.house.rpc._conversations.values()):
            await conversation.close(1012, "restart")
        await talk.chat.say("here again")
        await talk.chat.wait_answered()

    assert talk.out.getvalue().splitlines() == [
        "you said hello",
        "· the connection was lost; trying again",
        "meanwhile",
        "· connected again",
        "you said here again",
    ]
    assert talk.count("chat.send") == 2


async def test_gap_is_healed_by_reading_anew() -> None:
    async with talking() as talk:
        await talk.chat.say("hello")
        await talk.shows("you said hello")
        talk.history.append({"role": "assistant", "text": "meanwhile"})
        for number in range(600):
            talk.house.hub.publish("chat", KEY, {"sessionKey": KEY, "state": "delta", "number": number})
        await talk.shows("meanwhile")

    assert talk.out.getvalue().count("meanwhile") == 1


async def test_refusal_is_shown_in_one_line() -> None:
    async with talking() as talk:
        talk.house.rpc.shut("SIGTERM")
        await talk.chat.say("hello")

    assert "· the gateway stops: SIGTERM" in talk.out.getvalue()


async def test_chat_without_a_gateway_says_so() -> None:
    chat = Chat(lambda: open_client("http://127.0.0.1:1", OPERATOR), KEY, ChatScreen(io.StringIO(), is_live=False))

    with pytest.raises(UsageError, match=r"127\.0\.0\.1:1"):
        await chat.converse()


async def test_terminal_draws_status_and_what_is_typed_below_the_lines() -> None:
    async with talking(is_live=True) as talk:
        for key in "waix":
            talk.chat.press(key)
        talk.chat.press(Key.BACKSPACE)
        talk.chat.press("t")
        line = talk.chat.press(Key.ENTER)
        assert isinstance(line, str)
        await talk.chat.say(line)
        await talk.shows("[working]")
        talk.house.hub.publish("chat", KEY, {"sessionKey": KEY, "state": "delta", "at": 0, "message": "on\nit\x1b[2J"})
        await talk.shows("it")

    shown = talk.out.getvalue()
    assert "> wait\n" in shown
    assert "\x1b[2J" not in shown


def test_line_editor_brings_earlier_lines_back() -> None:
    editor = LineEditor()
    for key in (*"one", Key.ENTER, *"two", Key.ENTER, Key.UP, Key.UP):
        editor.press(key)

    assert editor.text == "one"
    editor.press(Key.DOWN)
    assert editor.text == "two"
    editor.press(Key.DOWN)
    assert editor.text == ""
