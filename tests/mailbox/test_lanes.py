"""The three lanes: what is served first, and what a full mailbox still takes."""

from __future__ import annotations

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import UsageError
from greenroom.mailbox import BUDGET, LATER_CREDIT, Delivery, Lane, Mailbox, MailboxPolicy
from greenroom.testing import run_virtual


def served(mailbox: Mailbox[str]) -> list[str]:
    """Take and acknowledge all that waits."""
    messages = []
    while (envelope := mailbox.take()) is not None:
        messages.append(envelope.message)
        mailbox.ack(envelope)
    return messages


def filled(*, now: int = 0, next: int = 0, later: int = 0, policy: MailboxPolicy | None = None) -> Mailbox[str]:  # noqa: A002
    mailbox: Mailbox[str] = Mailbox("owner", policy=policy)
    for lane, count in ((Lane.LATER, later), (Lane.NEXT, next), (Lane.NOW, now)):
        for number in range(count):
            assert mailbox.put_nowait(f"{lane}-{number}", lane) is Delivery.ACCEPTED
    return mailbox


def test_now_goes_before_next_and_next_before_later() -> None:
    mailbox = filled(now=2, next=2, later=2)

    assert served(mailbox) == ["now-0", "now-1", "next-0", "next-1", "later-0", "later-1"]


@pytest.mark.promise("I-10")
@given(st.lists(st.tuples(st.sampled_from(Lane), st.booleans()), max_size=80))
def test_within_a_lane_what_was_put_first_is_served_first(steps: list[tuple[Lane, bool]]) -> None:
    mailbox: Mailbox[int] = Mailbox("owner")
    put: dict[Lane, list[int]] = {lane: [] for lane in Lane}
    leased: dict[Lane, list[int]] = {lane: [] for lane in Lane}
    for number, (lane, is_take) in enumerate(steps):
        if is_take:
            envelope = mailbox.take()
            if envelope is not None:
                leased[envelope.lane].append(envelope.message)
        else:
            mailbox.put_nowait(number, lane)
            put[lane].append(number)

    for lane in Lane:
        assert leased[lane] == put[lane][: len(leased[lane])]


@pytest.mark.slow
@pytest.mark.promise("I-11")
def test_a_now_message_overtakes_100_000_that_wait() -> None:
    mailbox = filled(next=100_000, policy=MailboxPolicy(capacity=100_000))

    mailbox.put_nowait("urgent", Lane.NOW)

    envelope = mailbox.take()
    assert envelope is not None
    assert envelope.message == "urgent"


@pytest.mark.promise("I-18")
@pytest.mark.parametrize("extra", [0, 1, 100])
def test_later_is_served_after_sixteen_of_next_while_it_waits(extra: int) -> None:
    mailbox = filled(next=LATER_CREDIT * 3 + extra, later=2)

    order = served(mailbox)

    assert order.index("later-0") == LATER_CREDIT
    assert order.index("later-1") == 2 * LATER_CREDIT + 1


def test_next_does_not_use_up_credit_while_later_is_empty() -> None:
    """The credit is for messages that overtake one of `later`."""
    mailbox = filled(next=200, policy=MailboxPolicy(capacity=500))
    for _ in range(100):
        envelope = mailbox.take()
        assert envelope is not None
        mailbox.ack(envelope)

    mailbox.put_nowait("later", Lane.LATER)

    assert served(mailbox).index("later") == LATER_CREDIT


@pytest.mark.promise("I-14")
def test_a_full_mailbox_refuses_next_and_later_and_takes_now_and_system_mail() -> None:
    mailbox = filled(next=1, later=1, policy=MailboxPolicy(capacity=2))

    deliveries = [
        mailbox.put_nowait("a", Lane.NEXT),
        mailbox.put_nowait("b", Lane.LATER),
        mailbox.put_nowait("c", Lane.NOW),
        mailbox.put_nowait("d", Lane.NEXT, is_system=True),
        mailbox.put_nowait("e", Lane.LATER, is_system=True),
    ]

    assert deliveries == [Delivery.FULL, Delivery.FULL, *[Delivery.ACCEPTED] * 3]
    assert mailbox.statistics().refused == 2
    assert served(mailbox) == ["c", "next-0", "d", "later-0", "e"]


@pytest.mark.promise("I-14")
def test_a_lease_keeps_its_place_until_it_is_acknowledged() -> None:
    mailbox = filled(next=1, policy=MailboxPolicy(capacity=1))

    envelope = mailbox.take()
    assert envelope is not None
    assert mailbox.put_nowait("x") is Delivery.FULL
    mailbox.ack(envelope)

    assert mailbox.put_nowait("x") is Delivery.ACCEPTED


@pytest.mark.promise("I-14")
def test_the_byte_capacity_counts_next_and_later_and_never_now() -> None:
    mailbox: Mailbox[str] = Mailbox("owner", policy=MailboxPolicy(capacity_bytes=100))

    deliveries = [
        mailbox.put_nowait("a", size_bytes=60),
        mailbox.put_nowait("b", Lane.LATER, size_bytes=41),
        mailbox.put_nowait("c", Lane.NOW, size_bytes=1_000),
        mailbox.put_nowait("d", Lane.LATER, size_bytes=40),
    ]

    assert deliveries == [Delivery.ACCEPTED, Delivery.FULL, Delivery.ACCEPTED, Delivery.ACCEPTED]
    assert mailbox.statistics().size_bytes == 100


def test_a_message_larger_than_the_whole_capacity_is_the_senders_mistake() -> None:
    mailbox: Mailbox[str] = Mailbox("owner", policy=MailboxPolicy(capacity_bytes=100))

    with pytest.raises(UsageError):
        mailbox.put_nowait("a", size_bytes=101)

    assert len(mailbox) == 0
    assert mailbox.statistics().accepted == 0


def test_messages_in_now_above_its_capacity_are_kept_and_counted() -> None:
    mailbox = filled(now=66, policy=MailboxPolicy(now_capacity=64))

    assert mailbox.statistics().now_overflows == 2
    assert len(served(mailbox)) == 66


def test_a_mailbox_holds_at_least_one_message() -> None:
    with pytest.raises(UsageError):
        MailboxPolicy(capacity=0)


def test_statistics_count_what_happened() -> None:
    mailbox = filled(now=1, next=2, later=1, policy=MailboxPolicy(capacity=3))
    mailbox.put_nowait("refused")
    urgent, first = mailbox.take(), mailbox.take()
    assert urgent is not None
    assert first is not None
    mailbox.ack(urgent)

    statistics = mailbox.statistics()

    assert (statistics.now, statistics.next, statistics.later, statistics.leased) == (0, 1, 1, 1)
    assert (statistics.accepted, statistics.refused, statistics.acked, statistics.died) == (4, 1, 1, 0)
    assert (statistics.high_water, statistics.capacity, statistics.is_closed) == (3, 3, False)
    assert repr(mailbox) == "<Mailbox of 'owner': 2 waiting, 1 leased, open>"


def test_a_consumer_that_never_has_to_wait_still_yields() -> None:
    """Otherwise a flooded consumer would keep every other task from running."""

    async def scenario() -> int:
        mailbox: Mailbox[int] = Mailbox("owner")
        for number in range(4 * BUDGET):
            mailbox.put_nowait(number)
        others = 0

        async def other() -> None:
            nonlocal others
            while True:
                others += 1
                await trio.lowlevel.checkpoint()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(other)
            for _ in range(4 * BUDGET):
                (await mailbox.get()).ack()
            nursery.cancel_scope.cancel()
        return others

    assert run_virtual(scenario).result >= 2
