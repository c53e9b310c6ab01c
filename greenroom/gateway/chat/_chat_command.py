"""The command `greenroom chat`: a terminal, or standard input, joined to a session of a gateway."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Final

import trio

from greenroom.gateway.chat._chat import Chat
from greenroom.gateway.chat._chat_screen import ChatScreen
from greenroom.gateway.rpc._client import GatewayClient
from greenroom.terminal import Key, Keyboard, is_terminal, open_keyboard

MAX_LINES: Final = 100
"""Lines that wait to be sent."""


def chat(connect: Callable[[], AbstractAsyncContextManager[GatewayClient]], session: str) -> int:
    """Chat until the user leaves, and return the exit code.

    Args:
        connect: Connects to the gateway; called again after a break.
        session: Key of the session.

    Raises:
        UsageError: No gateway can be reached.
        RpcError: The gateway refuses.
    """
    is_live = is_terminal() and sys.stdin is not None and sys.stdin.isatty()
    with open_keyboard() if is_live else nullcontext() as keyboard:
        screen = ChatScreen(sys.stdout, is_live=keyboard is not None)
        try:
            trio.run(_chat, Chat(connect, session, screen), keyboard)
        finally:
            screen.erase()
    return 0


async def _chat(chat: Chat, keyboard: Keyboard | None) -> None:
    with trio.open_signal_receiver(signal.SIGINT) as signals:
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_type, chat, keyboard, nursery)
                nursery.start_soon(_interrupt, chat, signals)
                await chat.converse()
                nursery.cancel_scope.cancel("the chat is over")
        except BaseExceptionGroup as group:
            if len(group.exceptions) == 1:
                raise group.exceptions[0] from None
            raise


async def _interrupt(chat: Chat, signals: object) -> None:
    async for _ in signals:  # type: ignore[attr-defined]  # trio gives it no public type
        if not chat.is_busy:
            chat.leave()
        await chat.abort()


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
