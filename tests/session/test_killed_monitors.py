"""A session with monitors whose process is killed, twice: real processes, and what the next one tells of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
import trio

from greenroom.models import AnswerLike, ModelRequest, PlaybookModel
from greenroom.session import open_session
from greenroom.tools.builtin import STANDARD_TOOLS
from tests.session.crashes import tasks_of, told_in
from tests.session.teamwork import notices
from tests.tools.processes import is_running, until

CHILD: Final = """
import os, sys
from pathlib import Path
import trio
from greenroom.models import Call, PlaybookModel
from greenroom.session import open_session
from greenroom.tools.builtin import STANDARD_TOOLS

cwd, runs = map(Path, sys.argv[1:3])
resume = sys.argv[3] if len(sys.argv) > 3 else None
FILE = "echo $$ >> pids; exec tail -n 0 -f log"
PROCESS = f"echo $$ >> pids; while kill -0 {os.getpid()}; do echo alive; sleep 1; done"

def main(request):
    if request.messages[-1].text != "go":
        return "Noted."
    return [
        Call("Monitor", {"command": FILE, "description": "the file", "persistent": True}),
        Call("Monitor", {"command": PROCESS, "description": "the process"}),
    ]

async def run():
    model = PlaybookModel({"main": main})
    settings = {"permissions": {"allow": ["Bash"]}}
    with trio.fail_after(60):
        async with open_session(
            model=model, cwd=cwd, runs=runs, tools=STANDARD_TOOLS, settings=settings, resume=resume
        ) as session:
            events = session.events()
            await session.run("go" if resume is None else "hello")
            taken = 0
            while taken < (2 if resume is None else 0):
                with (cwd / "log").open("a") as file:
                    print("grown", file=file)
                with trio.move_on_after(0.2):
                    async for event in events:
                        taken += event.kind == "inbox.taken"
            print(session.id, flush=True)
            await trio.sleep_forever()

trio.run(run)
"""


async def killed(*arguments: str) -> str:
    """Run the child until it has said which session it is, kill it, and return that."""
    command = [sys.executable, "-c", CHILD, *arguments]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: ASYNC220 - starting takes no time
    try:
        assert child.stdout is not None
        return (await trio.to_thread.run_sync(child.stdout.readline)).strip()
    finally:
        child.send_signal(signal.SIGKILL)
        child.communicate()


@pytest.mark.promise("R12-d")
@pytest.mark.slow
async def test_monitors_of_killed_processes_are_told_as_ended_once(tmp_path: Path) -> None:
    """RC-35: kill -9, resumed, kill -9, resumed: each end is told once, nothing is started again, no process is left."""
    runs = tmp_path / "runs"
    (tmp_path / "log").touch()
    run = await killed(str(tmp_path), str(runs))
    assert run != ""
    assert await killed(str(tmp_path), str(runs), run) == run

    def main(_: ModelRequest) -> AnswerLike:
        return "Noted."

    model = PlaybookModel({"main": main})
    with trio.fail_after(30):
        async with open_session(model=model, cwd=tmp_path, runs=runs, resume=run, tools=STANDARD_TOOLS) as session:
            await session.wait_quiet()
            assert session.tasks.table.running() == ()
            heard = "\n".join(notices(session))
        pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
        await until(lambda: not any(map(is_running, pids)))  # the reaper of the killed process ends them

    assert len(pids) == 2
    assert os.getpid() not in pids
    views = tasks_of(runs / run)
    assert {(view.type, view.state.value, view.cause) for view in views.values()} == {("monitor", "failed", "lost")}
    assert told_in(runs / run) == {f"{task}.1": 1 for task, _ in views}
    assert heard.count("was lost: the process that ran it ended before it did") == 2
    assert 'Monitor event: "the file"' in heard
