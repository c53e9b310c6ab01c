"""The rules and hooks in force for the agents of a session, as answers and edits of settings files change them.

A change of the session's rules changes every agent in the same step. An agent keeps what is its own: its mode, and what its definition or a
skill brought.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, final

from greenroom.agents import AgentDefinition, AgentState
from greenroom.agents.subagents import SubagentSpec
from greenroom.core import UsageError
from greenroom.core.ports import Ports
from greenroom.hooks import ParsedHooks
from greenroom.permissions import Mode, Policy, Scope, Update, apply_updates, updated_settings
from greenroom.session.assembly._session_plan import Plan
from greenroom.session.equipment._agent_hooks import AgentHooks
from greenroom.session.settings._session_policy import child_setting, freer_mode, freer_note, policy_of
from greenroom.session.settings._settings_files import SettingSource, settings_path

KEPT_IN: Final = {
    Scope.LOCAL: SettingSource.LOCAL,
    Scope.PROJECT: SettingSource.PROJECT,
    Scope.USER: SettingSource.USER,
}
"""The file of ours in which a lasting answer of a scope is kept."""
MAX_SHARED: Final = 64
"""Maximum number of definitions whose policies are kept for agents of one kind."""


@final
class Rules:
    """The rules and hooks of one session, and the agents that they apply to.

    Args:
        plan: The rules at the start, and the files in which lasting answers are kept.
        hooks: The hooks of each agent.
        ports: Disk and threads.
        problems: Takes a line about each rule that cannot be used.

    Attributes:
        policy: The session's own; agents have copies.
        written: Settings files that lasting answers were written to, and that were not read since.
    """

    def __init__(self, plan: Plan, hooks: AgentHooks, ports: Ports, problems: list[str]) -> None:
        self.policy = plan.policy
        self.hooks = hooks
        self.written: set[Path] = set()
        self._problems = problems
        self._places = plan.places
        self._ports = ports
        self._cwd = plan.cwd
        self._has_mode = plan.has_mode
        self._kept = plan.sources if plan.spec.host.replay is None else ()  # a re-run changes no settings
        self._child_permission = plan.settings.scalars.child_permission
        self._homes: dict[AgentState, None] = {}
        self._policies: dict[tuple[int, bool], tuple[AgentDefinition, Policy, Policy]] = {}
        """By definition and whether it is a child's: the definition, the session's policy then, and what was made of both."""

    @property
    def homes(self) -> Iterable[AgentState]:
        """The records of the agents that the rules apply to."""
        return self._homes

    def take_in(self, home: AgentState) -> None:
        """Apply changes to an agent from now on."""
        self._homes[home] = None

    def let_go(self, home: AgentState) -> None:
        """Forget an agent that has ended."""
        self._homes.pop(home, None)

    # --- changes ---------------------------------------------------------------------------------------------------

    def put_in_force(self, change: Callable[[Policy], Policy], hooks: Sequence[ParsedHooks]) -> None:
        """Apply other settings to the session and to every agent, from their next call on.

        Args:
            change: Returns the new policy for an old one.
            hooks: The hooks of all settings, in order of precedence.
        """
        self.policy = change(self.policy)
        made: dict[int, Policy] = {}  # agents of one kind continue to share theirs
        for home, policy in [(home, home.profile.policy) for home in self._homes if home.profile.policy is not None]:
            if id(policy) not in made:
                made[id(policy)] = change(policy)
            home.replace(policy=made[id(policy)])
        self.hooks.put_in_force(hooks, self._homes)

    async def keep_updates(self, agent_home: AgentState, updates: Sequence[Update]) -> None:
        """Apply lasting answers to the session, and keep them where they say.

        A mode applies to the agent that asked; if that is the main agent, to the session.

        Raises:
            UsageError: An update is invalid; nothing has changed.
        """
        others = [update for update in updates if update.mode is None]
        changed = [
            (home, apply_updates(home.profile.policy, updates if home is agent_home else others, cwd=str(self._cwd)))
            for home in self._homes
            if home.profile.policy is not None
        ]
        self.policy = apply_updates(self.policy, others if agent_home.profile.is_child else updates, cwd=str(self._cwd))
        for home, policy in changed:
            home.replace(policy=policy)
        for scope, source in KEPT_IN.items():
            mine = [update for update in updates if update.destination is scope]
            if mine and self._places is not None and source in self._kept:
                await self._ports.blocking.run(self._write, settings_path(self._places, source), mine, scope)

    def _write(self, path: Path, updates: Sequence[Update], scope: Scope) -> None:
        disk = self._ports.disk
        try:
            values = json.loads(disk.read(path) or b"{}")
        except FileNotFoundError:
            values = {}
        except ValueError as error:
            raise UsageError(
                f"{path} is not valid JSON ({error}); the permission was granted for this session only"
            ) from None
        if not isinstance(values, dict):
            raise UsageError(f"{path} must hold a JSON object; the permission was granted for this session only")
        self.written.add(path)
        disk.make_folder(path.parent)
        disk.write(path, json.dumps(updated_settings(values, updates, scope), indent=2).encode() + b"\n")

    # --- one agent -------------------------------------------------------------------------------------------------

    def policy_for(self, definition: AgentDefinition, *, is_child: bool, wish: SubagentSpec | None) -> Policy:
        """Return the policy of a new agent; agents of one definition share it, and what it has cached."""
        if wish is not None and wish.is_teammate:  # a teammate follows its lead's mode of this moment
            return self._make_policy(definition, is_child=is_child, wish=wish)
        key = (id(definition), is_child)
        known = self._policies.get(key)
        if known is None or known[1] is not self.policy:
            if len(self._policies) >= MAX_SHARED:
                self._policies.clear()
            known = self._policies[key] = (definition, self.policy, self._make_policy(definition, is_child=is_child))
        return known[2]

    def _make_policy(self, definition: AgentDefinition, *, is_child: bool, wish: SubagentSpec | None = None) -> Policy:
        mode, chosen, setting = self.policy.mode, self._child_permission, None
        if is_child:
            setting = child_setting(mode, chosen)
            note = "" if definition.permission_mode else freer_note(mode, chosen)
            self._problems += [note] if note and note not in self._problems else []
        policy, problems = policy_of(self.policy, definition, setting=setting, has_mode=self._has_mode, wish=wish)
        self._problems += problems
        return policy

    @property
    def freer_children(self) -> Mode | None:
        """The mode of children whose definition names none, if it may do more than the session's; else None."""
        return freer_mode(self.policy.mode, self._child_permission)
