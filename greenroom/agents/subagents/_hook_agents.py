"""Agents that answer hooks: one per question, with read-only tools, ended after the answer.

Such an agent is recorded as a child of the agent whose hook it answers; it takes no place, and no notice reports its end.
It starts no agents: it has neither the tool for it, nor skills, nor hooks of its own type. Calls that are not allowed are
denied without asking. It has ended when the hook ends, in whatever way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

import attrs
import trio

from greenroom.agents._definition import AgentDefinition, DefinitionOrigin
from greenroom.agents._profile import Lineage
from greenroom.agents._state import AgentState
from greenroom.agents.subagents._spawn_orders import SpawnOrder, SubagentSpec
from greenroom.agents.subagents._subagent_pool import SubagentPool
from greenroom.core import Cause, PeerError
from greenroom.core.sources import Scope
from greenroom.hooks.inputs import HookContext
from greenroom.tasks import TaskState

HOOK_AGENT: Final = AgentDefinition(
    name="hook-agent",
    description="Looks for itself and answers a hook.",
    tools=("Read", "Grep", "Glob"),
    disallowed_tools=("Skill",),
    permission_mode="dontAsk",
    max_turns=50,
    reads_instructions=False,
    origin=DefinitionOrigin(scope=Scope.BUILTIN, source="built-in"),
)
END_S: Final = 5.0
"""Seconds in which one that is not waited for any more comes to its end."""


@final
class HookAgentFailed(PeerError):
    """An agent did not answer a hook.

    Attributes:
        state: `failed` or `killed`.
    """

    def __init__(self, state: str, why: str) -> None:
        super().__init__(f"the agent that was asked {why}")
        self.state = state


@final
@attrs.frozen(kw_only=True, eq=False)
class HookAgents:
    """Starts the agents of one session that hooks ask.

    Args:
        pool: Starts them.
        limit: Takes the hooks away from one that would start agents.
    """

    pool: SubagentPool
    limit: Callable[[AgentState], None]

    async def ask(self, system: str, prompt: str, *, model: str | None, context: HookContext) -> str:
        """Return the answer of an agent. If cancelled, the agent has ended before this returns.

        Raises:
            UsageError: It has none of its tools here, or its model cannot be used.
            HookAgentFailed: It came to no answer.
            Stopping: The session ends.
        """
        definition = attrs.evolve(HOOK_AGENT, system_prompt=system)
        caller_id = context.agent_id or context.actor
        caller = self.pool.find_home(caller_id)

        def make(lineage: Lineage) -> AgentState:
            wish = SubagentSpec(
                definition=definition,
                parent=caller,
                lineage=lineage,
                model=model,
                is_background=False,
                place=context.cwd,
                own_roots=None if caller is None else caller.profile.own_roots,
            )
            home = self.pool.ground.make_child(wish)
            self.limit(home)
            return home

        order = SpawnOrder(
            home=make,
            definition=definition,
            prompt=prompt,
            description="answers a hook",
            caller=caller,
            caller_id="" if caller is None else caller_id,
            is_background=False,
            is_silent=True,
            is_service=True,
        )
        subagent = await self.pool.start(order)
        task = subagent.task
        try:
            await task.wait_finished()
        finally:
            if task.kill(Cause("hook", "nobody waits for its answer any more")):
                with trio.move_on_after(END_S, shield=True):
                    await task.wait_finished()
        if task.state is not TaskState.COMPLETED:
            raise HookAgentFailed(task.state.value, task.ending)
        return subagent.home.last_text
