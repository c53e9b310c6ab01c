"""The agents of a session: what makes them, the main agent, sub-agents, teams."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final, final

import trio

from greenroom.actors import Ref
from greenroom.agents import AgentDefinition
from greenroom.agents.definitions import Definitions, agent_listing
from greenroom.agents.subagents import HookAgents, Post, SkillForks, SubagentPool
from greenroom.core import Event, JournalError, StartFailed, Stopping, UsageError
from greenroom.models import Usage
from greenroom.session.assembly._session_services import Services
from greenroom.session.equipment._composition import Composition
from greenroom.session.equipment._worktree_hooks import make_worktrees
from greenroom.session.parts._ground import FolderArchive, SessionGround
from greenroom.session.parts._host_agents import start_again, tell_first
from greenroom.session.parts._known_agents import KnownAgents
from greenroom.session.parts._session_inbox import SessionInbox
from greenroom.session.parts._session_status import AgentStatus, status_of_agent
from greenroom.session.parts._session_teams import SessionTeams
from greenroom.session.parts._subagent_tools import SubagentTools
from greenroom.session.peers._peer_sessions import PeerSessions
from greenroom.skills import Rendered
from greenroom.supervisor import StopOrder, Supervisor, SupervisorSpec
from greenroom.tools import ToolContext, ToolError

BACKGROUND: Final = "background"
TOGETHER: Final = SupervisorSpec(stop_order=StopOrder.TOGETHER)


@final
class SessionAgents:
    """The agents of one session; `session.agents`.

    What makes agents and what starts them need each other: an agent's Skill tool starts sub-agents, and sub-agents are made as all
    agents are. This object owns both, and hands its own methods to the one that is made first.

    Attributes:
        composition: Makes agents.
        main: The main agent.
        known: The agents in memory.
        pool: The sub-agents.
        forks: Runs skills as agents of their own.
        post: Messages between agents.
        teams: The teams.
        inbox: The messages that wait for the main agent.
        schedules: The scheduled prompts.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._journal = journal = services.journal
        scalars = services.plan.settings.scalars
        self._branch: Supervisor | None = None
        self._opening = trio.Lock()
        self._resuming: set[str] = set()
        self.main = services.main
        self.known = KnownAgents()
        self.composition = Composition(services, fork_skill=self._fork_skill, hook_agents=self._hook_agents)
        is_command, approvals = self.composition.commands.is_command, self.composition.approvals
        self.inbox = SessionInbox(
            self.main, services.inbox, ports=services.ports, is_command=is_command, approvals=approvals
        )
        self.pool = SubagentPool(
            tasks=services.tasks,
            open_branch=self._open_branch,
            ground=SessionGround(self.composition, self.known, services.budget, self.inbox),
            main=self.main,
            settings=scalars.delegation,
            ports=services.ports,
            run_folder=services.run_folder,
            write=journal.write_before,
            worktrees=make_worktrees(services, self.composition.rules.hooks, self.composition.services, self._record),
            record=self._record,
            wait_durable=journal.commit,
        )
        self.forks = SkillForks(
            pool=self.pool,
            equip=self.composition.rules.hooks.add,
            wait_durable=self._wait_durable,
            hand_in=self.inbox.hand_in_hidden,
        )
        ports, folder = services.ports, services.run_folder
        peers = PeerSessions(folder, scalars.peers, ports)
        self.post = Post(self.pool, FolderArchive(folder, ports.blocking), peers)
        self.teams = SessionTeams(
            services.branch,
            self.composition,
            settings=scalars,
            pool=self.pool,
            post=self.post,
            main=self.main,
            known=self.known,
            recording=journal,
            ports=ports,
            run_folder=folder,
            resume_prompt=services.plan.resume_prompt,
        )
        parts = (services, self.inbox, self.composition, self.pool, self.post, self.teams)
        self._tools = SubagentTools(*parts, commit=journal.commit, wait_durable=self._wait_durable)
        self._tools.bind()
        self.schedules = self._tools.schedules
        self.close_remotes = self._tools.close_remotes
        self.restore_remotes = self._tools.restore_remotes

    def __len__(self) -> int:
        return len(self.known)

    def close(self) -> None:
        """Let no agent begin a turn any more, because the session ends; what waits is for the next process."""
        self.known.close()

    # --- looking ---------------------------------------------------------------------------------------------------

    def all(self) -> list[AgentStatus]:
        """Return the status of each agent in the order in which they were started, including those that have ended."""
        return [status_of_agent(ref, home) for ref, home in self.known]

    @property
    def definitions(self) -> Definitions:
        """The kinds of agents."""
        return self.composition.definitions.current

    @property
    def described_chars(self) -> tuple[int, int] | None:
        """Number of characters of the descriptions of agents, and of those that the model reads; None if it reads all."""
        size = len(agent_listing(self.definitions.values(), most=sys.maxsize))
        shown = self._services.plan.settings.scalars.delegation.listing_chars
        return (size, shown) if size > shown else None

    @property
    def usage(self) -> Usage:
        """The tokens of all agents of this process, including those that were released."""
        return self.known.usage

    # --- agents of the program -------------------------------------------------------------------------------------

    async def add_definitions(self, definitions: Mapping[str, Any], *, source: str = "add_definitions") -> None:
        """Add kinds of agents: in this session they take precedence over `agents` of `open_session` and over any file.

        Models see them from their next request on. Before the first turn that costs nothing; later, the cached prompt
        must be written again. Running agents keep the definition that they have, the main agent too.

        Args:
            definitions: JSON objects by their names; a later call with the same source replaces an earlier one.
            source: Name of the source, for people.

        Raises:
            UsageError: A definition cannot be used; none was added.
        """
        problems = await self.composition.definitions.add(definitions, source=source)
        self.composition.problems += map(str, problems)
        self._tools.relist()

    async def resume(self, agent_id: str, *, definition: AgentDefinition, text: str = "") -> Ref[Any]:
        """Start an agent again that ended with an earlier process of this run: same id, conversation and transcript.

        Args:
            agent_id: The id that it had.
            definition: Its definition.
            text: Its next message; empty to resume its last turn if that was cut, and to wait otherwise.

        Raises:
            UsageError: The agent is alive, is being resumed already, or has no conversation in this run.
            JournalError: The start could not be recorded.
        """
        if agent_id in self._resuming:
            raise UsageError(f"the agent {agent_id!r} is already resuming")
        if self.known.find(agent_id) is not None:
            raise UsageError(f"the agent {agent_id!r} belongs to this process already; send it a message")
        self._resuming.add(agent_id)
        try:
            ref, home = await start_again(self._services, self.composition, agent_id, definition)
            self.known.adopt(ref, home)
        finally:
            self._resuming.discard(agent_id)
        tell_first(ref, home, text, self._services.plan.resume_prompt)
        await self._journal.commit()
        return ref

    # --- ports of what is made first -------------------------------------------------------------------------------

    async def _fork_skill(self, rendered: Rendered, ctx: ToolContext) -> str:
        return await self.forks(rendered, ctx)

    def _hook_agents(self) -> HookAgents:
        return HookAgents(pool=self.pool, limit=self.composition.rules.hooks.limit)

    async def _record(self, event: Event) -> None:
        self._journal.recorder.emit(event)
        await self._journal.commit()

    async def _wait_durable(self) -> None:
        try:
            await self._journal.commit()
        except JournalError as error:
            raise ToolError(f"it was done, and cannot be recorded: {error}") from error

    async def _open_branch(self) -> Supervisor:
        if self._branch is not None and not self._branch.ref.is_gone:
            await trio.lowlevel.checkpoint_if_cancelled()
            return self._branch
        async with self._opening:
            if self._branch is None or self._branch.ref.is_gone:
                try:
                    with self._services.effects.drawing_once(BACKGROUND):
                        self._branch = await self._services.branch.spawn_supervisor(BACKGROUND, TOGETHER)
                except StartFailed as error:
                    raise Stopping(self._services.branch.ref.path) from error
            return self._branch
