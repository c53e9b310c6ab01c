"""The agents that a host runs for other runs, and the sessions in which they work: one for each run and workspace."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, final

import attrs
import trio

from greenroom._version import __version__
from greenroom.agents import AgentDefinition, Appended, DefinitionOrigin, PermissionQuestion
from greenroom.agents.definitions import read_json
from greenroom.core import GreenroomError, UsageError
from greenroom.core.ports import Ports
from greenroom.core.validation import positive
from greenroom.hosting._hosted_agent import HostedAgent, recall
from greenroom.models import Model
from greenroom.permissions import Allow, Deny, Mode
from greenroom.remote.hosts import (
    AnswerAgent,
    HostDescription,
    LaunchAgent,
    LaunchAnswer,
    ReleaseAgent,
    StopAgent,
    owner_of,
)
from greenroom.session import ModelFor, Session, TaskHandle, open_session
from greenroom.tools import Tool

MAX_RUNNING: Final = 100
"""Default number of agents that a host runs at a time."""
ORPHAN_S: Final = 60.0
KEPT_S: Final = 7 * 86_400.0
"""Seconds after its end for which an agent waits for its run."""
_LOOK_S: Final = 5.0
"""Seconds between two looks for agents without a run."""
_RUNS: Final = "runs"
_AGENTS: Final = "agents"
_WORK: Final = "work"
_RELEASED: Final = "its run wants no more news of it"


@final
@attrs.frozen(kw_only=True)
class HostPlan:
    """The parts of a host."""

    folder: Path
    """Folder of its records, of its runs, and of the empty folders in which agents without a workspace work."""
    make_model: Callable[[], Model | ModelFor]
    """Called for each session."""
    tools: tuple[Tool, ...]
    """The tools that agents may have, as far as their definitions allow."""
    workspaces: Mapping[str, Path] = attrs.field(factory=dict)
    """Folders in which agents may work, by name; that of the empty name is for agents that name none."""
    max_running: int = attrs.field(default=MAX_RUNNING, validator=positive)
    orphan_s: float = attrs.field(default=ORPHAN_S, validator=positive)
    """Seconds after which an agent is stopped if its run does not ask for it any more."""


@final
@attrs.define(eq=False)
class _HostedSession:
    """A session, and its agents by their ids over here."""

    session: Session | None = None
    agents: dict[str, HostedAgent] = attrs.field(factory=dict)
    closing: trio.Event = attrs.field(factory=trio.Event)

    def note_message(self, appended: Appended) -> None:
        agent = self.agents.get(appended.agent)
        if agent is None:
            return
        if appended.response is not None and self.session is not None:
            agent.calls += 1
            agent.usd += self.session.budget.pricing.cost(appended.response.model, appended.response.usage) or 0
        agent.note_change()

    async def decide(self, question: PermissionQuestion) -> Allow | Deny | None:
        """Ask the run of an agent whether a call may run."""
        agent = self.agents.get(question.agent)
        return None if agent is None else await agent.questions.decide(question)


@final
class HostedAgents:
    """The agents of a host.

    Args:
        plan: Its parts.
        ports: Time, ids, disk and threads.
        nursery: For sessions, and for agents until they have ended.
        publish: Called with each agent that runs may follow from now on.
        withdraw: Called with each that is released.
    """

    def __init__(
        self,
        plan: HostPlan,
        ports: Ports,
        nursery: trio.Nursery,
        *,
        publish: Callable[[HostedAgent], Awaitable[object]],
        withdraw: Callable[[HostedAgent], object],
    ) -> None:
        self.is_draining = False
        """True if no more agents are started."""
        self._plan = plan
        self._ports = ports
        self._nursery = nursery
        self._publish = publish
        self._withdraw = withdraw
        self._agents: dict[tuple[str, str], HostedAgent] = {}
        self._sessions: dict[tuple[str, str], _HostedSession] = {}
        self._ended = trio.Event()

    @property
    def running(self) -> int:
        """Number of agents that have not ended."""
        return sum(not agent.has_ended for agent in self._agents.values())

    async def restore(self) -> None:
        """Read the records of earlier processes; those of agents that had not ended say from now on that they are lost.

        Raises:
            UsageError: A record cannot be read.
        """
        folder = self._plan.folder / _AGENTS
        for path in await self._ports.blocking.run(_records, folder):
            try:
                agent = recall(path, await self._ports.blocking.run(self._ports.disk.read, path))
            except (OSError, ValueError) as error:
                raise UsageError(f"{path}: {error}; remove it, or choose another folder for the host") from None
            agent.ended_s = agent.ended_s or self._ports.clock.wall().timestamp()
            await agent.save(self._ports, agent.end)
            self._agents[agent.owner, agent.task] = agent
            await self._publish(agent)

    async def end_orphans(self) -> None:
        """Stop agents whose runs do not ask for them any more, and forget those that ended `KEPT_S` ago, until cancelled."""
        while True:
            await trio.sleep(_LOOK_S)
            now_s = self._ports.clock.wall().timestamp()
            for agent in list(self._agents.values()):
                agent.end_orphaned(self._plan.orphan_s)
                if agent.has_ended and not agent.followers and now_s - agent.ended_s > KEPT_S:
                    await self._forget(agent)

    # --- orders ----------------------------------------------------------------------------------------------------

    async def launch(self, order: LaunchAgent) -> LaunchAnswer:
        """Start an agent, unless it has been started already; return when that is recorded."""
        if self._find(order) is not None:
            return LaunchAnswer()
        try:
            definition = _definition_of(order)
            cwd = await self._find_place(order)
            if self.is_draining:
                raise UsageError("the host is about to stop, and starts no more agents")
            if self.running >= self._plan.max_running:
                raise UsageError(f"the host runs {self.running} agents, and no more at a time")
            await self._start(order, definition, cwd)
        except (GreenroomError, OSError) as error:
            return LaunchAnswer(refused=str(error) or type(error).__name__)
        return LaunchAnswer()

    def _find(self, order: LaunchAgent | StopAgent | ReleaseAgent | AnswerAgent) -> HostedAgent | None:
        return self._agents.get((owner_of(order.run, order.key), order.task))

    def stop(self, order: StopAgent) -> bool:
        """End an agent; return True if it is known."""
        agent = self._find(order)
        if agent is not None and agent.handle is not None and not agent.has_ended:
            agent.handle.kill(order.why)
        return agent is not None

    def answer(self, order: AnswerAgent) -> bool:
        """Answer a question of an agent; return False if it does not wait any more."""
        agent = self._find(order)
        return agent is not None and agent.questions.answer(order.question, order.answer)

    async def release(self, order: ReleaseAgent) -> bool:
        """End an agent if it runs, and forget it; return True if it was known."""
        agent = self._find(order)
        if agent is None:
            return False
        await self._forget(agent)
        return True

    async def _forget(self, agent: HostedAgent) -> None:
        agent.is_released = True
        await self._ports.blocking.run(partial(agent.record.unlink, missing_ok=True))
        if self._agents.pop((agent.owner, agent.task), None) is None:
            return  # somebody else has forgotten it meanwhile
        self._withdraw(agent)
        if agent.handle is not None and not agent.has_ended:
            agent.handle.kill(_RELEASED)
        else:
            self._leave_session(agent)

    def _leave_session(self, agent: HostedAgent) -> None:
        """Close the session of an agent that is over if it was the last one in there."""
        for key, hosted in list(self._sessions.items()):
            if agent in hosted.agents.values():
                hosted.agents = {name: each for name, each in hosted.agents.items() if each is not agent}
                if not hosted.agents:
                    hosted.closing.set()
                    del self._sessions[key]

    def describe(self) -> HostDescription:
        """Return the state of the host."""
        return HostDescription(
            version=__version__,
            running=self.running,
            max_running=self._plan.max_running,
            workspaces=sorted(self._plan.workspaces),
            is_draining=self.is_draining,
        )

    async def drain(self, limit_s: float) -> None:
        """Start no more agents, and wait for those that run, at most `limit_s` seconds. If cancelled, it only stops waiting."""
        self.is_draining = True
        with trio.move_on_after(limit_s):
            while self.running:
                await self._ended.wait()

    def close(self, why: str) -> None:
        """End all agents, and close their sessions."""
        self.is_draining = True
        for agent in self._agents.values():
            if agent.handle is not None and not agent.has_ended:
                agent.handle.kill(why)
        for hosted in self._sessions.values():
            hosted.closing.set()

    # --- starting --------------------------------------------------------------------------------------------------

    async def _find_place(self, order: LaunchAgent) -> Path:
        """Return the folder in which an agent works."""
        place = self._plan.workspaces.get(order.workspace)
        if place is not None:
            return place
        if order.workspace:
            known = ", ".join(sorted(self._plan.workspaces)) or "none"
            raise UsageError(f"the host has no workspace {order.workspace!r}; it has: {known}")
        place = self._plan.folder / _WORK / owner_of(order.run, order.key)
        await self._ports.blocking.run(self._ports.disk.make_folder, place)
        return place

    async def _start(self, order: LaunchAgent, definition: AgentDefinition, cwd: Path) -> None:
        owner = owner_of(order.run, order.key)
        record = self._plan.folder / _AGENTS / owner / f"{order.task}.json"
        agent = HostedAgent(run=order.run, owner=owner, task=order.task, record=record)
        await agent.save(self._ports)
        hosted: _HostedSession | None = None
        try:
            hosted = await self._session_of((owner, order.workspace), cwd)
            assert hosted.session is not None
            handle = await hosted.session.spawn(
                definition,
                order.prompt,
                background=True,
                description=order.description,
                model=order.model or None,
            )
        except BaseException:
            with trio.CancelScope(shield=True):  # else it would be one that is lost
                await self._ports.blocking.run(record.unlink, missing_ok=True)
            if hosted is not None and not hosted.agents:
                hosted.closing.set()
                self._sessions.pop((owner, order.workspace), None)
            raise
        agent.handle, agent.output = handle, handle.task.info.output_file
        hosted.agents[handle.id] = agent
        await agent.save(self._ports)
        self._agents[owner, order.task] = agent
        await self._publish(agent)
        self._nursery.start_soon(self._finish, agent, handle)

    async def _finish(self, agent: HostedAgent, handle: TaskHandle) -> None:
        await agent.finish(handle, self._ports)
        self._ended.set()
        self._ended = trio.Event()
        if agent.is_released:
            self._leave_session(agent)

    async def _session_of(self, key: tuple[str, str], cwd: Path) -> _HostedSession:
        """Return the session of a run in a workspace; open it if there is none."""
        hosted = self._sessions.get(key)
        if hosted is None or hosted.session is None or hosted.session.was_stopped or hosted.session.was_killed:
            hosted = _HostedSession()
            await self._nursery.start(self._run_session, hosted, cwd)
            self._sessions[key] = hosted
        return hosted

    async def _run_session(
        self, hosted: _HostedSession, cwd: Path, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        has_started = False
        try:
            async with open_session(
                model=self._plan.make_model(),
                cwd=cwd,
                runs=self._plan.folder / _RUNS,
                tools=self._plan.tools,
                settings={"delegation": {"max_running": self._plan.max_running}},
                ports=self._ports,
                on_message=hosted.note_message,
                can_use_tool=hosted.decide,
            ) as hosted.session:
                has_started = True
                task_status.started()
                await hosted.closing.wait()
        except Exception:
            # A session that fails takes only its own agents along, and their ends say so.
            if not has_started:
                raise
        finally:
            hosted.session = None


def _definition_of(order: LaunchAgent) -> AgentDefinition:
    """Return the definition that an order names, without what a launcher may not ask for.

    Raises:
        UsageError: It cannot be used.
    """
    readings = read_json(order.definition, origin=DefinitionOrigin(source="the launching run"))
    definition = readings[0][0] if len(readings) == 1 else None
    if definition is None:
        why = "; ".join(note.text for _, notes in readings for note in notes) or "expected one definition"
        raise UsageError(f"the definition cannot be used: {why}")
    if definition.permission_mode == Mode.BYPASS:
        raise UsageError(f"the host takes no agent with the permission mode {definition.permission_mode!r}")
    # Its servers and hooks are programs of another machine, and it is somewhere else already.
    return attrs.evolve(definition, hooks={}, mcp_servers=(), isolation=None)


def _records(folder: Path) -> Iterable[Path]:
    with suppress(FileNotFoundError):
        return sorted(folder.glob("*/*.json"))
    return ()
