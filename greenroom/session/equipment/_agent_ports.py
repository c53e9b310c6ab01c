"""The ports of a session's agents: what an agent asks of the session that it belongs to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import Protocol, TypeAlias, final

import attrs

from greenroom.actors import Context
from greenroom.agents import INHERIT, AgentDefinition, AgentState
from greenroom.core import UsageError
from greenroom.hooks.inputs import SessionCron
from greenroom.models import ToolUseBlock
from greenroom.models.choice import ModelNames
from greenroom.permissions import Update
from greenroom.skills import Rendered

Follow: TypeAlias = Callable[[Sequence[ToolUseBlock]], Awaitable[list[str]]]


@final
@attrs.define(eq=False)
class Prepared:
    """The data read for one agent before its first turn, and again when its prompt was renewed."""

    _definition: AgentDefinition | None = None
    preloaded: str = ""
    """The text of the skills that it starts with."""
    follow: Follow | None = None
    """Returns what the model is to read about files that it has worked on."""
    registered: set[str] = attrs.field(factory=set)
    """Names of the skills whose hooks it has."""

    @property
    def definition(self) -> AgentDefinition:
        """Its definition from before anything was read."""
        assert self._definition is not None
        return self._definition

    def begin(self, definition: AgentDefinition) -> None:
        """Keep the definition from before anything is read."""
        self._definition = definition

    def note_skills(self, text: str) -> None:
        """Keep the text of the skills that the agent starts with."""
        self.preloaded = text

    def note_follow(self, follow: Follow) -> None:
        """Keep what follows the files that the agent works on."""
        self.follow = follow

    def register(self, skill: str) -> bool:
        """Note that the agent has a skill's hooks; False if it had them."""
        is_new = skill not in self.registered
        self.registered.add(skill)
        return is_new


async def _read_as_text(_agent: AgentState, text: str) -> tuple[str, tuple[Rendered, ...]]:
    return text, ()


async def _refuse(_agent: AgentState, rendered: Rendered) -> str:
    raise UsageError(f"/{rendered.skill.name} runs as an agent of its own, and no agent can be started here")


async def _keep_none(_agent: AgentState, _updates: Sequence[Update]) -> None:
    return None


class ItemListener(Protocol):
    """Notified of what becomes of the items of a session's queue, by their uuids."""

    def note_begun(self, uuid: str) -> None:
        """Note that a turn begins with an item."""
        ...

    def note_taken(self, uuid: str) -> None:
        """Note that an item was taken up."""
        ...

    def note_dropped(self, uuid: str, why: str) -> None:
        """Note that an item will not be taken up."""
        ...


@final
@attrs.frozen(kw_only=True, eq=False)
class SessionAgentPorts:
    """The ports of one agent, made of functions of its session; each that is left out does nothing.

    Args:
        admit: Waits for the servers that it needs.
        prepare: Reads its instructions, notes, skills and servers.
        renew: Recomposes its system prompt.
        take_up: Puts in force what a skill grants.
        keep_updates: Puts lasting answers in force for the session.
        survivors: Returns what a compacted conversation has to be told again.
        scheduled: Returns the scheduled prompts.
        read_prompt: Reads the user's commands by `/name`; by default they are text.
        run_skill: Runs skills of the user's with `context: fork`; by default they are refused.
        place: Returns what each turn enters before it takes its message.
        items: Notified of the session's items.
        on_said: Called with the uuid of each message of the user's that was taken up.
    """

    _admit: Callable[[AgentState], Awaitable[None]] | None = None
    _prepare: Callable[[Prepared, AgentState, Context], Awaitable[None]] | None = None
    _renew: Callable[[Prepared, AgentState], Awaitable[str]] | None = None
    _take_up: Callable[[Prepared, AgentState, Rendered], object] | None = None
    _keep_updates: Callable[[AgentState, Sequence[Update]], Awaitable[None]] = _keep_none
    _survivors: Callable[[], Sequence[str]] = tuple
    _scheduled: Callable[[], Sequence[SessionCron]] = tuple
    _read_prompt: Callable[[AgentState, str], Awaitable[tuple[str, tuple[Rendered, ...]]]] = _read_as_text
    _run_skill: Callable[[AgentState, Rendered], Awaitable[str]] = _refuse
    _place: Callable[[], AbstractAsyncContextManager[object]] = nullcontext
    _items: ItemListener | None = None
    _on_said: Callable[[str], object] | None = None
    prepared: Prepared = attrs.field(factory=Prepared, init=False)

    async def admit(self, agent: AgentState) -> None:
        """Wait for the servers that the agent needs, and refuse one that would have no tools.

        Raises:
            ToolError: It cannot be started.
        """
        if self._admit is not None:
            await self._admit(agent)

    async def prepare(self, agent: AgentState, ctx: Context) -> None:
        """Read the agent's instructions, notes, skills and servers."""
        if self._prepare is not None:
            await self._prepare(self.prepared, agent, ctx)

    async def renew_prompt(self, agent: AgentState) -> str | None:
        """Return the system prompt from files as they are now; None where it was not made from files."""
        if self._renew is None:
            return None
        return await self._renew(self.prepared, agent)

    def survivors(self, agent: AgentState) -> Sequence[str]:
        """Return what a compacted conversation has to be told again."""
        return self._survivors()

    def scheduled(self, agent: AgentState) -> Sequence[SessionCron]:
        """Return the scheduled prompts of the agent, as hooks are told of them."""
        return self._scheduled()

    async def follow(self, calls: Sequence[ToolUseBlock]) -> list[str]:
        """Return the instructions and skills that hold where these calls have worked."""
        return [] if self.prepared.follow is None else await self.prepared.follow(calls)

    def take_up(self, agent: AgentState, rendered: Rendered) -> None:
        """Put in force what a skill grants."""
        if self._take_up is not None:
            self._take_up(self.prepared, agent, rendered)

    async def read_prompt(self, agent: AgentState, text: str) -> tuple[str, tuple[Rendered, ...]]:
        """Return what a command of the user's stands for, and the skills that it calls.

        Raises:
            UsageError: It cannot be run.
        """
        return await self._read_prompt(agent, text)

    async def run_skill(self, agent: AgentState, rendered: Rendered) -> str:
        """Run a skill of the user's as an agent of its own, and return the output of the command.

        Raises:
            UsageError: It may not be run here.
            SkillForkFailed: Its agent did not complete.
        """
        return await self._run_skill(agent, rendered)

    def place(self, agent: AgentState) -> AbstractAsyncContextManager[object]:
        """Return what a turn enters before it takes its message."""
        return self._place()

    def note_begun(self, uuid: str) -> None:
        """Note that a turn begins with an item of the session's queue."""
        if self._items is not None:
            self._items.note_begun(uuid)

    def note_taken(self, uuid: str) -> None:
        """Note that an item has left the session's queue."""
        if self._items is not None:
            self._items.note_taken(uuid)

    def note_dropped(self, uuid: str, why: str) -> None:
        """Note that an item has left the session's queue and will not be read; `why` is empty for one that has expired."""
        if self._items is not None:
            self._items.note_dropped(uuid, why)

    def note_said(self, uuid: str) -> None:
        """Note that a message of the user's was taken up: file checkpoints begin with it."""
        if self._on_said is not None:
            self._on_said(uuid)

    async def keep_updates(self, agent: AgentState, updates: Sequence[Update]) -> None:
        """Put lasting answers in force for the whole session."""
        await self._keep_updates(agent, updates)

    def of_fork(self, parent: AgentState) -> SessionAgentPorts:
        """Return the ports of a fork: its prompt is renewed as its parent's is; it takes up nothing by itself."""
        renew = None if self._renew is None else partial(_renew_as, self._renew, self.prepared, parent)
        return SessionAgentPorts(keep_updates=self._keep_updates, renew=renew)


async def _renew_as(
    renew: Callable[[Prepared, AgentState], Awaitable[str]],
    prepared: Prepared,
    parent: AgentState,
    _of_fork: Prepared,
    _fork: AgentState,
) -> str:
    return await renew(prepared, parent)


def take_up(
    add_hooks: Callable[[AgentState, Rendered], object], prepared: Prepared, agent: AgentState, rendered: Rendered
) -> None:
    """Put in force what a skill grants an agent: rules, a model, and, once, its hooks."""
    skill = rendered.skill
    model = "" if skill.model in {None, INHERIT} else ModelNames().exact(skill.model or "")
    agent.grant(agent.grants.after(rendered, model=model))
    if prepared.register(skill.name):
        add_hooks(agent, rendered)
