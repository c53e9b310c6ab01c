"""The stages of a stop, in order and each within its time; and the lag of the loop."""

from __future__ import annotations

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.gateway.process._loop_lag import KEPT, LoopLag
from greenroom.gateway.process._stop_stages import ABORT_S, CLOSE_S, DELIVERY_S, Stage, StopPlan, stop_in_stages
from greenroom.testing import run_virtual

SECONDS = st.sampled_from([0.0, 3.0, 15.0, 1e9])


@attrs.define
class Parts:
    """Parts that take a while: seconds from the start of the stage."""

    intake_s: float
    turns_s: float
    dies: bool
    due_s: float
    close_s: float
    done: list[str] = attrs.field(factory=list)
    aborted: bool = False

    def plan(self, drain_s: float) -> StopPlan:
        began = trio.current_time()

        async def close_intake() -> None:
            await trio.sleep(self.intake_s)
            self.done.append("intake")

        async def abort_turns() -> None:
            self.aborted = True

        async def close_sessions() -> None:
            await trio.sleep(self.close_s)
            self.done.append("sessions")

        return StopPlan(
            close_intake=close_intake,
            turns=lambda: int(trio.current_time() - began < self.turns_s and not (self.aborted and self.dies)),
            abort_turns=abort_turns,
            due=lambda: int(trio.current_time() - began < self.due_s),
            close_sessions=close_sessions,
            drain_s=drain_s,
            on_stage=self.done.append,
        )


@pytest.mark.promise("A22-g")
@given(
    intake_s=SECONDS,
    turns_s=SECONDS,
    dies=st.booleans(),
    due_s=SECONDS,
    close_s=SECONDS,
    drain_s=st.sampled_from([0.0, 20.0]),
)
def test_stages_come_in_order_and_never_take_longer_than_their_times(
    intake_s: float, turns_s: float, dies: bool, due_s: float, close_s: float, drain_s: float
) -> None:
    parts = Parts(intake_s, turns_s, dies, due_s, close_s)

    async def stop() -> float:
        await stop_in_stages(parts.plan(drain_s))
        return trio.current_time()

    took_s = run_virtual(stop).result

    stages = [each for each in parts.done if isinstance(each, Stage)]
    assert [each for each in stages if each is not Stage.ABORTED] == [
        Stage.INTAKE,
        Stage.TURNS,
        Stage.DELIVERIES,
        Stage.SESSIONS,
    ]
    assert (Stage.ABORTED in stages) == parts.aborted
    assert took_s <= DELIVERY_S + drain_s + ABORT_S + DELIVERY_S + CLOSE_S + 1
    if turns_s <= min(intake_s, DELIVERY_S):
        assert not parts.aborted


async def test_lag_of_a_free_loop_is_zero(autojump_clock: MockClock) -> None:
    lag = LoopLag(print)
    with trio.move_on_after(5):
        await lag.measure()
    assert lag.figures().p99_s == pytest.approx(0.0, abs=1e-6)


def test_long_lag_is_told_once_while_it_lasts() -> None:
    """GW-27: a task measures how late it wakes."""
    told: list[float] = []
    lag = LoopLag(told.append)
    now_s = 0.0
    for number in range(40):
        now_s += 1.5
        lag.take(1.5 + number / 100, now_s)
    assert len(told) == 1
    lag.take(0.0, now_s)
    for _ in range(3):
        now_s += 1.5
        lag.take(2.0, now_s)
    assert len(told) == 1
    for _ in range(2 * KEPT):
        lag.take(0.25, now_s)
    assert lag.figures().p50_s == lag.figures().max_s == 0.25
