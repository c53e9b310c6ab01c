"""Traffic between simulated nodes: each tells, asks, watches, stops and kills what the others have published."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import trio

import greenroom as gr
from greenroom.core import AskTimedOut, Undelivered
from greenroom.mailbox import MailboxPolicy
from greenroom.remote import LinkPace, RemoteError, RemoteRef
from greenroom.testing import Sim, SimNetwork, SimProcess
from tests.remote.links.linked import CODEC, Counter, Sum, Wait

NAMES: Final = ("red", "green", "blue")
PACE: Final = LinkPace(tick_s=2.0, resume_s=6.0)
FAULTS: Final = 12


class Prey(Counter):
    """An actor that others may stop, and that takes its time."""

    mailbox = MailboxPolicy(capacity=4)

    async def on_message(self, message: Any, ctx: gr.Context) -> None:
        await trio.sleep(0.5)
        await super().on_message(message, ctx)


async def publish(process: SimProcess) -> None:
    """Publish two actors: one that stays, and one that others may end."""
    process.node.publish("counter", await process.runtime.spawn(Counter, name="counter"))
    process.node.publish(
        "prey", await process.runtime.spawn(Prey, name="prey", spec=gr.ChildSpec(restart=gr.Restart.TEMPORARY))
    )


async def visit(process: SimProcess, there: str, tells: int) -> None:
    """Use the actors of another node, again and again after each loss, for a while."""
    for _ in range(3):
        try:
            link = await process.node.connect(there)
            counter = await link.find("counter")
            prey = await link.find("prey")
            if counter is not None:
                await use(counter, prey, tells)
        except gr.PeerError:
            await trio.sleep(1)


async def use(counter: RemoteRef[Any], prey: RemoteRef[Any] | None, tells: int) -> None:
    """Send everything that a link can carry."""
    downs: list[gr.Down] = []
    counter.watch(downs.append)
    for number in range(tells):
        await trio.sleep(0.1 if number % 100 < 10 else 0)
        counter.tell(number)
        counter.watch(downs.append).cancel()
        if prey is not None:
            prey.tell(number)
    if prey is not None:
        prey.watch(downs.append)
        with trio.move_on_after(1):
            await asked(prey, Wait(5), timeout_s=8)
        await asked(prey, None, timeout_s=8)
        prey.kill("enough")
    await asked(counter, Sum(), timeout_s=10)


async def asked(ref: RemoteRef[Any], request: Any, *, timeout_s: float) -> None:
    """Ask, or abort if there is no request, whatever comes of it."""
    try:
        if request is None:
            await ref.abort_turn(timeout_s=timeout_s)
        else:
            await ref.ask(request, timeout_s=timeout_s, cascade=True)
    except (AskTimedOut, RemoteError, Undelivered):
        pass


def program(name: str, names: tuple[str, ...], tells: int) -> Callable[[SimProcess], Awaitable[None]]:
    """Return what a node runs at each of its starts."""

    async def run(process: SimProcess) -> None:
        await publish(process)
        for there in names:
            if there != name:
                process.start_soon(visit, process, there, tells)

    return run


def busy_nodes(
    count: int = 2, *, tells: int = 6, faults: int = FAULTS, after: Callable[[SimNetwork], object] = lambda _: None
) -> Callable[[Sim], Awaitable[None]]:
    """Return a scenario: all nodes use each other's actors while faults come, then everything comes to rest."""
    names = NAMES[:count]

    async def scenario(sim: Sim) -> None:
        programs = {name: program(name, names, tells) for name in names}
        async with sim.network(programs, codec=CODEC, pace=PACE) as network:
            await network.disturb(faults)
            await network.settle()
            after(network)

    return scenario


def impostor() -> Callable[[Sim], Awaitable[None]]:
    """Return a scenario: a node that has no token says that it is another one, to a third."""

    async def scenario(sim: Sim) -> None:
        programs = {name: program(name, NAMES[:2], 3) for name in NAMES}
        async with sim.network(programs, codec=CODEC, pace=PACE) as network:
            network.impersonate("blue", as_="red")
            network.kill("blue")
            await network.start("blue")
            await network.disturb(2, kills=False)
            await network.settle()

    return scenario
