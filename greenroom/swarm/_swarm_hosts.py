"""A survey whose items are worked on by agents on hosts: its recipe and plan, the model of those agents, and the hosts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import attrs

from greenroom.agents.subagents import AGENT_TOOLS
from greenroom.core import UsageError
from greenroom.models import AnthropicModel, Model, PlaybookModel
from greenroom.models.choice import DEFAULT_CLAUDE_MODEL
from greenroom.swarm._swarm_plan import PLAYBOOK, SwarmOptions, SwarmPlan, is_playbook
from greenroom.swarm.recipes import SURVEY, Recipe
from greenroom.swarm.survey import FAR_MATE_SYSTEM, READER, READER_SYSTEM, WAIT, play_far_mate, play_reader
from greenroom.tools import ToolContext, tool
from greenroom.tools.builtin import task_output_tool

if TYPE_CHECKING:  # most swarms have no hosts
    from greenroom.remote.ray import RayHosts

_MATE: Final = SURVEY.roles[0]
_FAR_TOOLS: Final = ("Agent", WAIT)
_WAIT_MS: Final = 600_000
READERS: Final[Mapping[str, Mapping[str, Any]]] = {
    READER: {
        "description": "Works on one item of the board, on a host.",
        "prompt": READER_SYSTEM,
        "tools": list(_MATE.tools),
    }
}
"""The definition of agents on hosts, as `open_session` takes it."""


def recipe_for(options: SwarmOptions, recipe: Recipe) -> Recipe:
    """Return a recipe, with teammates that start agents on hosts if there are to be hosts.

    Raises:
        UsageError: It is another recipe.
    """
    if options.open_hosts is None:
        return recipe
    if recipe is not SURVEY:
        raise UsageError(f"--hosts is for the recipe {SURVEY.name!r}, got {recipe.name!r}")
    mate = attrs.evolve(_MATE, system_prompt=FAR_MATE_SYSTEM)
    return attrs.evolve(recipe, roles=[mate], playbook={**recipe.playbook, mate.name: play_far_mate})


def plan_for(options: SwarmOptions, plan: SwarmPlan) -> SwarmPlan:
    """Return a plan; if there are to be hosts, its teammates start agents there, and read nothing themselves."""
    if options.open_hosts is None:
        return plan
    mates = []
    for mate in plan.mates:
        kept = [name for name in mate.definition.tools or () if name not in _MATE.tools]
        definition = attrs.evolve(mate.definition, tools=(*_FAR_TOOLS, *kept))
        mates.append(attrs.evolve(mate, definition=definition))
    spawning = tuple(tool for tool in AGENT_TOOLS if tool.name in _FAR_TOOLS)
    return attrs.evolve(plan, mates=tuple(mates), tools=(*plan.tools, *spawning, agent_findings_tool))


def session_arguments(hosts: RayHosts | None) -> dict[str, Any]:
    """Return the arguments of `open_session` for a swarm with hosts; none without them."""
    return {} if hosts is None else {"agents": READERS, "placed_hosts": hosts.placed}


@tool(name=WAIT, read_only=True)
async def agent_findings_tool(task_id: str, *, ctx: ToolContext) -> str:
    """Wait for the end of an agent on a host, and return what it found. If it was lost, the answer says so: start another one.

    Args:
        task_id: The taskId that Agent returned.
    """
    return await task_output_tool.call({"task_id": task_id, "timeout": _WAIT_MS}, ctx)


def reader_model(name: str, wait_s: float) -> Model:
    """Return the model of agents on hosts."""
    if name == PLAYBOOK:
        return PlaybookModel({READER: play_reader}, name=PLAYBOOK, wait_s=wait_s)
    return AnthropicModel(name)


async def on_hosts(options: SwarmOptions, plan: SwarmPlan, work: Callable[[RayHosts | None], Awaitable[int]]) -> int:
    """Do the work with hosts, if there are to be any, and return its exit code.

    Raises:
        UsageError: They cannot be had.
    """
    if options.open_hosts is None:
        return await work(None)
    from greenroom.remote.ray import RayHostPlan  # with it, all of links

    name = PLAYBOOK if is_playbook(options) else options.model or DEFAULT_CLAUDE_MODEL
    wanted = RayHostPlan(
        model=f"{__name__}:{reader_model.__name__}",
        model_arguments={"name": name, "wait_s": options.latency_s or 0.0},
        tools="greenroom.swarm.recipes:ROLE_TOOLS",
        workspaces={"": str(plan.folder)},
        max_running=len(plan.mates),
    )
    async with options.open_hosts(wanted) as hosts:
        return await work(hosts)
