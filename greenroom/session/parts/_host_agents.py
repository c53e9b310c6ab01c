"""Agents that the program starts itself (sub-agents, forks of the main agent, agents of an earlier process), and their handles."""

from __future__ import annotations

from typing import Any, Literal, final

import attrs
import trio

from greenroom.actors import Ref
from greenroom.agents import Agent, AgentDefinition, AgentState, Lineage, Note, agent_spec
from greenroom.agents.subagents import (
    FORK,
    Post,
    SpawnOrder,
    Subagent,
    SubagentPool,
    SubagentSpec,
    denied_types,
    fork_home,
)
from greenroom.core import Cause, UsageError
from greenroom.inbox import AUTO_CONTINUATION
from greenroom.mailbox import Delivery, Lane
from greenroom.models import Usage
from greenroom.session.assembly._session_services import Services
from greenroom.session.equipment._composition import Composition
from greenroom.session.record._resume import load_agent
from greenroom.supervisor import Restart
from greenroom.tasks import EndReport, Task, TaskState
from greenroom.tools import ToolError
from greenroom.trace import Journal


async def spawn_for_host(
    pool: SubagentPool,
    definition: str | AgentDefinition,
    prompt: str,
    *,
    background: bool,
    name: str,
    description: str,
    model: str | None,
    isolation: Literal["worktree"] | None,
    notify: Literal["host", "main"],
) -> Subagent:
    """Start an agent for the host; see `Session.spawn`."""
    if not prompt.strip():
        raise UsageError("an agent needs a prompt; this one is blank")
    forked: AgentState | None = None
    if isinstance(definition, str):
        known = await pool.ground.find_definitions()
        if definition == FORK and FORK not in known:
            forked = _to_fork(pool, model)
        definition = known.find(definition) if forked is None else attrs.evolve(forked.profile.definition, name=FORK)
    kind: AgentDefinition = definition

    def make(lineage: Lineage) -> AgentState:
        if forked is not None:
            return fork_home(forked, lineage)
        wish = SubagentSpec(definition=kind, parent=None, lineage=lineage, model=model, is_background=background)
        home = pool.main_home
        if home is not None and home.worktree is not None:  # it works where the session does
            wish = attrs.evolve(wish, place=home.profile.place, own_roots=home.profile.own_roots)
        return pool.ground.make_child(wish)

    main = pool.main
    order = SpawnOrder(
        home=make,
        definition=kind,
        prompt=prompt,
        description=description or kind.name,
        caller=forked,
        caller_id=main.id if forked is not None and main is not None else "",
        is_fork=forked is not None,
        owner=main.id if notify == "main" and main is not None else "",
        is_background=background,
        is_silent=notify != "main",
        name=name,
        in_worktree=(isolation or (None if forked is not None else kind.isolation)) == "worktree",
        waits=True,
    )
    try:
        member = await pool.start(order)
    except ToolError as error:
        raise UsageError(str(error)) from error
    if not background:
        try:
            await member.task.wait_released()
        except trio.Cancelled:
            member.task.kill(Cause("host", "the call that waited for it was cancelled"))
            raise
    return member


def _to_fork(pool: SubagentPool, model: str | None) -> AgentState:
    """Return the record of the main agent, of which a person wants a fork."""
    main = pool.main_home
    if main is None or main.conversation is None:
        raise UsageError("cannot fork: the main agent has not started")
    if pool.settings.coordinator:
        raise UsageError("cannot fork a coordinator: spawn an agent of a type")
    if model is not None:
        raise UsageError(f"a fork keeps the model of the main agent: leave out model={model!r}")
    rule = denied_types(main).get(FORK)
    if rule is not None:
        raise UsageError(f"the agent type {FORK!r} is denied by the rule {rule}")
    return main


async def start_again(
    services: Services, composition: Composition, agent_id: str, definition: AgentDefinition
) -> tuple[Ref[Any], AgentState]:
    """Start an agent of an earlier process with its conversation; see `SessionAgents.resume`."""
    home = composition.make_home(definition)
    home.start_from(await load_agent(services.run_folder, agent_id, services.ports.blocking))
    spec = agent_spec(Restart.TEMPORARY, agent_id)
    ref: Ref[Any] = await services.branch.spawn(Agent, home, spec=spec)
    return ref, home


def tell_first(ref: Ref[Any], home: AgentState, text: str, resume_prompt: str) -> None:
    """Send an agent of an earlier process its first message: `text`, or `resume_prompt` if its last turn was cut."""
    if text:
        ref.tell(Note(text))
    elif home.start.loaded is not None and home.start.loaded.was_cut:
        ref.tell(Note(resume_prompt, is_hidden=True, origin=AUTO_CONTINUATION))


@final
@attrs.frozen(kw_only=True)
class TaskResult:
    """The result of a run of an agent."""

    id: str
    state: TaskState
    """`completed`, `failed` or `killed`."""
    text: str
    """Its last text: its report, or a part of one; empty for none."""
    usage: Usage
    """Of all its runs so far."""
    cause: Cause | None
    """The requester of its end; None if nobody asked."""
    error: str
    """Why it failed; empty if it did not."""
    run: int
    worktree: str
    """The worktree that was kept, because there is something in it; empty where there is none."""
    worktree_branch: str
    """The branch that is checked out there."""
    is_undelivered: bool = False
    """Whether an agent was to be told of its end, and nobody was there any more: neither that one nor one above it."""


@final
class TaskHandle:
    """One agent that the program started; made by `session.spawn`."""

    def __init__(self, pool: SubagentPool, post: Post, member: Subagent, recording: Journal) -> None:
        self._pool = pool
        self._post = post
        self._id = member.id
        self._task = member.task
        self._home: AgentState = member.home
        self._recording = recording

    def __repr__(self) -> str:
        return f"<TaskHandle {self._id} of {self._task.info.agent_type}: {self._task.state}>"

    @property
    def id(self) -> str:
        """Its permanent id, which is also that of its task and its transcript."""
        return self._id

    @property
    def task(self) -> Task:
        """Its latest run, with its progress."""
        member = self._pool.subagents.get(self._id)
        if member is not None:
            self._task, self._home = member.task, member.home
        return self._task

    @property
    def state(self) -> TaskState:
        """`pending`, `running`, `completed`, `failed` or `killed`."""
        return self.task.state

    @property
    def usage(self) -> Usage:
        """The tokens that it has used, in all its runs."""
        member = self._pool.subagents.get(self._id)
        return (self._home if member is None else member.home).usage

    def tell(self, text: str) -> Delivery:
        """Send it a message, which it reads at its next step; says whether it was taken. One that has ended takes none.

        Raises:
            UsageError: The text is blank.
        """
        if not text.strip():
            raise UsageError("a message needs text; this one is blank")
        member = self._pool.subagents.get(self._id)
        if member is None or not member.is_running:
            return Delivery.CLOSED
        if member.ref is None:  # it waits for a place
            member.first = f"{member.first}\n\n{text}"
            return Delivery.ACCEPTED
        return member.ref.tell(Note(text), Lane.LATER, size_bytes=len(text))

    async def resume(self, text: str) -> None:
        """Go on with it after it has ended, in the background, as the same agent with all that it knew.

        A person's word: it lifts the end that a person gave it.

        Raises:
            UsageError: It runs, cannot be resumed, or nothing is left of it.
            JournalError: It could not be recorded.
        """
        if not text.strip():
            raise UsageError("a message needs text; this one is blank")
        try:
            member = await self._post.resume(self._id, text, by_user=True)
        except ToolError as error:
            raise UsageError(str(error)) from error
        self._task, self._home = member.task, member.home
        await self._recording.commit()

    async def wait_finished(self) -> TaskResult:
        """Wait until its run has ended and what it leaves is looked after; return how it ended, whatever way that was."""
        task = self.task
        await task.wait_settled()
        return TaskResult(
            id=self._id,
            state=task.state,
            text=task.result or "",
            usage=self._home.usage,
            cause=task.cause,
            error=task.error,
            run=task.info.run,
            worktree="" if task.worktree is None else task.worktree.path,
            worktree_branch="" if task.worktree is None else task.worktree.branch,
            is_undelivered=task.report is EndReport.UNDELIVERED,
        )

    async def wait_recorded(self) -> None:
        """Return when everything that it has said so far is in its output file.

        Raises:
            JournalError: It could not be recorded.
        """
        await self._recording.commit()

    def kill(self, why: str = "killed") -> bool:
        """End its run now, with everything that it started; return True if it was still running. No model can resume it
        afterwards.
        """
        task = self.task
        if not task.is_finished:
            task.is_stopped_by_user = True
        return task.kill(Cause("host", why))

    def move_to_background(self) -> bool:
        """Move it to the background, unnoticed; return True if it was still running."""
        return self.task.move_to_background()

    @property
    def retain(self) -> bool:
        """Whether it stays in memory after its end, because somebody looks at it."""
        return self.task.retain

    @retain.setter
    def retain(self, value: bool) -> None:
        self.task.retain = value
