"""A shutdown goes through its phases once, in order, within its budgets, and says what became of each step."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import State
from greenroom.core import Recorder, UsageError
from greenroom.patterns import PHASES, PhaseEnded, Shutdown, ShutdownBegan, ShutdownEnded, drain
from greenroom.supervisor import SupervisorSpec
from greenroom.testing import run_virtual, virtual_ports
from tests.actors.situations import AT_ONCE, Deaf, Doer, PlainDoer, events, runtime

if TYPE_CHECKING:
    from collections.abc import Callable

virtually = pytest.mark.usefixtures("virtual_time")


def recorder() -> Recorder:
    return Recorder(virtual_ports().clock.bind())


def sleeper(log: list[str], name: str, seconds: float) -> Callable[[], Any]:
    async def step() -> None:
        log.append(f"+{name}")
        await trio.sleep(seconds)
        log.append(f"-{name}")

    return step


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(PHASES), st.sampled_from([0.0, 1.0, 5.0, 50.0]), st.booleans()), max_size=8
    ),
    budget_s=st.sampled_from([3.0, 10.0, 30.0]),
    cancel_at=st.none() | st.sampled_from([0.0, 2.0]),
    callers=st.integers(1, 3),
    choices=st.lists(st.integers(0, 5), max_size=30),
)
def test_every_step_runs_once_in_the_order_of_the_phases_and_within_the_budget(
    steps: list[tuple[str, float, bool]], budget_s: float, cancel_at: float | None, callers: int, choices: list[int]
) -> None:
    ran: list[int] = []
    ended: dict[int, float] = {}

    async def scenario() -> None:
        shutdown = Shutdown(recorder(), budget_s=budget_s)

        def step(number: int, seconds: float, fails: bool) -> Callable[[], Any]:
            async def run() -> None:
                ran.append(number)
                await trio.sleep(seconds)
                ended[number] = trio.current_time()
                if fails:
                    raise RuntimeError(str(number))

            return run

        for number, (phase, seconds, fails) in enumerate(steps):
            shutdown.add(phase, step(number, seconds, fails), name=str(number))
        began = trio.current_time()
        with trio.move_on_after(cancel_at if cancel_at is not None else 1000):
            async with trio.open_nursery() as nursery:
                for _ in range(callers):
                    nursery.start_soon(shutdown.run, "over")
        report = await shutdown.run("again")

        assert trio.current_time() - began <= budget_s
        assert report.reason == "over"
        assert sorted(ran) == list(range(len(steps)))
        assert [phase.phase for phase in report.phases] == list(PHASES)
        order = [PHASES.index(steps[number][0]) for number in ran]
        assert order == sorted(order)
        cut = {name for phase in report.phases for name in phase.cut}
        failed = {name for phase in report.phases for name in phase.failed}
        assert cut == {str(number) for number in ran if number not in ended}
        assert failed == {str(number) for number in ended if steps[number][2]}
        assert report.is_clean is not bool(cut | failed)

    run_virtual(scenario, choices=choices)


@virtually
async def test_teams_stop_one_by_one_the_latest_first_and_intakes_close_side_by_side() -> None:
    log: list[str] = []
    shutdown = Shutdown(recorder())
    for phase in ("stop_teams", "close_intake"):
        for name in "ab":
            shutdown.add(phase, sleeper(log, f"{phase[0]}{name}", 1))
    await shutdown.run("over")

    assert log[:2] in (["+ca", "+cb"], ["+cb", "+ca"])
    assert log[4:] == ["+sb", "-sb", "+sa", "-sa"]


@virtually
async def test_a_phase_has_a_budget_of_its_own_and_is_on_record() -> None:
    """CL-21."""
    seen = recorder()
    log: list[str] = []
    shutdown = Shutdown(seen, budgets_s={"drain": 2})
    shutdown.add("drain", sleeper(log, "slow", 20), name="slow")
    shutdown.add("flush", sleeper(log, "fast", 1), name="fast")

    async def fails() -> None:
        raise RuntimeError("no")

    shutdown.add("flush", functools.partial(fails))
    report = await shutdown.run("SIGTERM")

    assert [phase.seconds for phase in report.phases] == [0, 2, 0, 0, 1]
    assert not report.is_clean
    found = [record[2] for record in seen.latest()]
    assert found == [ShutdownBegan, *[PhaseEnded] * 5, ShutdownEnded]
    kept = [record for record in seen.latest() if record[2] is PhaseEnded]
    assert kept[1][-2:] == (("slow",), ())
    assert "RuntimeError('no')" in kept[4][-1][0]
    assert "fails" in kept[4][-1][0]


@virtually
async def test_nonsense_is_refused_in_one_line() -> None:
    with pytest.raises(UsageError, match="unknown phase 'later'; expected one of close_intake, drain"):
        Shutdown(recorder(), budgets_s={"later": 1})
    with pytest.raises(UsageError, match="budget_s must be a finite number of seconds"):
        Shutdown(recorder(), budget_s=-1)
    shutdown = Shutdown(recorder())
    await shutdown.run("over")
    with pytest.raises(UsageError, match="cannot add a step: the shutdown has begun"):
        shutdown.add("flush", trio.lowlevel.checkpoint)


@virtually
async def test_drain_lets_a_whole_tree_finish_its_mail() -> None:
    seen: list[Any] = []
    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        team = await opened.spawn_supervisor("team")
        refs = [await team.spawn(kind, seen) for kind in (Doer, PlainDoer)] + [await opened.spawn(Doer, seen)]
        refs[0].tell(Deaf(2))
        for number, ref in enumerate(refs):
            ref.tell(number)
        await wait_all_tasks_blocked()
        await drain(opened.root)

        assert sorted(seen) == [0, 1, 2]
        assert opened.root.children() == []
        assert team.ref.state is State.COMPLETED
        assert not events(opened, ShutdownBegan)


@virtually
async def test_a_step_that_is_cut_and_fails_in_its_clean_up_keeps_nothing_from_the_others() -> None:
    """Its nursery raises a group of a `Cancelled` and an error."""
    ran: list[str] = []

    async def clean_up_badly() -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise RuntimeError("clean-up")

    async def bad() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(clean_up_badly)
            nursery.start_soon(trio.sleep_forever)

    shutdown = Shutdown(recorder(), budgets_s={"drain": 1})
    shutdown.add("drain", bad, name="bad")
    shutdown.add("flush", sleeper(ran, "flush", 0))
    report = await shutdown.run("over")

    assert ran == ["+flush", "-flush"]
    drained = report.phases[PHASES.index("drain")]
    assert (drained.cut, [*drained.failed]) == (("bad",), ["bad"])
