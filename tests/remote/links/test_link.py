"""A link in virtual time: what comes over, what is told when it breaks, and what when it is lost."""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

import greenroom as gr
from greenroom.actors import AbortStatus
from greenroom.core import AskTimedOut, Cause, UsageError
from greenroom.mailbox import Delivery, MailboxPolicy
from greenroom.remote.links._link_states import LINK_TRANSITIONS, LinkEdge, LinkState, next_link_state
from greenroom.remote.links._remote_calls import LinkLost, RemoteError
from greenroom.remote.links._remote_ref import RemoteRef
from greenroom.remote.wire import LINK_CLOSED, AbortedFrame, FoundFrame, TellFrame
from tests.remote.links.linked import PACE, Counter, Fail, Linked, Sum, Wait, carriers, linked

pytestmark = pytest.mark.usefixtures("virtual_time")


async def test_messages_asks_and_orders_cross() -> None:
    async with linked() as both:
        ref, own = await both.publish(Counter)
        assert [ref.tell(number) for number in (1, 2, 3)] == [Delivery.ACCEPTED] * 3
        assert await ref.ask(Sum()) == 6
        with pytest.raises(RemoteError, match=r"TurnFailed on node 'there': .*no luck"):
            await ref.ask(Fail())
        ref.kill("enough")
        down = await ref.wait_ended()
        assert (down.state.value, down.cause) == ("killed", Cause("host", "enough (node here)"))
        assert own.cell.is_gone


async def tell_all(ref: RemoteRef[Any], numbers: range) -> None:
    for number in numbers:
        while ref.tell(number) is Delivery.FULL:
            await ref.wait_room()


@pytest.mark.promise("R2-c", "RM-08")
@pytest.mark.parametrize("seed", range(4))
async def test_every_message_comes_once_and_in_order_over_many_cuts(seed: int) -> None:
    """RM-08. Mechanism: a frame is kept until it is acknowledged, and a new connection begins behind what the other side has."""
    chance = random.Random(seed)
    async with linked() as both:
        ref, own = await both.publish(Counter)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(tell_all, ref, range(2_000))
            for _ in range(25):
                for _ in range(chance.randrange(30)):
                    await trio.lowlevel.checkpoint()
                await both.cut()
                await trio.sleep(chance.random() * 10)
                await both.connect()
        await ref.ask(Sum())
        assert own.get_state()["told"] == list(range(2_000))
        assert both.dead() == []
        assert both.links[1].statistics().wire.absorbed == 0


class Slow(Counter):
    """Takes a second for each message, and has few places."""

    mailbox = MailboxPolicy(capacity=100)

    async def on_message(self, message: Any, ctx: gr.Context) -> None:
        await trio.sleep(1)
        await super().on_message(message, ctx)


@pytest.mark.promise("R3-b")
async def test_what_was_accepted_was_handled_or_waits() -> None:
    async with linked() as both:
        ref, own = await both.publish(Slow)
        accepted = 0
        for _ in range(50):
            accepted += sum(ref.tell(number) is Delivery.ACCEPTED for number in range(50))
            await trio.sleep(1)
        assert 300 < accepted < 500
        await trio.sleep(accepted)
        assert len(own.get_state()["told"]) == accepted
        assert both.dead() == []


async def test_a_sender_waits_for_room() -> None:
    async with linked() as both:
        ref, own = await both.publish(Slow)
        for number in range(600):
            while ref.tell(number) is Delivery.FULL:
                await ref.wait_room()
        await trio.sleep(600)
        assert own.get_state()["told"] == list(range(600))


async def test_what_was_accepted_and_cannot_be_delivered_is_a_dead_letter_here() -> None:
    async with linked() as both:
        ref, own = await both.publish(Counter)
        own.kill()
        await own.wait_ended()
        assert ref.tell(1) is Delivery.ACCEPTED
        await trio.sleep(1)
        assert both.dead() == ["ended"]
        await both.cut()
        assert ref.tell(2) is Delivery.ACCEPTED
        await trio.sleep(PACE.resume_s + 1)
        assert both.dead() == ["ended", "link_lost"]
        assert ref.tell(3) is Delivery.CLOSED


@pytest.mark.promise("R3-c")
async def test_an_ask_that_is_cut_off_says_whether_it_may_have_been_run() -> None:
    outcomes = []

    async def ask(ref: RemoteRef[Any]) -> None:
        try:
            await ref.ask(Wait(1_000), timeout_s=2_000)
        except LinkLost as error:
            outcomes.append(error.outcome)

    async with linked() as both, trio.open_nursery() as nursery:
        ref, _ = await both.publish(Counter)
        nursery.start_soon(ask, ref)
        await trio.sleep(1)
        await both.cut()
        nursery.start_soon(ask, ref)
        await trio.sleep(PACE.resume_s + 1)
        assert sorted(outcomes) == ["not_sent", "unknown"]
        with pytest.raises(LinkLost, match="was not sent"):
            await ref.ask(Sum())


async def test_an_ask_that_is_cut_and_healed_is_run_once_and_answered() -> None:
    answers = []

    async def ask(ref: RemoteRef[Any]) -> None:
        answers.append(await ref.ask(Wait(20)))

    async with linked() as both, trio.open_nursery() as nursery:
        ref, own = await both.publish(Counter)
        nursery.start_soon(ask, ref)
        await trio.sleep(1)
        await both.cut()
        await trio.sleep(10)
        await both.connect()
        await trio.sleep(20)
        assert answers == ["done"]
        assert own.cell.turn.number == 1


@pytest.mark.promise("R3-e")
@pytest.mark.parametrize("cascade", [True, False])
async def test_a_cancelled_asker_takes_the_ask_back(cascade: bool) -> None:
    async with linked() as both:
        ref, own = await both.publish(Counter)
        with trio.move_on_after(5):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(lambda: ref.ask(Wait(100), timeout_s=200, cascade=cascade))
                nursery.start_soon(lambda: ref.ask(Wait(100), timeout_s=200, cascade=cascade))
        await trio.sleep(1)
        assert own.cell.mailbox.statistics().next == 0, "the second one waited, and was withdrawn"
        assert (own.cell.turn.envelope is None) is cascade
        assert not own.cell.is_gone


async def test_an_ask_has_its_deadline_on_both_sides() -> None:
    async with linked() as both:
        ref, own = await both.publish(Counter)
        with pytest.raises(AskTimedOut):
            await ref.ask(Wait(100), timeout_s=3)
        with pytest.raises(UsageError, match="a finite number of seconds"):
            await ref.ask(Sum(), timeout_s=float("inf"))
        await both.cut()
        with pytest.raises(AskTimedOut):
            await ref.ask(Sum(), timeout_s=3)
        await both.connect()
        await trio.sleep(200)
        assert own.cell.turn.number == 1, "the second ask was withdrawn before it was run"


@pytest.mark.promise("R2-d", "RM-11")
async def test_a_silent_peer_is_noticed_after_three_ticks_and_lost_after_the_time_to_resume() -> None:
    """RM-11. Mechanism: each side speaks once a tick; three of silence end the connection, whatever the socket says."""
    async with linked() as both:
        ref, _ = await both.publish(Counter)
        assert both.connection is not None
        began = trio.current_time()
        both.connection[1].is_silent = True
        ended = await ref.wait_ended()
        took = trio.current_time() - began
        assert 3 * PACE.tick_s + PACE.resume_s - 1 <= took <= 4 * PACE.tick_s + PACE.resume_s + 1
        assert (ended.state.value, ended.cause) == ("failed", Cause("runtime", "link_lost"))
        assert both.states() == ["up", "broken", "lost"]


async def test_a_quiet_link_stays_up() -> None:
    async with linked() as both:
        await trio.sleep(1_000)
        assert both.states() == ["up"]
        assert both.link.statistics().connections == 1


async def _ends(both: Linked, own: gr.Ref[Any]) -> None:
    own.stop()


async def _is_killed(both: Linked, own: gr.Ref[Any]) -> None:
    own.kill()


async def _crashes(both: Linked, own: gr.Ref[Any]) -> None:
    own.tell(None)


async def _breaks_and_heals(both: Linked, own: gr.Ref[Any]) -> None:
    await both.cut()
    await trio.sleep(5)
    await both.connect()


async def _is_lost(both: Linked, own: gr.Ref[Any]) -> None:
    await both.lose()


async def _ends_behind_a_cut(both: Linked, own: gr.Ref[Any]) -> None:
    await both.cut()
    own.stop()
    await trio.sleep(5)
    await both.connect()


class Crashing(Counter):
    """Crashes when it is told None, and is restarted."""

    async def on_message(self, message: Any, ctx: gr.Context) -> None:
        if message is None:
            raise ValueError("crash")
        await super().on_message(message, ctx)


WHAT_IS_TOLD = {
    # what happens: (the watch, an ask that begins then, the delivery of a tell then, an abort then)
    _ends: ("completed", "ActorEnded", Delivery.ACCEPTED, AbortStatus.IDLE),
    _is_killed: ("killed", "ActorEnded", Delivery.ACCEPTED, AbortStatus.IDLE),
    _crashes: ("", "answered", Delivery.ACCEPTED, AbortStatus.IDLE),
    _breaks_and_heals: ("", "answered", Delivery.ACCEPTED, AbortStatus.IDLE),
    _ends_behind_a_cut: ("completed", "ActorEnded", Delivery.ACCEPTED, AbortStatus.IDLE),
    _is_lost: ("failed", "LinkLost", Delivery.CLOSED, "LinkLost"),
}


@pytest.mark.promise("R4-a")
@pytest.mark.parametrize("happens", WHAT_IS_TOLD, ids=lambda each: each.__name__)
async def test_what_is_told_when_something_happens(
    happens: Callable[[Linked, gr.Ref[Any]], Awaitable[None]],
) -> None:
    downs: list[Any] = []
    async with linked() as both:
        ref, own = await both.publish(Crashing)
        ref.watch(downs.append)
        await happens(both, own)
        await trio.sleep(1)
        try:
            asked = "answered" if await ref.ask(Sum()) == 0 else "wrong"
        except RemoteError as error:
            asked = error.kind
        except LinkLost:
            asked = "LinkLost"
        told = ref.tell(1)
        try:
            aborted: str = await ref.abort_turn()
        except LinkLost:
            aborted = "LinkLost"
        await trio.sleep(100)
        assert ("".join(down.state.value for down in downs), asked, told, aborted) == WHAT_IS_TOLD[happens]  # type: ignore[index]


async def test_a_watch_that_is_taken_back_is_not_told() -> None:
    downs: list[Any] = []
    async with linked() as both:
        ref, own = await both.publish(Counter)
        ref.watch(downs.append).cancel()
        own.stop()
        await trio.sleep(1)
        assert not downs
        await both.link.wait_state(LinkState.UP)


async def test_a_watcher_that_raises_harms_nobody() -> None:
    downs: list[Any] = []

    def raise_(_: object) -> None:
        raise ValueError("mine")

    async with linked() as both:
        ref, own = await both.publish(Counter)
        ref.watch(raise_)
        ref.watch(downs.append)
        own.stop()
        await trio.sleep(1)
        assert len(downs) == 1
        assert await both.link.find("nobody") is None


@pytest.mark.promise("R2-g")
async def test_an_abort_takes_effect_before_what_was_sent_before_it_is_handled() -> None:
    async with linked() as both:
        ref, own = await both.publish(Slow)
        for number in range(300):
            ref.tell(number)
        await trio.sleep(0.5)
        assert await ref.abort_turn(why="enough") is AbortStatus.ABORTED
        assert len(own.get_state()["told"]) == 0


async def test_a_newer_connection_replaces_the_one_before() -> None:
    async with linked() as both:
        ref, _ = await both.publish(Counter)
        before = both.connection
        await both.connect()
        ref.tell(1)
        await trio.sleep(3)
        assert before is not None
        assert before[0].closed is not None
        assert before[0].closed[0] == 4003
        assert await ref.ask(Sum()) == 1
        assert both.states() == ["up"]


async def test_nonsense_ends_the_connection_with_its_code_and_place() -> None:
    async with linked() as both:
        assert both.connection is not None
        await both.connection[1].send(b'[[0],[0,[1,"boo"]]]')
        await trio.sleep(1)
        assert both.connection[0].closed == (4004, "data[1]: no kind of frame of this channel")
        assert both.states() == ["up", "broken"]


async def test_a_lost_link_has_no_way_back() -> None:
    assert {edge for state in LinkState for edge in LINK_TRANSITIONS[state]} == set(LinkEdge)
    assert LINK_TRANSITIONS[LinkState.LOST] == {}
    with pytest.raises(gr.InternalError):
        next_link_state(LinkState.LOST, LinkEdge.CONNECT)


async def test_a_sender_waits_for_the_link_while_that_is_full() -> None:
    async with linked() as both:
        ref, own = await both.publish(Counter)
        await both.cut()
        message = "x" * 1_000_000
        while ref.tell(message) is Delivery.ACCEPTED:
            pass
        with trio.move_on_after(5) as limit:
            await ref.wait_room()
        assert limit.cancelled_caught, "it has places, and the window has none"
        await both.connect()
        with trio.fail_after(1):
            await ref.wait_room()
        assert ref.tell(message) is Delivery.ACCEPTED
        await trio.sleep(1)
        assert set(own.get_state()["told"]) == {message}
        await both.cut()
        while ref.tell(message) is Delivery.ACCEPTED:
            pass
        await ref.wait_room()
        assert ref.tell(message) is Delivery.CLOSED


async def test_an_ask_whose_time_is_up_is_not_run_while_the_link_is_broken() -> None:
    async with linked() as both, trio.open_nursery() as nursery:
        ref, own = await both.publish(Counter)

        async def ask(seconds: float, timeout_s: float) -> None:
            with pytest.raises((AskTimedOut, LinkLost)):
                await ref.ask(Wait(seconds), timeout_s=timeout_s)

        nursery.start_soon(ask, 100, 200)
        nursery.start_soon(ask, 1, 3)
        await trio.sleep(1)
        assert own.cell.mailbox.statistics().next == 1
        await both.cut()
        await trio.sleep(5)
        assert own.cell.mailbox.statistics().next == 0
        await trio.sleep(PACE.resume_s)


async def test_an_error_whose_text_no_frame_can_hold_is_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "greenroom")  # no report of a test can hold the text either

    class Odd(Counter):
        async def on_message(self, message: Any, ctx: gr.Context) -> None:
            raise OSError("no file \udcff")

    async with linked() as both:
        ref, _ = await both.publish(Odd, spec=gr.ChildSpec(restart=gr.Restart.TEMPORARY))
        downs: list[gr.Down] = []
        ref.watch(downs.append)
        with pytest.raises(RemoteError, match=r"no file \?"):
            await ref.ask(Sum())
        await trio.sleep(1)
        assert [str(down.error) for down in downs] == ["OSError on node 'there': no file ?"]


async def test_an_answer_of_another_kind_settles_nothing() -> None:
    async with linked() as both, trio.open_nursery() as nursery:
        ref, _ = await both.publish(Counter)
        answers = []

        async def ask() -> None:
            answers.append(await ref.ask(Wait(5)))

        nursery.start_soon(ask)
        await trio.sleep(1)
        for number in (1, 2):  # the search, and the ask
            both.links[1].put(FoundFrame(find=number, to=0))
            both.links[1].put(AbortedFrame(abort=number, status="idle"))
        await trio.sleep(10)
        assert answers == ["done"]


async def test_a_peer_that_sends_more_than_it_has_places_is_refused() -> None:
    async with linked() as both:
        _, own = await both.publish(Slow)
        for number in range(500):
            both.link.put(TellFrame(to=1, lane="next", value=number))
        await trio.sleep(1_000)
        assert own.get_state()["told"] == list(range(len(own.get_state()["told"])))
        assert len(own.get_state()["told"]) <= 100 + 256 + 1
        assert set(both.dead()) == {"no_actor"}


async def test_a_connection_that_is_cancelled_leaves_no_link_up() -> None:
    async with linked(is_connected=False) as both:
        with trio.move_on_after(1):
            await both.link.carry(carriers()[0], got=(0, 0), tick_s=PACE.tick_s)
        assert both.link.state is LinkState.BROKEN
        await trio.sleep(PACE.resume_s + 1)
        assert both.link.is_lost
        both.link.note_failure("too late")
        here, _ = carriers()
        assert await both.link.carry(here, got=(0, 0), tick_s=PACE.tick_s) == "the link is lost"
        assert here.closed == (LINK_CLOSED, "the link is lost")
