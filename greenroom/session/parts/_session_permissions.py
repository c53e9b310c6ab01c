"""Permissions of a session: the main agent's mode, questions that wait, calls that were refused."""

from __future__ import annotations

from typing import final

from greenroom.agents import Denial
from greenroom.agents.review import AutoModeStatistics
from greenroom.agents.subagents import MainAgent
from greenroom.permissions import ApprovalQueue, Mode, Scope, Update, parse_mode
from greenroom.session.equipment._composition import Composition


@final
class SessionPermissions:
    """The permissions of one session; `session.permissions`."""

    def __init__(self, composition: Composition, main: MainAgent) -> None:
        self._composition = composition
        self._main = main

    @property
    def approvals(self) -> ApprovalQueue:
        """The calls that wait for somebody's answer: `approvals.answer(id, Allow())`."""
        return self._composition.approvals

    @property
    def auto_mode(self) -> AutoModeStatistics:
        """Decisions of the reviewer of the mode `auto` so far, and the tokens that they used."""
        assert self._composition.services.auto is not None
        return self._composition.services.auto.statistics()

    @property
    def mode(self) -> str:
        """The main agent's permission mode, which decides about calls that no rule matches."""
        home = self._main.home
        policy = self._composition.rules.policy if home is None else home.profile.policy
        return "" if policy is None else policy.mode.value

    async def set_mode(self, mode: str) -> None:
        """Change the main agent's mode, from its next call on; `auto` also ends a pause of its reviewer.

        Raises:
            UsageError: The mode is unknown.
        """
        home = self._main.home
        assert home is not None
        update = Update(kind="setMode", destination=Scope.SESSION, mode=parse_mode(mode))
        await self._composition.rules.keep_updates(home, [update])
        if update.mode is Mode.AUTO and self._composition.services.auto is not None:
            self._composition.services.auto.resume()

    @property
    def denials(self) -> tuple[Denial, ...]:
        """The calls of the main agent that were refused, in order."""
        return () if self._main.home is None else self._main.home.run.denials

    @property
    def is_sandboxed(self) -> bool:
        """True if commands run in a sandbox; if no sandbox is available, commands are refused."""
        return self._composition.services.sandbox is not None

    @property
    def freer_children(self) -> str:
        """The mode of agents that are started without one of their own, if it may do more than the session's; else empty."""
        return self._composition.rules.freer_children or ""

    def allow_deferral(self) -> None:
        """Allow hooks to defer calls of the main agent (`permissionDecision: "defer"`), where a message makes only one.

        The turn then ends: `stop_reason` of the answer is `tool_deferred`, `deferred` is the call, and the call stays open.
        `session.resume_turn` runs it, in this process or in a later one that resumes the session; hooks are asked about it once
        more. Another prompt drops the call. Without this, a call that a hook wants to defer is asked about like any other.
        """
        assert self._main.home is not None
        self._main.home.replace(may_defer=True)
