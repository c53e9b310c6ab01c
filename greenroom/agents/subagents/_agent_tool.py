"""The tool Agent: a model's way to start another agent, in the foreground or the background.

Foreground is a link: the turn waits for the child, and takes it along if it ends first; moving to the background
removes the link and nothing else. A result that was handed out is never changed: what comes later is a notice.
Before success is reported, the start is durable.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, final

import attrs

from greenroom.agents._definition import AgentDefinition
from greenroom.agents._profile import Lineage
from greenroom.agents._state import AgentState
from greenroom.agents.definitions import EXPLORE, PLAN, Definitions, agent_listing
from greenroom.agents.delegation._input import AgentCall, Gates, agent_schema, agent_tool_description, read_call
from greenroom.agents.delegation._results import AsyncLaunched, Completed, SpawnResult, stats_of, text_for_model
from greenroom.agents.delegation._routing import ForkRoute, NamedRoute, RemoteRoute, Route, TeammateRoute, route
from greenroom.agents.delegation._situation import Caller, DelegationLimits, Situation, Teams
from greenroom.agents.subagents._fork import FORK, fork_home, has_fork_tag
from greenroom.agents.subagents._linked_wait import wait_linked
from greenroom.agents.subagents._reports import whole_or_part
from greenroom.agents.subagents._spawn_orders import SpawnOrder, SubagentSpec
from greenroom.agents.subagents._subagent import Subagent
from greenroom.agents.subagents._subagent_pool import SubagentPool
from greenroom.core import UsageError
from greenroom.core.sources import Scope
from greenroom.permissions import Effect
from greenroom.tools import ToolContext, ToolError

AGENT_TOOL: Final = "Agent"
_ONE_SHOT: Final = (EXPLORE, PLAN)


@final
@attrs.frozen(kw_only=True, eq=False)
class AgentTool:
    """The tool of one session.

    Args:
        pool: Starts what is asked for.
        teams: Returns the team of the session as it is now.
        spawn_teammate: Starts a teammate; None where there are no teams. It raises `ToolError` if it cannot.
        launch_remote: Starts an agent on a host; None where none is configured. It raises `ToolError` if it cannot.
        wait_durable: Returns when all that was recorded so far survives a crash; None: nothing is kept.
        definitions: Those that the model reads of; they stay the same, so that prompts stay cached.
    """

    pool: SubagentPool
    teams: Callable[[], Teams] = Teams
    spawn_teammate: Callable[[TeammateRoute, AgentCall], Awaitable[SpawnResult]] | None = None
    launch_remote: Callable[[RemoteRoute, AgentCall, ToolContext], Awaitable[SpawnResult]] | None = None
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
        listed = agent_listing(self.definitions.values(), most=self.pool.settings.listing_chars)
        object.__setattr__(self, "description", agent_tool_description(listed, gates))

    def _gates(self) -> Gates:
        settings = self.pool.settings
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
        caller = self.pool.find_home(ctx.actor)
        if caller is None or caller.context is None:
            raise ToolError("this agent is not one that can start others")
        ctx.progress(f"Starting an agent: {call.description}")
        definitions = await self.pool.ground.find_definitions()
        way = self._route(call, ctx.actor, caller, definitions)
        if isinstance(way, TeammateRoute | RemoteRoute):
            return self._said(await self._start_elsewhere(way, call, ctx), ctx, caller)
        order = self._order(call, way, ctx, caller)
        try:
            subagent = await self.pool.start(order)
        except UsageError as error:
            raise ToolError(str(error)) from error
        if order.is_background:
            if self.wait_durable is not None:
                await self.wait_durable()
            return self._said(self._launched(subagent, caller), ctx, caller)
        ctx.progress(f"Waiting for {call.description}")
        return await self._wait(subagent, ctx, caller)

    # --- which way -------------------------------------------------------------------------------------------------

    def _route(self, call: AgentCall, actor: str, caller: AgentState, definitions: Definitions) -> Route:
        subagent = self.pool.subagents.get(actor)
        conversation = caller.conversation
        who = Caller(
            depth=caller.profile.lineage.depth,
            is_main=not caller.profile.is_child,
            is_fork=subagent is not None and subagent.order.is_fork,
            has_fork_tag=conversation is not None and has_fork_tag(conversation.messages),
            is_teammate=self._is_teammate(actor, caller),
            has_team_context=self.teams().team is not None,
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
        pool, settings = self.pool, self.pool.settings
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
            caller=caller,
            limits=limits_of(pool),
            teams=self.teams(),
            has_remote_hosts=self.launch_remote is not None,
        )

    async def _start_elsewhere(
        self, way: TeammateRoute | RemoteRoute, call: AgentCall, ctx: ToolContext
    ) -> SpawnResult:
        if isinstance(way, TeammateRoute):
            if self.spawn_teammate is None:
                raise ToolError("there are no teams here")
            return await self.spawn_teammate(way, call)
        if self.launch_remote is None:
            raise ToolError("no remote host is configured")
        return await self.launch_remote(way, call, ctx)

    def _order(self, call: AgentCall, way: NamedRoute | ForkRoute, ctx: ToolContext, caller: AgentState) -> SpawnOrder:
        is_fork = isinstance(way, ForkRoute)
        definition = caller.profile.definition if isinstance(way, ForkRoute) else way.definition

        def make(lineage: Lineage) -> AgentState:
            if isinstance(way, ForkRoute):
                return fork_home(caller, lineage)
            return self.pool.ground.make_child(
                SubagentSpec(
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
        return SpawnOrder(
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
            name=self.pool.free_name(call.name or ""),
            in_worktree=isolation == "worktree",
        )

    def _is_teammate(self, actor: str, caller: AgentState) -> bool:
        return caller.profile.is_child and actor not in self.pool.subagents

    # --- waiting and answering -------------------------------------------------------------------------------------

    async def _wait(self, subagent: Subagent, ctx: ToolContext, caller: AgentState) -> str:
        task, settings = subagent.task, self.pool.settings
        may_leave = settings.background and not self._is_teammate(ctx.actor, caller)
        limit_ms = settings.auto_background_ms if may_leave else 0
        # A call that was cut has no result to tell of the end: its owner reads of it with what comes next.
        if not await wait_linked(subagent, caller, cut=task.abandon, limit_s=limit_ms / 1000 if limit_ms else math.inf):
            self.pool.take_name(subagent)
            return self._said(self._launched(subagent, caller), ctx, caller)
        ctx.tell_end(task)
        return self._ended(subagent, ctx, caller)

    def _ended(self, subagent: Subagent, ctx: ToolContext, caller: AgentState) -> str:
        """Return the report of a child that was waited for; a part of one says what cut it."""
        task = subagent.task
        text = whole_or_part(task)
        progress = task.progress
        assert progress is not None
        home = subagent.home
        result = Completed(
            agent_id=subagent.id,
            agent_type=subagent.definition.name,
            content=(text,) if text else (),
            resolved_model=home.profile.model or home.services.model.name,
            models_used=tuple(progress.models) or None,
            total_tool_use_count=progress.tool_use_count,
            total_duration_ms=task.duration_ms,
            total_tokens=progress.last_request_tokens,
            usage=home.usage,
            tool_stats=stats_of(progress),
            prompt=subagent.order.prompt,
            worktree_path=None if task.worktree is None else task.worktree.path,
            worktree_branch=None if task.worktree is None else task.worktree.branch or None,
        )
        return self._said(result, ctx, caller, is_one_shot=is_one_shot(subagent.definition))

    def _launched(self, subagent: Subagent, caller: AgentState) -> AsyncLaunched:
        home = subagent.home
        return AsyncLaunched(
            is_async=True,
            agent_id=subagent.id,
            description=subagent.order.description,
            resolved_model=home.profile.model or home.services.model.name,
            prompt=subagent.order.prompt,
            output_file=str(subagent.task.info.output_file),
            can_read_output_file=_can_read(caller),
        )

    def _said(self, result: SpawnResult, ctx: ToolContext, caller: AgentState, *, is_one_shot: bool = False) -> str:
        ctx.attach(result.data())
        return text_for_model(result, is_one_shot=is_one_shot, can_read_output=_can_read(caller))


def is_one_shot(definition: AgentDefinition) -> bool:
    """Return whether an agent of this kind cannot be resumed: the built-in searchers."""
    return definition.origin.scope is Scope.BUILTIN and definition.name in {each.name for each in _ONE_SHOT}


def limits_of(pool: SubagentPool) -> DelegationLimits:
    """Return the numbers of running and started sub-agents, and their limits."""
    settings = pool.settings
    return DelegationLimits(
        max_depth=settings.max_depth,
        running=pool.running,
        max_running=settings.max_running,
        spawned=pool.spawned,
        max_total=settings.max_total,
        has_budget=pool.ground.has_budget(),
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
