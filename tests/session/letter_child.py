"""A session in a process of its own that takes letters and is in a long turn.

    python -m tests.session.letter_child CWD RUNS [fire] [channel]

With `fire`, its clock wakes it; with `channel`, it has an MCP server, which pushes a message.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
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
        if "fire" in sys.argv[3:]:
            at = datetime.now(UTC) + timedelta(seconds=1.1)
            events = session.events()
            await session.schedules.add("woken by the clock", at=at, durable=True, tz="UTC")
            async for event in events:
                if event.kind == "schedule.fired":
                    break
        if has_channel:
            (cwd / "push").touch()
        while has_channel and not any(item.text == "the build is red" for item in session.inbox.queued()):  # noqa: ASYNC110 - the server has no event here
            await trio.sleep(0.01)
        print("ready", flush=True)
        await trio.sleep_forever()


if __name__ == "__main__":
    trio.run(run)
