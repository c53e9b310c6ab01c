"""A session in a process of its own that takes letters and is in a long turn: `python -m tests.session.letter_child CWD RUNS [channel]`.

With `channel`, it has an MCP server too, which pushes a message.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import trio

from greenroom.agents.subagents import AGENT_TOOLS
from greenroom.inbox import channel
from greenroom.models import AnswerLike, ModelRequest, PlaybookModel
from greenroom.session import open_session


def main(_: ModelRequest) -> AnswerLike:
    return "Never said."


PUSHED = channel("ci")
SERVER: Final = Path(__file__).parents[1] / "mcp" / "channel_server.py"


async def run() -> None:
    cwd, runs = map(Path, sys.argv[1:3])
    settings: dict[str, Any] = {"peers": {"inbound": "accept"}}
    if has_channel := "channel" in sys.argv[3:]:
        settings["mcpServers"] = {"ci": {"command": sys.executable, "args": [str(SERVER), "late"]}}
        settings["channels"] = {"ci": {}}
    async with open_session(
        model=PlaybookModel({"main": main}, wait_s=600.0),
        cwd=cwd,
        runs=runs,
        tools=AGENT_TOOLS,
        settings=settings,
    ) as session:
        await session.inbox.wait_durable(session.send("work"))
        print(session.id, flush=True)
        durable = session.send("and then this", priority="later")
        await session.inbox.wait_durable(durable)
        await session.inbox.accept("push-1", "pushed from outside", origin=PUSHED)
        if has_channel:
            (cwd / "push").touch()
        while has_channel and not any(item.text == "the build is red" for item in session.inbox.queued()):  # noqa: ASYNC110 - the server has no event here
            await trio.sleep(0.01)
        print("ready", flush=True)
        await trio.sleep_forever()


if __name__ == "__main__":
    trio.run(run)
