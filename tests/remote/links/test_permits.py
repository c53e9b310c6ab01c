"""Permissions of a peer: each order without its permission is refused, told to the sender and recorded once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import attrs
import pytest
import trio

import greenroom as gr
from greenroom.actors import Down
from greenroom.core import UsageError
from greenroom.remote.links._link_permits import ALL_VERBS, LinkPermit, LinkVerb
from greenroom.remote.links._link_states import LinkState
from greenroom.remote.links._remote_calls import LinkLost, RemoteError
from greenroom.remote.links._remote_ref import RemoteRef
from greenroom.remote.wire import LINK_CLOSED, AnswerFrame
from greenroom.remote.wire._wire import LinkWire
from tests.remote.links.linked import CODEC, Counter, Linked, Sum, linked

pytestmark = pytest.mark.usefixtures("virtual_time")


async def _tell(both: Linked, ref: RemoteRef[Any]) -> str:
    ref.tell(1)
    await trio.sleep(1)
    return ",".join(both.dead())


async def _ask(both: Linked, ref: RemoteRef[Any]) -> str:
    try:
        return str(await ref.ask(Sum()))
    except RemoteError as error:
        return error.kind


async def _watch(both: Linked, ref: RemoteRef[Any]) -> str:
    downs: list[Down] = []
    ref.watch(downs.append)
    await trio.sleep(1)
    return ",".join(down.cause.why for down in downs if down.cause is not None)


async def _abort(both: Linked, ref: RemoteRef[Any]) -> str:
    try:
        return str(await ref.abort_turn())
    except RemoteError as error:
        return error.kind


async def _stop(both: Linked, ref: RemoteRef[Any]) -> str:
    ref.stop()
    await trio.sleep(1)
    return ",".join(both.dead())


async def _kill(both: Linked, ref: RemoteRef[Any]) -> str:
    ref.kill()
    await trio.sleep(1)
    return ",".join(both.dead())


@pytest.mark.promise("R13-c")
@pytest.mark.parametrize(
    ("verb", "order", "refused", "allowed"),
    [
        (LinkVerb.TELL, _tell, "forbidden", ""),
        (LinkVerb.ASK, _ask, "Forbidden", "0"),
        (LinkVerb.WATCH, _watch, "forbidden", ""),
        (LinkVerb.ABORT, _abort, "Forbidden", "idle"),
        (LinkVerb.STOP, _stop, "forbidden", ""),
        (LinkVerb.STOP, _kill, "forbidden", ""),
    ],
)
async def test_an_order_without_its_permission_is_refused_told_and_recorded_once(
    verb: LinkVerb, order: Callable[[Linked, RemoteRef[Any]], Awaitable[str]], refused: str, allowed: str
) -> None:
    async with linked(permit=LinkPermit(may=ALL_VERBS - {verb})) as both:
        ref, own = await both.publish(Counter)
        assert await order(both, ref) == refused
        await order(both, ref)
        assert both.forbidden() == [verb]
        assert not own.is_gone
        assert await own.ask(Sum()) == 0
    async with linked(permit=LinkPermit(may={verb})) as both:
        ref, _ = await both.publish(Counter)
        assert await order(both, ref) == allowed
        assert both.forbidden() == []


async def test_a_peer_may_send_ask_and_watch_unless_more_is_said() -> None:
    assert LinkPermit().may == {LinkVerb.TELL, LinkVerb.ASK, LinkVerb.WATCH}


@pytest.mark.parametrize("text", ["tel", "stop,kill", ""])
async def test_an_unknown_permission_is_named_with_those_there_are(text: str) -> None:
    with pytest.raises(ValueError, match=f"one of: tell, ask, watch, abort, stop; .*'{text}'"):
        LinkPermit(may=[text])


@pytest.mark.promise("R13-c")
async def test_a_name_that_a_peer_may_not_find_is_as_one_that_is_not_published() -> None:
    async with linked(permit=LinkPermit(names=["jobs/*", "clock"])) as both:
        own = await both.there.spawn(Counter)
        for name in ("jobs/a", "jobs/a/b", "clock", "Clock", "jobs", "secret"):
            both.published.publish(name, own)
        found = [
            name for name in ("jobs/a", "jobs/a/b", "clock", "Clock", "jobs", "secret") if await both.link.find(name)
        ]
        assert found == ["jobs/a", "jobs/a/b", "clock"]
        assert both.forbidden() == []


async def test_an_actor_that_was_withdrawn_no_longer_exists_for_those_who_had_found_it() -> None:
    async with linked() as both:
        ref, own = await both.publish(Counter)
        ref.tell(1)
        await trio.sleep(1)
        both.links[1].withdraw(own)
        ref.tell(2)
        with pytest.raises(RemoteError, match="no such actor"):
            await ref.ask(Sum())
        assert both.dead() == ["no_actor"]
        assert await own.ask(Sum()) == 1
        again = await both.link.find("actor")
        assert again is not None
        assert await again.ask(Sum()) == 1


async def test_a_close_waits_until_the_other_side_has_what_was_sent() -> None:
    async with linked() as both:
        ref, own = await both.publish(Counter)
        for number in range(100):
            ref.tell(number)
        assert both.connection is not None
        await both.link.close()
        await trio.sleep(1)
        assert await own.ask(Sum()) == sum(range(100))
        assert both.dead() == []
        assert [link.state for link in both.links] == [LinkState.LOST] * 2
        assert both.connection[0].closed == (LINK_CLOSED, "the link is lost")


@pytest.mark.parametrize("is_connected", [True, False])
async def test_a_close_ends_whether_or_not_somebody_listens(is_connected: bool) -> None:
    async with linked() as both:
        ref, _ = await both.publish(Counter)
        assert both.connection is not None
        if is_connected:
            for each in both.connection:
                each.is_silent = True
        else:
            await both.cut()
        ref.tell(1)
        began = trio.current_time()
        await both.link.close(timeout_s=2)
        assert trio.current_time() - began == (2 if is_connected else 0)
        assert both.dead() == ["link_lost"]
        with pytest.raises(LinkLost):
            await ref.ask(Sum())


async def test_large_answers_that_nobody_acknowledges_are_bounded_and_small_ones_are_not() -> None:
    wire = LinkWire(max_bytes=100_000)
    large = AnswerFrame(ask=1, value="x" * 50_000)
    with pytest.raises(
        UsageError, match=r"an 'answer' of 50,\d+ bytes cannot be sent: \d+,\d+ bytes are not acknowledged"
    ):
        for _ in range(100):
            wire.put(large)
    assert wire.control.waiting_bytes + wire.data.waiting_bytes <= 400_000
    for _ in range(100):
        wire.put(AnswerFrame(ask=1, value="x"))


async def test_an_answer_beyond_the_bound_is_an_error_of_its_ask() -> None:
    """The asker is told, and the link stays up."""

    @attrs.frozen
    class Page(gr.Request[str]):
        pass

    class Pages(gr.Behavior[Page]):
        def on_message(self, message: Page, ctx: gr.Context) -> None:
            ctx.reply("x" * 1_000_000)

    codec = type(CODEC)([Page])
    async with linked() as both:
        for link in both.links:
            link._calls.codec = codec
            link._served._codec = codec
        ref, _ = await both.publish(Pages)
        assert both.connection is not None
        both.connection[1].is_silent = True
        errors: list[str] = []

        async def ask() -> None:
            try:
                await ref.ask(Page(), timeout_s=100)
            except (RemoteError, LinkLost) as error:
                errors.append(str(error))

        async with trio.open_nursery() as nursery:
            for _ in range(40):
                nursery.start_soon(ask)
            await trio.sleep(5)
            assert both.links[1].state is LinkState.UP
            await both.cut()
            await both.connect()
        assert len([text for text in errors if "not acknowledged" in text]) == 7
        assert both.link.state is LinkState.UP
