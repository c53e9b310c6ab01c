"""Promises about sub-agents that other systems broke: who is reached by a cancel, what an end waits for, what is kept."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import trio
import trio.lowlevel
from trio.testing import MockClock

from greenroom.agents.subagents._subagent_worktrees import SubagentWorktrees
from greenroom.models import AnswerLike, Call, ModelRequest
from greenroom.tasks import TaskBegan, TaskEnded
from tests.agents.crews import ended, main_messages, notices, open_crew, told, violations
from tests.agents.pages import agent, answers_in, asked, in_order, last_texts, make_build


async def test_rc_11_a_cancel_reaches_every_descendant_in_one_step(tmp_path: Path, autojump_clock: MockClock) -> None:
    """RC-11: what descends from a killed agent is killed in the step in which that has ended."""
    requests: list[float] = []

    def child(request: ModelRequest) -> AnswerLike:
        requests.append(trio.current_time())
        level = asked(request)
        if len(request.messages) == 1 and len(level) < 3:
            return agent(level + "+", run_in_background=True)
        return Call("Glob", {"pattern": "*"})

    main = in_order(agent("1", run_in_background=True), "Fine.")
    async with open_crew(tmp_path, main, pages={"general-purpose": child}, wait_s=10.0) as crew:
        await crew.run("go")
        await trio.sleep(45)
        assert crew.states() == ["running"] * 3
        crew.kill(crew.tasks.all()[0].info.id)
        killed_at = trio.current_time()
        await trio.lowlevel.checkpoint()
        await crew.wait_quiet()
        assert trio.current_time() - killed_at <= 30.0  # main hears of it
        await trio.sleep(100)

    ends = told(crew, TaskEnded)
    assert [end.state for end in ends] == ["killed"] * 3
    assert max(requests) <= killed_at
    assert violations(crew) == []


async def test_an_end_is_seen_before_what_is_left_behind_is_looked_after(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CL-01; Behaviours (6), line 9: TaskOutput returns at once, the notice of another waits for the clean-up."""
    let_go = trio.Event()

    async def slowly(*_: object) -> None:
        await trio.sleep(50)
        let_go.set()

    def main(request: ModelRequest) -> AnswerLike:
        said = answers_in(request)
        if said == 0:
            return agent("long", run_in_background=True)
        found = request.messages[2].content[0].content.split("agentId: ")[1].split()[0]  # type: ignore[union-attr]
        return Call("TaskOutput", {"task_id": found}) if said == 1 else "Noted."

    monkeypatch.setattr(SubagentWorktrees, "release", slowly)
    async with open_crew(tmp_path, main, wait_s=2.0) as crew:
        pool = crew.pool
        begin = pool._begin

        def begin_with_hold(*values: object) -> object:
            member = begin(*values)  # type: ignore[arg-type]
            member.hold = SimpleNamespace(worktree=SimpleNamespace(path=tmp_path, branch=""))  # type: ignore[assignment]
            return member

        monkeypatch.setattr(pool, "_begin", begin_with_hold)
        began = trio.current_time()
        await crew.run("go")
        took = trio.current_time() - began
        assert not let_go.is_set()
        await crew.wait_quiet()

    assert took == 6.0
    assert let_go.is_set()
    assert "<output>\nReport on: long\n</output>" in main_messages(crew)[4]
    assert notices(crew) == []


async def test_cl_11_going_on_is_a_new_run_of_the_same_id(tmp_path: Path, autojump_clock: MockClock) -> None:
    """CL-11: each run has its own beginning, end and report; the table holds the latest."""
    async with open_crew(tmp_path, in_order()) as crew:
        handle = await crew.spawn("general-purpose", "job")
        task = first = await ended(handle)
        second = await crew.resume(handle.id, "more")
        assert (task.info.run, task.state) == (1, "completed")

    assert (first.info.id, first.info.run, second.info.id, second.info.run) == (handle.id, 1, handle.id, 2)
    for seen in (told(crew, TaskBegan), told(crew, TaskEnded)):
        assert [(one.task, one.run) for one in seen] == [(handle.id, 1), (handle.id, 2)]
    assert violations(crew) == []


async def test_the_notice_of_a_childs_own_command_reaches_the_child(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (9), line 4: a notice goes to whoever started what has ended."""

    heard: list[str] = []

    def child(request: ModelRequest) -> AnswerLike:
        heard.append(last_texts(request))
        if len(request.messages) == 1:
            return Call("Build", {})
        return Call("Glob", {"pattern": "*"}) if len(request.messages) < 12 else "done"

    async with open_crew(
        tmp_path,
        in_order(agent("build it")),
        pages={"general-purpose": child},
        tools=(make_build(tmp_path, 5),),
        wait_s=2.0,
    ) as crew:
        await crew.run("go")
        await crew.wait_quiet()

    assert sum("b00000001" in text and "<task-notification>" in text for text in heard) == 1
    assert notices(crew) == []
    assert violations(crew) == []


async def test_rc_30_late_reader_gets_the_result(tmp_path: Path, autojump_clock: MockClock) -> None:
    """RC-30: what an agent said outlives its place in memory."""
    delegation = {"release_s": 1.0}

    def main(request: ModelRequest) -> AnswerLike:
        said = answers_in(request)
        if said == 0:
            return agent("job", run_in_background=True)
        found = request.messages[2].content[0].content.split("agentId: ")[1].split()[0]  # type: ignore[union-attr]
        return Call("TaskOutput", {"task_id": found}) if last_texts(request) == "late" else "Noted."

    async with open_crew(tmp_path, main, delegation=delegation) as crew:
        await crew.run("go")
        await crew.wait_quiet()
        await trio.sleep(3_600)
        assert crew.pool.subagents == {}
        await crew.run("late")

    assert "<output>\nReport on: job\n</output>" in "\n".join(main_messages(crew))
