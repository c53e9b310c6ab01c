"""The agents of a session that work on hosts: the node of the session, opened with the first of them."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import trio

from greenroom.agents import AgentServices, PermissionQuestion
from greenroom.agents.definitions import facts_of
from greenroom.agents.delegation import AgentCall, RemoteLaunched, RemoteRoute
from greenroom.permissions import Allow, Deny, Effect, Verdict
from greenroom.session.assembly._session_services import Services
from greenroom.tasks import TaskInfo, TaskLateResult, TaskReport, TaskView
from greenroom.tools import ToolContext

if TYPE_CHECKING:  # nothing of links is loaded unless a host is configured
    from greenroom.remote import Link, LinkNode, LinkPeer
    from greenroom.remote.hosts import LeftRemote, RemoteAgent


@final
class SessionRemotes:
    """Starts agents on the hosts of the settings.

    Args:
        services: Those of the session.
        asking: The services by which agents of the session ask people.
    """

    def __init__(self, services: Services, asking: AgentServices) -> None:
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
            hosts={
                **{name: host.workspace for name, host in self._settings.hosts.items()},
                **({} if self._placed is None else dict.fromkeys(self._placed.peers, "")),
            },
            connect=self._connect,
            tasks=services.tasks,
            nursery=services.nursery,
            ids=services.ports.ids,
            key=secrets.token_hex(32),
            outputs=folder / "tasks",
            write=journal.write_before,
            commit=journal.commit,
            report=self._report_late,
            answer=partial(answer_question, asking),
            budget=services.budget,
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

    async def restore(self, left: Sequence[TaskView]) -> None:
        """Take up the agents of earlier processes of the run; see `RemoteAgents.restore`."""
        outputs, run = self._services.run_folder / "tasks", self._services.ports.blocking.run
        found = [await run(_read_left, outputs, view) for view in left]
        self.agents.restore([each for each in found if each is not None])

    async def _report_late(self, report: TaskReport) -> bool:
        if not await self._services.tasks.deliver_report(report):
            return False
        event = TaskLateResult(actor=report.owner, task=report.task_id, state=report.late_state)
        self._services.recorder.emit(event)
        return True

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
        from greenroom.serving import read_authority

        named = {
            name: LinkPeer(
                token=read_token_file(Path(host.token_file).expanduser()),
                address=host.address,
                tls=read_authority(Path(host.ca_file).expanduser()) if host.ca_file else None,
            )
            for name, host in self._settings.hosts.items()
        }
        return named if self._placed is None else {**named, **self._placed.peers}


def _read_left(outputs: Path, view: TaskView) -> LeftRemote | None:
    """Return the state of a remote agent of an earlier process; None if its host needs no more messages about it."""
    from greenroom.remote.hosts import LeftRemote, read_remote_record, remote_record_path

    record = read_remote_record(remote_record_path(outputs, view.task).read_bytes())
    if record is None or record.is_settled:
        return None
    info = TaskInfo(
        id=view.task,
        kind=view.type,
        description=view.description,
        owner=view.owner,
        tool_use_id=view.call,
        output_file=outputs / f"{view.task}.output",
        agent_type=view.agent,
    )
    output = info.output_file
    size = output.stat().st_size if output.exists() else 0
    return LeftRemote(record=record, info=info, state=view.state, cause=view.cause, size=size)


async def answer_question(asking: AgentServices, remote: RemoteAgent, question: Mapping[str, Any]) -> dict[str, Any]:
    """Ask people here a question of a remote agent, and return the answer as `AnswerAgent` has it. If cancelled, it is withdrawn."""
    info = remote.task.info
    asked = PermissionQuestion(
        agent=info.id,
        label=f"{info.agent_type or info.id} on host {remote.host}",
        tool=str(question["tool"]),
        input=question["input"],
        verdict=Verdict(effect=Effect.ASK, reason=f"on the host {remote.host!r}: {question['reason']}"),
        call_id=str(question["call"]),
    )
    answer = None if asking.can_use_tool is None else await asking.can_use_tool(asked)
    if answer is None and asking.approvals is not None:
        ended = await asking.approvals.ask(
            agent=asked.agent,
            label=asked.label,
            tool=asked.tool,
            input=asked.input,
            verdict=asked.verdict,
            call_id=asked.call_id,
        )
        answer = ended.answer
    match answer:
        case Allow():
            return {"allows": True, "input": None if answer.input is None else dict(answer.input)}
        case Deny():
            return {"allows": False, "message": answer.message, "interrupts": answer.interrupts}
        case None:
            return {"allows": False, "message": "nobody can be asked in the session that started the agent"}
