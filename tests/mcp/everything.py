"""A small server with a tool for every case, written with the SDK: `python everything.py [PORT [KIND]]`; without a port, on stdio."""

from __future__ import annotations

import base64
import os
import sys
import time
from typing import Any

import anyio
from mcp.server.mcpserver import AssistantMessage, Context, MCPServer, UserMessage
from mcp.server.mcpserver.prompts import Prompt
from mcp_types import CallToolResult, ImageContent, TextContent, ToolAnnotations
from pydantic import BaseModel

server = MCPServer("everything", version="1.2.3", instructions="Ask nicely.")
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def echo(text: str) -> str:
    """Return the text."""
    return text


@server.tool()
def add(a: int, b: int) -> int:
    """Return the sum."""
    return a + b


@server.tool()
def boom() -> str:
    """Fail."""
    raise ValueError("no such luck")


@server.tool()
def picture() -> CallToolResult:
    """Return text and an image."""
    image = ImageContent(data=base64.b64encode(PIXEL).decode(), mime_type="image/png")
    return CallToolResult(content=[TextContent(text="One pixel:"), image])


@server.tool()
async def wait(file: str) -> str:
    """Note in a file when it begins, and when it is cancelled; never end."""
    note(file, "begun")
    try:
        await anyio.sleep_forever()
    except anyio.get_cancelled_exc_class():
        note(file, "cancelled")
        raise
    return ""


@server.tool()
async def steps(count: int, ctx: Context[Any]) -> str:
    """Say what it does, and be done."""
    for at in range(count):
        await ctx.report_progress(at + 1, count, f"step {at + 1}")
    return "done"


class Consent(BaseModel):
    """The fields of a question to a person."""

    yes: bool


@server.tool()
async def confirm(ctx: Context[Any]) -> str:
    """Ask a person, and say what came of it."""
    try:
        return (await ctx.elicit("Go on?", Consent)).action
    except Exception as problem:  # noqa: BLE001 - whatever the SDK makes of it
        return f"nobody was asked: {problem}"


@server.tool()
def die(code: int) -> str:
    """End the server at once."""
    print("I was told to die", file=sys.stderr, flush=True)
    os._exit(code)


@server.tool()
def environment(name: str) -> str:
    """Return a variable of the server's environment."""
    return os.environ.get(name, "(not set)")


@server.tool()
def pid() -> int:
    """Return the server's process id."""
    return os.getpid()


@server.tool()
async def learn(ctx: Context[Any]) -> str:
    """Offer one more tool from now on."""

    def trick() -> str:
        """Do a trick."""
        return "tricked"

    server.add_tool(trick)
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return "learnt"


@server.tool()
async def teach(ctx: Context[Any]) -> str:
    """Offer one more prompt from now on."""
    server.add_prompt(Prompt.from_function(lambda: "Say it again.", name="again", description="Again"))
    await ctx.notify_prompts_changed()
    await ctx.session.send_prompt_list_changed()
    return "taught"


@server.prompt(name="re view")
def review(path: str, style: str = "kind") -> str:
    """Look at a file."""
    return f"Review {path}, and be {style}."


@server.prompt()
def talk() -> list[UserMessage | AssistantMessage]:
    """Begin a talk."""
    return [UserMessage("What is one?"), AssistantMessage("The first number."), UserMessage("And two?")]


@server.resource("note://one", name="one", description="A note", mime_type="text/plain")
def one() -> str:
    """Return a note."""
    return "Remember the milk."


@server.resource("note://pixel", mime_type="image/png")
def pixel() -> bytes:
    """Return an image."""
    return PIXEL


def note(file: str, text: str) -> None:
    with open(file, "a", encoding="utf-8") as opened:  # noqa: PTH123 - one line
        opened.write(f"{text}\n")


async def serve_websockets(port: int) -> None:
    """Serve each websocket that somebody opens at a port, as the SDK did while it knew a way to."""
    import trio
    import trio_websocket
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    async def serve(request: trio_websocket.WebSocketRequest) -> None:
        if "mcp" not in request.proposed_subprotocols:
            await request.reject(400)
            return
        socket = await request.accept(subprotocol="mcp")
        said, heard = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        answers, outward = anyio.create_memory_object_stream[SessionMessage](0)

        async def read() -> None:
            async with said:
                while True:
                    try:
                        frame = await socket.get_message()
                    except trio_websocket.ConnectionClosed:
                        return
                    await said.send(SessionMessage(jsonrpc_message_adapter.validate_json(frame, by_name=False)))

        async def write() -> None:
            async for one in outward:
                if os.environ.get("NOISE"):
                    await socket.send_message("what is this?")
                await socket.send_message(one.message.model_dump_json(by_alias=True, exclude_unset=True))

        lowlevel = server._lowlevel_server
        async with said, heard, answers, outward, trio.open_nursery() as nursery:
            nursery.start_soon(read)
            nursery.start_soon(write)
            await lowlevel.run(heard, answers, lowlevel.create_initialization_options())
            nursery.cancel_scope.cancel()

    await trio_websocket.serve_websocket(serve, "127.0.0.1", port, None)


if __name__ == "__main__":
    if sys.argv[2:] == ["ws"]:
        anyio.run(serve_websockets, int(sys.argv[1]), backend="trio")
    elif len(sys.argv) > 1:
        transport = sys.argv[2] if len(sys.argv) > 2 else "streamable-http"
        server.run(transport, host="127.0.0.1", port=int(sys.argv[1]))  # type: ignore[call-overload]
    else:
        if os.environ.get("SLEEPS"):
            time.sleep(float(os.environ["SLEEPS"]))
        server.run("stdio")
