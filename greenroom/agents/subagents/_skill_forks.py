"""Skills that run as sub-agents (`context: fork`).

The agent gets the skill's text and nothing of the caller's conversation. A turn that waits for it is linked to it: the
agent ends if the turn ends first. The skill's grants apply to the agent for its whole run, never to its caller. Such a
skill is not run again below itself. Types, rules and limits are those of every other child.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import final

import attrs

from greenroom.agents._call_batches import summarize
from greenroom.agents._definition import INHERIT, AgentDefinition
from greenroom.agents._profile import Lineage
from greenroom.agents._state import AgentState
from greenroom.agents.delegation._carriers import Carrier, SkillSituation, choose_carrier
from greenroom.agents.delegation._results import NO_OUTPUT, worktree_lines
from greenroom.agents.delegation._routing import SpawnRefused, route_skill
from greenroom.agents.delegation._situation import Caller, Situation
from greenroom.agents.subagents._agent_tool import denied_types, limits_of
from greenroom.agents.subagents._linked_wait import wait_linked
from greenroom.agents.subagents._reports import whole_or_part
from greenroom.agents.subagents._spawn_orders import SpawnOrder, SubagentSpec
from greenroom.agents.subagents._subagent import Subagent
from greenroom.agents.subagents._subagent_pool import SubagentPool
from greenroom.core import PeerError, UsageError
from greenroom.core.texts import frame
from greenroom.inbox import SCHEDULE
from greenroom.skills import Rendered
from greenroom.tasks import Task, TaskState
from greenroom.tools import ToolContext, ToolError


@final
class SkillForkFailed(PeerError):
    """The agent that ran a skill of the user's did not complete.

    Attributes:
        skill: Name of the skill.
        state: `failed` or `killed`.
        partial: What it had said last; may be empty.
    """

    def __init__(self, skill: str, state: str, why: str, partial: str) -> None:
        super().__init__(f"/{skill} did not come to its end: its agent {why}")
        self.skill = skill
        self.state = state
        self.partial = partial


@final
@attrs.define(kw_only=True, eq=False)
class SkillForks:
    """Runs the skills of one session that have `context: fork`; as a function, for the tool Skill.

    Args:
        pool: Starts the agents.
        equip: Gives an agent the hooks of a skill.
        wait_durable: Returns when all that was recorded so far survives a crash; None: nothing is kept.
        hand_in: Hands in a prompt for the session that is shown to nobody, and says whether it was taken.
    """

    pool: SubagentPool
    equip: Callable[[AgentState, Rendered], object] = lambda _home, _rendered: None
    wait_durable: Callable[[], Awaitable[None]] | None = None
    hand_in: Callable[[str], bool] = lambda _: False

    async def __call__(self, rendered: Rendered, ctx: ToolContext) -> str:
        """Run a skill for a model, and return the text for the model: the result, or a note that it runs in the background.

        Cancelled while it waits for the agent, the agent is killed, and the turn ends after it.

        Raises:
            ToolError: It may not be run here, or failed before it had said anything.
        """
        name = rendered.skill.name
        caller = self.pool.find_home(ctx.actor)
        if caller is None or caller.context is None:
            raise ToolError(
                f"the skill {name!r} runs as an agent of its own, and this agent is not one that can start any"
            )
        ctx.progress(f"Starting an agent: {name}")
        subagent = await self._start(rendered, caller, call=ctx.tool_use_id)
        found = {"success": True, "commandName": name, "agentId": subagent.id}
        if not subagent.task.is_background:
            ctx.progress(f"Waiting for {name}")
            if await wait_linked(subagent, caller, cut=subagent.task.abandon):
                ctx.tell_end(subagent.task)
                text = _with_worktree(subagent.task, whole_or_part(subagent.task) or NO_OUTPUT)
                ctx.attach({**found, "status": "forked", "result": text})
                return f'Skill "{name}" completed (forked execution).\n\nResult:\n{text}'
        elif self.wait_durable is not None:
            await self.wait_durable()
        ctx.attach({**found, "status": "async_launched"})
        return f'Skill "{name}" {_in_background(subagent)} You are told when it has ended; do not wait for it.'

    async def run_command(self, caller: AgentState, rendered: Rendered) -> str:
        """Run a skill that the user called in a turn of the main agent, and return the output of the command.

        Cancelled while it waits for the agent, the agent is killed, and the turn ends after it.

        Raises:
            UsageError: It may not be run here.
            SkillForkFailed: Its agent was waited for, and did not come to its end.
        """
        name = rendered.skill.name
        try:
            subagent = await self._start(rendered, caller, is_user=True)
        except ToolError as error:
            raise UsageError(f"/{name}: {error}") from error
        task = subagent.task
        # A command that was cut says so itself.
        if task.is_background or not await wait_linked(subagent, caller, cut=task.mark_notified):
            return f"/{name} {_in_background(subagent)}"
        task.mark_notified()
        if task.state is not TaskState.COMPLETED:
            raise SkillForkFailed(name, task.state.value, task.ending, task.result or "")
        return _with_worktree(task, task.result or NO_OUTPUT)

    # --- starting --------------------------------------------------------------------------------------------------

    async def _start(
        self, rendered: Rendered, caller: AgentState, *, call: str = "", is_user: bool = False
    ) -> Subagent:
        pool, skill = self.pool, rendered.skill
        if skill.name in caller.profile.lineage.skills:
            chain = " > ".join((*caller.profile.lineage.skills, skill.name))
            raise ToolError(
                f"the skill {skill.name!r} runs above you already ({chain}): do yourself what is left of it"
            )
        definitions = await pool.ground.find_definitions()
        who = Caller(depth=caller.profile.lineage.depth, is_main=not caller.profile.is_child, is_user=is_user)
        denied = denied_types(caller)
        situation = Situation(definitions=definitions, denied_types=denied, caller=who, limits=limits_of(pool))
        try:
            definition = route_skill(skill.agent, situation)
        except SpawnRefused as error:
            raise ToolError(f"the skill {skill.name!r} cannot run as an agent {skill.agent!r}: {error}") from error
        carrier = self._carrier(rendered, caller, is_user=is_user)
        order = SpawnOrder(
            home=self._maker(rendered, definition, caller, is_background=carrier is not Carrier.OUTPUT),
            definition=definition,
            prompt=rendered.text,
            description=f"/{skill.name} {summarize({'': rendered.arguments})}".rstrip(),
            caller=caller,
            caller_id=caller.profile.id,
            owner=caller.profile.id,
            call=call,
            is_background=carrier is not Carrier.OUTPUT,
            in_worktree=definition.isolation == "worktree",
            skill=skill.name,
            tell=self._tell if carrier is Carrier.HIDDEN_PROMPT else None,
        )
        try:
            return await pool.start(order)
        except UsageError as error:
            raise ToolError(str(error)) from error

    def _maker(
        self, rendered: Rendered, definition: AgentDefinition, caller: AgentState, *, is_background: bool
    ) -> Callable[[Lineage], AgentState]:
        model = rendered.skill.model

        def make(lineage: Lineage) -> AgentState:
            wish = SubagentSpec(
                definition=definition,
                parent=caller,
                lineage=lineage,
                model=None if model == INHERIT else model,
                is_background=is_background,
                is_worker=self.pool.settings.coordinator,
                place=caller.cwd,
                own_roots=caller.profile.own_roots,
            )
            home = self.pool.ground.make_child(wish)
            home.grant(home.grants.after(rendered))
            self.equip(home, rendered)
            return home

        return make

    def _carrier(self, rendered: Rendered, caller: AgentState, *, is_user: bool) -> Carrier:
        settings, skill = self.pool.settings, rendered.skill
        subagents = self.pool.subagents
        is_teammate = caller.profile.is_child and caller.profile.id not in subagents
        situation = SkillSituation(
            setting=settings.skill_fork,
            background_enabled=settings.background and not is_teammate,
            is_interactive=settings.interactive,
            is_assistant=settings.assistant,
            is_main=not caller.profile.is_child,
            runs_already=any(
                subagent.is_running and subagent.order.skill == skill.name for subagent in subagents.values()
            ),
            is_scheduled=not is_user and caller.origin == SCHEDULE,
        )
        return choose_carrier(skill.is_background, situation)

    # --- telling ---------------------------------------------------------------------------------------------------

    def _tell(self, task: Task) -> bool:
        said = task.result or ""
        if task.state is not TaskState.COMPLETED:
            said = f"{said}\n(The agent {task.ending}.)".lstrip()
        about = {"command": task.info.description, "status": task.state}
        return self.hand_in(frame("command-result", _with_worktree(task, said), about, keeps_marks=True))


def _with_worktree(task: Task, text: str) -> str:
    kept = task.worktree
    return text if kept is None else "\n".join([text, "", *worktree_lines(kept.path, kept.branch)])


def _in_background(subagent: Subagent) -> str:
    return f"runs in the background as agent {subagent.id}. output_file: {subagent.task.info.output_file}."
