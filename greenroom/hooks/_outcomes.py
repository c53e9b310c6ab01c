"""What the hooks of one event come to: many answers folded into one outcome, and how often a stop may be refused.

Rule 1: deny beats defer beats ask beats allow, whatever the order. Rule 2: where only one value can hold (a rewritten
input, a title), the last handler in the order of the configuration wins; texts are all kept, in that order. Rule 3: an
answer that is an error takes part with nothing but its problem.
Must not know: processes, Trio, and what the engine does with an outcome.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final, final

import attrs

from greenroom.hooks._catalog import HookEvent

STOP_BLOCK_CAP: Final = 8
"""Consecutive times that stop hooks may keep a turn going."""


class Permission(StrEnum):
    """What a hook says of a call. It never lifts a deny or ask rule; the rules are asked after the hooks."""

    ALLOW = "allow"
    ASK = "ask"
    DEFER = "defer"
    DENY = "deny"


_RANK: Final = {permission: rank for rank, permission in enumerate(Permission)}


@final
@attrs.frozen(kw_only=True)
class PermissionDecision:
    """What a `PermissionRequest` hook answers in the place of a person."""

    is_allowed: bool
    updated_input: Mapping[str, Any] | None = None
    updated_permissions: tuple[Any, ...] = ()
    message: str = ""
    """For the model, with a denial."""
    interrupt: bool = False
    """End the turn as well, with a denial."""


class ReplyAction(StrEnum):
    """What becomes of a question of an MCP server."""

    ACCEPT = "accept"
    DECLINE = "decline"
    CANCEL = "cancel"


@final
@attrs.frozen(kw_only=True)
class Reply:
    """What a hook answers an MCP server, or makes of a person's answer to it."""

    action: ReplyAction
    content: Mapping[str, Any] | None = None
    """The fields of the form; None where it gives none. It has not been held against the server's schema."""


@final
@attrs.frozen(kw_only=True)
class Extras:
    """What only single events know; None where it was not said."""

    updated_tool_output: Any = None
    updated_mcp_tool_output: Any = None
    classifier_context: str | None = None
    retry: bool | None = None
    initial_user_message: str | None = None
    session_title: str | None = None
    watch_paths: tuple[str, ...] | None = None
    reload_skills: bool | None = None
    suppress_original_prompt: bool | None = None
    worktree_path: str | None = None
    display_content: str | None = None
    reply: Reply | None = None


NO_EXTRAS: Final = Extras()


@final
@attrs.frozen(kw_only=True)
class HookAnswer:
    """What one handler said, decoded; the defaults say nothing."""

    hook: str = ""
    """The handler, for people."""
    stops: bool = False
    """`continue: false`."""
    stop_reason: str = ""
    blocks: bool = False
    block_reason: str = ""
    permission: Permission | None = None
    permission_reason: str = ""
    updated_input: Mapping[str, Any] | None = None
    context: str = ""
    system_message: str = ""
    terminal_sequence: str = ""
    suppress_output: bool = False
    """Decoded, and without effect."""
    decision: PermissionDecision | None = None
    extras: Extras = NO_EXTRAS
    problems: tuple[str, ...] = ()
    """What went wrong, without the handler's name. The action proceeds."""


@final
@attrs.frozen(kw_only=True)
class HookOutcome:
    """What all handlers of one event come to; without any of them, the defaults: go on as if nothing had been asked."""

    event: HookEvent
    stops: bool = False
    """End everything, whatever else is said here."""
    stop_reason: str = ""
    """For people; the first that was given."""
    block_reasons: tuple[str, ...] = ()
    """Why it is blocked, one text per handler that blocks. What blocking means, the event says (`CATALOG`)."""
    permission: Permission | None = None
    permission_reason: str = ""
    """From the handlers that said what `permission` says, a line each."""
    updated_input: Mapping[str, Any] | None = None
    """Replaces the whole input of the call. Check it against the rules again."""
    contexts: tuple[str, ...] = ()
    """For the model, each as a system reminder that stays in the transcript."""
    system_messages: tuple[str, ...] = ()
    """For people."""
    terminal_sequences: tuple[str, ...] = ()
    decision: PermissionDecision | None = None
    extras: Extras = NO_EXTRAS
    problems: tuple[str, ...] = ()
    """Notices for people: handlers that failed, hung or answered what cannot be read. None of them decided anything."""

    @property
    def is_blocked(self) -> bool:
        """Whether any handler blocks."""
        return bool(self.block_reasons)

    @property
    def reason(self) -> str:
        """All reasons for blocking, as one text."""
        return "\n".join(self.block_reasons)


def fold_answers(event: HookEvent, answers: Iterable[HookAnswer]) -> HookOutcome:
    """Put the answers of an event's handlers together.

    Args:
        event: What they were asked about.
        answers: In the order of the configuration, not in that of their arrival.
    """
    said = list(answers)
    permission = max((one.permission for one in said if one.permission), key=_RANK.__getitem__, default=None)
    reasons = [one.permission_reason for one in said if one.permission is permission and permission is not None]
    return HookOutcome(
        event=event,
        stops=any(one.stops for one in said),
        stop_reason=next((one.stop_reason for one in said if one.stops and one.stop_reason), ""),
        block_reasons=tuple(one.block_reason or f"blocked by hook {one.hook}" for one in said if one.blocks),
        permission=permission,
        permission_reason="\n".join(filter(None, reasons)),
        updated_input=_last(one.updated_input for one in said),
        contexts=tuple(one.context for one in said if one.context),
        system_messages=tuple(one.system_message for one in said if one.system_message),
        terminal_sequences=tuple(one.terminal_sequence for one in said if one.terminal_sequence),
        decision=_decide([one.decision for one in said if one.decision is not None]),
        extras=_merge([one.extras for one in said if one.extras is not NO_EXTRAS]),
        problems=tuple(f"{one.hook}: {problem}" for one in said for problem in one.problems),
    )


def _decide(decisions: list[PermissionDecision]) -> PermissionDecision | None:
    """One denial denies; otherwise what was allowed holds, with the last rewritten input and all further permissions."""
    if not decisions:
        return None
    denials = [one for one in decisions if not one.is_allowed]
    if denials:
        message = "\n".join(one.message for one in denials if one.message)
        return PermissionDecision(is_allowed=False, message=message, interrupt=any(one.interrupt for one in denials))
    return PermissionDecision(
        is_allowed=True,
        updated_input=_last(one.updated_input for one in decisions),
        updated_permissions=tuple(each for one in decisions for each in one.updated_permissions),
    )


def _merge(extras: list[Extras]) -> Extras:
    if not extras:
        return NO_EXTRAS
    names = [field.name for field in attrs.fields(Extras)]
    return Extras(**{name: _last(getattr(one, name) for one in extras) for name in names})


def _last(values: Iterable[Any]) -> Any:
    found = None
    for value in values:
        if value is not None:
            found = value
    return found


@final
@attrs.frozen(kw_only=True)
class StopVerdict:
    """Whether a turn that has said its last word goes on."""

    goes_on: bool = False
    said: tuple[str, ...] = ()
    """For the model: why it goes on."""
    warning: str = ""
    """For people: that hooks were overruled."""


@final
class StopGuard:
    """Counts how often stop hooks keep one turn going, so that none does for ever. Make one per turn."""

    __slots__ = ("_blocks", "_cap")

    def __init__(self, cap: int = STOP_BLOCK_CAP) -> None:
        self._cap = cap
        self._blocks = 0

    @property
    def is_active(self) -> bool:
        """The `stop_hook_active` of the next input: a hook has already kept this turn going."""
        return self._blocks > 0

    def decide(self, outcome: HookOutcome) -> StopVerdict:
        """Say whether the turn goes on after a Stop or SubagentStop; above the cap (0 is none) it does not."""
        said = (*outcome.block_reasons, *outcome.contexts)
        if outcome.stops or not said:
            self._blocks = 0
            return StopVerdict()
        if self._cap and self._blocks >= self._cap:
            times = self._blocks
            self._blocks = 0
            return StopVerdict(
                warning=f"stop hooks kept this turn going {times} times in a row; the next time it ended all the same"
            )
        self._blocks += 1
        return StopVerdict(goes_on=True, said=said)
