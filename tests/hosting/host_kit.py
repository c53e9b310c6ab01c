"""A host in virtual time, whose agents follow a script."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import greenroom as gr
from greenroom.actors import Ref
from greenroom.hosting._hosted_agents import HostedAgents, HostPlan
from greenroom.hosting._open_host import host_actors
from greenroom.models import ScriptedModel
from greenroom.remote.hosts import AgentNews, FollowAgent, LaunchAgent, follower_name, owner_of
from greenroom.remote.links import PublishedActors
from greenroom.testing import virtual_ports
from greenroom.tools import Tool

RUN = "run-1"
KEY = "0123456789abcdef" * 2
OWNER = owner_of(RUN, KEY)
DEFINITION = {"name": "reader", "description": "Reads.", "prompt": "You read."}


def order(task: str = "r00000001", **changes: Any) -> LaunchAgent:
    """Return an order to start an agent."""
    wanted: dict[str, Any] = {"run": RUN, "key": KEY, "definition": DEFINITION, "description": "Read it"}
    wanted["prompt"] = "Read!"
    return LaunchAgent(**{**wanted, "task": task, **changes})


def plan_of(folder: Path, script: Iterable[Any] | Mapping[str, Iterable[Any]], **changes: Any) -> HostPlan:
    """Return the parts of a host whose agents say what a script says; those of all sessions share it."""
    tools: tuple[Tool, ...] = changes.pop("tools", ())
    wait_s = changes.pop("wait_s", 1.0)
    return HostPlan(folder=folder, make_model=lambda: ScriptedModel(script, wait_s=wait_s), tools=tools, **changes)


class Desk:
    """The actors of a host, as a run finds them."""

    def __init__(self, published: PublishedActors, agents: HostedAgents) -> None:
        self.published = published
        self.agents = agents

    def find(self, name: str) -> Ref[Any]:
        found = self.published.find(name)
        assert found is not None
        return found

    async def ask(self, request: Any) -> Any:
        return await self.find("host").ask(request, timeout_s=60)

    async def follow(self, task: str = "r00000001", *, offset: int = 0, version: int = 0, **more: Any) -> AgentNews:
        follower = self.find(follower_name(OWNER, task))
        news: AgentNews = await follower.ask(FollowAgent(offset=offset, version=version, **more), timeout_s=60)
        return news

    async def follow_to_end(self, task: str = "r00000001") -> tuple[AgentNews, bytes]:
        """Follow an agent until it has ended; return its last news and its whole output."""
        output, version = b"", 0
        while True:
            news = await self.follow(task, offset=len(output), version=version)
            assert news.offset == len(output)
            output, version = output + news.output, news.version
            if news.state not in {"pending", "running"} and len(output) == news.size:
                return news, output


@asynccontextmanager
async def opened_host(plan: HostPlan) -> AsyncIterator[Desk]:
    """Open the actors of a host, without a node."""
    published, ports = PublishedActors(), virtual_ports()
    async with gr.open_runtime(ports=ports) as runtime, host_actors(plan, runtime, published, ports) as agents:
        yield Desk(published, agents)
