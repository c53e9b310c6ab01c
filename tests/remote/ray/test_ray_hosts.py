"""Hosts on a real Ray cluster: they run agents, one is killed, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import trio

from greenroom.agents.subagents import AGENT_TOOLS
from greenroom.core import UsageError
from greenroom.hosting import open_ray_hosts
from greenroom.models import Call, ModelRequest, ScriptedModel
from greenroom.remote.ray import RayHostPlan, RayPlace, open_ray_placement, parse_ray_place
from greenroom.remote.ray._ray_hosts import RayFailed
from greenroom.session import Session, open_session
from greenroom.tools.builtin import STANDARD_TOOLS
from tests.remote.ray.real_ray import MODEL, SERVE, need_ray, need_time, nothing_left, traces

REMOTE = Call("Agent", {"description": "Far away", "prompt": "Work!", "subagent_type": "far", "isolation": "remote"})
FAR = {"far": {"description": "Works elsewhere.", "prompt": "You work."}}
AGENTS = 200


async def wait_states(session: Session, **wanted: int) -> None:
    """Wait until that many tasks are in each of these states."""
    while Counter(task.state.value for task in session.tasks.all()) != wanted:  # noqa: ASYNC110 - states have no event
        await trio.sleep(0.01)


async def test_a_host_on_ray_runs_an_agent(short: Path) -> None:
    need_ray()
    plan = RayHostPlan(model=MODEL, model_arguments={"wait_s": 0.0, "agents": 1})
    with nothing_left():
        async with open_ray_hosts(RayPlace(hosts=1), plan) as hosts:
            async with open_session(
                model=ScriptedModel([REMOTE, "launched", "I see"]),
                cwd=short,
                runs=short / "runs",
                tools=(*STANDARD_TOOLS, *AGENT_TOOLS),
                agents=FAR,
                placed_hosts=hosts.placed,
            ) as session:
                await session.run("Go!")
                await session.wait_quiet()
                [task] = session.tasks.all()
    assert (task.kind, task.state.value) == ("remote_agent", "completed")


@pytest.mark.promise("R8-a")
@pytest.mark.timeout(500)
async def test_of_200_agents_on_four_hosts_a_killed_host_takes_only_its_own(short: Path) -> None:
    need_time()
    seen: list[str] = []
    plan = RayHostPlan(model=MODEL, model_arguments={"wait_s": 90.0, "agents": AGENTS})

    def read(request: ModelRequest) -> str:
        seen.append(str(request.messages))
        return "I see"

    script: list[Any] = [[REMOTE] * AGENTS, "launched", *[read] * AGENTS]
    with nothing_left():
        async with (
            open_ray_hosts(parse_ray_place("ray:4"), plan) as hosts,
            open_session(
                model=ScriptedModel(script),
                cwd=short,
                runs=short / "runs",
                tools=(*STANDARD_TOOLS, *AGENT_TOOLS),
                agents=FAR,
                settings={"delegation": {"max_running": AGENTS}},
                placed_hosts=hosts.placed,
            ) as session,
        ):
            await session.run("Go!")
            await wait_states(session, running=AGENTS)
            os.kill(hosts.processes["ray-2"], signal.SIGKILL)
            with trio.fail_after(1):
                await wait_states(session, running=AGENTS * 3 // 4, failed=AGENTS // 4)
            with trio.fail_after(240):
                await wait_states(session, completed=AGENTS * 3 // 4, failed=AGENTS // 4)
                await session.wait_quiet()
            errors = {task.error for task in session.tasks.all() if task.error}
    assert errors == {"host 'ray-2' died: the process of the host has ended"}
    assert seen[-1].count("<task-notification>") == AGENTS


async def test_an_address_without_a_cluster_is_one_line() -> None:
    need_time()
    with nothing_left():
        for address in ("auto", "127.0.0.1:1"):
            place = RayPlace(hosts=1, address=address)
            with trio.fail_after(60), pytest.raises(UsageError, match=f"no Ray cluster answers at {address}") as caught:
                async with open_ray_placement(place, serve=SERVE, arguments={}):
                    pass
            assert "\n" not in str(caught.value)


async def test_a_host_that_cannot_start_is_one_line() -> None:
    need_time()
    with (
        nothing_left(),
        pytest.raises(RayFailed, match=r"host 'ray-1' has not started: .*it cannot start here") as caught,
    ):
        async with open_ray_placement(RayPlace(hosts=1), serve=SERVE, arguments={"error": "at once"}):
            pass
    assert "\n" not in str(caught.value)


async def test_a_launcher_that_is_killed_leaves_nothing_of_its_cluster() -> None:
    need_time()
    program = (
        "import trio\n"
        "from greenroom.remote.ray import RayPlace, open_ray_placement\n"
        "async def main():\n"
        f"    async with open_ray_placement(RayPlace(hosts=1), serve={SERVE!r}, arguments={{}}):\n"
        "        print('placed', end='', flush=True)\n"
        "        await trio.sleep_forever()\n"
        "trio.run(main)\n"
    )
    with nothing_left():
        process = await trio.lowlevel.open_process([sys.executable, "-c", program], stdout=-1)
        assert process.stdout is not None
        assert await process.stdout.receive_some() == b"placed"
        process.kill()
        await process.wait()
        with trio.move_on_after(20):
            while any("_ray_driver" in trace for trace in traces()):  # noqa: ASYNC110 - another program
                await trio.sleep(0.1)


async def test_a_missing_extra_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("greenroom.remote.ray._ray_hosts.find_spec", lambda _: None)
    with pytest.raises(UsageError, match="need the extra 'ray'"):
        async with open_ray_placement(RayPlace(hosts=1), serve=SERVE, arguments={}):
            pass
