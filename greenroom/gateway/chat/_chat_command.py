"""The command `greenroom chat`: a terminal, or standard input, joined to a session of a gateway."""

from __future__ import annotations

import math
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Final

import trio

from greenroom.core import UsageError, open_bare_nursery
from greenroom.gateway.chat._chat import Chat
from greenroom.gateway.chat._chat_screen import ChatScreen
from greenroom.gateway.config import find_config
from greenroom.gateway.config._agent_ids import normal_agent_id
from greenroom.gateway.config._agents import MAIN_AGENT
from greenroom.gateway.process._serve_command import state_of
from greenroom.gateway.process._state_folder import StateFolder, find_gateway, read_token
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.gateway.rpc._client import GatewayClient, open_client
from greenroom.terminal import Key, Keyboard, complain, is_terminal, open_keyboard

NOT_DONE: Final = 1
MAX_LINES: Final = 100
"""Lines that wait to be sent."""
TWICE_S: Final = 1.0
"""Time within which a second Ctrl+C leaves, in seconds."""


def chat_command(session: str = "main", *, agent: str = MAIN_AGENT, state: Path | None = None) -> int:
    """Chat with an agent of the running gateway.

    Lines of standard input are sent if it is not a terminal. /keys shows the keys.

    Parameters
    ----------
    session
        Key of the session; `main` for the main session of the agent.
    agent
        The agent of `main`.
    state
        The state folder of the gateway; by default that of the configuration, or ~/.greenroom/gateway.
    """
    key = str(SessionKey.parse(session, agent=normal_agent_id(agent)))
    folder = state if state is not None else state_of(find_config(None, os.environ))

    def connect() -> AbstractAsyncContextManager[GatewayClient]:
        address = find_gateway(folder)
        if address is None:
            raise UsageError(_nobody(folder))
        token = read_token(StateFolder(folder), os.environ)
        return open_client(address.url, token, is_there=lambda: find_gateway(folder) == address, name="greenroom-chat")

    if find_gateway(folder) is None:
        return complain(_nobody(folder), code=NOT_DONE)
    is_live = is_terminal() and sys.stdin is not None and sys.stdin.isatty()
    with open_keyboard() if is_live else nullcontext() as keyboard:
        screen = ChatScreen(sys.stdout, is_live=keyboard is not None)
        try:
            trio.run(_chat, Chat(connect, key, screen), keyboard)
        finally:
            screen.erase()
    return 0


def _nobody(folder: Path) -> str:
    return f"no gateway runs on {str(folder)!r}; start one with `greenroom gateway`"


async def _chat(chat: Chat, keyboard: Keyboard | None) -> None:
    with trio.open_signal_receiver(signal.SIGINT) as signals:
        async with open_bare_nursery() as nursery:
            nursery.start_soon(_type, chat, keyboard, nursery)
            nursery.start_soon(_interrupt, chat, signals, nursery)
            try:
                await chat.converse()
            finally:
                nursery.cancel_scope.cancel("the chat is over")


async def _interrupt(chat: Chat, signals: AsyncIterator[int], nursery: trio.Nursery) -> None:
    last_s = -math.inf
    async for _ in signals:
        now_s = trio.current_time()
        if not chat.is_busy or now_s - last_s < TWICE_S:
            chat.leave()
        else:
            nursery.start_soon(chat.abort)  # it may wait for a connection; the next signal must not
        last_s = now_s


async def _type(chat: Chat, keyboard: Keyboard | None, nursery: trio.Nursery) -> None:
    if keyboard is None:
        while line := await trio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True):
            await chat.say(line.rstrip("\n"))
        await chat.wait_answered()
        chat.leave()
        return
    put, take = trio.open_memory_channel[str](MAX_LINES)
    nursery.start_soon(_say, chat, take)
    while keys := await keyboard.read():
        for key in keys:
            if key is Key.END:
                chat.leave()
                return
            asked = chat.press(key)
            if isinstance(asked, str):
                await put.send(asked)
            elif asked is not None:
                nursery.start_soon(asked)
    chat.leave()


async def _say(chat: Chat, lines: trio.MemoryReceiveChannel[str]) -> None:
    async for line in lines:
        await chat.say(line)
