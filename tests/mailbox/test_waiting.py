"""Waiting producers and consumers of a mailbox, and what a cancel does to them."""

from __future__ import annotations

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.core import Busy, Closed, UsageError
from greenroom.mailbox import Delivery, Lane, Mailbox, MailboxPolicy

pytestmark = pytest.mark.usefixtures("virtual_time")


def full(*, capacity: int = 1, capacity_bytes: int = 1_000) -> Mailbox[str]:
    """Return a mailbox without a free place."""
    mailbox: Mailbox[str] = Mailbox("owner", policy=MailboxPolicy(capacity=capacity, capacity_bytes=capacity_bytes))
    for number in range(capacity):
        mailbox.put_nowait(f"first-{number}")
    return mailbox


def take(mailbox: Mailbox[str]) -> str:
    """Take and acknowledge one message."""
    envelope = mailbox.take()
    assert envelope is not None
    mailbox.ack(envelope)
    return envelope.message


async def start_put(nursery: trio.Nursery, mailbox: Mailbox[str], message: str, size_bytes: int = 0) -> None:
    """Start a producer and wait until it waits."""

    async def put() -> None:
        await mailbox.put(message, size_bytes=size_bytes)

    nursery.start_soon(put)
    await wait_all_tasks_blocked()


@pytest.mark.promise("I-20")
async def test_producers_get_in_in_the_order_in_which_they_came() -> None:
    mailbox = full()
    async with trio.open_nursery() as nursery:
        for message in "abc":
            await start_put(nursery, mailbox, message)
        assert mailbox.statistics().waiting_producers == 3

        order = []
        for _ in range(4):
            order.append(take(mailbox))
            await wait_all_tasks_blocked()

    assert order == ["first-0", "a", "b", "c"]


@pytest.mark.promise("I-20")
async def test_a_producer_gets_in_in_the_step_in_which_a_place_is_free() -> None:
    mailbox = full()
    async with trio.open_nursery() as nursery:
        await start_put(nursery, mailbox, "a")

        take(mailbox)

        assert len(mailbox) == 1
        assert mailbox.put_nowait("b") is Delivery.FULL


async def test_nobody_overtakes_producers_that_wait_but_now_and_system_mail() -> None:
    mailbox: Mailbox[str] = Mailbox("owner", policy=MailboxPolicy(capacity=2, capacity_bytes=10))
    mailbox.put_nowait("big", size_bytes=10)
    async with trio.open_nursery() as nursery:
        await start_put(nursery, mailbox, "a", size_bytes=5)

        assert mailbox.put_nowait("b") is Delivery.FULL  # there is a place for it, and "a" was first
        assert mailbox.put_nowait("c", Lane.NOW) is Delivery.ACCEPTED
        assert mailbox.put_nowait("d", is_system=True) is Delivery.ACCEPTED
        nursery.cancel_scope.cancel()


@pytest.mark.promise("I-15")
async def test_a_put_that_is_cancelled_leaves_no_trace() -> None:
    mailbox = full()
    before = mailbox.statistics()
    with trio.move_on_after(1) as scope:
        await mailbox.put("never")
    assert scope.cancelled_caught

    assert mailbox.statistics() == before
    assert take(mailbox) == "first-0"
    assert mailbox.take() is None


@pytest.mark.promise("I-15")
async def test_a_put_under_a_cancelled_scope_puts_nothing() -> None:
    mailbox: Mailbox[str] = Mailbox("owner")
    with trio.CancelScope() as scope:
        scope.cancel()
        await mailbox.put("never")

    assert scope.cancelled_caught
    assert mailbox.statistics().accepted == 0


@pytest.mark.promise("I-15")
async def test_a_put_that_got_its_place_before_the_cancel_returns_normally() -> None:
    mailbox = full()
    was_put = False
    async with trio.open_nursery() as nursery:

        async def producer() -> None:
            nonlocal was_put
            await mailbox.put("a")
            was_put = True

        nursery.start_soon(producer)
        await wait_all_tasks_blocked()
        take(mailbox)
        nursery.cancel_scope.cancel()

    assert was_put
    assert take(mailbox) == "a"


@pytest.mark.promise("I-20")
async def test_a_cancelled_producer_makes_way_for_those_behind_it() -> None:
    """The first waits for eight bytes, the second needs two, and two are free: when the first leaves, it is in."""
    mailbox: Mailbox[str] = Mailbox("owner", policy=MailboxPolicy(capacity_bytes=10))
    mailbox.put_nowait("six", size_bytes=6)
    async with trio.open_nursery() as nursery:
        first = await nursery.start(put_cancellable, mailbox, "eight", 8)
        await wait_all_tasks_blocked()
        await start_put(nursery, mailbox, "two", size_bytes=2)
        assert mailbox.statistics().waiting_producers == 2

        first.cancel()
        await wait_all_tasks_blocked()

        assert mailbox.statistics().waiting_producers == 0
        assert mailbox.statistics().size_bytes == 8


async def put_cancellable(
    mailbox: Mailbox[str], message: str, size_bytes: int, *, task_status: trio.TaskStatus[trio.CancelScope]
) -> None:
    with trio.CancelScope() as scope:
        task_status.started(scope)
        await mailbox.put(message, size_bytes=size_bytes)


@pytest.mark.promise("I-20")
async def test_closing_lets_go_of_producers_that_wait() -> None:
    mailbox = full()
    errors = []

    async def producer() -> None:
        with pytest.raises(Closed) as caught:
            await mailbox.put("a")
        errors.append(caught.value)

    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(producer)
            await wait_all_tasks_blocked()
            mailbox.close("over")

    assert len(errors) == 3
    assert mailbox.statistics().accepted == 1


async def test_an_oversized_put_is_refused_at_once_whoever_waits() -> None:
    """The mistake is the producer's: it must not come out of the consumer's acknowledgement."""
    mailbox = full(capacity_bytes=10)
    async with trio.open_nursery() as nursery:
        await start_put(nursery, mailbox, "a")

        with pytest.raises(UsageError):
            mailbox.put_nowait("b", size_bytes=11)
        with pytest.raises(UsageError), trio.fail_after(5):
            await mailbox.put("b", size_bytes=11)

        take(mailbox)


@pytest.mark.promise("I-16")
async def test_a_get_that_is_cancelled_takes_nothing() -> None:
    mailbox: Mailbox[str] = Mailbox("owner")
    with trio.move_on_after(1) as scope:
        await mailbox.get()
    assert scope.cancelled_caught

    mailbox.put_nowait("a")
    assert mailbox.statistics().leased == 0
    assert take(mailbox) == "a"


@pytest.mark.promise("I-16")
@pytest.mark.parametrize("is_put_first", [True, False])
@pytest.mark.parametrize("is_drain", [True, False])
async def test_put_and_cancel_in_one_tick_leave_the_message_in_its_lane(is_put_first: bool, is_drain: bool) -> None:
    """Wake, do not hand over: whoever was woken pops when it runs, and by then it is cancelled."""
    mailbox: Mailbox[str] = Mailbox("owner")
    got = []

    async def consumer() -> None:
        got.append(await (mailbox.drain(9) if is_drain else mailbox.get()))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(consumer)
        await wait_all_tasks_blocked()
        if is_put_first:
            mailbox.put_nowait("a")
        nursery.cancel_scope.cancel()
        if not is_put_first:
            mailbox.put_nowait("a")

    assert got == []
    assert mailbox.statistics().next == 1
    assert mailbox.leased == ()


async def test_a_get_under_a_cancelled_scope_takes_nothing_that_waits() -> None:
    mailbox = full()
    with trio.CancelScope() as scope:
        scope.cancel()
        await mailbox.get()

    assert scope.cancelled_caught
    assert mailbox.statistics().next == 1


async def test_a_mailbox_has_one_consumer() -> None:
    mailbox: Mailbox[str] = Mailbox("owner")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(mailbox.get)
        await wait_all_tasks_blocked()

        with pytest.raises(Busy):
            await mailbox.get()
        nursery.cancel_scope.cancel()


async def test_closing_wakes_a_consumer_that_waits() -> None:
    mailbox: Mailbox[str] = Mailbox("owner")
    async with trio.open_nursery() as nursery:

        async def consumer() -> None:
            with pytest.raises(Closed):
                await mailbox.get()

        nursery.start_soon(consumer)
        await wait_all_tasks_blocked()
        mailbox.close("over")


async def test_a_consumer_of_some_lanes_sleeps_on_until_one_of_them_has_mail() -> None:
    mailbox: Mailbox[str] = Mailbox("owner")
    got: list[str] = []

    async def consumer() -> None:
        got.extend((await mailbox.drain(9, lanes=[Lane.LATER])).messages)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(consumer)
        await wait_all_tasks_blocked()
        mailbox.put_nowait("a")
        await wait_all_tasks_blocked()
        assert got == []
        mailbox.put_nowait("b", Lane.LATER)

    assert got == ["b"]
    assert take(mailbox) == "a"


async def test_a_put_that_finds_room_does_not_yield() -> None:
    mailbox: Mailbox[str] = Mailbox("owner")
    others: list[str] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep, 0)
        nursery.start_soon(mailbox.put, "b")
        await mailbox.put("a")
        others.append(take(mailbox))
        nursery.cancel_scope.cancel()

    assert others == ["a"]
    assert mailbox.statistics().accepted == 1


async def test_a_nudge_wakes_without_mail_and_a_callback_hears_of_every_put() -> None:
    mailbox: Mailbox[str] = Mailbox("owner")
    heard: list[int] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(mailbox.park)
        await wait_all_tasks_blocked()
        mailbox.nudge()
    mailbox.notify(lambda: heard.append(len(mailbox)))

    mailbox.put_nowait("a")
    mailbox.put_nowait("b")

    assert heard == [1, 2]
