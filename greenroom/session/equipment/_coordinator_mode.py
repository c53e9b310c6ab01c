"""Coordinator mode in a session: the main agent only leads workers, which share a folder.

Rule 1: the mode is fixed before anything of the session is made. Rule 2: the coordinator's prompt takes the place of its
definition's, and its three tools that of all others, regardless of their origin. Must not know: how workers are started.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from greenroom.agents import AgentDefinition, AgentState
from greenroom.agents.definitions import WORKER
from greenroom.agents.delegation import (
    COORDINATOR,
    COORDINATOR_PROMPT,
    COORDINATOR_TOOLS,
    about_scratchpad,
    about_workers,
    session_mode,
    tools_for_child,
    worker_tools,
)
from greenroom.agents.subagents import AGENT_TOOLS, DelegationSettings
from greenroom.permissions import Policy, hidden_tools
from greenroom.session.settings._session_settings import Settings
from greenroom.tools import ToolSet
from greenroom.tools.builtin import STANDARD_TOOLS

SCRATCHPAD: Final = "scratchpad"
"""Name of the folder of a run that its workers share."""


def in_mode(settings: Settings, environ: Mapping[str, str], *, stored: str, run: str) -> tuple[Settings, str]:
    """Return the settings of a session in the mode that it is in, and what people should know of that."""
    delegation = settings.scalars.delegation
    mode, warning = session_mode(setting=delegation.coordinator, environ=environ, stored=stored, run=run)
    is_on = mode == COORDINATOR
    if is_on is delegation.coordinator:
        return settings, warning
    scalars = attrs.evolve(settings.scalars, delegation=attrs.evolve(delegation, coordinator=is_on))
    return attrs.evolve(settings, scalars=scalars), warning


def mode_of(delegation: DelegationSettings) -> str:
    """Return the mode of a session, as its journal has it."""
    return COORDINATOR if delegation.coordinator else "normal"


def with_worker(builtins: Sequence[AgentDefinition], delegation: DelegationSettings) -> tuple[AgentDefinition, ...]:
    """Return the definitions that are always there; a coordinator has a worker among them."""
    return (*builtins, WORKER) if delegation.coordinator else tuple(builtins)


def with_its_tools(tools: ToolSet, delegation: DelegationSettings) -> ToolSet:
    """Return the tools of a session; a coordinator has its own whether the program thought of them or not."""
    if not delegation.coordinator:
        return tools
    own = [tool for tool in (*STANDARD_TOOLS, *AGENT_TOOLS) if tool.name in COORDINATOR_TOOLS]
    return ToolSet((*tools.values(), *(tool for tool in own if tool.name not in tools)))


def as_coordinator(definition: AgentDefinition, delegation: DelegationSettings) -> AgentDefinition:
    """Return what the main agent is instead of what its definition says."""
    prompt = delegation.coordinator_prompt or COORDINATOR_PROMPT
    return attrs.evolve(definition, system_prompt=prompt, tools=None)


def workers_in_words(
    names: Sequence[str],
    servers: Sequence[str],
    delegation: DelegationSettings,
    policy: Policy,
    scratchpad: Path | None,
) -> str:
    """Return what the coordinator is told of its workers.

    Args:
        names: The session's tools.
        servers: Names of the MCP servers that are connected.
        delegation: How it starts agents.
        policy: The session's.
        scratchpad: The folder that workers share.
    """
    offered = worker_tools(names, is_simple=delegation.simple_workers)
    own, _ = policy.for_child()
    tools = tools_for_child(offered, WORKER, is_background=True, can_spawn=delegation.max_depth > 1, mode=own.mode)
    hidden = hidden_tools(own, tools)
    return about_workers(
        tools=[tool for tool in tools if tool not in hidden],
        servers=() if delegation.simple_workers else servers,
        scratchpad="" if scratchpad is None else str(scratchpad),
    )


def give_scratchpad(home: AgentState, folder: Path) -> None:
    """Open the folder that all workers share to a worker, and tell it so."""
    open_folders(home, (folder,))
    prompt = "\n\n".join(
        part for part in (home.profile.definition.system_prompt, about_scratchpad(str(folder))) if part
    )
    home.replace(definition=attrs.evolve(home.profile.definition, system_prompt=prompt))


def open_folders(home: AgentState, folders: Sequence[Path]) -> None:
    """Open folders to an agent for reading and writing without asking."""
    home.replace(more_roots=(*home.profile.more_roots, *folders))
    policy = home.profile.policy
    if policy is not None:
        texts = tuple(map(str, folders))
        added: dict[str, Any] = {
            "directories": tuple(dict.fromkeys((*policy.directories, *texts))),
            "own_folders": tuple(dict.fromkeys((*policy.own_folders, *texts))),
        }
        home.replace(policy=attrs.evolve(policy, **added))
