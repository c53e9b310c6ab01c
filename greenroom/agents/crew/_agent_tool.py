"""The tool Agent: a model's way to start another agent, in the foreground or the background.

Foreground is a link: the turn waits for the child, and takes it along if it ends first; moving to the background
removes the link and nothing else. A result that was handed out is never changed: what comes later is a notice.
Before success is reported, the start is durable.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol, final

import attrs

from greenroom.agents._definition import AgentDefinition
from greenroom.agents._profile import Lineage
from greenroom.agents._state import AgentState
from greenroom.agents.crew._crew import Crew
from greenroom.agents.crew._fork import FORK, fork_home, is_told_to_be_a_fork
from greenroom.agents.crew._orders import ChildWish, Member, Order
from greenroom.agents.crew._reports import whole_or_part
from greenroom.agents.crew._stats import stats_of
from greenroom.agents.crew._waiting import wait_linked
from greenroom.agents.definitions import EXPLORE, PLAN, Definitions, agent_listing
from greenroom.agents.delegation._input import AgentCall, Gates, agent_schema, agent_tool_description, read_call
from greenroom.agents.delegation._results import AsyncLaunched, Completed, SpawnResult, text_for_model
from greenroom.agents.delegation._routing import (
    Caller,
    ForkRoute,
    Limits,
    NamedRoute,
    RemoteRoute,
    Route,
    Situation,
    TeammateRoute,
    Teams,
    route,
)
from greenroom.core import UsageError
from greenroom.core.sources import Scope
from greenroom.permissions import Effect
from greenroom.tools import ToolContext, ToolError

AGENT_TOOL: Final = "Agent"
_ONE_SHOT: Final = (EXPLORE, PLAN)


class Elsewhere(Protocol):
    """The launcher of agents that are not subagents of the pool; filled from above."""

    def teams(self) -> Teams:
        """Return the team of the session."""
        ...

    async def spawn_teammate(self, route: TeammateRoute, call: AgentCall) -> SpawnResult:
        """Start a teammate.

        Raises:
            ToolError: It cannot.
        """
        ...

    @property
    def has_remote_hosts(self) -> bool:
        """True if a remote host is configured."""
        ...

    async def launch_remote(self, route: RemoteRoute, call: AgentCall) -> SpawnResult:
        """Start an agent on a remote host.

        Raises:
            ToolError: It cannot be started.
        """
        ...


@final
@attrs.frozen(kw_only=True, eq=False)
class AgentTool:
    """The tool of one session.

    Args:
        crew: Starts what is asked for.
        elsewhere: Starts agents that are not part of it; None: there are no teams and no remote hosts.
        wait_durable: Returns when all that was recorded so far survives a crash; None: nothing is kept.
        definitions: Those that the model reads of; they stay the same, so that prompts stay cached.
    """

    crew: Crew
    elsewhere: Elsewhere | None = None
    wait_durable: Callable[[], Awaitable[None]] | None = None
    definitions: Definitions
    description: str = attrs.field(init=False)
    input_schema: Mapping[str, Any] = attrs.field(init=False)
    name: str = AGENT_TOOL
    is_read_only: bool = True
    """Calls run side by side; what the children change, they ask for themselves."""

    def __attrs_post_init__(self) -> None:
        gates = self._gates()
        object.__setattr__(self, "input_schema", agent_schema(gates))
        listed = agent_listing(self.definitions.values(), most=self.crew.settings.listing_chars)
        object.__setattr__(self, "description", agent_tool_description(listed, gates))

    def _gates(self) -> Gates:
        settings = self.crew.settings
        situation = self._situation_of(Caller(), self.definitions, {})
        return Gates(
            has_background=settings.background,
            background_by_default=settings.background_by_default,
            is_fork_open=situation.is_fork_open,
            forks_by_name=settings.fork == "explicit",
            is_coordinator=settings.coordinator,
            has_remote=situation.has_remote_hosts,
            has_teams=situation.teams.are_on,
        )

    async def call(self, input: Mapping[str, Any], ctx: ToolContext) -> str:  # noqa: A002 - the protocol's own word
        """Start an agent, and return what the model reads of it.

        Cancelled while it waits for the agent, the agent is killed, and the turn ends after it.

        Raises:
            ToolError: The input is wrong; nothing may be started; or a child that was waited for came to nothing.
        """
        call = read_call(input)
        caller = self.crew.find_home(ctx.actor)
        if caller is None or caller.context is None:
            raise ToolError("this agent is not one that can start others")
        ctx.progress(f"Starting an agent: {call.description}")
        definitions = await self.crew.ground.find_definitions()
        way = self._route(call, ctx.actor, caller, definitions)
        if isinstance(way, TeammateRoute | RemoteRoute):
            return self._said(await self._elsewhere(way, call), ctx, caller)
        order = self._order(call, way, ctx, caller)
        try:
            member = await self.crew.start(order)
        except UsageError as error:
            raise ToolError(str(error)) from error
        if order.is_background:
            if self.wait_durable is not None:
                await self.wait_durable()
            return self._said(self._launched(member, caller), ctx, caller)
        ctx.progress(f"Waiting for {call.description}")
        return await self._wait(member, ctx, caller)

    # --- which way -------------------------------------------------------------------------------------------------

    def _route(self, call: AgentCall, actor: str, caller: AgentState, definitions: Definitions) -> Route:
        member = self.crew.members.get(actor)
        conversation = caller.conversation
        who = Caller(
            depth=caller.profile.lineage.depth,
            is_main=not caller.profile.is_child,
            is_fork=member is not None and member.order.is_fork,
            has_fork_tag=conversation is not None and is_told_to_be_a_fork(conversation.messages),
            is_teammate=self._is_teammate(actor, caller),
            has_team_context=self.elsewhere is not None and self.elsewhere.teams().team is not None,
        )
        denied, allowed = denied_types(caller), _allowed_types(caller.profile.definition)
        return route(call, self._situation_of(who, definitions, denied, allowed=allowed))

    def _situation_of(
        self,
        caller: Caller,
        definitions: Definitions,
        denied: Mapping[str, str],
        *,
        allowed: tuple[str, ...] | None = None,
    ) -> Situation:
        crew, settings = self.crew, self.crew.settings
        elsewhere = self.elsewhere
        return Situation(
            definitions=definitions,
            denied_types=denied,
            allowed_types=allowed,
            fork=settings.fork,
            is_interactive=settings.interactive,
            is_coordinator=settings.coordinator,
            is_assistant=settings.assistant,
            is_proactive=settings.proactive,
            background_by_default=settings.background_by_default,
            background_enabled=settings.background,
            has_remote_hosts=elsewhere is not None and elsewhere.has_remote_hosts,
            caller=caller,
            limits=limits_of(crew),
            teams=Teams() if elsewhere is None else elsewhere.teams(),
        )

    async def _elsewhere(self, way: TeammateRoute | RemoteRoute, call: AgentCall) -> SpawnResult:
        assert self.elsewhere is not None
        if isinstance(way, TeammateRoute):
            return await self.elsewhere.spawn_teammate(way, call)
        return await self.elsewhere.launch_remote(way, call)

    def _order(self, call: AgentCall, way: NamedRoute | ForkRoute, ctx: ToolContext, caller: AgentState) -> Order:
        is_fork = isinstance(way, ForkRoute)
        definition = caller.profile.definition if isinstance(way, ForkRoute) else way.definition

        def make(lineage: Lineage) -> AgentState:
            if isinstance(way, ForkRoute):
                return fork_home(caller, lineage)
            return self.crew.ground.make_child(
                ChildWish(
                    definition=definition,
                    parent=caller,
                    lineage=lineage,
                    model=None if way.is_coordinated else call.model,
                    is_background=way.is_background,
                    is_worker=way.is_coordinated,
                    place=caller.cwd if call.cwd is None else ctx.resolve(call.cwd),
                    own_roots=caller.profile.own_roots,
                )
            )

        isolation = call.isolation or (None if is_fork else definition.isolation)
        return Order(
            home=make,
            definition=attrs.evolve(definition, name=FORK) if is_fork else definition,
            prompt=call.prompt,
            description=call.description,
            caller=caller,
            caller_id=ctx.actor,
            owner=ctx.actor,
            call=ctx.tool_use_id,
            is_background=way.is_background,
            is_fork=is_fork,
            is_worker=isinstance(way, NamedRoute) and way.is_coordinated,
            name=self.crew.free_name(call.name or ""),
            in_worktree=isolation == "worktree",
        )

    def _is_teammate(self, actor: str, caller: AgentState) -> bool:
        return caller.profile.is_child and actor not in self.crew.members

    # --- waiting and answering -------------------------------------------------------------------------------------

    async def _wait(self, member: Member, ctx: ToolContext, caller: AgentState) -> str:
        task, settings = member.task, self.crew.settings
        may_leave = settings.background and not self._is_teammate(ctx.actor, caller)
        limit_ms = settings.auto_background_ms if may_leave else 0
        # A call that was cut has no result to tell of the end: its owner reads of it with what comes next.
        if not await wait_linked(member, caller, cut=task.abandon, limit_s=limit_ms / 1000 if limit_ms else math.inf):
            self.crew.take_name(member)
            return self._said(self._launched(member, caller), ctx, caller)
        ctx.tell_end(task)
        return self._ended(member, ctx, caller)

    def _ended(self, member: Member, ctx: ToolContext, caller: AgentState) -> str:
        """Return the report of a child that was waited for; a part of one says what cut it."""
        task = member.task
        text = whole_or_part(task)
        progress = task.progress
        assert progress is not None
        home = member.home
        result = Completed(
            agent_id=member.id,
            agent_type=member.definition.name,
            content=(text,) if text else (),
            resolved_model=home.profile.model or home.services.model.name,
            models_used=tuple(progress.models) or None,
            total_tool_use_count=progress.tool_use_count,
            total_duration_ms=task.duration_ms,
            total_tokens=progress.last_request_tokens,
            usage=home.usage,
            tool_stats=stats_of(progress),
            prompt=member.order.prompt,
            worktree_path=None if task.worktree is None else task.worktree.path,
            worktree_branch=None if task.worktree is None else task.worktree.branch or None,
        )
        return self._said(result, ctx, caller, is_one_shot=is_one_shot(member.definition))

    def _launched(self, member: Member, caller: AgentState) -> AsyncLaunched:
        home = member.home
        return AsyncLaunched(
            is_async=True,
            agent_id=member.id,
            description=member.order.description,
            resolved_model=home.profile.model or home.services.model.name,
            prompt=member.order.prompt,
            output_file=str(member.task.info.output_file),
            can_read_output_file=_can_read(caller),
        )

    def _said(self, result: SpawnResult, ctx: ToolContext, caller: AgentState, *, is_one_shot: bool = False) -> str:
        ctx.attach(result.data())
        return text_for_model(result, is_one_shot=is_one_shot, can_read_output=_can_read(caller))


def is_one_shot(definition: AgentDefinition) -> bool:
    """Return whether an agent of this kind cannot be resumed: the built-in searchers."""
    return definition.origin.scope is Scope.BUILTIN and definition.name in {each.name for each in _ONE_SHOT}


def limits_of(crew: Crew) -> Limits:
    """Return how many agents of a crew there are, and how many there may be."""
    settings = crew.settings
    return Limits(
        max_depth=settings.max_depth,
        running=crew.running,
        max_running=settings.max_running,
        spawned=crew.spawned,
        max_total=settings.max_total,
        has_budget=crew.ground.has_budget(),
    )


def denied_types(caller: AgentState) -> dict[str, str]:
    """Return the types that an agent may not start, each with the rule that says so."""
    rules = caller.profile.policy.rules if caller.profile.policy is not None else ()
    return {
        rule.content: str(rule)
        for rule in rules
        if rule.effect is Effect.DENY and rule.tool in {"Agent", "Task"} and rule.content and ":" not in rule.content
    }


def _can_read(caller: AgentState) -> bool:
    return "Read" in caller.profile.tools or "Bash" in caller.profile.tools


def _allowed_types(definition: AgentDefinition) -> tuple[str, ...] | None:
    """Return what `Agent(a, b)` in the tools of a definition allows; None where it stands there without such a list."""
    for each in definition.tools or ():
        name, parenthesis, types = each.partition("(")
        if name in {"Agent", "Task"} and parenthesis:
            return tuple(part.strip() for part in types.removesuffix(")").split(",") if part.strip())
    return None
