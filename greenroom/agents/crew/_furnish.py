"""What a child is given beside what its definition says, because of who started it and how."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from greenroom.agents._services import AgentHome
from greenroom.agents.crew._orders import ChildWish, DelegationSettings
from greenroom.agents.delegation._tool_pool import possible_tools, worker_tools
from greenroom.permissions import Mode


def furnish(home: AgentHome, wish: ChildWish, settings: DelegationSettings) -> None:
    """Give an agent its lineage, its place, its instructions and the limits of its tools; before it gets its tools.

    Args:
        home: What belongs to it.
        wish: What it was started for.
        settings: How agents start others, and what all of them are told.
    """
    prompts = (home.definition.system_prompt, settings.append_system_prompt.strip())
    home.definition = attrs.evolve(home.definition, system_prompt="\n\n".join(one for one in prompts if one))
    home.lineage, home.place, home.own_roots = wish.lineage, wish.place, wish.own_roots
    if wish.parent is not None:
        home.stand_under(wish.parent)
    mode = home.policy.mode if home.policy is not None else Mode.DEFAULT

    def narrow(names: Sequence[str]) -> list[str]:
        offered = worker_tools(names, is_simple=settings.simple_workers) if wish.is_worker else list(names)
        can_spawn = wish.lineage.depth < settings.max_depth
        # What the definition says is looked at elsewhere, when all tools are there.
        return possible_tools(
            offered,
            is_background=wish.is_background,
            can_spawn=can_spawn,
            mode=mode,
            is_teammate=wish.is_teammate,
        )

    home.narrow = narrow
