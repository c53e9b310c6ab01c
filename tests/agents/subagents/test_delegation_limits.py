"""Limits of what agents start: how deep, how many at once, how many in all, and what the budget leaves."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from greenroom.agents import Note
from greenroom.agents.subagents import Subagent
from greenroom.core import Cause, JournalBusy, JournalError
from greenroom.models import AnswerLike, Call, ModelRequest
from greenroom.tasks import TaskEnded
from greenroom.tools import tool
from tests.agents.crews import ended, main_messages, open_crew, told, violations
from tests.agents.pages import Page, agent, answers_in, asked, in_order, last_texts

RUNNING = "Concurrent subagent limit reached"


@tool
async def linger() -> str:
    """Take long."""
    await trio.sleep(10_000)
    return "done"


def spawning(width: int, depths: list[int]) -> Page:
    """Return a page that starts as many agents as it can, whenever it can."""

    def page(request: ModelRequest) -> AnswerLike:
        names = {each_tool.name for each_tool in request.tools}
        if len(request.messages) == 1:
            depths.append(asked(request).count("deeper"))
        said = answers_in(request)
        if said or "Agent" not in names:
            return "Done."
        return [agent(f"{asked(request)} deeper", run_in_background=True) for n in range(width)]

    return page


@pytest.mark.parametrize(("width", "deepest", "is_full"), [(1, {1}, False), (2, {8}, False), (5, range(126), True)])
async def test_a_model_that_always_spawns_comes_to_an_end(
    width: int, deepest: Collection[int], is_full: bool, tmp_path: Path, autojump_clock: MockClock
) -> None:
    """RC-83; RC-84; Behaviours (1), lines 6 and 7: depth 3, width 20, a number in all; no refusal starts anything."""
    depths: list[int] = []
    page = spawning(width, depths)
    async with open_crew(tmp_path, page, pages={"general-purpose": page}) as crew:
        running = [0]
        members = crew.pool.subagents
        crew.runtime.recorder.listen(
            lambda _: running.append(sum(member.is_running and member.ref is not None for member in members.values()))
        )
        await crew.run("go")
        await crew.wait_quiet()

    ended = told(crew, TaskEnded)
    assert len(ended) == len(depths) - 1 == crew.pool.spawned
    assert max(depths) <= 3  # the agents at depth 3 have no tool Agent
    assert depths.count(3) in deepest  # of 125 as many as found a free place, which the schedule says
    assert max(running) == 20 if is_full else max(running) < 20
    assert violations(crew) == []


async def test_the_21st_at_once_is_refused_and_succeeds_after_one_has_ended(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Behaviours (1), line 6: nothing of the refused one is left."""

    def main(request: ModelRequest) -> AnswerLike:
        said = answers_in(request)
        if said == 0:
            return [agent(f"job {n}", name=f"n{n}", run_in_background=True) for n in range(21)]
        if said == 1:
            first = re.findall(r"agentId: (a[0-9a-f]{16})", last_texts(request))[0]
            return Call("TaskStop", {"task_id": first})
        return agent("job 21", name="n20", run_in_background=True) if said == 2 else "Noted."

    async with open_crew(tmp_path, main, pages={"general-purpose": lambda _: Call("Linger")}, tools=(linger,)) as crew:
        await crew.run("go")
        first, last = main_messages(crew)[2], main_messages(crew)[6]
        spawned, names = crew.pool.spawned, dict(crew.pool.names)
        crew.kill_all()
        await crew.wait_quiet()

    assert first.count("Async agent launched successfully") == 20
    assert first.count(RUNNING) == 1
    assert "Do not retry" in first
    assert "Async agent launched successfully" in last
    assert spawned == 21
    assert len(names["n20"]) == 1
    assert violations(crew) == []


async def test_depth_1_leaves_a_first_child_without_the_tool(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (1), line 7."""
    seen: list[set[str]] = []

    def child(request: ModelRequest) -> AnswerLike:
        seen.append({each_tool.name for each_tool in request.tools})
        return agent("deeper") if len(request.messages) == 1 else last_texts(request)

    delegation = {"max_depth": 1}
    async with open_crew(
        tmp_path, in_order(agent("look")), pages={"general-purpose": child}, delegation=delegation
    ) as crew:
        await crew.run("go")

    assert "Agent" not in seen[0]
    assert "unknown tool 'Agent'" in main_messages(crew)[2]
    assert crew.pool.spawned == 1


async def test_a_number_in_all_is_final(tmp_path: Path, autojump_clock: MockClock) -> None:
    """RC-83."""
    delegation = {"max_total": 2}
    main = in_order(agent("a"), agent("b"), agent("c"), agent("d"))
    async with open_crew(tmp_path, main, delegation=delegation) as crew:
        await crew.run("go")

    texts = main_messages(crew)
    assert "Report on: b" in texts[4]
    assert all("Subagent limit of this session reached (2 started, at most 2)" in texts[at] for at in (6, 8))


async def test_very_many_that_wait_and_cannot_be_started_fail_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are: each that fails makes room for the next."""
    delegation = {"max_running": 1}
    pages: dict[str, Page] = {"general-purpose": lambda _: Call("Linger")}
    handles: list[Subagent] = []

    def refuse(*_: object) -> None:
        raise JournalError("the journal", "too much waits to be written")

    async with open_crew(tmp_path, in_order(), pages=pages, tools=(linger,), delegation=delegation) as crew:
        first = await crew.spawn("general-purpose", "Wait.")

        async def spawn() -> None:
            handles.append(await crew.spawn("general-purpose", "Wait, too."))

        async with trio.open_nursery() as nursery:
            for _ in range(600):
                nursery.start_soon(spawn)
        monkeypatch.setattr(crew.pool, "launch", refuse)
        first.task.kill(Cause("host", "enough"))
        states = {(await ended(handle)).state.value for handle in handles}

    assert states == {"failed"}
    assert crew.pool.running == 0


async def test_agents_that_wait_are_not_refused_because_more_is_to_be_written_than_the_disk_takes(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are started when that is written, in their order."""
    delegation = {"max_running": 1}
    started: list[str] = []
    refused = 0

    async with open_crew(
        tmp_path, in_order(), pages={"general-purpose": lambda _: "Done."}, delegation=delegation
    ) as crew:
        launch = crew.pool.launch

        def launch_now_and_then(member: Subagent, first: Note) -> None:
            nonlocal refused
            if refused <= len(started) < 5:
                refused += 1
                raise JournalBusy("the journal", "too much waits to be written")
            started.append(member.id)
            launch(member, first)

        handles = [await crew.spawn("general-purpose", "Go.") for _ in range(2)]
        monkeypatch.setattr(crew.pool, "launch", launch_now_and_then)
        handles += [await crew.spawn("general-purpose", "Go.") for _ in range(6)]
        states = [(await ended(handle)).state.value for handle in handles]

    assert states == ["completed"] * 8
    assert refused == 5
    assert started == [handle.id for handle in handles][-len(started) :]
