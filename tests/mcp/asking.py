"""A small server that asks a person in the middle of its calls, written with the SDK: `python asking.py [legacy]`, on stdio.

By default it is asked in the newer protocol, in which a call comes back with the question; with `legacy` in the older one, in which the
server sends a request of its own.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Annotated, Any, Literal

import anyio
from mcp.server.elicitation import ElicitationResult
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp.shared.exceptions import UrlElicitationRequiredError
from mcp_types import ElicitRequestURLParams
from pydantic import BaseModel, Field

server = MCPServer("asking", version="1.0")


class Guest(BaseModel):
    """The guests of a dinner."""

    name: str = Field(min_length=2, max_length=20)
    seats: int = Field(ge=1, le=8)
    table: Literal["window", "garden"] = "window"


def who() -> Elicit[Guest]:
    return Elicit("Who comes to dinner?", Guest)


@server.tool()
async def reserve(guest: Annotated[ElicitationResult[Guest], Resolve(who)]) -> str:
    """Ask who comes, and reserve a table."""
    if guest.action != "accept":
        return f"no table: {guest.action}"
    return f"{guest.data.table} for {guest.data.seats}: {guest.data.name}"


@server.tool()
async def log_in(ctx: Context[Any]) -> str:
    """Have a person open an address, and say when that is done; older protocol only."""
    answer = await ctx.elicit_url("Log in, please.", "https://login.example/now", "login-1")
    if answer.action == "accept":
        await ctx.session.send_elicit_complete("login-1")
    return answer.action


PAID: list[str] = []


@server.tool()
async def buy() -> str:
    """Buy something, as soon as a person has paid at an address; older protocol only."""
    if not PAID:
        page = ElicitRequestURLParams(message="Pay, please.", url="https://pay.example/1", elicitation_id="pay-1")
        raise UrlElicitationRequiredError([page])
    return "bought"


@server.tool()
async def pay(ctx: Context[Any]) -> str:
    """Stand for a person who pays at that address."""
    PAID.append("pay-1")
    await ctx.session.send_elicit_complete("pay-1")
    return "paid"


@server.tool()
async def give_up(file: str, ctx: Context[Any]) -> str:
    """Ask, and note in a file when nobody wants to know any more; older protocol only."""
    note(file, "begun")
    try:
        return (await ctx.elicit("Go on?", Guest)).action
    except anyio.get_cancelled_exc_class():
        note(file, "cancelled")
        raise


def note(file: str, text: str) -> None:
    with open(file, "a", encoding="utf-8") as opened:  # noqa: PTH123 - one line
        opened.write(f"{text}\n")


def speak_older() -> None:
    """Answer what only the newer protocol knows as older servers do, before the SDK sees it."""
    theirs, mine = os.dup(0), os.pipe()
    answers = os.dup(1)  # the SDK points descriptor 1 elsewhere, so that prints do not end up among its messages
    os.dup2(mine[0], 0)

    def filter_lines() -> None:
        with os.fdopen(theirs, "rb") as lines, os.fdopen(mine[1], "wb", buffering=0) as onward:
            for line in lines:
                message = json.loads(line)
                if message.get("method") == "server/discover":
                    error = {"code": -32601, "message": "Method not found"}
                    os.write(
                        answers, json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode() + b"\n"
                    )
                else:
                    onward.write(line)

    threading.Thread(target=filter_lines, daemon=True).start()


if __name__ == "__main__":
    if "legacy" in sys.argv:
        speak_older()
    server.run("stdio")
