"""Draining some lanes, or some kinds of messages: what is left out keeps its place and its turn."""

from __future__ import annotations

import pytest

from greenroom.core import Recorder, UsageError
from greenroom.mailbox import LATER_CREDIT, Envelope, Lane, Mailbox, MessageLeased, MessageReturned


def is_number(envelope: Envelope[object]) -> bool:
    return isinstance(envelope.message, int)


@pytest.mark.promise("I-18")
def test_an_owner_that_drains_other_lanes_after_each_message_still_serves_later() -> None:
    mailbox: Mailbox[int] = Mailbox("owner")
    served = []
    for number in range(LATER_CREDIT + 1):
        mailbox.put_nowait(number, Lane.LATER)
        mailbox.put_nowait(number)
    for _ in range(LATER_CREDIT + 1):
        envelope = mailbox.take()
        assert envelope is not None
        served.append(envelope.lane)
        mailbox.ack(envelope)
        mailbox.drain_nowait(1, lanes=(Lane.NOW, Lane.LATER)).nack()
        mailbox.drain_nowait(1, lanes=(Lane.NEXT,)).nack()

    assert served == [Lane.NEXT] * LATER_CREDIT + [Lane.LATER]


@pytest.mark.promise("I-10", "I-16")
def test_what_a_drain_does_not_want_stays_where_it_is_and_leaves_no_trace() -> None:
    recorder = Recorder(lambda: 0.0)
    mailbox: Mailbox[object] = Mailbox("owner", recorder=recorder, is_traced=True)
    for message in ("a", 1, "b", 2, 3):
        mailbox.put_nowait(message)
    mailbox.put_nowait(4, Lane.LATER)
    mailbox.put_nowait(0, Lane.NOW)

    lease = mailbox.drain_nowait(4, wanted=is_number)

    assert lease.messages == (0, 1, 2, 3)
    leased = [record for record in recorder.latest() if record[2] is MessageLeased]
    assert len(leased) == 4
    assert all(record[-1] for record in leased)  # is_picked
    assert not [record for record in recorder.latest() if record[2] is MessageReturned]
    lease.nack()
    rest = mailbox.drain_nowait(9, wanted=lambda one: not is_number(one))
    assert rest.messages == ("a", "b")


def test_a_drain_that_wants_nothing_of_what_waits_leases_nothing() -> None:
    mailbox: Mailbox[object] = Mailbox("owner")
    mailbox.put_nowait("a")

    assert mailbox.drain_nowait(3, wanted=is_number).messages == ()
    assert mailbox.statistics().next == 1


def test_a_limit_is_not_negative() -> None:
    mailbox: Mailbox[object] = Mailbox("owner")
    for number in range(3):
        mailbox.put_nowait(number)

    for wanted in (None, is_number):
        with pytest.raises(UsageError, match="limit"):
            mailbox.drain_nowait(-1, wanted=wanted)
        assert len(mailbox.drain_nowait(0, wanted=wanted)) == 0
    assert len(mailbox) == 3
