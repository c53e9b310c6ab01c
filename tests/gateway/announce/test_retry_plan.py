"""The plan of a delivery: tries, waits, and what a person decides."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.gateway.announce._retry_plan import (
    KEPT_S,
    MAX_WAIT_S,
    BlockDelivery,
    DismissDelivery,
    TryPart,
    WaitUntil,
    part_key,
    plan_delivery,
    wait_after,
)
from greenroom.gateway.record._gateway_events import SessionMade
from greenroom.gateway.record._machines import DeliveryState, SendResult
from greenroom.gateway.record._registry import Registry
from greenroom.gateway.record._rows import Delivery
from greenroom.gateway.record._run_events import DeliveryBegan, DeliveryBlocked, DeliveryDue, DeliveryEnded

DUE = Delivery(id="reply:1", session="s", state=DeliveryState.DUE, text="t", due_s=1000.0)


def failed(tries: int, **more: object) -> Delivery:
    row = attrs.evolve(DUE, tries=tries, tried_s=1010.0, result=SendResult.FAILED)
    return attrs.evolve(row, **more)  # type: ignore[arg-type]


def test_a_due_delivery_is_tried_at_once() -> None:
    assert plan_delivery(DUE, 1000.0, repeats_unknown=False) == TryPart(1)
    assert plan_delivery(attrs.evolve(DUE, trying=1), 1000.0, repeats_unknown=False) is None


def test_waits_grow_from_15_seconds_to_5_minutes() -> None:
    assert [wait_after(tries) for tries in range(1, 8)] == [15.0, 30.0, 60.0, 120.0, 240.0, MAX_WAIT_S, MAX_WAIT_S]
    assert wait_after(1, 400.0) == 400.0
    assert plan_delivery(failed(1), 1020.0, repeats_unknown=False) == WaitUntil(1025.0)


def test_a_clock_that_is_set_back_makes_no_wait_longer() -> None:
    assert plan_delivery(failed(3), 900.0, repeats_unknown=False) == TryPart(1)


def test_a_refusal_is_final_unless_it_names_a_time() -> None:
    refused = failed(1, result=SendResult.REFUSED, why="403")

    assert plan_delivery(refused, 2000.0, repeats_unknown=True) == BlockDelivery("refused: 403")
    assert plan_delivery(attrs.evolve(refused, wait_s=60.0), 1020.0, repeats_unknown=True) == WaitUntil(1070.0)


def test_an_unknown_result_is_repeated_only_with_keys() -> None:
    """GW-04: the same key and the same bytes, or a person decides."""
    unknown = failed(1, result=SendResult.UNKNOWN)

    assert plan_delivery(unknown, 1025.0, repeats_unknown=True) == TryPart(1)
    assert isinstance(plan_delivery(unknown, 1025.0, repeats_unknown=False), BlockDelivery)


def test_a_text_is_blocked_after_half_an_hour_and_kept_for_a_week() -> None:
    assert isinstance(plan_delivery(failed(9), 1000.0 + 1800, repeats_unknown=False), BlockDelivery)
    blocked = attrs.evolve(DUE, state=DeliveryState.BLOCKED, blocked_s=5000.0)
    assert plan_delivery(blocked, 5001.0, repeats_unknown=False) == WaitUntil(5000.0 + KEPT_S)
    assert plan_delivery(blocked, 5000.0 + KEPT_S, repeats_unknown=False) == DismissDelivery()


@pytest.mark.promise("A6-j")
@given(
    st.integers(1, 4), st.lists(st.sampled_from((SendResult.TAKEN, SendResult.FAILED, SendResult.UNKNOWN)), max_size=60)
)
def test_every_part_is_taken_once_in_order_or_the_text_is_blocked(parts: int, results: list[SendResult]) -> None:
    """A retry sends only what was not taken, and always under the same key."""
    registry, now_s, tries = Registry(), 1000.0, []
    registry.fold(SessionMade(at_s=0.0, session="s", session_id="id"))
    registry.fold(DeliveryDue(at_s=now_s, delivery="reply:1", session="s", text="t"))
    coming = iter(results)
    while (row := registry.delivery("reply:1")) is not None and row.state is DeliveryState.DUE:
        plan = plan_delivery(row, now_s, repeats_unknown=True)
        if isinstance(plan, WaitUntil):
            assert now_s < plan.at_s <= now_s + MAX_WAIT_S
            now_s = plan.at_s
        elif isinstance(plan, TryPart):
            key, result = part_key(row.id, plan.part), next(coming, SendResult.FAILED)
            tries.append((plan.part, result))
            registry.fold(DeliveryBegan(at_s=now_s, delivery=row.id, part=plan.part, parts=parts, key=key, digest="d"))
            registry.fold(DeliveryEnded(at_s=now_s, delivery=row.id, part=plan.part, result=str(result)))
        else:
            assert isinstance(plan, BlockDelivery)
            registry.fold(DeliveryBlocked(at_s=now_s, delivery=row.id, why=plan.why))
    taken = [part for part, result in tries if result is SendResult.TAKEN]

    assert taken == [*range(1, len(taken) + 1)]
    assert (len(taken) == parts) == (row is None)


def test_two_failures_then_success_is_one_text_under_one_key() -> None:
    assert {part_key("run:r1", 1) for _ in range(3)} == {"run:r1:1"}
    assert plan_delivery(failed(2), 1040.0, repeats_unknown=False) == TryPart(1)
