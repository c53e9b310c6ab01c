"""xoscar, as a peer: both actors in one pool, so no message leaves the process."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import xoscar

from benchmarks.kernel.peers.serving import Bench, Stopwatch, serve


class Echo(xoscar.Actor):
    async def ping(self, message: int) -> int:
        return message


class Player(xoscar.Actor):
    async def play(self, other: Any, count: int) -> None:
        for number in range(count):
            await other.ping(number)


async def ping_pong(count: int) -> Stopwatch:
    pool = await xoscar.create_actor_pool("127.0.0.1", n_process=0)
    async with pool:
        echo = await xoscar.create_actor(Echo, address=pool.external_address)
        player = await xoscar.create_actor(Player, address=pool.external_address)
        with Stopwatch() as took:
            await player.play(echo, count)
    return took


BENCHES: Final[dict[str, Bench]] = {"ping-pong": lambda count: asyncio.run(ping_pong(count))}

if __name__ == "__main__":
    serve(BENCHES, "xoscar")
