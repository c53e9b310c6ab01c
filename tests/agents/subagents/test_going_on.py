"""Messages to agents that have ended, and what their next run knows."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import trio
from trio.testing import MockClock

from greenroom.agents import PermissionQuestion
from greenroom.agents.subagents._subagent_worktrees import SubagentWorktrees
from greenroom.core import ProviderError
from greenroom.models import AnswerLike, Call, ModelRequest
from greenroom.permissions import Deny
from tests.agents.crews import ended, notices, open_crew, violations
from tests.agents.pages import agent, in_order, last_texts


async def test_one_goes_on_when_what_it_left_behind_has_been_looked_after(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CL-42. Mechanism: `resume` waits until the run before has settled: its worktree is being let go."""
    happened: list[str] = []

    async def slowly(*_: object) -> None:
        await trio.sleep(50)
        happened.append("cleaned up")

    def page(request: ModelRequest) -> AnswerLike:
        happened.append(_told(request))
        return "Done."

    monkeypatch.setattr(SubagentWorktrees, "release", slowly)
    async with open_crew(tmp_path, in_order("x"), pages={"general-purpose": page}) as crew:
        pool = crew.pool
        handle = await crew.spawn("general-purpose", "begin")
        hold = SimpleNamespace(worktree=SimpleNamespace(path=tmp_path, branch=""))
        pool.subagents[handle.id].hold = hold  # type: ignore[assignment]
        await handle.task.wait_finished()
        pool.subagents[handle.id].hold = None
        assert (await crew.resume(handle.id, "go on")).info.run == 2

    assert happened == ["begin", "cleaned up", "go on"]
    assert violations(crew) == []


async def test_whoever_goes_on_with_an_agent_hears_of_its_end_and_nobody_else(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """A model that goes on with the program's agent is told, and the other way round it is not."""
    main = in_order("Heard.", agent("look", run_in_background=True), "It runs.")
    async with open_crew(tmp_path, main) as crew:
        post = crew.post
        own = await crew.spawn("general-purpose", "look")
        await ended(own)
        await crew.wait_quiet()
        assert notices(crew) == []
        await post.send(own.id, "go on", sender=crew.main.ref.id)
        await crew.wait_quiet()
        assert [own.id in notice for notice in notices(crew)] == [True]
        await crew.run("start one")
        await crew.wait_quiet()
        (other,) = (task.info.id for task in crew.tasks.all() if task.info.id != own.id)
        before = len(notices(crew))
        await crew.resume(other, "go on")
        await crew.wait_quiet()
        assert len(notices(crew)) == before

    assert violations(crew) == []


async def test_what_one_run_was_refused_is_not_in_the_report_of_the_next(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """RC-101: it is told with the result of the run that it belongs to."""

    async def can_use_tool(_: PermissionQuestion) -> Deny:
        return Deny(message="not today")

    page = in_order(Call("Write", {"file_path": "a.txt", "content": "a"}), "First.", "Second.")
    async with open_crew(
        tmp_path,
        in_order("x"),
        pages={"general-purpose": page},
        child_permission="inherit",
        mode="default",
        can_use_tool=can_use_tool,
    ) as crew:
        handle = await crew.spawn("general-purpose", "write")
        first = await ended(handle)
        second = await crew.resume(handle.id, "go on")

    assert first.result == "First.\n\n[harness: calls of this agent were refused: Write]"
    assert second.result == "Second."


async def test_a_run_that_fails_before_it_has_said_anything_has_no_text_of_an_earlier_one(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """CL-09, CL-11: a part is a part of this run."""

    def page(request: ModelRequest) -> AnswerLike:
        if len(request.messages) > 1:
            raise ProviderError("no", kind="bad_request", status=400)
        return "First."

    async with open_crew(tmp_path, in_order("x"), pages={"general-purpose": page}) as crew:
        handle = await crew.spawn("general-purpose", "look")
        first = await ended(handle)
        second = await crew.resume(handle.id, "go on")

    assert (str(first.state), first.result) == ("completed", "First.")
    assert (str(second.state), second.result, second.error) == ("failed", "", "bad_request: no")


def _told(request: ModelRequest) -> str:
    return last_texts(request).partition("\n<system-reminder>")[0]
