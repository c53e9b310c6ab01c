"""Agents that the program starts itself: sub-agents, forks of the main agent, agents of an earlier process."""

from __future__ import annotations

from typing import Any, Literal

import attrs
import trio

from greenroom.actors import Ref
from greenroom.agents import Agent, AgentDefinition, AgentState, Lineage, Note, agent_spec
from greenroom.agents.subagents import FORK, SpawnOrder, Subagent, SubagentPool, SubagentSpec, denied_types, fork_home
from greenroom.core import Cause, UsageError
from greenroom.inbox import AUTO_CONTINUATION
from greenroom.session.assembly._session_services import Services
from greenroom.session.equipment._composition import Composition
from greenroom.session.record._resume import load_agent
from greenroom.supervisor import Restart
from greenroom.tools import ToolError


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
