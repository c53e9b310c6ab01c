"""A session: a main agent, the teams below it, one journal, one run folder."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, final

import attrs
import trio

from greenroom.actors import AbortResult, Ref
from greenroom.agents import Agent, AgentDefinition, AgentHome, AgentServices, Answer, Prompt
from greenroom.core import Cause, Ports, Recorder, TurnFailed, TurnKilled
from greenroom.models import Usage
from greenroom.session._stream import EventStream
from greenroom.store import Transcript, TranscriptHeader
from greenroom.supervisor import ChildSpec, Restart, Runtime, StopOrder, Supervisor, SupervisorSpec
from greenroom.teams import Team, make_team, report_tool
from greenroom.tools import Tool, ToolSet

MAIN: Final = AgentDefinition(
    name="main",
    system_prompt="You are a careful engineer. Answer from what you read with your tools, and say what you could not find.",
)


@final
@attrs.frozen(kw_only=True)
class AgentStatus:
    """What an agent is doing now."""

    id: str
    path: str
    definition: str
    activity: str
    """What it does at this moment, for people; empty while it waits."""
    usage: Usage


@final
class Session:
    """An open session. Made by `open_session`."""

    def __init__(
        self,
        session_id: str,
        run_folder: Path,
        *,
        runtime: Runtime,
        supervisor: Supervisor,
        services: AgentServices,
        tools: ToolSet,
        ports: Ports,
        check_open: Callable[[], None],
        wait_durable: Callable[[], Any],
    ) -> None:
        self.id = session_id
        self.run_folder = run_folder
        self.runtime = runtime
        self._supervisor = supervisor
        self._services = services
        self._tools = tools
        self._ports = ports
        self._check_open = check_open
        self._wait_durable = wait_durable
        self._agents: dict[str, tuple[Ref[Any], AgentHome]] = {}
        self._teams: list[Team] = []
        self._streams: list[EventStream] = []
        self._teams_supervisor: Supervisor | None = None
        self._main: Ref[Any] | None = None
        self._main_home: AgentHome | None = None

    def __repr__(self) -> str:
        return f"<Session {self.id} on {self._services.model.name}: {len(self._agents)} agents>"

    # --- the main agent --------------------------------------------------------------------------------------------

    async def start_main(self, definition: AgentDefinition) -> None:
        """Start the main agent; called by `open_session`."""
        home = self._main_home = self._make_home(definition, ())
        spec = ChildSpec(restart=Restart.TRANSIENT)
        self._main = await self._supervisor.spawn(Agent, home, name="main", spec=spec)
        self._adopt(self._main, home)

    @property
    def main(self) -> Ref[Any]:
        """The main agent's address."""
        assert self._main is not None
        return self._main

    async def run(self, text: str) -> Answer:
        """Let the main agent take one turn on `text` and return how it ended.

        Cancelled, a turn that has begun goes on; `interrupt` ends it.

        Raises:
            TurnFailed: The model, or a limit, ended the turn; `partial` has the text so far.
            TurnKilled: `interrupt`, or the end of the session, ended the turn; `partial` has the text so far.
            ActorEnded: The main agent is gone.
        """
        assert self._main_home is not None
        try:
            return await self.main.ask(Prompt(text), timeout_s=math.inf, size_bytes=len(text))
        except (TurnFailed, TurnKilled) as error:
            error.partial = self._main_home.last_text
            raise

    def interrupt(self, why: str = "interrupted") -> AbortResult:
        """End the main agent's current turn, and nothing else."""
        return self.main.abort_turn(why=why)

    def kill(self, why: str = "killed") -> None:
        """End everything in the session now; leaving its block then only waits for the clean-ups."""
        self.runtime.root.cell.request_kill(Cause("host", why))

    # --- teams -----------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def open_team(self, name: str) -> AsyncIterator[Team]:
        """Open a team whose lead is the main agent; leaving the block ends its mates side by side.

        From here on the main agent has the team's tools, and `WriteReport`.

        Raises:
            NameTaken: A team of that name is open.
        """
        if self._teams_supervisor is None:
            spec = SupervisorSpec(stop_order=StopOrder.TOGETHER)
            self._teams_supervisor = await self._supervisor.spawn_supervisor("teams", spec)
        supervisor = await self._teams_supervisor.spawn_supervisor(name, SupervisorSpec(stop_order=StopOrder.TOGETHER))
        team, lead_tools = await make_team(
            name,
            supervisor=supervisor,
            lead=self.main,
            make_home=self._make_home,
            on_spawned=self._adopt,
            check_open=self._check_open,
            wait_durable=self._wait_durable,
        )
        home = self._main_home
        assert home is not None
        tools_before = home.tools
        report = report_tool(self.run_folder / "report.md", self._ports.disk)
        home.tools = _allowed(home.definition, [*tools_before.values(), *lead_tools, report])
        self._teams.append(team)
        try:
            yield team
        finally:
            home.tools = tools_before
            supervisor.ref.stop(why="the team was closed")
            with trio.CancelScope(shield=True):  # bounded by the supervisor's stop budget
                await supervisor.ref.wait_ended()
            self._teams.remove(team)

    # --- looking ---------------------------------------------------------------------------------------------------

    def events(self) -> EventStream:
        """Return the events of the session from this call on."""
        stream = EventStream()
        self._streams.append(stream)
        self.runtime.recorder.listen(stream.put)
        return stream

    def agents(self) -> list[AgentStatus]:
        """Return what each agent is doing now, in the order in which they were spawned."""
        return [
            AgentStatus(
                id=ref.id,
                path=ref.path,
                definition=home.definition.name,
                activity=home.activity,
                usage=home.usage,
            )
            for ref, home in self._agents.values()
        ]

    @property
    def usage(self) -> Usage:
        """The tokens of all agents of the session, those that have ended included."""
        return sum((home.usage for _, home in self._agents.values()), Usage())

    async def wait_quiet(self) -> None:
        """Wait until no turn runs, no message waits, and no item waits for a teammate that could claim it."""
        changed = trio.Event()
        recorder: Recorder = self.runtime.recorder
        stop_listening = recorder.listen(lambda _: changed.set())
        try:
            await trio.lowlevel.checkpoint()
            while not self._is_quiet():
                await changed.wait()
                # Whatever was recorded in this tick is one change.
                await trio.lowlevel.checkpoint()
                changed = trio.Event()
        finally:
            stop_listening()

    def _is_quiet(self) -> bool:
        boards = [team.board.ref for team in self._teams]
        refs = [ref for ref, _ in self._agents.values() if not ref.is_gone]
        for ref in [*refs, *boards]:
            statistics = ref.statistics()
            if ref.is_busy or statistics.now or statistics.next or statistics.later:
                return False
        return not any(team.has_work_to_hand_out for team in self._teams)

    # --- pieces ----------------------------------------------------------------------------------------------------

    def _make_home(self, definition: AgentDefinition, more_tools: Sequence[Tool]) -> AgentHome:
        tools = _allowed(definition, [*self._tools.values(), *more_tools])
        return AgentHome(definition=definition, services=self._services, tools=tools)

    def _adopt(self, ref: Ref[Any], home: AgentHome) -> None:
        self._agents[ref.id] = (ref, home)

    def close_streams(self) -> None:
        """Let every reader of events come to an end; called when the session has ended."""
        for stream in self._streams:
            stream.close()


def _allowed(definition: AgentDefinition, tools: Sequence[Tool]) -> ToolSet:
    names = definition.tools
    return ToolSet(one for one in tools if names is None or one.name in names)


def transcript_opener(
    run_folder: Path, session_id: str, cwd: Path, *, ports: Ports, version: str, write: Callable[[Path, bytes], None]
) -> Callable[[str], Transcript]:
    """Return what makes the transcript of an agent: `main.jsonl` for the first, `agent-<id>.jsonl` for the others."""
    opened: list[str] = []

    def open_one(agent_id: str) -> Transcript:
        is_main = not opened
        opened.append(agent_id)
        header = TranscriptHeader(
            session_id=session_id, agent_id=agent_id, is_sidechain=not is_main, cwd=str(cwd), version=version
        )
        name = "main.jsonl" if is_main else f"agent-{agent_id}.jsonl"
        path = run_folder / "transcripts" / name
        return Transcript(path, header, write=write, ids=ports.ids, wall=ports.clock.wall)

    return open_one
