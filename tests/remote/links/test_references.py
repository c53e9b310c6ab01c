"""References to actors in messages: each node gets one that it can use, while the link lasts."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
import trio

import greenroom as gr
from greenroom.core import UsageError
from greenroom.mailbox import Delivery
from greenroom.remote.links._link_references import LinkReferences
from greenroom.remote.links._remote_calls import RemoteError
from greenroom.remote.links._remote_ref import RemoteRef
from greenroom.remote.links._served_actors import MAX_FOUND
from greenroom.remote.wire._message_codec import MessageCodec, UnreadableValue
from tests.remote.links.linked import CODEC, Counter, Linked, Sum, linked

pytestmark = pytest.mark.usefixtures("virtual_time")


@attrs.frozen
class Subscribe(gr.Request[Any]):
    """Asks for the same reference back."""

    listener: gr.Ref[Any] | RemoteRef[Any]
    others: list[gr.Ref[Any]] = attrs.field(factory=list)


@attrs.frozen
class Spawn(gr.Request[Any]):
    """Asks for a reference to a new actor."""


class Board(gr.Behavior[Any]):
    """Keeps what subscribes, tells it one number, and gives it back."""

    def __init__(self, runtime: gr.Runtime) -> None:
        self._runtime = runtime

    async def on_message(self, message: Any, ctx: gr.Context) -> None:
        match message:
            case Subscribe():
                for each in (message.listener, *message.others):
                    each.tell(7)
                ctx.reply(message.listener)
            case Spawn():
                ctx.reply({"new": await self._runtime.spawn(Counter)})


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both nodes know the classes of this module."""
    codec = MessageCodec([*CODEC._classes.values(), Subscribe, Spawn])
    monkeypatch.setattr("tests.remote.links.linked.CODEC", codec)


async def board(both: Linked) -> RemoteRef[Any]:
    return (await both.publish(Board, both.there))[0]


@pytest.mark.promise("R3-f")
async def test_a_reference_that_was_sent_reaches_its_actor() -> None:
    async with linked() as both:
        there = await board(both)
        here = await both.here.spawn(Counter)
        second = await both.here.spawn(Counter)
        answer = await there.ask(Subscribe(here, [second, here]))
        await trio.sleep(1)
        assert answer == here  # its own actor again, not a remote one
        assert (here.get_state()["told"], second.get_state()["told"]) == ([7, 7], [7])


@pytest.mark.promise("R3-f")
async def test_a_reference_in_an_answer_is_one_to_a_remote_actor() -> None:
    async with linked() as both:
        there = await board(both)
        new = (await there.ask(Spawn()))["new"]
        assert isinstance(new, RemoteRef)
        assert new.tell(5) is Delivery.ACCEPTED
        assert await new.ask(Sum()) == 5
        assert await there.ask(Subscribe(new)) == new  # over there it is a local one
        assert await new.ask(Sum()) == 12


async def test_a_sent_actor_has_its_places_once() -> None:
    """Of places that a refused message would have granted none is lost, and none is granted twice."""
    async with linked() as both:
        there = await board(both)
        here = await both.here.spawn(Counter)
        while there.tell({"x": here}) is Delivery.ACCEPTED:
            pass  # until the window has no place
        await trio.sleep(10)
        await there.ask(Subscribe(here))
        await trio.sleep(1)
        (target,) = both.links[1]._calls._targets.values()
        assert target.places == 255


async def test_a_lost_link_closes_references_that_were_sent() -> None:
    async with linked() as both:
        there = await board(both)
        new = (await there.ask(Spawn()))["new"]
        await both.lose()
        assert new.tell(1) is Delivery.CLOSED


@pytest.mark.promise("R3-f")
async def test_a_reference_of_a_third_node_is_refused() -> None:
    async with linked() as both, linked() as others:
        there, elsewhere = await board(both), await board(others)
        with pytest.raises(UsageError, match="only references to actors of either node cross their link"):
            there.tell({"x": elsewhere})
        with pytest.raises(UsageError, match="references cross links only"):
            CODEC.write(there)
        with pytest.raises(UnreadableValue, match="references cross links only"):
            CODEC.read({"$": "ref", "of": {"here": 1}})


@pytest.mark.parametrize("of", [{"here": 9}, {"there": 9}, {"here": "1"}, {}, None, [1]])
async def test_a_reference_to_an_unknown_actor_is_unreadable(of: Any) -> None:
    async with linked() as both:
        with pytest.raises(UnreadableValue, match="a reference to an actor that this link does not know"):
            LinkReferences(both.link._calls, both.link._served).read_reference(of)


async def test_a_withdrawn_actor_is_unreadable() -> None:
    async with linked() as both:
        there = await board(both)
        new = (await there.ask(Spawn()))["new"]
        served = both.links[1]._served
        ref = served.ref(2)
        assert ref is not None
        served.withdraw(ref)
        with pytest.raises(RemoteError, match="does not know"):
            await there.ask(Subscribe(new))


async def test_a_link_has_a_limit_for_references() -> None:
    async with linked() as both:
        there = await board(both)
        here = await both.here.spawn(Counter)
        both.link._served._last = MAX_FOUND
        with pytest.raises(UsageError, match="has had references to 65,536 actors"):
            there.tell(here)
