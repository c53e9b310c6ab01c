"""The plan of what waits for a session: modes, caps, routes."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.gateway.announce._queue_plan import (
    MAX_SUMMARY,
    HeldItem,
    Overflow,
    QueueMode,
    QueuePlan,
    QueueSettings,
    plan_queue,
)

COLLECT = QueueSettings(mode=QueueMode.COLLECT)
ITEMS = st.lists(st.integers(0, 2), max_size=60)


def held(*threads: int, at_s: float = 0.0) -> list[HeldItem]:
    return [
        HeldItem(id=str(number), route={"channel": "irc", "thread": str(thread)}, text=f"result {number}", at_s=at_s)
        for number, thread in enumerate(threads)
    ]


def ids(plan: QueuePlan) -> list[list[str]]:
    return [[item.id for item in batch.items] for batch in plan.batches]


def test_steering_hands_everything_in_at_once() -> None:
    for mode in (QueueMode.STEER, QueueMode.STEER_BACKLOG):
        assert ids(plan_queue(held(0, 0), QueueSettings(mode=mode), is_busy=True, now_s=0.0)) == [["0"], ["1"]]
    plan = plan_queue(held(0), QueueSettings(mode=QueueMode.INTERRUPT), is_busy=True, now_s=0.0)
    assert (ids(plan), plan.interrupts) == ([["0"]], True)


def test_a_followup_is_one_at_a_time() -> None:
    followup = QueueSettings(mode=QueueMode.FOLLOWUP)

    assert plan_queue(held(0, 0), followup, is_busy=True, now_s=9.0) == QueuePlan()
    assert ids(plan_queue(held(0, 0), followup, is_busy=False, now_s=9.0)) == [["0"]]


def test_collecting_waits_for_quiet() -> None:
    items = held(0, 0, at_s=10.0)

    assert plan_queue(items, COLLECT, is_busy=False, now_s=10.4) == QueuePlan(look_s=11.0)
    assert ids(plan_queue(items, COLLECT, is_busy=False, now_s=11.0)) == [["0", "1"]]
    assert ids(plan_queue(items, COLLECT, is_busy=False, now_s=5.0)) == [["0", "1"]]


@pytest.mark.promise("A6-g")
def test_two_threads_are_two_batches() -> None:
    plan = plan_queue(held(1, 2, 1), COLLECT, is_busy=False, now_s=9.0)

    assert ids(plan) == [["0", "2"], ["1"]]
    assert [batch.route["thread"] for batch in plan.batches] == ["1", "2"]


def test_beyond_the_cap_a_summary_names_the_oldest() -> None:
    plan = plan_queue(held(*[0] * 25), COLLECT, is_busy=False, now_s=9.0)

    assert ids(plan) == [[str(number) for number in range(5, 25)]]
    assert plan.batches[0].summary.startswith("5 earlier, not shown in full: result 0; result 1;")
    assert [item.id for item in plan.dropped] == ["0", "1", "2", "3", "4"]


def test_the_policy_decides_what_is_dropped() -> None:
    new = attrs.evolve(COLLECT, overflow=Overflow.NEW, cap=2)
    old = attrs.evolve(COLLECT, overflow=Overflow.OLD, cap=2)

    assert [item.id for item in plan_queue(held(0, 0, 0), new, is_busy=True, now_s=9.0).dropped] == ["2"]
    plan = plan_queue(held(0, 0, 0), old, is_busy=False, now_s=9.0)
    assert ([item.id for item in plan.dropped], plan.batches[0].summary) == (["0"], "")


@pytest.mark.promise("A6-g")
@given(ITEMS, st.sampled_from(QueueMode), st.sampled_from(Overflow), st.integers(1, 30), st.booleans())
def test_nothing_is_lost_merged_or_reordered(
    threads: list[int], mode: QueueMode, overflow: Overflow, cap: int, is_busy: bool
) -> None:
    """Every item is handed in, dropped by the policy, or still waits; no batch has two routes, and each route its order."""
    waiting = held(*threads)
    settings = QueueSettings(mode=mode, overflow=overflow, cap=cap)
    seen: list[str] = []
    while waiting:
        plan = plan_queue(waiting, settings, is_busy=is_busy, now_s=9.0)
        is_busy = False
        for batch in plan.batches:
            assert all(item.route == batch.route for item in batch.items)
            assert len(batch.summary) <= MAX_SUMMARY
            if mode is QueueMode.COLLECT:
                assert len(batch.items) <= cap
        if overflow is Overflow.SUMMARIZE and plan.dropped:
            assert {item.route["thread"] for item in plan.dropped} == {
                batch.route["thread"] for batch in plan.batches if batch.summary
            }
        gone = [*(item.id for item in plan.dropped), *(id_ for batch in ids(plan) for id_ in batch)]
        seen += gone
        waiting = [item for item in waiting if item.id not in gone]

    assert sorted(seen, key=int) == [str(number) for number in range(len(threads))]
