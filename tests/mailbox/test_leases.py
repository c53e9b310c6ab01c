"""Leases, closing and dead letters: a message that was accepted ends in exactly one bucket."""

from __future__ import annotations

import pytest

from greenroom.core import Closed, Recorder, UsageError
from greenroom.mailbox import (
    MAX_ATTEMPTS,
    DeadReason,
    Delivery,
    Envelope,
    Lane,
    Mailbox,
    MailboxPolicy,
    MessageAcked,
    MessageDied,
    MessageLeased,
    MessagePut,
    MessageReturned,
)

pytestmark = pytest.mark.usefixtures("virtual_time")


class Buried:
    """Keeps the dead letters of a mailbox."""

    def __init__(self) -> None:
        self.letters: list[tuple[str, DeadReason]] = []

    def __call__(self, envelope: Envelope[str], reason: DeadReason) -> None:
        self.letters.append((envelope.message, reason))


def open_mailbox(*messages: str, buried: Buried | None = None, capacity: int = 1_000) -> Mailbox[str]:
    mailbox: Mailbox[str] = Mailbox("owner", policy=MailboxPolicy(capacity=capacity), on_dead=buried)
    for message in messages:
        mailbox.put_nowait(message)
    return mailbox


async def test_a_leased_message_is_still_the_mailboxs_until_acknowledged() -> None:
    mailbox = open_mailbox("a")

    lease = await mailbox.get()

    assert lease.message == "a"
    assert [envelope.message for envelope in mailbox.leased] == ["a"]
    lease.ack()
    assert mailbox.leased == ()
    assert mailbox.statistics().acked == 1


@pytest.mark.promise("I-13")
async def test_a_message_is_acknowledged_at_most_once() -> None:
    mailbox = open_mailbox("a")
    lease = await mailbox.get()
    (envelope,) = lease.envelopes
    lease.ack()
    lease.ack()  # nothing is left in it

    for again in (mailbox.ack, mailbox.nack):
        with pytest.raises(UsageError):
            again(envelope)
    with pytest.raises(UsageError):
        mailbox.bury(envelope, DeadReason.FAILED)
    assert mailbox.statistics().acked == 1


@pytest.mark.promise("I-13")
async def test_a_leased_message_is_not_leased_again() -> None:
    mailbox = open_mailbox("a", "b")

    first, second = await mailbox.get(), await mailbox.get()

    assert (first.message, second.message) == ("a", "b")
    assert mailbox.take() is None


async def test_a_message_that_is_given_back_comes_next_again() -> None:
    mailbox = open_mailbox("a", "b")

    (await mailbox.get()).nack()

    assert (await mailbox.get()).message == "a"


async def test_a_batch_that_is_given_back_keeps_its_order() -> None:
    mailbox = open_mailbox("a", "b", "c", "d")

    (await mailbox.drain(3)).nack()

    assert (await mailbox.drain(9)).messages == ("a", "b", "c", "d")


async def test_a_batch_can_be_acknowledged_in_part() -> None:
    mailbox = open_mailbox("a", "b", "c")

    lease = await mailbox.drain(3)
    lease.ack(2)

    assert lease.messages == ("c",)
    lease.nack()
    assert (await mailbox.get()).message == "c"
    assert mailbox.statistics().acked == 2


async def test_a_lease_as_a_block_acknowledges_at_its_normal_end_and_gives_back_otherwise() -> None:
    mailbox = open_mailbox("a", "b")

    with await mailbox.get():
        pass
    with pytest.raises(ZeroDivisionError):
        with await mailbox.get():
            raise ZeroDivisionError

    assert mailbox.statistics().acked == 1
    assert (await mailbox.get()).message == "b"


async def test_drain_takes_what_waits_up_to_its_limit_in_order_of_service() -> None:
    mailbox = open_mailbox("a", "b", "c")
    mailbox.put_nowait("late", Lane.LATER)
    mailbox.put_nowait("urgent", Lane.NOW)

    assert (await mailbox.drain(3)).messages == ("urgent", "a", "b")
    assert (await mailbox.drain(3)).messages == ("c", "late")


async def test_drain_of_some_lanes_leaves_the_others_alone() -> None:
    mailbox = open_mailbox("a")
    mailbox.put_nowait("late", Lane.LATER)

    assert mailbox.drain_nowait(9, lanes=[Lane.LATER]).messages == ("late",)
    assert mailbox.drain_nowait(9, lanes=[Lane.NOW]).messages == ()
    assert mailbox.drain_nowait(9).messages == ("a",)


async def test_a_drain_of_nothing_is_refused() -> None:
    with pytest.raises(UsageError):
        await open_mailbox("a").drain(0)


async def test_after_three_attempts_a_message_is_poison() -> None:
    buried = Buried()
    mailbox = open_mailbox("a", buried=buried)

    for _ in range(MAX_ATTEMPTS):
        assert buried.letters == []
        (await mailbox.get()).nack()

    assert buried.letters == [("a", DeadReason.POISON)]
    assert mailbox.take() is None


async def test_giving_back_without_counting_never_poisons() -> None:
    mailbox = open_mailbox("a")

    for _ in range(10):
        (envelope,) = (await mailbox.get()).envelopes
        mailbox.nack(envelope, counts=False)

    assert (await mailbox.get()).message == "a"


@pytest.mark.promise("I-12")
async def test_closing_sends_what_waits_to_the_dead_letters_one_by_one() -> None:
    buried = Buried()
    mailbox = open_mailbox("a", "b", "c", buried=buried)
    mailbox.put_nowait("urgent", Lane.NOW)
    mailbox.put_nowait("late", Lane.LATER)
    lease = await mailbox.get()

    mailbox.close("over")

    assert sorted(buried.letters) == [(message, DeadReason.CLOSED) for message in ("a", "b", "c", "late")]
    lease.ack()  # leased messages stay leased
    statistics = mailbox.statistics()
    assert statistics.accepted == statistics.acked + statistics.died == 5


async def test_a_closed_mailbox_refuses_mail_and_its_consumer() -> None:
    mailbox = open_mailbox()
    mailbox.close("over")
    mailbox.close("again")

    assert mailbox.put_nowait("a") is Delivery.CLOSED
    assert mailbox.put_nowait("a", Lane.NOW) is Delivery.CLOSED
    assert mailbox.put_nowait("a", is_system=True) is Delivery.CLOSED
    with pytest.raises(Closed):
        await mailbox.put("a")
    with pytest.raises(Closed):
        await mailbox.get()
    assert mailbox.is_closed


async def test_a_message_that_is_given_back_to_a_closed_mailbox_is_a_dead_letter() -> None:
    buried = Buried()
    mailbox = open_mailbox("a", buried=buried)
    lease = await mailbox.get()
    mailbox.close("over")

    lease.nack()

    assert [message for message, _ in buried.letters] == ["a"]
    assert mailbox.leased == ()


async def test_each_fact_is_on_record_and_content_is_not() -> None:
    recorder = Recorder(lambda: 0.0)
    mailbox: Mailbox[str] = Mailbox("owner", recorder=recorder, is_traced=True)

    mailbox.put_nowait("secret", parent=7)
    (await mailbox.get()).nack()
    (await mailbox.get()).ack()
    mailbox.put_nowait("secret", Lane.LATER)
    mailbox.close("over")

    records = recorder.latest()
    assert [record[2] for record in records] == [
        MessagePut,
        MessageLeased,
        MessageReturned,
        MessageLeased,
        MessageAcked,
        MessagePut,
        MessageDied,
    ]
    assert "secret" not in repr(records)


async def test_below_the_journal_only_dead_letters_are_on_record() -> None:
    recorder = Recorder(lambda: 0.0)
    mailbox: Mailbox[str] = Mailbox("owner", recorder=recorder)

    mailbox.put_nowait("a")
    mailbox.put_nowait("b")
    (await mailbox.get()).ack()
    mailbox.close("over")

    assert [record[2] for record in recorder.latest()] == [MessageDied]
