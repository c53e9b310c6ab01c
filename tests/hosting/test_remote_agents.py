"""Agents of a session that work on a host: a real socket between them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from greenroom.agents import PermissionQuestion
from greenroom.agents.subagents import AGENT_TOOLS
from greenroom.hosting._open_host import OpenHost, open_host
from greenroom.models import Call, ModelRequest, Say, ScriptedModel, Usage, WrittenAnswer
from greenroom.permissions import Allow, Deny
from greenroom.remote import LinkPeer
from greenroom.remote.hosts import PlacedHosts
from greenroom.serving import UnixSocket, open_unix_listener
from greenroom.session import Session, open_session
from greenroom.tools import tool
from greenroom.tools.builtin import STANDARD_TOOLS
from tests.hosting.host_kit import plan_of
from tests.remote.links.cutting_proxy import CuttingProxy

TOKEN = b"0123456789abcdef0123456789abcdef"
REMOTE = Call("Agent", {"description": "Far away", "prompt": "Work!", "subagent_type": "far", "isolation": "remote"})
FAR = {"far": {"description": "Works elsewhere.", "prompt": "You work."}}


@asynccontextmanager
async def hosted(folder: Path, script: Any, **changes: Any) -> AsyncIterator[OpenHost]:
    plan = plan_of(folder / "host", script, **{"wait_s": 0.0, **changes})
    async with open_host(plan, name="far", token=TOKEN, listen=[UnixSocket(folder / "far")]) as host:
        yield host


@asynccontextmanager
async def launching(
    folder: Path,
    script: Any,
    *,
    at: str = "far",
    settings: Any = None,
    hosted: Any = None,
    workspace: str = "",
    placed: PlacedHosts | None = None,
) -> AsyncIterator[Session]:
    token = folder / "token"
    token.write_bytes(TOKEN)
    token.chmod(0o600)
    hosts = {"far": {"address": f"unix:{folder / at}", "token_file": str(token), "workspace": workspace}}
    async with open_session(
        model=ScriptedModel(script),
        cwd=folder,
        runs=folder / "runs",
        tools=(*STANDARD_TOOLS, *AGENT_TOOLS),
        agents=FAR,
        settings={**({} if placed else {"remote": {"hosts": hosts}}), **(settings or {})},
        placed_hosts=placed,
        **(hosted or {}),
    ) as session:
        yield session


def texts(request: ModelRequest) -> str:
    return str(request.messages)


@pytest.mark.promise("R5-a")
async def test_an_agent_works_on_a_host_and_its_end_is_one_notice(short: Path) -> None:
    said: list[str] = []

    def read(request: ModelRequest) -> str:
        said.append(texts(request))
        return "so it is"

    async with hosted(short, ["I found it."]):
        async with launching(short, [REMOTE, "launched", read]) as session:
            answer = await session.run("Go!")
            assert answer.text == "launched"
            await session.wait_quiet()
            [task] = session.tasks.all()
            assert (task.kind, task.state.value, task.id[0]) == ("remote_agent", "completed", "r")
    assert not any((short / "host" / "agents").glob("*/*.json"))  # the host was told that the end is on record
    [journal] = (short / "host" / "runs").glob("*/tasks/*.output")
    assert (short / "runs" / session.id / "tasks" / f"{task.id}.output").read_bytes() == journal.read_bytes() != b""
    assert len(said) == 1
    assert said[0].count("<task-notification>") == 1
    assert "I found it." in said[0]
    assert f"greenroom://far/{session.id}#{task.id}" in said[0]


@pytest.mark.promise("R5-a")
async def test_a_link_that_is_cut_twenty_times_changes_nothing(short: Path) -> None:
    """The output here is that of there, byte by byte, and the end is one notice."""
    proxy = CuttingProxy(short / "far")
    step, take_step = trio.open_memory_channel[int](1)
    said: list[str] = []

    @tool
    async def wait_for_cut() -> str:
        """Wait for the next cut."""
        return f"cut {await take_step.receive()} {'x' * 500}"

    def read(request: ModelRequest) -> str:
        said.append(texts(request))
        return "so it is"

    async def cut() -> None:
        for number in range(20):
            while not proxy.cut():  # noqa: ASYNC110 - a real socket
                await trio.sleep(0.01)
            await step.send(number)

    script = [*([Say(f"step {number}"), Call("WaitForCut", {})] for number in range(20)), "I found it."]
    async with hosted(short, script, tools=(wait_for_cut,)), trio.open_nursery() as nursery:
        listener = await open_unix_listener(short / "proxy", backlog=16)
        nursery.start_soon(partial(trio.serve_listeners, proxy.serve, [listener]))
        async with launching(short, [REMOTE, "launched", read], at="proxy") as session:
            await session.run("Go!")
            nursery.start_soon(cut)
            await session.wait_quiet()
            [task] = session.tasks.all()
        nursery.cancel_scope.cancel()

    [output] = (short / "host" / "runs").glob("*/tasks/*.output")
    assert task.state.value == "completed"
    assert proxy.cuts >= 20
    assert (short / "runs" / session.id / "tasks" / f"{task.id}.output").read_bytes() == output.read_bytes()
    assert [text.count("<task-notification>") for text in said] == [1]


@pytest.mark.promise("R5-questions")
async def test_questions_of_an_agent_are_answered_by_its_run(short: Path) -> None:
    """Also if the link is cut while they wait; an answer counts once."""
    proxy = CuttingProxy(short / "far")
    asked: list[tuple[str, str, str]] = []

    async def can_use_tool(question: PermissionQuestion) -> Allow | Deny:
        asked.append((question.label, question.tool, question.verdict.reason.partition(":")[0]))
        assert proxy.cut()
        return Deny(message="not that one") if len(asked) == 1 else Allow()

    told: list[str] = []

    def end(request: ModelRequest) -> str:
        told.append(texts(request))
        return "I found it."

    (short / "shop").mkdir()
    write = Call("Write", {"file_path": str(short / "note"), "content": "blue"})
    write_there = Call("Write", {"file_path": str(short / "shop" / "note"), "content": "red"})
    places = {"shop": short / "shop"}
    async with (
        hosted(short, [write, write, write_there, end], tools=STANDARD_TOOLS, workspaces=places),
        trio.open_nursery() as nursery,
    ):
        listener = await open_unix_listener(short / "proxy", backlog=16)
        nursery.start_soon(partial(trio.serve_listeners, proxy.serve, [listener]))
        asks = {"can_use_tool": can_use_tool}
        async with launching(
            short, [REMOTE, "launched", "I see"], at="proxy", hosted=asks, workspace="shop"
        ) as session:
            await session.run("Go!")
            await session.wait_quiet()
            assert session.tasks.all()[0].state.value == "completed"
        nursery.cancel_scope.cancel()

    assert asked == [("far on host far", "Write", "on the host 'far'")] * 2
    assert (told[0].count("not that one"), (short / "note").read_text()) == (1, "blue")
    assert (short / "shop" / "note").read_text() == "red"  # it works there


@pytest.mark.promise("R5-budget")
async def test_the_usage_of_an_agent_counts_in_the_budget_of_its_run(short: Path) -> None:
    dear = WrittenAnswer([Call("WaitLong", {})], usage=Usage(60_000, 300))

    @tool(read_only=True)
    async def wait_long() -> str:
        """Wait."""
        await trio.sleep(100)
        return ""

    budget = {"models": {"budget": {"tokens": 50_000}}}
    async with (
        hosted(short, [dear], tools=(wait_long,)) as host,
        launching(short, [REMOTE, "launched"], settings=budget) as session,
    ):
        await session.run("Go!")
        with session.events() as events:
            while session.tasks.all()[0].state.value != "killed":
                await events.wait_next()
        assert session.budget.spent.usage.total == 60_300
        assert session.budget.spent.calls == 3
        assert host.agents.running == 0


async def test_a_stop_ends_an_agent_on_its_host(short: Path) -> None:
    async with (
        hosted(short, ["never said"], wait_s=1000.0) as host,
        launching(short, [REMOTE, "launched", "I see"]) as session,
    ):
        await session.run("Go!")
        [task] = session.tasks.all()
        assert host.agents.running == 1
        assert session.activity().agents == 1
        session.tasks.kill(task.id, "enough")
        await session.wait_quiet()
        assert session.tasks.all()[0].state.value == "killed"
        assert host.agents.running == 0


async def test_the_end_of_a_session_stops_its_agents_there(short: Path) -> None:
    async with hosted(short, ["never said"], wait_s=1000.0) as host:
        async with launching(short, [REMOTE, "launched"]) as session:
            await session.run("Go!")
            assert host.agents.running == 1
        assert host.agents.running == 0
        assert session.tasks.all()[0].state.value == "killed"


async def test_a_host_that_is_not_there_is_one_line(short: Path) -> None:
    said: list[str] = []

    def read(request: ModelRequest) -> str:
        said.append(texts(request))
        return "then not"

    async with launching(short, [REMOTE, read]) as session:
        assert (await session.run("Go!")).text == "then not"
    assert "the host 'far' cannot be used" in said[0]
    assert "task-notification" not in said[0]


@pytest.mark.promise("R8-a")
async def test_a_death_that_placement_reports_ends_the_agents_of_that_host_at_once(short: Path) -> None:
    said: list[str] = []

    def read(request: ModelRequest) -> str:
        said.append(texts(request))
        return "I see"

    placed = PlacedHosts({"far": LinkPeer(token=TOKEN, address=f"unix:{short / 'far'}")})
    async with hosted(short, ["never said"], wait_s=1000.0):
        async with launching(short, [REMOTE, "launched", read, REMOTE, read], placed=placed) as session:
            await session.run("Go!")
            with trio.fail_after(1):
                placed.note_death("far", "the process of the host has ended")
                placed.note_death("far", "nobody reads this")
                await session.wait_quiet()
            await session.run("Again!")
            [task, *_] = session.tasks.all()
            assert (task.state.value, task.error) == ("failed", "the process of the host has ended")
    assert said[0].count("<task-notification>") == 1
    assert "the process of the host has ended" in said[0]
    assert "all hosts have died: the process of the host has ended" in said[1]
