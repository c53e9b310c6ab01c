"""Reviews of agents in a session that ends meanwhile, and of agents whose definition names a mode."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from greenroom.models import AnswerLike, Call, ModelRequest
from tests.agents.pages import agent, in_order
from tests.agents.reviewed_pages import ALLOW, BLOCK, UNREVIEWED, pages
from tests.session.teamwork import main_messages, notices, open_teamwork, violations


@pytest.mark.parametrize("how", ["left", "stop", "kill"])
async def test_a_session_that_ends_during_the_review_does_not_wait_and_the_next_one_tells_of_the_end_once(
    tmp_path: Path, autojump_clock: MockClock, how: str
) -> None:
    main = in_order(agent("look", run_in_background=True), "It runs.", otherwise="Noted.")
    async with open_teamwork(tmp_path, main, pages=pages(BLOCK), mode="auto", wait_s=10.0) as session:
        await session.run("go")
        (task,) = session.tasks.table.all()
        await task.wait_finished()
        await trio.sleep(2)
        ends_s = trio.current_time()
        if how != "left":
            getattr(session, how)()
    assert trio.current_time() - ends_s <= 5  # the grace of a turn that the notice has begun
    assert violations(session) == []
    folder = session.run_folder
    async with open_teamwork(tmp_path, main, pages=pages(BLOCK), mode="auto", resume=folder) as session:
        await session.wait_quiet()
        await session.run("and now?")

    (notice,) = notices(session)
    assert "<status>completed</status>" in notice
    assert UNREVIEWED in notice
    assert "Report on: look" in notice


async def test_what_a_process_leaves_that_was_shot_during_the_review_is_told_once_as_unreviewed(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    main = in_order(agent("look", run_in_background=True), "It runs.", otherwise="Noted.")
    async with open_teamwork(tmp_path, main, pages=pages(ALLOW), mode="auto", wait_s=10.0) as session:
        await session.run("go")
        (task,) = session.tasks.table.all()
        await task.wait_finished()
        await session._journal.commit()
        folder = tmp_path / "copy" / session.run_folder.name
        shutil.copytree(session.run_folder, folder)
        session.kill()
    async with open_teamwork(tmp_path, main, pages=pages(ALLOW), mode="auto", resume=folder) as session:
        await session.wait_quiet()

    (notice,) = notices(session)
    assert "<status>completed</status>" in notice
    assert notice.index("the process that ran it ended") < notice.index("Report on: look")


async def test_the_calls_of_a_child_are_reviewed_whatever_its_definition_says(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Auto of the parent goes before the definition's mode, unless a setting says otherwise."""
    agents = {"pusher": {"description": "pushes", "prompt": "push", "permissionMode": "acceptEdits", "tools": ["Bash"]}}
    call = Call("Bash", {"command": "git push"})
    verdicts: list[str] = []

    def review(request: ModelRequest) -> AnswerLike:
        last = json.loads(request.messages[0].text.splitlines()[-1])["review"]
        verdicts.append(last["tool"])
        return ALLOW if last["tool"] == "Agent" else BLOCK

    book = {**pages(ALLOW), "call-review": review, "pusher": in_order(call, otherwise="I could not push.")}
    main = in_order(agent("push it", subagent_type="pusher"))
    async with open_teamwork(tmp_path, main, pages=book, mode="auto", agents=agents) as session:
        await session.run("go")
        text = main_messages(session)[2]

    assert verdicts == ["Agent", "Bash"]
    assert "I could not push." in text
    assert "calls of this agent were refused: Bash" in text
