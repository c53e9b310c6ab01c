"""The profile of a child: its definition, changed by its caller and the way it is started."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import attrs

from greenroom.agents._profile import AgentProfile
from greenroom.agents.delegation._tool_pool import possible_tools, worker_tools
from greenroom.agents.subagents._delegation_settings import DelegationSettings
from greenroom.agents.subagents._spawn_orders import SubagentSpec
from greenroom.permissions import Mode


@final
@attrs.frozen(kw_only=True)
class ToolLimits:
    """The limits of an agent's tools, by the way it was started."""

    is_worker: bool
    is_simple: bool
    is_background: bool
    can_spawn: bool
    mode: Mode
    is_teammate: bool

    def __call__(self, names: Sequence[str]) -> list[str]:
        """Return the names that are left; the definition's own limits are applied elsewhere, once all tools are known."""
        return possible_tools(
            worker_tools(names, is_simple=self.is_simple) if self.is_worker else names,
            is_background=self.is_background,
            can_spawn=self.can_spawn,
            mode=self.mode,
            is_teammate=self.is_teammate,
        )


def make_child_profile(profile: AgentProfile, wish: SubagentSpec, settings: DelegationSettings) -> AgentProfile:
    """Return a profile with its lineage, folder, instructions and limits of tools; the tools are added afterwards.

    Args:
        profile: The profile so far, with its policy.
        wish: The reason that the agent was started for.
        settings: How agents start others, and what all of them are told.
    """
    definition = profile.definition
    appended = settings.append_system_prompt.strip()
    if appended:
        prompts = (definition.system_prompt, appended)
        definition = attrs.evolve(definition, system_prompt="\n\n".join(prompt for prompt in prompts if prompt))
    if settings.initial_prompt_scope == "main":
        definition = attrs.evolve(definition, initial_prompt="")
    profile = attrs.evolve(
        profile, definition=definition, lineage=wish.lineage, place=wish.place, own_roots=wish.own_roots
    )
    if wish.parent is not None:
        profile = attrs.evolve(profile.under(wish.parent.profile), mode_limit=wish.parent.passed_limit)
    limits = ToolLimits(
        is_worker=wish.is_worker,
        is_simple=settings.simple_workers,
        is_background=wish.is_background,
        can_spawn=wish.lineage.depth < settings.max_depth,
        mode=profile.policy.mode if profile.policy is not None else Mode.DEFAULT,
        is_teammate=wish.is_teammate,
    )
    return attrs.evolve(profile, narrow=limits)
