"""The exhaustive sweep over a whole runtime: wherever its host is cancelled, it ends in order and leaves nothing."""

from __future__ import annotations

import pytest
import trio

from greenroom.supervisor import StopOrder, SupervisorSpec, open_runtime
from greenroom.testing import CancelAt, cancel_sweep, virtual_ports
from tests.actors.invariants import violations
from tests.actors.situations import AT_ONCE, Doer, PlainDoer, fail, runtime

pytestmark = pytest.mark.slow  # they are run again and again, each time cut at another moment


async def live(at: CancelAt) -> tuple[list[str], float]:
    """Open a runtime with a team, let somebody crash, and close it; return what is wrong and when it ended."""
    found: list[str] = ["never opened"]
    with trio.CancelScope() as scope:
        at.aim(scope.cancel)
        try:
            async with open_runtime(ports=virtual_ports(), spec=SupervisorSpec(backoff=AT_ONCE)) as opened:
                found = ["never closed"]
                team = await opened.spawn_supervisor("team", SupervisorSpec(stop_order=StopOrder.TOGETHER))
                mate = await team.spawn(Doer, name="mate")
                await team.spawn(PlainDoer, name="plain")
                actor = await opened.spawn(Doer)
                actor.tell(fail)
                mate.tell("x")
                await trio.sleep(1)
        finally:
            if found != ["never opened"]:
                found = violations(opened.recorder.latest())
    at.rest()
    return found, trio.current_time()


@pytest.mark.promise("I-9", "I-30", "I-49")
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_wherever_the_host_is_cancelled_everything_ends_at_once_and_in_order(seed: int | None) -> None:
    runs = cancel_sweep(live, choices=seed)

    assert len(runs) > 25
    assert {tuple(run.result[0]) for run in runs} <= {(), ("never opened",)}
    assert all(run.result[1] <= 1 for run in runs)


@pytest.mark.promise("I-30")
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_wherever_a_spawn_is_cancelled_the_child_is_there_or_gone(seed: int | None) -> None:
    class Slow(Doer):
        async def on_start(self, ctx: object) -> None:
            await trio.sleep(0.1)

        async def on_stop(self, ctx: object) -> None:
            await trio.sleep(0.1)

    async def scenario(at: CancelAt) -> int:
        refs = []
        async with runtime() as opened:
            with trio.CancelScope() as scope:
                at.aim(scope.cancel)
                for _ in range(3):
                    refs.append(await opened.spawn(Slow))  # noqa: PERF401 - each one counts, whatever comes then
            at.rest()
            await trio.sleep(5)
            assert opened.root.children() == refs
        return len(refs)

    runs = cancel_sweep(scenario, choices=seed)

    assert {run.result for run in runs} == {0, 1, 2, 3}
