"""The hooks that make and remove worktrees in the place of git: those of the settings.

Rule 1: where such a hook is configured, git makes nothing: if the hook fails, is too slow or names no folder, there is no worktree.
Must not know: whose worktree it is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NoReturn, final

import attrs

from greenroom.agents import AgentServices
from greenroom.core import Event
from greenroom.hooks import HookEvent, HookOutcome
from greenroom.hooks.inputs import HookContext, HookInput, WorktreeCreateInput, WorktreeRemoveInput
from greenroom.session.assembly._session_services import Services
from greenroom.session.equipment._agent_hooks import AgentHooks
from greenroom.worktrees import WorktreeError, Worktrees, run_process


@final
@attrs.frozen
class SettingsWorktreeHooks:
    """Runs the hooks `WorktreeCreate` and `WorktreeRemove` of a session's settings."""

    _hooks: AgentHooks
    _services: AgentServices

    async def create(self, name: str, *, cwd: Path) -> str | None:
        """Return what a hook says; None where none is configured.

        Raises:
            WorktreeError: A hook failed, or requested to stop.
        """
        outcome = await self._run(WorktreeCreateInput(name=name), cwd)
        if outcome is None:
            return None
        path = outcome.extras.worktree_path
        if outcome.is_blocked or outcome.stops or path is None:
            why = outcome.reason or outcome.stop_reason or "; ".join(outcome.problems) or "it printed no path"
            raise WorktreeError(f"the WorktreeCreate hook made no worktree {name!r}: {why}")
        return path

    async def remove(self, path: Path) -> bool:
        """Say whether a hook removed it.

        Raises:
            WorktreeError: A hook failed.
        """
        outcome = await self._run(WorktreeRemoveInput(worktree_path=path), self._services.cwd)
        if outcome is not None and outcome.problems:
            raise WorktreeError(f"the WorktreeRemove hook failed: {'; '.join(outcome.problems)}")
        return outcome is not None

    async def _run(self, told: HookInput, cwd: Path) -> HookOutcome | None:
        runner = self._hooks.of_settings()
        event: HookEvent = told.event
        if not runner.has(event):
            return None
        services = self._services
        return await runner.run(
            told, HookContext(session_id=services.session_id, cwd=cwd, transcript_path=services.main_transcript)
        )


def make_worktrees(
    services: Services, hooks: AgentHooks, shared: AgentServices, record: Callable[[Event], Awaitable[None]]
) -> Worktrees:
    """Return what makes the worktrees of a session; in a re-run, each is refused with a `WorktreeError`.

    Args:
        services: Those of the session.
        hooks: The hooks of its settings.
        shared: The ports that all its agents share.
        record: Records an event and returns when it is durable.
    """
    scalars, is_rerun = services.plan.settings.scalars, services.effects.is_rerun
    return Worktrees(
        scalars.worktree.made(scalars.cleanupPeriodDays),
        ports=services.ports,
        run=_refuse if is_rerun else run_process,
        hooks=None if is_rerun else SettingsWorktreeHooks(hooks, shared),
        record=record,
        calls=services.plan.calls,
    )


async def _refuse(*_: object, **__: object) -> NoReturn:
    """Refuse to run git."""
    raise WorktreeError("a re-run makes no worktrees")
