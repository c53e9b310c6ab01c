"""A session whose process is killed, and the one that goes on with it: two real processes, real programs, a real checkout."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import trio

from greenroom.agents.subagents import AGENT_TOOLS
from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel
from greenroom.session import open_session
from greenroom.tools.builtin import STANDARD_TOOLS
from tests.session.crashes import tasks_of, told_in
from tests.session.teamwork import notices
from tests.worktrees.repositories import NEEDS_GIT, make_repository

CHILD: Final = """
import sys
from pathlib import Path
import trio
from greenroom.agents.subagents import AGENT_TOOLS
from greenroom.models import Call, PlaybookModel, Say
from greenroom.session import open_session
from greenroom.tools.builtin import STANDARD_TOOLS

def main(request):
    if len(request.messages) > 1:
        return "Waiting."
    slow = {"description": "slow", "prompt": "slow", "name": "helper", "isolation": "worktree", "run_in_background": True}
    quick = {"description": "quick", "prompt": "quick", "run_in_background": True}
    return [
        Call("Agent", slow),
        Call("Agent", quick),
        Call(
            "Bash", {"command": "echo $$ > pid; exec sleep 600", "run_in_background": True, "description": "long"}
        ),
    ]

def worker(request):
    if request.messages[0].content[0].text == "quick":
        return "It was quick."
    if len(request.messages) == 1:
        return [Say("I have begun."), Call("Write", {"file_path": "kept.txt", "content": "kept"})]
    return Call("Bash", {"command": "sleep 600"})

def noticed(session):
    messages = session.agents.main.home.conversation.messages
    return [one for one in messages if "<task-notification>" in one.text and messages[-1].text == "Waiting."]

async def run():
    with trio.fail_after(60):
        await begin()

async def begin():
    cwd, runs = map(Path, sys.argv[1:])
    model = PlaybookModel({"main": main, "general-purpose": worker})
    tools = (*STANDARD_TOOLS, *AGENT_TOOLS)
    settings = {"permissions": {"allow": ["Bash"]}}
    async with open_session(model=model, cwd=cwd, runs=runs, tools=tools, settings=settings) as session:
        await session.run("go")
        while not (cwd / "pid").exists() or len(session.tasks.table.running()) != 3 or len(noticed(session)) != 1:
            await trio.sleep(0.02)
        await session._journal.commit()
        print(session.id, flush=True)
        await trio.sleep_forever()

trio.run(run)
"""


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@NEEDS_GIT
def test_what_a_killed_process_ran_is_lost_and_goes_on_when_it_is_told_to(tmp_path: Path) -> None:
    """RC-41, RC-87, RC-24; Behaviours (6), line 5: kill -9 with an agent, its checkout and a command in the background."""
    cwd, runs = make_repository(tmp_path / "project"), tmp_path / "runs"
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(cwd), str(runs)], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        session_id = child.stdout.readline()
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait(10)
        assert child.stdout is not None
        child.stdout.close()
    run = runs / session_id.strip()

    def main(request: ModelRequest) -> AnswerLike:
        if request.messages[-1].text == "What came of it?":
            return Call("SendMessage", {"to": "helper", "message": "Go on."})
        return "Noted."

    def worker(request: ModelRequest) -> AnswerLike:
        return "It is all there." if "Go on." in request.messages[-1].text else "What?"

    model = PlaybookModel({"main": main, "general-purpose": worker})
    tools = (*STANDARD_TOOLS, *AGENT_TOOLS)

    async def go_on() -> tuple[str, Path, list[str]]:
        with trio.fail_after(60):
            async with open_session(
                model=model, cwd=cwd, runs=runs, resume=run, tools=tools, permission_mode="bypassPermissions"
            ) as session:
                await session.wait_quiet()
                await session.run("What came of it?")
                await session.wait_quiet()
                (helper,) = session.agents.pool.names["helper"]
                return helper, session.agents.pool.subagents[helper].home.cwd, notices(session)

    helper, place, heard = trio.run(go_on)
    views = tasks_of(run)
    assert {view.description: (view.state.value, view.cause) for view in views.values() if view.run == 1} == {
        "slow": ("failed", "lost"),
        "quick": ("completed", ""),
        "long": ("failed", "lost"),
        "sleep 600": ("failed", "lost"),
    }
    assert views[helper, 2].state == "completed"
    assert told_in(run) == {f"{task}.{number}": 1 for (task, number), view in views.items() if view.is_background}
    assert "<result>It is all there.</result>" in heard[-1]
    assert (place.parent.name, (place / "kept.txt").read_text()) == ("worktrees", "kept")
    assert not is_alive(int((cwd / "pid").read_text()))
