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
from greenroom.core import JournalBusy, JournalError, TurnFailed
from greenroom.models import AnswerLike, Call, ModelRequest
from greenroom.session import TaskHandle
from greenroom.tasks import TaskEnded
from greenroom.tools import tool
from tests.session.teamwork import (
    Page,
    agent,
    asked,
    in_order,
    last_texts,
    main_messages,
    notices,
    open_teamwork,
    violations,
)

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
        said = sum(message.role == "assistant" for message in request.messages)
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
    async with open_teamwork(tmp_path, page, pages={"general-purpose": page}) as session:
        events = session.events()
        running = [0]
        members = session.agents.pool.subagents
        session.runtime.recorder.listen(
            lambda _: running.append(sum(member.is_running and member.ref is not None for member in members.values()))
        )
        await session.run("go")
        await session.wait_quiet()

    ended = [event async for event in events if isinstance(event, TaskEnded)]
    assert len(ended) == len(depths) - 1 == session.agents.pool.spawned
    assert max(depths) <= 3  # the agents at depth 3 have no tool Agent
    assert depths.count(3) in deepest  # of 125 as many as found a free place, which the schedule says
    assert max(running) == 20 if is_full else max(running) < 20
    assert violations(session) == []


async def test_the_21st_at_once_is_refused_and_succeeds_after_one_has_ended(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Behaviours (1), line 6: nothing of the refused one is left."""

    def main(request: ModelRequest) -> AnswerLike:
        said = sum(message.role == "assistant" for message in request.messages)
        if said == 0:
            return [agent(f"job {n}", name=f"n{n}", run_in_background=True) for n in range(21)]
        if said == 1:
            first = re.findall(r"agentId: (a[0-9a-f]{16})", last_texts(request))[0]
            return Call("TaskStop", {"task_id": first})
        return agent("job 21", name="n20", run_in_background=True) if said == 2 else "Noted."

    async with open_teamwork(
        tmp_path, main, pages={"general-purpose": lambda _: Call("Linger")}, tools=(linger,)
    ) as session:
        await session.run("go")
        first, last = main_messages(session)[2], main_messages(session)[6]
        spawned, names = session.agents.pool.spawned, dict(session.agents.pool.names)
        session.tasks.kill_all()
        await session.wait_quiet()

    assert first.count("Async agent launched successfully") == 20
    assert first.count(RUNNING) == 1
    assert "Do not retry" in first
    assert "Async agent launched successfully" in last
    assert spawned == 21
    assert len(names["n20"]) == 1
    assert violations(session) == []


async def test_depth_1_leaves_a_first_child_without_the_tool(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (1), line 7."""
    seen: list[set[str]] = []

    def child(request: ModelRequest) -> AnswerLike:
        seen.append({each_tool.name for each_tool in request.tools})
        return agent("deeper") if len(request.messages) == 1 else last_texts(request)

    settings = {"delegation": {"max_depth": 1}}
    async with open_teamwork(
        tmp_path, in_order(agent("look")), pages={"general-purpose": child}, settings=settings
    ) as session:
        await session.run("go")

    assert "Agent" not in seen[0]
    assert "unknown tool 'Agent'" in main_messages(session)[2]
    assert session.agents.pool.spawned == 1


async def test_a_number_in_all_is_final(tmp_path: Path, autojump_clock: MockClock) -> None:
    """RC-83."""
    settings = {"delegation": {"max_total": 2}}
    main = in_order(agent("a"), agent("b"), agent("c"), agent("d"))
    async with open_teamwork(tmp_path, main, settings=settings) as session:
        await session.run("go")

    texts = main_messages(session)
    assert "Report on: b" in texts[4]
    assert all("Subagent limit of this session reached (2 started, at most 2)" in texts[at] for at in (6, 8))


async def test_the_budget_is_reached_and_what_runs_in_the_background_is_stopped(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """CL-23, RC-84: no more agents, and those that run are stopped, each told of once, without another turn."""
    main = in_order([agent("a", run_in_background=True), agent("b", run_in_background=True)], "They run.")
    settings = {"models": {"budget": {"calls": 5}}}
    async with open_teamwork(
        tmp_path,
        main,
        pages={"general-purpose": lambda _: Call("Linger")},
        tools=(linger,),
        settings=settings,
    ) as session:
        events = session.events()
        await session.run("go")
        await session.run("and?")
        with pytest.raises(TurnFailed, match="Budget limit reached"):
            await session.run("and now?")
        await session.wait_quiet()
        home = session.agents.pool.main_home
        assert home is not None
        reminded = "\n".join(notice.text for notice in home.pending.quiet)
        turns = len(main_messages(session))

    ends = [event async for event in events if isinstance(event, TaskEnded)]
    assert [end.state for end in ends] == ["killed", "killed"]
    assert reminded.count("was stopped by budget: Budget limit reached") == 2
    assert turns == 7
    assert notices(session) == []
    assert violations(session) == []


async def test_a_new_agent_is_refused_when_the_budget_is_used_up(tmp_path: Path, autojump_clock: MockClock) -> None:
    """CL-23: the call that would start it fails with that text, and nothing exists of it."""
    settings = {"models": {"budget": {"calls": 3}}}
    main = in_order(agent("a", run_in_background=True), [Call("Linger"), agent("b", name="b")])
    child = in_order(Call("TodoWrite", {"todos": []}))
    async with open_teamwork(
        tmp_path, main, pages={"general-purpose": child}, tools=(linger,), settings=settings
    ) as session:
        with pytest.raises(TurnFailed, match="Budget limit reached"):
            await session.run("go")
        await session.wait_quiet()
        text = main_messages(session)[4]

    assert "Budget limit reached" in text
    assert session.agents.pool.spawned == 1
    assert "b" not in session.agents.pool.names


async def test_very_many_that_wait_and_cannot_be_started_fail_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are: each that fails makes room for the next."""
    settings = {"delegation": {"max_running": 1}}
    pages: dict[str, Page] = {"general-purpose": lambda _: Call("Linger")}
    handles: list[TaskHandle] = []

    def refuse(*_: object) -> None:
        raise JournalError("the journal", "too much waits to be written")

    async with open_teamwork(tmp_path, in_order(), pages=pages, tools=(linger,), settings=settings) as session:
        first = await session.spawn("general-purpose", "Wait.", background=True)

        async def spawn() -> None:
            handles.append(await session.spawn("general-purpose", "Wait, too.", background=True))

        async with trio.open_nursery() as nursery:
            for _ in range(600):
                nursery.start_soon(spawn)
        monkeypatch.setattr(session.agents.pool, "launch", refuse)
        first.kill("enough")
        states = {(await handle.wait_finished()).state.value for handle in handles}

    assert states == {"failed"}
    assert session.agents.pool.running == 0


async def test_agents_that_wait_are_not_refused_because_more_is_to_be_written_than_the_disk_takes(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are started when that is written, in their order."""
    settings = {"delegation": {"max_running": 1}}
    started: list[str] = []
    refused = 0

    async with open_teamwork(
        tmp_path, in_order(), pages={"general-purpose": lambda _: "Done."}, settings=settings
    ) as session:
        launch = session.agents.pool.launch

        def launch_now_and_then(member: Subagent, first: Note) -> None:
            nonlocal refused
            if refused <= len(started) < 5:
                refused += 1
                raise JournalBusy("the journal", "too much waits to be written")
            started.append(member.id)
            launch(member, first)

        handles = [await session.spawn("general-purpose", "Go.", background=True) for _ in range(2)]
        monkeypatch.setattr(session.agents.pool, "launch", launch_now_and_then)
        handles += [await session.spawn("general-purpose", "Go.", background=True) for _ in range(6)]
        states = [(await handle.wait_finished()).state.value for handle in handles]

    assert states == ["completed"] * 8
    assert refused == 5
    assert started == [handle.id for handle in handles][-len(started) :]
