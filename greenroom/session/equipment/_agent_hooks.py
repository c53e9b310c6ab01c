"""The hooks of each agent of a session: those of the settings, its definition's, and those of skills.

Rule 1: what a definition from an untrusted folder would run, it does not. Rule 2: of an agent below another one, what its
definition or its skill wrote for `Stop` is `SubagentStop`. Rule 3: an agent that answers a hook has no hooks of type agent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, final
from weakref import WeakSet

import attrs

from greenroom.agents import AgentState
from greenroom.core.sources import Scope
from greenroom.hooks import (
    AgentAsker,
    HandlerType,
    HookRunner,
    HookServices,
    HookSource,
    ParsedHooks,
    SourceKind,
    merge_hooks,
    parse_hooks,
)
from greenroom.session.equipment._hook_rules import late_delivery
from greenroom.skills import Rendered


@final
class AgentHooks:
    """Makes what runs the hooks of one agent.

    Args:
        settings: The hooks of all settings, in the order in which they count.
        services: What handlers are run with.
        problems: Takes a line about what cannot be used.
        hook_agents: Returns what starts the agents that hooks ask; called when an agent is made.
    """

    def __init__(
        self,
        settings: Sequence[ParsedHooks],
        services: HookServices,
        problems: list[str],
        hook_agents: Callable[[], AgentAsker],
    ) -> None:
        self._hook_agents = hook_agents
        self._settings = tuple(settings)
        self._services = services
        self._problems = problems
        self._limited: WeakSet[AgentState] = WeakSet()
        self._homes: WeakSet[AgentState] = WeakSet()
        self._given: tuple[ParsedHooks, ...] = ()
        """Hooks that the program added while the session ran."""

    @property
    def _always(self) -> tuple[ParsedHooks, ...]:
        """Those that hold for every agent."""
        return (*self._settings, *self._given)

    def put_in_force(self, settings: Sequence[ParsedHooks], homes: Iterable[AgentState]) -> None:
        """Apply other settings; present agents keep the hooks of their definitions and skills."""
        for_all = {parsed.source for parsed in (*self._always, *settings)}
        self._settings = tuple(settings)
        for home in homes:
            present = () if home.profile.hooks is None else home.profile.hooks.hooks.parsed
            own = [parsed for parsed in present if parsed.source not in for_all]
            if home.profile.hooks is not None:
                home.profile.hooks.hooks = merge_hooks((*self._always, *own))
            elif any(alway.hooks for alway in self._always):
                home.replace(hooks=self._runner(home, own))
            if home in self._limited:
                self.limit(home)

    def limit(self, home: AgentState) -> None:
        """Permanently remove the hooks of an agent that would start agents."""
        self._limited.add(home)
        if home.profile.hooks is not None:
            home.profile.hooks.hooks = home.profile.hooks.hooks.without(HandlerType.AGENT)

    def of(self, home: AgentState, trusted: Sequence[Path]) -> HookRunner | None:
        """Return what runs the hooks of an agent; None where there are none."""
        self._homes.add(home)
        definition = home.profile.definition
        own = []
        if definition.hooks and not definition.runs_own_code(trusted):
            why = f"{definition.origin.folder} is not trusted (--trust, is_trusted=True)"
            said = f"{definition.origin.source}: agent {definition.name!r} runs without its hooks: {why}"
            if said not in self._problems:
                self._problems.append(said)
        elif definition.hooks:
            kind = SourceKind.AGENT if home.profile.is_child else SourceKind.HOST
            is_managed = definition.origin.scope is Scope.MANAGED
            source = HookSource(f"agent {definition.name}", kind, is_managed=is_managed)
            own.append(self._parsed(definition.hooks, source))
        if not any(parsed.hooks for parsed in (*self._always, *own)):
            return None
        return self._runner(home, own)

    def of_settings(self) -> HookRunner:
        """Return what runs hooks at moments that are no agent's own; those that ask an agent are not among them."""
        return HookRunner(merge_hooks(self._always).without(HandlerType.AGENT), self._services)

    def extend(self, more: ParsedHooks) -> None:
        """Add hooks as if the settings held them, for all present and future agents."""
        self._given += (more,)
        for home in self._homes:
            if home.profile.hooks is None:
                home.replace(hooks=self._runner(home, []))
            else:
                home.profile.hooks.hooks = home.profile.hooks.hooks.with_more(more)

    def add(self, home: AgentState, rendered: Rendered) -> None:
        """Run the hooks of a skill for an agent from now on, until it ends."""
        if not rendered.hooks:
            return
        hooks = rendered.hooks
        if home.profile.is_child and "Stop" in hooks:
            stops = [*hooks.get("SubagentStop", ()), *hooks["Stop"]]
            hooks = {**{name: one for name, one in hooks.items() if name != "Stop"}, "SubagentStop": stops}
        skill = rendered.skill
        source = HookSource(f"skill {skill.name}", SourceKind.SKILL, is_managed=skill.scope is Scope.MANAGED)
        parsed = self._parsed(hooks, source)
        if home.profile.hooks is None:
            home.replace(hooks=self._runner(home, [parsed]))
        else:
            home.profile.hooks.hooks = home.profile.hooks.hooks.with_more(parsed)

    def _parsed(self, hooks: Mapping[str, Any], source: HookSource) -> ParsedHooks:
        parsed = parse_hooks({"hooks": hooks}, source)
        self._problems += map(str, parsed.problems)
        return parsed

    def _runner(self, home: AgentState, own: Sequence[ParsedHooks]) -> HookRunner:
        services = attrs.evolve(self._services, deliver=late_delivery(home), agent=self._hook_agents())
        return HookRunner(merge_hooks((*self._always, *own)), services)
