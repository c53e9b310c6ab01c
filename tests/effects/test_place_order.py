"""Messages enter a mailbox at their recorded places, and its owner waits for those that are late."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import trio
import trio.testing

from greenroom.agents.events import AgentSpoke, ModelBegan
from greenroom.core import Recorder
from greenroom.effects import Conductor, OrderedMailbox, PlaceOrder, Step
from greenroom.effects._place_order import StepKind
from greenroom.mailbox import Delivery, Lane
from greenroom.testing import run_virtual

pytestmark = pytest.mark.promise("RR-3")

OWNER = "a1"


def opened(*recorded: tuple[StepKind, str]) -> tuple[OrderedMailbox, PlaceOrder, Recorder]:
    """Return a mailbox whose record has these steps: puts by the type of their message, and steps of the owner."""
    steps = [Step(seq=number, what=what, label=("", kind)) for number, (what, kind) in enumerate(recorded, 1)]
    order = PlaceOrder({OWNER: steps}, request=ModelBegan, end=AgentSpoke)
    recorder = Recorder(lambda: 0.0)
    recorder.listen(order.follow)
    return OrderedMailbox(OWNER, order=order, recorder=recorder, is_traced=True), order, recorder


def settle(order: PlaceOrder) -> None:
    for owner in order.owners():
        while (held := owner.take_due()) is not None:
            held.admit(held.envelope)


def waiting(mailbox: OrderedMailbox) -> Sequence[object]:
    return [envelope.message for envelope in mailbox.lanes.waiting()]


def test_an_early_message_is_accepted_and_held_until_its_place() -> None:
    mailbox, order, _ = opened(("put", "int"), ("put", "str"))

    assert mailbox.put_nowait("second") is Delivery.ACCEPTED
    assert mailbox.newest(Lane.NEXT).message == "second"
    assert waiting(mailbox) == []
    assert mailbox.statistics().next == 1
    mailbox.put_nowait(1)
    settle(order)

    assert waiting(mailbox) == [1, "second"]


def test_a_message_waits_for_the_step_of_the_owner_before_it() -> None:
    mailbox, order, recorder = opened(("put", "int"), ("request", ""), ("put", "str"))
    mailbox.put_nowait(1)
    mailbox.put_nowait("late")
    settle(order)
    assert waiting(mailbox) == [1]

    recorder.emit(ModelBegan(actor=OWNER, turn=1, round=1, messages=1))
    settle(order)

    assert waiting(mailbox) == [1, "late"]


def test_a_request_outside_of_turns_is_no_step() -> None:
    mailbox, order, recorder = opened(("request", ""), ("put", "str"))
    mailbox.put_nowait("held")

    recorder.emit(ModelBegan(actor=OWNER, turn=0, round=0, messages=1))
    settle(order)

    assert waiting(mailbox) == []


def test_the_owner_takes_nothing_before_a_message_that_is_late() -> None:
    mailbox, _, _ = opened(("put", "int"), ("put", "str"), ("lease", ""))
    mailbox.put_nowait(1)
    assert mailbox.take() is None

    mailbox.put_nowait("now", Lane.NOW)

    taken = mailbox.take()
    assert taken is not None
    assert taken.message == "now"


def test_a_message_that_is_not_on_record_is_never_held() -> None:
    mailbox, _, _ = opened(("put", "int"), ("lease", ""))
    mailbox.put_nowait(2.5)
    assert waiting(mailbox) == [2.5]


def test_held_messages_become_dead_letters_when_the_mailbox_closes() -> None:
    mailbox, _, _ = opened(("put", "int"), ("put", "str"))
    mailbox.put_nowait("held")
    mailbox.close("over")
    assert (mailbox.statistics().died, mailbox.put_nowait(1)) == (1, Delivery.CLOSED)


def test_an_edge_waits_for_late_messages_and_a_missing_one_is_told() -> None:
    """Nothing can run, and the record has a message before the owner's next step: found at once, in virtual time."""
    mailbox, order, _ = opened(("put", "int"), ("put", "str"), ("request", ""))
    passed: list[float] = []

    async def run() -> Conductor:
        clock = trio.lowlevel.current_clock()
        assert isinstance(clock, trio.testing.MockClock)
        conductor = Conductor(order, [(1, 0.0), (2, 1.0), (3, 2.0)], clock, is_cut=False)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(conductor.run)
            with conductor.scope:
                mailbox.put_nowait(1)
                await conductor.wait_edge(OWNER)
                passed.append(trio.current_time())
            nursery.cancel_scope.cancel()
        return conductor

    difference = run_virtual(run).result.difference

    assert passed == []
    assert difference is not None
    assert (difference.agent, difference.cause, difference.recorded) == (
        OWNER,
        "order",
        "a message str from the program",
    )
