"""A session in a process of its own that takes letters and is in a long turn: `python -m tests.session.letter_child CWD RUNS [fire]`."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trio

from greenroom.agents.subagents import AGENT_TOOLS
from greenroom.inbox import channel
from greenroom.models import AnswerLike, ModelRequest, PlaybookModel
from greenroom.session import open_session


def main(_: ModelRequest) -> AnswerLike:
    return "Never said."


PUSHED = channel("ci")


async def run() -> None:
    cwd, runs = map(Path, sys.argv[1:3])
    async with open_session(
        model=PlaybookModel({"main": main}, wait_s=600.0),
        cwd=cwd,
        runs=runs,
        tools=AGENT_TOOLS,
        settings={"peers": {"inbound": "accept"}},
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
        print("ready", flush=True)
        await trio.sleep_forever()


if __name__ == "__main__":
    trio.run(run)
