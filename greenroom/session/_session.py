"""A session: a main agent, the teams below it, one journal, one run folder."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, final

from greenroom.actors import Ref
from greenroom.agents import (
    Agent,
    AgentDefinition,
    AgentHome,
    Answer,
    Compact,
    Compacted,
    Denial,
    Loaded,
    Note,
    Prompt,
    agent_spec,
)
from greenroom.agents.definitions import Definitions
from greenroom.agents.review import AutoModeStatistics
from greenroom.core import Cause, JournalError, Ports, TurnFailed, TurnKilled, UsageError
from greenroom.core.sources import FoundPlugins
from greenroom.hooks import ParsedHooks
from greenroom.inbox import AUTO_CONTINUATION, HUMAN, Item, Origin
from greenroom.mailbox import Lane
from greenroom.mcp import McpServers
from greenroom.models import Usage
from greenroom.models.budgets import Budget
from greenroom.permissions import ApprovalQueue, Mode, Scope, Update, parse_mode
from greenroom.session._agent_ports import SessionAgentPorts
from greenroom.session._aside import Asides, BesideTurns
from greenroom.session._changing import OfItself
from greenroom.session._composition import Composition
from greenroom.session._cut_turns import OfCutTurns
from greenroom.session._delegation import Delegation, OfHost, SessionGround
from greenroom.session._queue import Interrupted, SessionInbox, find_deferred, find_unanswered
from greenroom.session._recording import Recording, are_at_rest, wait_until
from greenroom.session._resume import load_agent
from greenroom.session._rewinding import OfFiles
from greenroom.session._status import AgentStatus, status_of_agent
from greenroom.session._stream import EventStream, Streams
from greenroom.session._teams import OfTeams, SessionTeams
from greenroom.session._telling import tell_of_end, tell_of_start
from greenroom.skills import Skills
from greenroom.supervisor import Restart, Runtime, Supervisor
from greenroom.tasks import MCP_CALL, SHELL


@final
class Session(BesideTurns, OfCutTurns, OfFiles, OfHost, OfItself, OfTeams):
    """An open session. Made by `open_session`."""

    def __init__(
        self,
        session_id: str,
        run_folder: Path,
        *,
        runtime: Runtime,
        supervisor: Supervisor,
        composition: Composition,
        ports: Ports,
        recording: Recording,
        make_delegation: Callable[[Supervisor, SessionGround], Delegation],
    ) -> None:
        self.id = session_id
        self.run_folder = run_folder
        self.runtime = runtime
        self._supervisor = supervisor
        self._composition = composition
        self._services = composition.services
        self.checkpoints = composition.checkpoints
        self._ports = ports
        self._recording = recording
        self.was_stopped = self.was_killed = False
        """Whether `stop` was called, and whether `kill` was."""
        self.initial_message = ""
        """What a hook of the session's start wants to be the first prompt."""
        self._agents: dict[str, tuple[Ref[Any], AgentHome]] = {}
        self._resuming: set[str] = set()
        self._streams = Streams(runtime.recorder)
        self._main: Ref[Any] | None = None
        self._main_home: AgentHome | None = None
        self._former: dict[str, Usage] = {}
        ground = SessionGround(composition, self._adopt, self._drop, self._agents.get)
        self.delegation = make_delegation(supervisor, ground)
        self.teams = SessionTeams(
            supervisor,
            composition,
            delegation=self.delegation,
            adopt=self._adopt,
            drop=self._drop,
            recording=recording,
            ports=ports,
            run_folder=run_folder,
        )
        self.inbox: SessionInbox
        """What waits for the main agent; there once that has started."""

    def __repr__(self) -> str:
        return f"<Session {self.id} on {self._services.model.name}: {len(self._agents)} agents>"

    # --- the main agent --------------------------------------------------------------------------------------------

    async def start_main(
        self,
        definition: AgentDefinition,
        loaded: Loaded | None = None,
        *,
        source: str = "resume",
        setup: str = "",
        settle: Callable[[AgentHome], Awaitable[None]] | None = None,
    ) -> None:
        """Start the main agent, with the conversation of an earlier run if there is one; called by `open_session`.

        Args:
            definition: Its own.
            loaded: That conversation.
            source: What hooks of the session's start are told then.
            setup: What hooks of `Setup` are told; empty runs none.
            settle: Brings the main agent to the folder that it works in, before it starts.
        """
        ports = SessionAgentPorts(
            read_prompt=self._composition.commands.read,
            run_skill=self.delegation.forks.run_command,
            survivors=self.teams.survivors,
            on_taken=lambda uuid: self.inbox.note_taken(uuid),  # noqa: PLW0108 - the inbox is made later
            on_said=None if self.checkpoints is None else self.checkpoints.begin,
        )
        home = self._main_home = self._composition.make_home(definition, is_child=False, ports=ports)
        home.loaded = loaded
        if loaded is not None and self._services.auto is not None:
            self._services.auto.recall(loaded.said)
        self.delegation.stays.others = self._living_children
        if settle is not None:
            await settle(home)
        run, blocking = self.run_folder, self._ports.blocking
        unanswered = await find_unanswered(run, loaded, blocking)
        home.deferred = await find_deferred(run, loaded, blocking)
        home.keeps_open = frozenset(call.id for call in (*unanswered, home.deferred) if call is not None)
        spec = agent_spec(Restart.TRANSIENT, (loaded.agent_id or None) if loaded is not None else None)
        self._main = await self._supervisor.spawn(Agent, home, name="main", spec=spec)
        self._adopt(self._main, home)
        self.delegation.crew.main, self.delegation.crew.main_home = self._main, home
        await self.teams.start(self._main, home, self.id, is_resumed=loaded is not None)
        ids, is_command = self._ports.ids, self._composition.commands.is_command
        self.inbox = SessionInbox(
            self._main, home, ids=ids, is_command=is_command, approvals=self.approvals, unanswered=unanswered
        )
        self.delegation.forks.hand_in = self.inbox.hand_in_hidden
        await self.inbox.open(self._supervisor)
        self.asides = Asides(main=self._main, home=home, recorder=self.runtime.recorder, recording=self._recording)
        self._composition.elicitations.home, self._composition.elicitations.interrupt = home, self.interrupt
        self._composition.title.home = home
        began = "startup" if loaded is None else source
        self.initial_message = await tell_of_start(
            home, self.runtime.recorder, source=began, title=self.title, setup=setup
        )

    async def tell_of_end(self) -> None:
        """Run the hooks of the session's end, within their limit; called by `open_session`."""
        if self._main_home is not None:
            await tell_of_end(self._main_home, self.runtime.recorder)

    # --- what agents may do ----------------------------------------------------------------------------------------

    @property
    def approvals(self) -> ApprovalQueue:
        """The calls that wait for somebody's answer: `approvals.answer(id, Allow())`."""
        assert self._services.approvals is not None
        return self._services.approvals

    @property
    def auto_mode(self) -> AutoModeStatistics:
        """What the reviewer of the mode auto has done so far, and what that has used."""
        assert self._services.auto is not None
        return self._services.auto.statistics()

    @property
    def budget(self) -> Budget:
        """What the session may use, and has used; where the settings of models give no limit, it only watches."""
        return self._composition.budget

    @property
    def servers(self) -> McpServers:
        """The MCP servers of the session."""
        return self._composition.servers

    @property
    def permission_mode(self) -> str:
        """How the main agent's calls are treated that no rule speaks about."""
        policy = self._composition.policy if self._main_home is None else self._main_home.policy
        return "" if policy is None else policy.mode.value

    async def set_permission_mode(self, mode: str) -> None:
        """Change the main agent's mode, from its next call on; `auto` also ends a pause of its reviewer.

        Raises:
            UsageError: There is no such mode.
        """
        assert self._main_home is not None
        update = Update(kind="setMode", destination=Scope.SESSION, mode=parse_mode(mode))
        await self._composition.keep_updates(self._main_home, [update])
        if update.mode is Mode.AUTO and self._services.auto is not None:
            self._services.auto.resume()

    @property
    def model(self) -> str:
        """Name of the model."""
        return self._services.model.name

    @property
    def cwd(self) -> Path:
        """The folder that the agents work in; that of its worktree, while the main agent is in one."""
        home = self._main_home
        return self._services.cwd if home is None or home.place is None else home.place

    @property
    def worktree(self) -> Path | None:
        """The worktree of the session that the main agent is in; None where it is in none."""
        home = self._main_home
        return None if home is None or home.stay is None else home.stay.worktree.path

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools that the main agent has now."""
        return () if self._main_home is None else tuple(self._main_home.tools)

    @property
    def denials(self) -> tuple[Denial, ...]:
        """The calls of the main agent that were refused, in order."""
        return () if self._main_home is None else self._main_home.denials

    @property
    def definitions(self) -> Definitions:
        """The kinds of agents that there are."""
        return self._composition.definitions.current

    @property
    def has_commands(self) -> bool:
        """Whether skills and prompts of MCP servers may be called by `/name` (the setting `slash_commands`)."""
        return self._composition.commands.is_on

    @property
    def skills(self) -> Skills:
        """The skills that count now."""
        return self._composition.skills.current

    @property
    def plugins(self) -> FoundPlugins:
        """The plugins that the session has, and those that could not be loaded."""
        return self._composition.plugins

    @property
    def problems(self) -> tuple[str, ...]:
        """What was passed over in settings, definitions, skills and the like: a line each, for people."""
        return tuple(dict.fromkeys(self._composition.problems))

    # --- turns of the main agent -----------------------------------------------------------------------------------

    @property
    def main(self) -> Ref[Any]:
        """The main agent's address."""
        assert self._main is not None
        return self._main

    async def run(self, text: str, *, message_id: str = "") -> Answer:
        """Let the main agent take one turn on `text` and return how it ended.

        When it returns, the answer is on record. Cancelled, a turn that has begun goes on; `interrupt` ends it.
        For a skill by `/name` that runs as an agent of its own, what it says is the answer, and main's model is not asked.

        Args:
            text: What the user says.
            message_id: What the host calls it, for `rewind_files`; empty for nothing.

        Raises:
            UsageError: The text is blank, or calls a skill by `/name` that cannot be taken up.
            JournalError: The turn could not be put on record, or the answer was not.
            TurnFailed: The model, or a limit, ended the turn; `partial` has the text so far.
            TurnKilled: `interrupt`, or the end of the session, ended the turn; `partial` has the text so far.
            ActorEnded: The main agent is gone.
        """
        if not text.strip():
            raise UsageError("a prompt needs text; this one is blank")
        assert self._main_home is not None
        read, skills = await self._composition.commands.read(self._main_home, text)
        typed = "" if read == text else text
        return await self._run(Prompt(read, skills=skills, uuid=self._new_message(message_id), typed=typed))

    def add_hooks(self, more: ParsedHooks) -> None:
        """Let further hooks run from now on, for all agents that there are and will be; see `parse_callbacks`."""
        self._composition.hooks.extend(more)

    @property
    def structured(self) -> Mapping[str, Any] | None:
        """What the main agent gave in its latest turn by the `answer_schema` of its definition; None for nothing."""
        tool = None if self._main_home is None else self._main_home.answer_tool
        return None if tool is None else tool.given

    async def _run(self, prompt: Prompt) -> Answer:
        self._recording.check_open()
        if self.inbox.is_behind:  # else all that was sent before is in the main agent's inbox, and this goes behind it
            await self.inbox.wait_passed()
        try:
            answer = await self.main.ask(prompt, timeout_s=math.inf, size_bytes=len(prompt.text))
        except (TurnFailed, TurnKilled) as error:
            error.partial = "".join(prompt.said)
            if isinstance(cause := error.__cause__, JournalError):
                raise JournalError(cause.where, cause.why) from error
            raise
        await self._recording.commit()
        return answer

    async def compact(self, focus: str = "") -> Compacted:
        """Put a summary in the place of the main agent's conversation, and return what became of it.

        Args:
            focus: What the summary is to look at in particular.

        Raises:
            UsageError: Compaction is switched off.
            JournalError: It could not be put on record.
            TurnFailed: A hook refused it, the model wrote no summary, or there is nothing to compact.
            TurnKilled: `interrupt`, or the end of the session, ended it; the conversation is as it was.
            ActorEnded: The main agent is gone.
        """
        if not self._services.compaction.enabled:
            raise UsageError("compaction is switched off in the settings")
        self._recording.check_open()
        compacted = await self.main.ask(Compact(focus), timeout_s=math.inf)
        await self._recording.commit()
        return compacted

    def send(
        self,
        text: str,
        *,
        priority: Lane | str | None = None,
        origin: Origin = HUMAN,
        is_meta: bool | None = None,
        expires_s: float = math.inf,
        message_id: str = "",
    ) -> str:
        """Hand something in for the main agent and return its id; never waits.

        A turn that runs takes it up behind its current tool calls, save a skill by `/name` and a command line behind `!`,
        which get turns of their own; an idle agent begins a turn. What comes from anybody but the user is text.

        Args:
            text: What is said.
            priority: `now` also ends the turn that runs; `next` is the default of what a person says, `later` of the rest.
            origin: Where it comes from; only `HUMAN` can count as the user's consent.
            is_meta: Whether it is for the model only; by default what the runtime itself says is.
            expires_s: Time of the run's clock from which on it is not worth saying.
            message_id: What the host calls it, for `rewind_files`; empty for nothing.

        Raises:
            UsageError: It is blank, the priority is not for this origin, or only models may call that skill.
            ActorEnded: The main agent is gone.
            Undelivered: Too much waits already.
        """
        uuid = self.inbox.send(text, priority=priority, origin=origin, is_meta=is_meta, expires_s=expires_s)
        if self.checkpoints is not None:
            self.checkpoints.call(uuid, message_id)
        return uuid

    def queued(self) -> tuple[Item, ...]:
        """Return what was sent and waits still, in the order in which it came in."""
        return self.inbox.queued()

    def interrupt(self, why: str = "interrupted", *, cancel_queued: bool = False) -> Interrupted:
        """End the main agent's current turn, and nothing else; what was sent and waits is taken up next.

        Args:
            why: The reason that is recorded.
            cancel_queued: Take back what waits as well.
        """
        return self.inbox.interrupt(why, cancel_queued=cancel_queued)

    def stop(self, why: str = "stopped") -> None:
        """Begin to stop everything in order, each turn with its grace: mates before the main agent.

        Nothing is waited for: what waits in the session's block gets `TurnKilled` or `ActorEnded`, and leaving it waits.
        """
        self.was_stopped = True
        self.end_calls(Cause("host", why))
        self.runtime.root.cell.request_stop(Cause("host", why), self.runtime.root.spec.stop_budget_s)

    def kill(self, why: str = "killed") -> None:
        """End everything in the session now, commands too; leaving its block then only waits for the clean-ups."""
        self.was_killed = True
        cause = Cause("host", why)
        self.runtime.root.cell.request_kill(cause)
        for one in self.delegation.tasks.running():
            if one.info.kind in {SHELL, MCP_CALL}:
                one.kill(cause)

    def end_calls(self, cause: Cause) -> None:
        """End the calls of MCP servers that go on in the background, because their servers are about to end; nobody is woken."""
        for one in self.delegation.tasks.running():
            if one.info.kind == MCP_CALL and one.is_background:
                one.is_quiet = True
                one.kill(cause)

    # --- agents of an earlier process -------------------------------------------------------------------------------

    async def resume(self, agent_id: str, *, definition: AgentDefinition, text: str = "") -> Ref[Any]:
        """Start an agent again that ended with an earlier process of this run: same id, conversation and transcript.

        Args:
            agent_id: The id it had.
            definition: What kind of agent it is.
            text: What it is told; empty to let it go on if its last turn was cut, and wait otherwise.

        Raises:
            UsageError: It lives, is being resumed already, or this run has no conversation of it.
            JournalError: The start could not be put on record.
        """
        if agent_id in self._resuming:
            raise UsageError(f"the agent {agent_id!r} is already resuming")
        if agent_id in self._agents:
            raise UsageError(f"the agent {agent_id!r} belongs to this process already; send it a message")
        self._resuming.add(agent_id)
        try:
            home = self._composition.make_home(definition)
            home.loaded = await load_agent(self.run_folder, agent_id, self._ports.blocking)
            spec = agent_spec(Restart.TEMPORARY, agent_id)
            ref: Ref[Any] = await self._supervisor.spawn(Agent, home, spec=spec)
            self._adopt(ref, home)
        finally:
            self._resuming.discard(agent_id)
        if text:
            ref.tell(Note(text))
        elif home.loaded.was_cut:
            ref.tell(Note(self._composition.resume_prompt, is_hidden=True, origin=AUTO_CONTINUATION))
        await self._recording.commit()
        return ref

    # --- looking ---------------------------------------------------------------------------------------------------

    def events(self, *, from_start: bool = False) -> EventStream:
        """Return the events of the session from this call on; close the stream when it is not read to its end.

        Args:
            from_start: Begin with what the recorder still holds of the session so far.
        """
        return self._streams.open(from_start=from_start)

    def agents(self) -> list[AgentStatus]:
        """Return what each agent is doing now, in the order in which they were spawned; also of those that have ended."""
        return [status_of_agent(ref, home) for ref, home in self._agents.values()]

    @property
    def usage(self) -> Usage:
        """The tokens of all agents of the session, including ended ones and those of earlier processes of a resumed run."""
        former = sum(self._former.values(), self.budget.earlier.usage)
        return sum((home.usage for _, home in self._agents.values()), former)

    async def wait_quiet(self, *, commands: bool = False) -> None:
        """Wait until no turn runs, no message waits, and no item waits for a teammate that could claim it.

        That includes sub-agents in the background and their notices. It does not include commands and calls of MCP servers
        in the background, because a server that an agent started may never end. Cancelled, it only stops waiting.

        Args:
            commands: Wait for these, too, and until the agents have read how they ended; `kill_all` ends them.
        """
        await wait_until(self.runtime.recorder, partial(self._is_quiet, commands=commands))

    def _is_quiet(self, *, commands: bool) -> bool:
        refs = (ref for ref, _ in self._agents.values() if not ref.is_gone)
        is_idle = self.delegation.is_quiet and are_at_rest((*refs, *self.teams.boards, self.inbox.ref))
        return is_idle and not self.teams.working and not (commands and self.delegation.has_commands)

    # --- pieces ----------------------------------------------------------------------------------------------------

    def _living_children(self) -> Iterator[AgentHome]:
        return (home for ref, home in self._agents.values() if home.is_child and not ref.is_gone)

    def _adopt(self, ref: Ref[Any], home: AgentHome) -> None:
        agent_id = home.id or ref.id
        home.usage += self._former.pop(agent_id, Usage())  # of its runs before it was released
        self._agents[agent_id] = (ref, home)

    def _drop(self, agent_id: str) -> None:
        """Forget an agent that nobody looks at any more; what it used counts on."""
        if agent_id in self._agents:
            _, home = self._agents.pop(agent_id)
            self._former[agent_id] = home.usage

    def close_streams(self) -> None:
        """Let every reader of events come to an end; called when the session has ended."""
        self._streams.close()
