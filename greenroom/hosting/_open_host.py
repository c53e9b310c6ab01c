"""Opening a host: its runtime, its node, the actors that it publishes, the sessions of those who launch agents there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, final

import attrs
import trio

from greenroom.actors import Behavior, Context, Ref
from greenroom.core.ports import Ports
from greenroom.hosting._hosted_agent import HostedAgent
from greenroom.hosting._hosted_agents import HostedAgents, HostPlan
from greenroom.remote import LinkPeer, LinkPermit, open_node
from greenroom.remote.hosts import (
    HOST_ACTOR,
    AnswerAgent,
    DescribeHost,
    FollowAgent,
    LaunchAgent,
    ReleaseAgent,
    StopAgent,
    follower_name,
    host_codec,
)
from greenroom.remote.links import LinkPace, PublishedActors
from greenroom.serving import Incident, Tcp, UnixSocket
from greenroom.supervisor import ChildSpec, Restart, Runtime, open_runtime


@final
class HostActor(Behavior[Any]):
    """Takes the orders of runs, one after the other."""

    def __init__(self, agents: HostedAgents) -> None:
        self._agents = agents

    async def on_message(self, message: Any, ctx: Context[Any]) -> None:
        """Carry out an order, and answer it."""
        match message:
            case LaunchAgent():
                ctx.reply(await self._agents.launch(message))
            case StopAgent():
                ctx.reply(self._agents.stop(message))
            case AnswerAgent():
                ctx.reply(self._agents.answer(message))
            case ReleaseAgent():
                ctx.reply(await self._agents.release(message))
            case DescribeHost():
                ctx.reply(self._agents.describe())


@final
class FollowedAgent(Behavior[Any]):
    """Answers those who follow one agent, when there is news of it."""

    def __init__(self, agent: HostedAgent, ports: Ports) -> None:
        self._agent = agent
        self._ports = ports

    async def on_message(self, message: Any, ctx: Context[Any]) -> None:
        """Wait for news, and answer."""
        if isinstance(message, FollowAgent):
            ctx.reply(await self._agent.wait_news(message, self._ports))


@final
@attrs.frozen(kw_only=True)
class OpenHost:
    """An open host."""

    addresses: tuple[str, ...]
    """Where it listens."""
    agents: HostedAgents


@asynccontextmanager
async def open_host(
    plan: HostPlan,
    *,
    name: str,
    token: bytes,
    listen: Sequence[Tcp | UnixSocket],
    hosts: Sequence[str] = (),
    ports: Ports | None = None,
    pace: LinkPace | None = None,
    report: Callable[[Incident], None] | None = None,
) -> AsyncIterator[OpenHost]:
    """Open a host until the block is left; then its agents are stopped, and their runs are told so.

    Args:
        plan: Its parts.
        name: Name of its node, which those who launch agents know it by.
        token: The secret that they know too.
        listen: Where it listens.
        hosts: Further exact values of `Host` under which it is reached.
        ports: Time, ids, chance, disk and threads; by default the machine's.
        pace: Times of its links.
        report: Called with what a log should name.

    Raises:
        UsageError: It cannot listen there, or its folder cannot be used.
    """
    ports = ports or Ports()
    async with (
        open_runtime(ports=ports) as runtime,
        open_node(
            runtime,
            name=name,
            codec=host_codec(),
            guests=LinkPeer(token=token, permit=LinkPermit(may=("ask",))),
            listen=listen,
            hosts=hosts,
            pace=pace,
            report=report,
        ) as node,
        host_actors(plan, runtime, node.published, ports) as agents,
    ):
        yield OpenHost(addresses=node.addresses, agents=agents)


@asynccontextmanager
async def host_actors(
    plan: HostPlan, runtime: Runtime, published: PublishedActors, ports: Ports
) -> AsyncIterator[HostedAgents]:
    """Start and publish the actors of a host; leaving the block stops its agents, and returns when they have ended."""
    followed: dict[HostedAgent, Ref[Any]] = {}

    async def publish(agent: HostedAgent) -> None:
        ref = followed[agent] = await runtime.spawn(FollowedAgent, agent, ports, spec=_TEMPORARY)
        published.publish(follower_name(agent.owner, agent.task), ref)

    def withdraw(agent: HostedAgent) -> None:
        published.withdraw(follower_name(agent.owner, agent.task))
        followed.pop(agent).stop(why="the agent was released")

    async with trio.open_nursery() as nursery:
        agents = HostedAgents(plan, ports, nursery, publish=publish, withdraw=withdraw)
        await agents.restore()
        published.publish(HOST_ACTOR, await runtime.spawn(HostActor, agents, name=HOST_ACTOR))
        looking = trio.CancelScope()
        nursery.start_soon(_look_for_orphans, agents, looking)
        try:
            yield agents
        finally:
            looking.cancel()
            agents.close("the host stops")


async def _look_for_orphans(agents: HostedAgents, scope: trio.CancelScope) -> None:
    with scope:
        await agents.end_orphans()


_TEMPORARY: Final = ChildSpec(restart=Restart.TEMPORARY)
