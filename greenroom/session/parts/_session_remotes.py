"""The agents of a session that work on hosts: the node of the session, opened with the first of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, final

import trio

from greenroom.agents.definitions import facts_of
from greenroom.agents.delegation import AgentCall, RemoteLaunched, RemoteRoute
from greenroom.session.assembly._session_services import Services
from greenroom.tools import ToolContext

if TYPE_CHECKING:  # nothing of links is loaded unless a host is configured
    from greenroom.remote import Link, LinkNode, LinkPeer


@final
class SessionRemotes:
    """Starts agents on the hosts of the settings.

    Args:
        services: Those of the session.
    """

    def __init__(self, services: Services) -> None:
        from greenroom.remote.hosts import RemoteAgents

        self._services = services
        self._settings = services.plan.settings.scalars.remote
        self._opening = trio.Lock()
        self._node: LinkNode | None = None
        self._closing = trio.Event()
        self._placed = services.plan.spec.host.placed_hosts
        journal, folder = services.journal, services.run_folder
        self.agents = RemoteAgents(
            run=folder.name,
            hosts=(*self._settings.hosts, *({} if self._placed is None else self._placed.peers)),
            connect=self._connect,
            tasks=services.tasks,
            nursery=services.nursery,
            ids=services.ports.ids,
            outputs=folder / "tasks",
            write=journal.write_before,
            commit=journal.commit,
            unreachable_s=self._settings.unreachable_s,
        )
        self._unwatch = None if self._placed is None else self._placed.watch(self._note_death)

    def _note_death(self, host: str, why: str) -> None:
        """End what waits for a host whose process has ended."""
        self.agents.lose_host(host, why)
        for link in () if self._node is None else self._node.links():
            if link.node == host:
                link.lose(why)

    async def launch(self, way: RemoteRoute, call: AgentCall, ctx: ToolContext) -> RemoteLaunched:
        """Start an agent on a host for a call of the tool Agent.

        Raises:
            ToolError: No host can be reached, or the host refuses.
        """
        from greenroom.remote.hosts import RemoteOrder

        order = RemoteOrder(
            definition=facts_of(way.definition),
            description=call.description,
            prompt=call.prompt,
            model=call.model or "",
            owner=ctx.actor,
            tool_use_id=ctx.tool_use_id,
        )
        task, url = await self.agents.launch(order)
        return RemoteLaunched(
            task_id=task.info.id,
            session_url=url,
            description=call.description,
            prompt=call.prompt,
            output_file=str(task.info.output_file),
        )

    async def close(self) -> None:
        """Stop the agents that run, and close the node; bounded and shielded."""
        await self.agents.close()
        if self._unwatch is not None:
            self._unwatch()
        self._closing.set()

    async def _connect(self, host: str) -> Link:
        async with self._opening:
            if self._node is None:
                peers = await self._services.ports.blocking.run(self._read_peers)
                self._node = await self._services.nursery.start(self._run_node, peers)
        return await self._node.connect(host)

    async def _run_node(
        self, peers: dict[str, LinkPeer], task_status: trio.TaskStatus[LinkNode] = trio.TASK_STATUS_IGNORED
    ) -> None:
        from greenroom.remote import open_node
        from greenroom.remote.hosts import host_codec

        # Each run is a node of its own: two of one name would end each other's links.
        services = self._services
        async with open_node(services.runtime, name=services.run_folder.name, codec=host_codec(), peers=peers) as node:
            task_status.started(node)
            await self._closing.wait()

    def _read_peers(self) -> dict[str, LinkPeer]:
        from greenroom.remote import LinkPeer
        from greenroom.remote.hosts import read_token_file

        named = {
            name: LinkPeer(token=read_token_file(Path(host.token_file).expanduser()), address=host.address)
            for name, host in self._settings.hosts.items()
        }
        return named if self._placed is None else {**named, **self._placed.peers}
