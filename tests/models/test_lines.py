"""The pools of one client: small ones, as many as are needed, and no more connections than were asked for."""

from __future__ import annotations

from typing import cast

import anthropic
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.models import AnthropicModel
from greenroom.models._connection_pools import KEPT_S, SIZE, ConnectionPool, ConnectionPools
from greenroom.testing import StreamReply, open_messages_server
from tests.models.situations import HELLO


class Pool:
    """Stands for the SDK's client with a pool of this size."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.is_closed = False

    async def close(self) -> None:
        self.is_closed = True


class Situation:
    def __init__(self, most: int) -> None:
        self.pools: list[Pool] = []
        self.lines = ConnectionPools(self._make, most)

    def _make(self, size: int) -> anthropic.AsyncAnthropic:
        self.pools.append(Pool(size))
        return cast("anthropic.AsyncAnthropic", self.pools[-1])

    @property
    def sizes(self) -> list[int]:
        return [pool.size for pool in self.pools if not pool.is_closed]


def pool_of(line: ConnectionPool) -> Pool:
    return cast("Pool", line.sdk)


@given(most=st.integers(1, 5 * SIZE), taken=st.integers(0, 12 * SIZE))
def test_there_are_as_many_pools_as_are_needed_and_never_more_connections_than_allowed(most: int, taken: int) -> None:
    situation = Situation(most)

    lines = [situation.lines.take() for _ in range(taken)]

    assert sum(situation.sizes) <= most
    assert all(0 < size <= SIZE for size in situation.sizes)
    assert len(situation.sizes) == max(1, -(-min(taken, most) // SIZE))
    assert all(line.size == pool_of(line).size for line in lines)
    if taken <= most:  # then nobody waits for a connection
        assert all(line.in_flight <= line.size for line in lines)


@given(most=st.integers(1, 4 * SIZE), moves=st.lists(st.integers(0, 10), max_size=300))
def test_whatever_comes_and_goes_nobody_waits_while_there_is_room(most: int, moves: list[int]) -> None:
    async def run() -> None:
        situation = Situation(most)
        held: list[ConnectionPool] = []
        for move in moves:
            if move or not held:
                held.append(situation.lines.take())
                assert held[-1].in_flight <= held[-1].size or len(held) > most
            else:
                situation.lines.give_back(held.pop(len(held) // 2))
            assert sum(situation.sizes) <= most

    trio.run(run)


async def test_a_pool_that_nobody_used_for_long_is_closed_and_the_first_one_never(mock_clock: MockClock) -> None:
    situation = Situation(1000)
    lines = [situation.lines.take() for _ in range(SIZE + 1)]
    situation.lines.give_back(lines[-1])
    situation.lines.give_back(lines[0])
    await situation.lines.close_unused()
    assert len(situation.sizes) == 2

    mock_clock.jump(KEPT_S + 1)
    await situation.lines.close_unused()
    assert situation.sizes == [SIZE]

    mock_clock.jump(KEPT_S + 1)
    for line in lines[1:-1]:
        situation.lines.give_back(line)
    await situation.lines.close_unused()
    assert situation.sizes == [SIZE]
    assert not situation.pools[0].is_closed


async def test_what_a_closed_pool_had_can_be_had_again(mock_clock: MockClock) -> None:
    situation = Situation(SIZE + 5)
    lines = [situation.lines.take() for _ in range(SIZE + 1)]
    situation.lines.give_back(lines[-1])
    mock_clock.jump(KEPT_S + 1)
    await situation.lines.close_unused()

    situation.lines.take()

    assert situation.sizes == [SIZE, 5]


async def test_a_pool_in_use_is_not_closed(mock_clock: MockClock) -> None:
    situation = Situation(1000)
    lines = [situation.lines.take() for _ in range(SIZE + 1)]

    mock_clock.jump(2 * KEPT_S)
    situation.lines.give_back(lines[0])
    await situation.lines.close_unused()

    assert situation.sizes == [SIZE, SIZE]


@pytest.mark.parametrize("most", [5, 2 * SIZE])
async def test_over_sockets_more_requests_than_connections_are_all_answered(most: int) -> None:
    count = 2 * SIZE + 5
    with trio.fail_after(30):
        async with open_messages_server([StreamReply(answer="yes", is_joined=True)] * count) as server:
            model = AnthropicModel("claude-test", api_key="key", base_url=server.url, max_connections=most)
            seen: list[int] = []

            async def ask() -> None:
                async with model.stream(HELLO) as stream:
                    assert (await stream.wait_response()).text == "yes"
                seen.append(server.open_connections)

            async with model.open(), trio.open_nursery() as nursery:
                for _ in range(count):
                    nursery.start_soon(ask)
            await server.wait_connections(0)

    assert len(seen) == count
    assert max(seen) <= most
