"""A session whose process is killed while the clock wakes it, and the one that goes on with it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
import trio

from greenroom.core.ports import Ports
from greenroom.models import AnswerLike, ModelRequest, PlaybookModel
from greenroom.session import open_session
from greenroom.session.schedules._schedule_events import ScheduleFired
from tests.session.clocks import StillClock

CHILD: Final = """
import sys
from pathlib import Path
import trio
from greenroom.core.ports import Ports
from greenroom.models import PlaybookModel
from greenroom.session import open_session
from tests.session.clocks import StillClock

async def run():
    cwd, runs = map(Path, sys.argv[1:])
    clock = StillClock(0)
    ports = Ports(clock=clock)
    model = PlaybookModel({"main": lambda request: "Done."})
    with trio.fail_after(60):
        async with open_session(model=model, cwd=cwd, runs=runs, ports=ports) as session:
            await session.run("hello")
            events = session.events()
            await session.schedules.add("Look.", cron="0 9 * * *", durable=True, tz="UTC")
            clock.hours = 25
            await session.schedules.add("Later.", cron="0 23 * * *", durable=True, tz="UTC")  # it looks at the clock again
            fired = False
            async for event in events:
                fired = fired or event.kind == "schedule.fired"
                if fired and event.kind == "inbox.taken":  # else the next prompt may replace it, which is right too
                    await session.inbox.stored.wait_recorded()
                    print(session.id, flush=True)
                    await trio.sleep_forever()

trio.run(run)
"""


@pytest.mark.promise("R11-b", "RM-05")
@pytest.mark.slow
async def test_prompt_that_was_handed_in_when_the_process_was_killed_is_read_once(tmp_path: Path) -> None:
    """RM-05. Mechanism: a fire is in the store, under the name of its time, before it is on record as fired."""
    runs = tmp_path / "runs"
    command = [sys.executable, "-c", CHILD, str(tmp_path), str(runs)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: ASYNC220 - starting takes no time
    try:
        assert child.stdout is not None
        run = (await trio.to_thread.run_sync(child.stdout.readline)).strip()
    finally:
        child.send_signal(signal.SIGKILL)
        child.communicate()
    assert run != ""

    def main(_: ModelRequest) -> AnswerLike:
        return "Done."

    ports = Ports(clock=StillClock(24 + 72 + 10))
    model = PlaybookModel({"main": main})
    async with open_session(model=model, cwd=tmp_path, runs=runs, resume=run, ports=ports) as session:
        events = session.events(from_start=True)
        with trio.fail_after(30):
            async for event in events:
                if isinstance(event, ScheduleFired) and event.item.endswith("@2026-01-05T09:00:00Z"):
                    break
            await session.wait_quiet()
        home = session.agents.main.home
        assert home is not None
        assert home.conversation is not None
        # The turn of the first one was cut, so both may stand in one message.
        frames = "\n".join(message.text for message in home.conversation.messages).split("<scheduled-prompt ")[1:]
        found = {text.split('due="')[1][:10]: text for text in frames if "Look." in text}
        assert len(found) == sum("Look." in text for text in frames)
        assert sorted(found) == ["2026-01-01", "2026-01-05"]
        assert all(f"2026-01-0{day}T09" in found["2026-01-05"] for day in (2, 3, 4))
