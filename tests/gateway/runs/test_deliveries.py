"""Deliveries: whatever a channel answers and whenever the gateway is killed, no part is lost in silence or said twice unasked."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.gateway._gateway_errors import Conflict, NotFound
from greenroom.gateway.channels._channel import ChannelTraits, WasSent
from greenroom.gateway.config._clock_and_limits import LimitsConfig
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._sections import MessagesConfig
from greenroom.gateway.record._machines import DeliveryState, SendResult
from greenroom.gateway.record._run_events import DeliveryBegan, DeliveryDue
from greenroom.gateway.record._service_state import CHAT_CALLS
from greenroom.gateway.routing._chat_messages import ChatRoute, Outbound
from greenroom.gateway.runs._deliveries import cut_bytes
from tests.gateway.runs.fakes import CHAT, FakeChannel, FakeGateway, World, open_fake_gateway

OTHER = ChatRoute(channel="irc", peer="bob")
R = SendResult


async def wait_quiet(gateway: FakeGateway, seconds: float = 4000) -> None:
    """Wait until nothing is due any more."""
    with trio.move_on_after(seconds):
        while any(row.state is DeliveryState.DUE for row in gateway.deliveries.list()):  # noqa: ASYNC110 - virtual time
            await trio.sleep(5)


@pytest.mark.promise("A6-h")
async def test_failed_tries_are_repeated_with_the_same_key_and_bytes(autojump_clock: MockClock) -> None:
    world = World(channel=FakeChannel(plan=[R.FAILED, R.FAILED]))
    async with open_fake_gateway(world) as gateway:
        await gateway.deliveries.reply("agent:main:main", "line", CHAT, "hello")
        await wait_quiet(gateway)

        assert gateway.channel.texts == ["hello"]
        assert len({(part.key, part.text) for part in gateway.channel.tried}) == 1
        assert len(gateway.channel.tried) == 3


async def test_a_try_is_on_record_before_the_channel_is_called(autojump_clock: MockClock) -> None:
    """A gateway that is killed while the channel sends knows at its next start that there was a try."""
    world = World(channel=FakeChannel(plan=[R.FAILED]))
    on_record: list[int] = []

    def count_tries(part: Outbound) -> None:
        began = [event for event in world.events() if isinstance(event, DeliveryBegan) and event.key == part.key]
        on_record.append(len(began))

    world.channel.watch = count_tries
    async with open_fake_gateway(world) as gateway:
        await gateway.deliveries.reply("agent:main:main", "line", CHAT, "hello")
        await wait_quiet(gateway)

    assert on_record == [1, 2]


async def test_an_answer_says_that_its_message_is_done_and_is_sent_after_the_recovery(
    autojump_clock: MockClock,
) -> None:
    """While deliveries are held, a try on record is one of an earlier process."""
    async with open_fake_gateway(World(channel=FakeChannel())) as gateway:
        gateway.deliveries.hold()
        await gateway.deliveries.answer(CHAT, "done", "i1")
        await trio.sleep(60)
        assert gateway.record.registry.services.answer(CHAT_CALLS, "i1", 0.0) is not None
        assert gateway.channel.texts == []

        gateway.deliveries.look()
        await wait_quiet(gateway)
        assert gateway.channel.texts == ["done"]


@pytest.mark.parametrize(
    ("result", "keys", "knows", "state", "shown"),
    [
        (R.REFUSED, False, WasSent.CANNOT_SAY, DeliveryState.BLOCKED, 0),
        (R.UNKNOWN, False, WasSent.CANNOT_SAY, DeliveryState.BLOCKED, 1),
        (R.UNKNOWN, False, WasSent.YES, None, 1),
        (R.UNKNOWN, True, WasSent.CANNOT_SAY, None, 1),
        (R.UNKNOWN, False, WasSent.NO, None, 2),
        (ValueError("a bug"), False, WasSent.CANNOT_SAY, DeliveryState.BLOCKED, 0),
    ],
)
@pytest.mark.promise("GW-04")
async def test_the_result_of_a_try_decides(
    autojump_clock: MockClock, result: Any, keys: bool, knows: WasSent, state: Any, shown: int
) -> None:
    """GW-04: a try has one of four results, and an unknown one is repeated only with the same key."""
    channel = FakeChannel(plan=[result], traits=ChannelTraits(limit=100, takes_keys=keys), knows=knows)
    async with open_fake_gateway(World(channel=channel)) as gateway:
        id_ = await gateway.deliveries.reply("agent:main:main", "line", CHAT, "hello")
        await wait_quiet(gateway)

        row = gateway.registry.delivery(id_)
        assert (row.state if row is not None else None) == state
        assert len(channel.chat) == shown


async def test_a_blocked_text_is_retried_or_dismissed_by_a_person(autojump_clock: MockClock) -> None:
    channel = FakeChannel(plan=[R.REFUSED, R.REFUSED])
    async with open_fake_gateway(World(channel=channel)) as gateway:
        first = await gateway.deliveries.post(CHAT, "one", "a")
        second = await gateway.deliveries.post(CHAT, "two", "b")
        await wait_quiet(gateway)
        assert [row.id for row in gateway.deliveries.list()] == [first, second]

        await gateway.deliveries.retry(first, "ada")
        await gateway.deliveries.dismiss(second, "ada")
        await wait_quiet(gateway)

        assert channel.texts == ["one"]
        assert gateway.deliveries.list() == []
        with pytest.raises(NotFound):
            await gateway.deliveries.retry(first, "ada")
        third = await gateway.deliveries.post(CHAT, "three", "c")
        with pytest.raises(Conflict):
            await gateway.deliveries.dismiss(third, "ada")


async def test_a_channel_that_is_back_gets_what_it_was_not_reached_for(autojump_clock: MockClock) -> None:
    channel = FakeChannel(plan=[*([R.FAILED] * 12), R.REFUSED])
    async with open_fake_gateway(World(channel=channel)) as gateway:
        reached = await gateway.deliveries.post(CHAT, "one", "a")
        await wait_quiet(gateway)
        assert gateway.registry.replies[reached].state is DeliveryState.BLOCKED
        channel.plan[:] = [R.REFUSED]
        refused = await gateway.deliveries.post(OTHER, "two", "b")
        await wait_quiet(gateway)

        await gateway.deliveries.channel_is_back("irc")
        await wait_quiet(gateway)

        assert channel.texts == ["one"]
        assert [row.id for row in gateway.deliveries.list()] == [refused]


async def test_what_nobody_decides_about_for_a_week_is_given_up(autojump_clock: MockClock) -> None:
    """RC-29: giving up is an event on record, behind which the delivery is settled."""
    world = World(channel=FakeChannel(plan=[R.REFUSED]))
    async with open_fake_gateway(world) as gateway:
        await gateway.deliveries.post(CHAT, "one", "a")
        await wait_quiet(gateway)
    for _ in range(7):
        await trio.sleep(86_400 - 300)
    async with open_fake_gateway(world) as gateway:
        await trio.sleep(61)
        assert len(gateway.deliveries.list()) == 1

        await trio.sleep(7 * 300)

        assert gateway.deliveries.list() == []


async def test_two_routes_never_wait_for_each_other(autojump_clock: MockClock) -> None:
    """The texts of one route keep their order, behind the one that is tried again."""
    channel = FakeChannel(plan=[R.FAILED])
    async with open_fake_gateway(World(channel=channel)) as gateway:
        for number in range(3):
            await gateway.deliveries.post(CHAT, f"ada {number}", f"a{number}")
        await trio.sleep(1)
        await gateway.deliveries.post(OTHER, "bob", "b")
        await trio.sleep(1)
        assert channel.texts == ["bob"]

        await wait_quiet(gateway)

        assert channel.texts == ["bob", "ada 0", "ada 1", "ada 2"]


@pytest.mark.promise("A6-j")
async def test_a_retry_sends_only_the_parts_that_were_not_taken(autojump_clock: MockClock) -> None:
    channel = FakeChannel(plan=[R.TAKEN, R.FAILED], traits=ChannelTraits(limit=10))
    async with open_fake_gateway(World(channel=channel)) as gateway:
        await gateway.deliveries.post(CHAT, "0123456789abcdefghij", "a")
        await wait_quiet(gateway)

        assert [(part.part, part.parts, part.text) for part in channel.tried] == [
            (1, 2, "0123456789"),
            (2, 2, "abcdefghij"),
            (2, 2, "abcdefghij"),
        ]


async def test_a_reply_has_the_prefix_and_is_cut(autojump_clock: MockClock) -> None:
    config = GatewayConfig(messages=MessagesConfig(prefix="[bot] "), limits=LimitsConfig(reply_bytes=200))
    async with open_fake_gateway(config=config) as gateway:
        await gateway.deliveries.reply("agent:main:main", "line", CHAT, "é" * 500)
        await wait_quiet(gateway)

        (text,) = gateway.channel.texts
        assert text.startswith("[bot] é")
        assert text.endswith("1,006 bytes in all; the rest is in the transcript of agent:main:main")
        assert len(text.encode()) <= 200


@given(st.text(), st.integers(80, 400))
def test_a_cut_reply_is_within_its_limit(text: str, limit: int) -> None:
    kept = cut_bytes(text, limit, "k")

    assert kept == text or len(kept.encode("utf-8", "surrogatepass")) <= limit


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), takes_keys=st.booleans())
def test_no_text_is_lost_or_said_twice_whatever_the_channel_answers(seed: int, takes_keys: bool) -> None:
    """Texts are posted while the channel answers at random and the gateway is killed before or behind its writes."""
    chance = random.Random(seed)
    posted: list[str] = []

    async def life(world: World) -> World:
        left = [world.copy()]
        writes, is_behind = chance.randrange(1, 25), chance.random() < 0.5
        with trio.move_on_after(4000) as scope:

            def count(append: Any) -> None:
                nonlocal writes
                writes -= 1
                if writes == 0 and not is_behind:
                    left[0] = world.copy()
                append()
                if writes == 0:
                    left[0] = world.copy() if is_behind else left[0]
                    scope.cancel()

            world.disk.around_append = count
            async with open_fake_gateway(world, takes_keys=takes_keys) as gateway:
                while len(posted) < 6:
                    name = f"text {len(posted)}"
                    await gateway.deliveries.post(chance.choice([CHAT, OTHER]), f"{name} {'x' * 20}", name)
                    posted.append(name)
                    await trio.sleep(chance.choice([0, 20]))
                await wait_quiet(gateway)
        world.disk.around_append = None
        return left[0] if writes <= 0 else world.copy()

    async def main() -> None:
        traits = ChannelTraits(limit=16, takes_keys=takes_keys)
        plan: list[Any] = [chance.choice([*SendResult, SendResult.TAKEN]) for _ in range(10)]
        world = World(channel=FakeChannel(plan=plan, traits=traits, arrives_unknown=chance.random() < 0.5))
        for _ in range(chance.randrange(3)):
            world = await life(world)
        world.channel.plan.clear()
        async with open_fake_gateway(world, takes_keys=takes_keys) as gateway:
            await wait_quiet(gateway)
            blocked = {row.id for row in gateway.deliveries.list()}
            due = {event.delivery for event in world.events() if isinstance(event, DeliveryDue)}
            assert {f"post:{name}" for name in posted} <= due
            counts = Counter(part.key for part in world.channel.chat)
            assert all(count == 1 for count in counts.values())
            for delivery in due - blocked:
                keys = [key for key in counts if key.rpartition(":")[0] == delivery]
                assert len(keys) == 2
        began = [event for event in world.events() if isinstance(event, DeliveryBegan)]
        assert len({(event.key, event.digest) for event in began}) == len({event.key for event in began})

    trio.run(main, clock=MockClock(autojump_threshold=0))


async def test_a_text_without_a_route_is_blocked_and_says_so(autojump_clock: MockClock) -> None:
    """RC-32: a delivery without a route is blocked at once."""
    async with open_fake_gateway() as gateway:
        await gateway.deliveries.post(attrs.evolve(CHAT, peer=""), "hello", "a")
        await wait_quiet(gateway)

        assert [row.why for row in gateway.deliveries.list()] == ["noRoute"]
