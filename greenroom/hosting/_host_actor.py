"""The actors of a host: one takes orders, and one for each agent answers those who follow it."""

from __future__ import annotations

from typing import Any, final

from greenroom.actors import Behavior, Context
from greenroom.core.ports import Ports
from greenroom.hosting._hosted_agent import HostedAgent
from greenroom.hosting._hosted_agents import HostedAgents
from greenroom.remote.hosts import DescribeHost, FollowAgent, LaunchAgent, ReleaseAgent, StopAgent


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
