"""The rules and hooks of all agents of a session, as answers and edits of settings files change them while it runs.

Rule 1: what changes the session changes every agent that there is, in one step. Rule 2: what an agent has of its own (its mode, what its
definition or a skill brought) it keeps. Must not know: how agents are made.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from greenroom.agents import AgentState
from greenroom.core import Ports, UsageError
from greenroom.core.sources import Places
from greenroom.hooks import ParsedHooks
from greenroom.permissions import Policy, Scope, Update, apply_updates, updated_settings
from greenroom.session._agent_hooks import AgentHooks
from greenroom.session._settings_files import SettingSource, settings_path

KEPT_IN: Final = {
    Scope.LOCAL: SettingSource.LOCAL,
    Scope.PROJECT: SettingSource.PROJECT,
    Scope.USER: SettingSource.USER,
}
"""In which file of ours a lasting answer of a scope is kept."""


class InForce:
    """What counts for all agents of a session and may change; a part of `Composition`.

    Attributes:
        policy: The session's own; agents have copies.
        hooks: Those of each agent.
        written: Settings files that lasting answers were written to, and that nobody has looked at since.
    """

    policy: Policy
    hooks: AgentHooks
    written: set[Path]
    _homes: dict[AgentState, None]
    _places: Places | None
    _ports: Ports
    _cwd: Path
    _kept: frozenset[SettingSource]

    def put_in_force(self, change: Callable[[Policy], Policy], hooks: Sequence[ParsedHooks]) -> None:
        """Let other settings count for the session and for every agent, from their next call on.

        Args:
            change: What becomes of a policy.
            hooks: Those of all settings, in the order in which they count.
        """
        self.policy = change(self.policy)
        made: dict[int, Policy] = {}  # agents of one kind share theirs, and go on to
        for home, policy in [(home, home.profile.policy) for home in self._homes if home.profile.policy is not None]:
            if id(policy) not in made:
                made[id(policy)] = change(policy)
            home.replace(policy=made[id(policy)])
        self.hooks.put_in_force(hooks, self._homes)

    async def keep_updates(self, agent_home: AgentState, updates: Sequence[Update]) -> None:
        """Put lasting answers in force for the session (agents 1.48), and keep them where they say.

        A mode is for the agent that asked; where that is the main agent, for the session.

        Raises:
            UsageError: An update is none; nothing has changed.
        """
        others = [one for one in updates if one.mode is None]
        changed = [
            (home, apply_updates(home.profile.policy, updates if home is agent_home else others, cwd=str(self._cwd)))
            for home in self._homes
            if home.profile.policy is not None
        ]
        self.policy = apply_updates(self.policy, others if agent_home.profile.is_child else updates, cwd=str(self._cwd))
        for home, policy in changed:
            home.replace(policy=policy)
        for scope, source in KEPT_IN.items():
            mine = [one for one in updates if one.destination is scope]
            if mine and self._places is not None and source in self._kept:
                await self._ports.blocking.run(self._write, settings_path(self._places, source), mine, scope)

    def _write(self, path: Path, updates: Sequence[Update], scope: Scope) -> None:
        disk = self._ports.disk
        try:
            values = json.loads(disk.read(path) or b"{}")
        except FileNotFoundError:
            values = {}
        except ValueError as error:
            raise UsageError(f"{path} is no JSON ({error}); the answer holds for this session only") from None
        if not isinstance(values, dict):
            raise UsageError(f"{path} holds no JSON object; the answer holds for this session only")
        self.written.add(path)
        disk.make_folder(path.parent)
        disk.write(path, json.dumps(updated_settings(values, updates, scope), indent=2).encode() + b"\n")
