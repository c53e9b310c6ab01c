"""A session: a main agent, the teams below it, one journal, one run folder."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Literal, final

from greenroom.actors import Ref
from greenroom.agents import AgentDefinition, Answer, Prompt, Resumption
from greenroom.agents.compaction import Compact, Compacted
from greenroom.core import Cause, JournalError, TurnFailed, TurnKilled, UsageError
from greenroom.hooks import ParsedHooks
from greenroom.inbox import HUMAN, Origin
from greenroom.mailbox import Lane
from greenroom.models import Usage
from greenroom.session.assembly._session_services import Services
from greenroom.session.parts._activity import Activity, are_at_rest, observe, wait_until
from greenroom.session.parts._asides import Asides
from greenroom.session.parts._event_stream import KEPT, EventStream
from greenroom.session.parts._host_agents import TaskHandle, spawn_for_host
from greenroom.session.parts._session_agents import SessionAgents
from greenroom.session.parts._session_files import SessionFiles
from greenroom.session.parts._session_inbox import Interrupted
from greenroom.session.parts._session_permissions import SessionPermissions
from greenroom.session.parts._session_tasks import SessionTasks
from greenroom.supervisor import Strategy, TreeNode
from greenroom.teams import Conversations, Team, read_conversations


@final
class Session:
    """An open session. Made by `open_session`.

    Attributes:
        id: The session's id, which names its run folder.
        run_folder: The folder of the run.
        runtime: The runtime of its actors.
        agents: Agents and their definitions.
        tasks: Agents, commands and calls that run.
        teams: The team that is open.
        permissions: The main agent's mode, questions that wait, calls that were refused.
        files: Folders, the worktree, checkpoints of files.
        commands: Skills and commands by `/name`.
        asides: Side questions, suggestions, notes.
        inbox: Messages that wait for the main agent.
        schedules: Prompts that the clock sends to the main agent.
        servers: The MCP servers.
        plugins: The plugins, and those that could not be loaded.
        watch: Opens the state of the session with what each event changes in it: `async with session.watch() as view`.
        budget: The tokens and money that the session may use and has used; without a limit in the settings it only counts.
        was_stopped: True once `stop` was called.
        was_killed: True once `kill` was called.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._journal = services.journal
        self.run_folder = services.run_folder
        self.id = self.run_folder.name
        self.runtime = services.runtime
        self.servers = services.servers
        self.plugins = services.plan.plugins
        self.budget = services.budget
        self.watch = partial(services.streams.watch, services.journal, services.ports.blocking)
        self.was_stopped = self.was_killed = False
        self.agents = SessionAgents(services)
        self._main, self._composition = self.agents.main, self.agents.composition
        self.teams, self.inbox, self.commands = self.agents.teams, self.agents.inbox, self._composition.commands
        self.schedules = self.agents.schedules
        self.tasks = SessionTasks(services.tasks, self.agents.pool, self.agents.post, self._journal)
        self.permissions = SessionPermissions(self._composition, self._main)
        self.files = SessionFiles(
            self._composition,
            self._main,
            checkpoints=services.checkpoints,
            recorder=services.recorder,
            recording=self._journal,
            ports=services.ports,
        )
        self.asides = Asides(self._main, recorder=services.recorder, recording=self._journal)

    def __repr__(self) -> str:
        return f"<Session {self.id} on {self.model}: {len(self.agents)} agents>"

    # --- its life --------------------------------------------------------------------------------------------------

    def stop(self, why: str = "stopped") -> None:
        """Start to stop everything in order, each turn with its grace: teammates before the main agent.

        It does not wait: calls that wait in the session's block get `TurnKilled` or `ActorEnded`, and leaving the block waits.
        """
        self.was_stopped = True
        self.agents.close()
        self.tasks.end_calls(Cause("host", why))
        self.runtime.root.cell.request_stop(Cause("host", why), self.runtime.root.spec.stop_budget_s)

    def kill(self, why: str = "killed") -> None:
        """Kill everything in the session now, commands too; leaving its block then only waits for the clean-ups."""
        self.was_killed = True
        cause = Cause("host", why)
        self.runtime.root.cell.request_kill(cause)
        self.tasks.kill_programs(cause)

    # --- turns of the main agent -----------------------------------------------------------------------------------

    @property
    def main(self) -> Ref[Any]:
        """The main agent's address."""
        return self._main.ref

    async def run(self, text: str, *, message_id: str = "") -> Answer:
        """Run one turn of the main agent on `text` and return its answer.

        When it returns, the answer has been recorded. Cancelled, a turn that has begun continues; `interrupt` ends it.
        For a skill by `/name` that runs as an agent of its own, its report is the answer, and the main agent's model is not asked.

        Args:
            text: The user's prompt.
            message_id: The host's name for it, for `files.rewind`; empty for none.

        Raises:
            UsageError: The text is blank, or calls a skill by `/name` that cannot be used.
            JournalError: The turn or its answer could not be recorded.
            TurnFailed: The model, or a limit, ended the turn; `partial` has the text so far.
            TurnKilled: `interrupt`, or the end of the session, ended the turn; `partial` has the text so far.
            ActorEnded: The main agent has ended.
        """
        if not text.strip():
            raise UsageError("a prompt needs text; this one is blank")
        home = self._main.home
        assert home is not None
        read, skills = await self.commands.read(home, text)
        typed = "" if read == text else text
        return await self._run(Prompt(read, skills=skills, uuid=self.files.new_message(message_id), typed=typed))

    @property
    def was_cut(self) -> bool:
        """True if this session was resumed and the main agent's last turn had not finished."""
        home = self._main.home
        return home is not None and home.start.loaded is not None and home.start.loaded.was_cut

    async def resume_turn(self) -> Answer:
        """Resume the turn in which an earlier process ended, or run a call that a hook deferred, and return the answer.

        If the session resumes that turn by itself (the setting `recovery.cut_turns`), the first call waits for its answer.
        The note to the model about an earlier process is hidden. If the tool of the call is missing, the answer's `stop_reason` is
        `tool_deferred_unavailable`, and the call stays as it is.

        Raises as `run` does.
        """
        home = self._main.home
        assert home is not None
        if home.start.resumption is not None and home.start.resumption.claim():
            return await self._wait_resumed(home.start.resumption)
        deferred = home.deferred
        text = self._services.plan.resume_prompt
        return await self._run(Prompt(text, is_hidden=True, settles="" if deferred is None else deferred.id))

    async def _wait_resumed(self, resumption: Resumption) -> Answer:
        try:
            answer = await resumption.wait()
        except TurnFailed as error:
            if isinstance(cause := error.__cause__, JournalError):
                raise JournalError(cause.where, cause.why) from error
            raise
        await self._journal.commit()
        return answer

    async def _run(self, prompt: Prompt) -> Answer:
        self._journal.check_open()
        self._release()
        if self.inbox.is_behind:  # else all that was sent before is in the main agent's inbox, and this goes behind it
            await self.inbox.wait_passed()
        try:
            answer = await self.main.ask(prompt, timeout_s=math.inf, size_bytes=len(prompt.text))
        except (TurnFailed, TurnKilled) as error:
            error.partial = "".join(prompt.said)
            if isinstance(cause := error.__cause__, JournalError):
                raise JournalError(cause.where, cause.why) from error
            raise
        await self._journal.commit()
        return answer

    def _release(self) -> None:
        """Let the main agent take what waits, if it was held because its last turn is the program's to resume."""
        if self._main.home is not None:
            self._main.home.release()

    async def compact(self, focus: str = "") -> Compacted:
        """Replace the main agent's conversation by a summary, and return the result.

        Args:
            focus: The topic that the summary is to concentrate on.

        Raises:
            UsageError: Compaction is switched off.
            JournalError: It could not be recorded.
            TurnFailed: A hook refused it, the model wrote no summary, or there is nothing to compact.
            TurnKilled: `interrupt`, or the end of the session, ended it; the conversation is as it was.
            ActorEnded: The main agent has ended.
        """
        if not self._composition.services.settings.compaction.enabled:
            raise UsageError("compaction is switched off in the settings")
        self._journal.check_open()
        self._release()
        compacted = await self.main.ask(Compact(focus), timeout_s=math.inf)
        await self._journal.commit()
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
        """Send a message to the main agent and return its id; never waits.

        A running turn reads it after its current tool calls, except a skill by `/name` and a command line after `!`, which get turns of
        their own; an idle agent begins a turn. A message of anybody but the user is only text.

        Args:
            text: The message.
            priority: `now` also ends the running turn; `next` is the default for a person, `later` for others.
            origin: The sender; only `HUMAN` can count as the user's consent.
            is_meta: True if it is for the model only; by default messages of the runtime itself are.
            expires_s: Time of the run's clock after which it is dropped.
            message_id: The host's name for it, for `files.rewind`; empty for none.

        Raises:
            UsageError: It is blank, the priority is not allowed for this origin, or only models may call that skill.
            ActorEnded: The main agent has ended.
            Undelivered: Too many messages are waiting.
        """
        uuid = self.inbox.send(text, priority=priority, origin=origin, is_meta=is_meta, expires_s=expires_s)
        self.files.name_message(uuid, message_id)
        return uuid

    def interrupt(self, why: str = "interrupted", *, cancel_queued: bool = False) -> Interrupted:
        """End the main agent's current turn, and nothing else; messages that wait are read next.

        Args:
            why: The reason that is recorded.
            cancel_queued: Withdraw the messages that wait as well.
        """
        return self.inbox.interrupt(why, cancel_queued=cancel_queued)

    def add_hooks(self, more: ParsedHooks) -> None:
        """Run further hooks from now on, for all present and future agents; see `parse_callbacks`."""
        self._composition.rules.hooks.extend(more)

    # --- sub-agents and teams --------------------------------------------------------------------------------------

    async def spawn(
        self,
        definition: str | AgentDefinition,
        prompt: str,
        *,
        background: bool = False,
        name: str = "",
        description: str = "",
        model: str | None = None,
        isolation: Literal["worktree"] | None = None,
        notify: Literal["host", "main"] = "host",
    ) -> TaskHandle:
        """Start an agent and return its handle; if too many run, it waits for a place, `pending`.

        It returns when the start has been recorded, and waits first while the disk is behind. Cancelled before the start, nothing is
        left; cancelled while it waits for the agent, the agent is killed.

        Args:
            definition: The name of a definition, or one; `fork` for a fork of the main agent, with all that it knows now.
            prompt: Its task.
            background: False returns when it has ended, or was moved to the background.
            name: A name besides its id.
            description: A few words about its task; by default the name of its definition.
            model: An alias or an id; by default that of its definition.
            isolation: `worktree` for a checkout of its own.
            notify: `host` reports its end by the handle only; `main` also notifies the main agent.

        Raises:
            UsageError: The definition is unknown or cannot be used, or no worktree can be made.
            JournalError: It could not be recorded.
            Stopping: The session is ending.
        """
        await self._journal.wait_open()
        member = await spawn_for_host(
            self.agents.pool,
            definition,
            prompt,
            background=background,
            name=name,
            description=description,
            model=model,
            isolation=isolation,
            notify=notify,
        )
        handle = TaskHandle(self.agents.pool, self.agents.post, member, self._journal)
        await self._journal.commit()
        return handle

    @asynccontextmanager
    async def open_team(
        self,
        name: str,
        *,
        strategy: Strategy | str = Strategy.ONE_FOR_ONE,
        description: str = "",
        delegate_mode: bool | None = None,
        conversations: Conversations | str = Conversations.KEEP,
    ) -> AsyncIterator[Team]:
        """Open a team whose lead is the main agent; leaving the block stops its teammates side by side.

        The main agent gets the team's tools, and `WriteReport`.

        Args:
            name: Its name.
            strategy: The teammates that are restarted when one of them crashes.
            description: Its purpose.
            delegate_mode: True leaves the main agent only the tools to spawn, message and stop teammates and to use the board; None
                follows the settings.
            conversations: `keep` if a teammate knows of its earlier items, `fresh` if each begins a conversation.

        Raises:
            UsageError: A team is open already; the main agent leads one at a time.
            NameTaken: Another actor below `teams` has the name.
        """
        async with self.teams.open(
            name,
            strategy=strategy,
            description=description,
            delegate_mode=delegate_mode,
            conversations=read_conversations(conversations),
        ) as team:
            yield team

    # --- looking ---------------------------------------------------------------------------------------------------

    def events(self, *, from_start: bool = False, capacity: int | None = KEPT) -> EventStream:
        """Return the events of the session from this call on; close the stream if it is not read to its end.

        The live events that the session was opened for are among them.

        Args:
            from_start: Begin with the events that the recorder still holds, and with the live events from before the session was
                open.
            capacity: Number of events that wait for a slow reader before the oldest are dropped; None for no limit.
        """
        return self._services.streams.open(from_start=from_start, capacity=capacity)

    def now(self) -> float:
        """Return the reading of the clock that events have, in seconds."""
        return self._services.recorder.now()

    def tree(self) -> TreeNode:
        """Return all actors of the session as a tree."""
        return self.runtime.tree()

    def activity(self) -> Activity:
        """Return what runs at this moment."""
        return observe(self.main, self.inbox, self.agents.pool, self.teams)

    @property
    def model(self) -> str:
        """Name of the model."""
        return self._services.model.name

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools that the main agent has now."""
        return () if self._main.home is None else tuple(self._main.home.profile.tools)

    @property
    def structured(self) -> Mapping[str, Any] | None:
        """The main agent's answer to its latest turn in the form of `answer_schema` of its definition; None for none."""
        tool = None if self._main.home is None else self._main.home.answer_tool
        return None if tool is None else tool.given

    @property
    def problems(self) -> tuple[str, ...]:
        """Lines about what was skipped in settings, definitions, skills and the like, for people."""
        services = self._services
        pushed = services.channels.problems(services.servers)
        return tuple(dict.fromkeys((*self._composition.problems, *services.inbox.problems, *pushed)))

    @property
    def usage(self) -> Usage:
        """The tokens of all agents of the session, including ended ones and those of earlier processes of a resumed run."""
        return self.agents.usage + self.budget.earlier.usage

    @property
    def title(self) -> str:
        """The title that a hook or `set_title` gave the session; empty for none. A resumed session keeps it."""
        return self._services.title.text

    def set_title(self, title: str) -> None:
        """Set the title: one line of at most 200 characters.

        Raises:
            UsageError: It is blank.
            JournalError: Nothing can be recorded any more.
        """
        if not title.strip():
            raise UsageError("a title needs text; this one is blank")
        self._journal.check_open()
        self._services.title.change(title)

    async def wait_quiet(self, *, commands: bool = False) -> None:
        """Wait until no turn runs, no message waits, and no item waits for a teammate that could claim it.

        That includes sub-agents in the background and their notices. It does not include commands and calls of MCP servers
        in the background, because a server that an agent started may never end. Cancelled, it only stops waiting.

        Args:
            commands: Wait for these, too, and until the agents have read how they ended; `tasks.kill_all` ends them.
        """
        await wait_until(self._services.recorder, partial(self._is_quiet, commands=commands))

    def _is_quiet(self, *, commands: bool) -> bool:
        refs = (ref for ref, _ in self.agents.known if not ref.is_gone)
        is_idle = (
            self.agents.pool.is_quiet
            and not self.tasks.has_remotes
            and are_at_rest((*refs, *self.teams.boards, self.inbox.ref))
        )
        return is_idle and not self.teams.working and not (commands and self.tasks.has_commands)
