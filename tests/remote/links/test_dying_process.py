"""A process that dies: what becomes of what the other one had sent to it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import pytest
import trio

import greenroom as gr
from greenroom.core import Cause
from greenroom.remote.links._remote_calls import LinkLost
from tests.remote.links.linked import PACE, Sum, linked

pytestmark = pytest.mark.usefixtures("virtual_time")


class Under(StrEnum):
    """Where a message is when the other process dies."""

    NOT_SENT = "not sent"
    UNDER_WAY = "under way"
    WAITING = "waiting"
    HANDLED = "being handled"
    DONE = "done"


UNDER_WAY: Final = {
    # where it is: (dead letters, what the asker gets, what was handled over there)
    Under.NOT_SENT: (["link_lost"], "not_sent", []),
    Under.UNDER_WAY: (["link_lost"], "unknown", []),
    Under.WAITING: ([], "unknown", []),
    Under.HANDLED: ([], "unknown", ["begun"]),
    Under.DONE: ([], "answered", ["begun", "done"]),
}
"""The table of docs/explanation/delivery.md."""


class Noting(gr.Behavior[Any]):
    """Takes 10 s for a message, and notes its beginning and its end."""

    def __init__(self, notes: list[str]) -> None:
        self.notes = notes

    async def on_message(self, message: Any, ctx: gr.Context) -> None:
        if message == "busy":
            await trio.sleep(50)
            return
        self.notes.append("begun")
        await trio.sleep(10)
        self.notes.append("done")
        if isinstance(message, Sum):
            ctx.reply(1)


@pytest.mark.promise("R4-a")
@pytest.mark.parametrize("where", UNDER_WAY)
@pytest.mark.parametrize("verb", ["tell", "ask"])
async def test_what_becomes_of_a_message_when_the_other_process_dies(where: Under, verb: str) -> None:
    notes: list[str] = []
    got: list[str] = []
    async with linked() as both, trio.open_nursery() as nursery:
        ref, own = await both.publish(Noting, notes)

        async def ask() -> None:
            try:
                await ref.ask(Sum(), timeout_s=500)
                got.append("answered")
            except LinkLost as error:
                got.append(error.outcome)

        if where is Under.WAITING:
            own.tell("busy")
        if where is Under.NOT_SENT:
            await both.cut()
        assert both.connection is not None
        both.connection[0].is_silent = where is Under.UNDER_WAY
        if verb == "tell":
            ref.tell(1)
        else:
            nursery.start_soon(ask)
        await trio.sleep({Under.UNDER_WAY: 1, Under.WAITING: 1, Under.HANDLED: 5}.get(where, 14))
        both.connection[0].cut()
        own.kill()
        downs: list[gr.Down] = []
        ref.watch(downs.append)
        await trio.sleep(PACE.resume_s + 1)
        assert [(down.state.value, down.cause) for down in downs] == [("failed", Cause("runtime", "link_lost"))]
    dead, asked, handled = UNDER_WAY[where]
    assert notes == handled
    assert (both.dead(), got) == ((dead, []) if verb == "tell" else ([], [asked]))
