"""MCP servers and hooks that say nothing while an agent starts: it waits for each within the limit of that one, and begins."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from greenroom.mcp import ServerStatus
from greenroom.models import Call
from tests.agents.pages import agent, in_order
from tests.mcp.fakes import ECHO, FakePeers, FakeServer
from tests.session.teamwork import open_teamwork

STEPS = ("connect", "tools", "prompts", "resources")
LIMITS_MS = (1, 1_000, 29_999, 30_000, 30_001, 90_000)
WAIT_S = 30.0
ENDS_IN_S = 5.0


def silent(step: str) -> FakeServer:
    server = FakeServer(ECHO)
    server.silent_at, server.closes_in_s, server.resources = step, ENDS_IN_S, ()
    return server


def place(monkeypatch: pytest.MonkeyPatch, limit_ms: int, **servers: FakeServer) -> dict[str, Any]:
    """Put servers at the other end, and return settings that name them."""
    monkeypatch.setattr("greenroom.mcp._server_group.SdkPeers", lambda **_: FakePeers(**servers))
    monkeypatch.setenv("GREENROOM_MCP_TIMEOUT", str(limit_ms))
    return {"mcpServers": {name: {"command": name} for name in servers}, "permissions": {"allow": ["mcp__good"]}}


@pytest.mark.parametrize(("step", "limit_ms"), list(itertools.product(STEPS, LIMITS_MS)))
async def test_silent_servers_cost_the_session_their_limit_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock, step: str, limit_ms: int
) -> None:
    count = 1 + LIMITS_MS.index(limit_ms) * 9 // (len(LIMITS_MS) - 1)
    servers = {f"silent{at}": silent(step) for at in range(count)}
    settings = place(monkeypatch, limit_ms, **servers, good=FakeServer(ECHO))
    began_s = trio.current_time()
    script = in_order(Call("mcp__good__echo", {"text": "there"}), "I heard it.")

    async with open_teamwork(tmp_path, script, settings=settings, wait_s=0.0) as session:
        answer = await session.run("go")
        took_s = trio.current_time() - began_s
        states = {state.name: state for state in session.servers.states()}

    assert answer.text == "I heard it."
    assert took_s <= min(limit_ms / 1000 + ENDS_IN_S, WAIT_S) + 0.1
    assert states["good"].status is ServerStatus.CONNECTED
    expected = (
        {ServerStatus.CONNECTED} if step in {"prompts", "resources"} else {ServerStatus.FAILED, ServerStatus.PENDING}
    )
    assert {states[name].status for name in servers} <= expected
    for name in servers:
        if states[name].status is ServerStatus.FAILED:
            assert states[name].why == f"it did not answer within {limit_ms / 1000:g} s"


@pytest.mark.parametrize("required", [False, True])
async def test_an_agent_with_silent_servers_of_its_own_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock, *, required: bool
) -> None:
    settings = place(monkeypatch, 30_000, mine=silent("tools"), good=FakeServer(ECHO))
    settings["mcpServers"].pop("mine")
    agents = {
        "scout": {
            "description": "Looks.",
            "prompt": "You are scout.",
            "mcpServers": [{"mine": {"command": "mine"}}],
            **({"requiredMcpServers": ["good"]} if required else {}),
        }
    }
    pages = {"scout": in_order("I looked.")}

    async with open_teamwork(
        tmp_path,
        in_order(agent("Look.", subagent_type="scout", run_in_background=False), "Done."),
        settings=settings,
        agents=agents,
        pages=pages,
        wait_s=0.0,
    ) as session:
        answer = await session.run("go")
        (status,) = session.tasks.all()

    assert answer.text == "Done."
    assert status.state == "completed"


async def test_a_hook_of_the_start_may_take_longer_than_actors_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    async def slow(**_: Any) -> Any:
        await trio.sleep(45)
        raise OSError("there is nothing to run")

    monkeypatch.setattr("greenroom.hooks._runner.run_command", lambda *_, **options: slow(**options))
    hooks = {"SubagentStart": [{"hooks": [{"type": "command", "command": "true", "timeout": 60}]}]}

    async with open_teamwork(
        tmp_path,
        in_order(agent("Look.", run_in_background=False), "Done."),
        settings={"hooks": hooks},
        wait_s=0.0,
    ) as session:
        answer = await session.run("go")
        (status,) = session.tasks.all()

    assert (answer.text, status.state) == ("Done.", "completed")


@pytest.mark.parametrize("step", ["connect", "tools"])
@pytest.mark.parametrize("after_s", [0.0, 1.0, 29.0])
async def test_a_start_that_waits_for_a_server_can_be_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock, step: str, after_s: float
) -> None:
    settings = place(monkeypatch, 30_000, mute=silent(step))
    began_s = trio.current_time()

    with trio.move_on_after(after_s) as scope:
        async with open_teamwork(tmp_path, in_order("Too late."), settings=settings):
            pytest.fail("it waited for nobody")

    assert scope.cancelled_caught
    assert trio.current_time() - began_s <= after_s + ENDS_IN_S + 0.1
