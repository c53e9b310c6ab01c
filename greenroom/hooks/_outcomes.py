"""Outcomes: the answers of an event's handlers folded into one, and the limit on refused stops.

Rule 1: deny takes precedence over defer, defer over ask, and ask over allow, in any order. Rule 2: if only one value
can hold (a rewritten input, a title), the last handler in configuration order wins; texts are all kept, in that order.
Rule 3: an answer that is an error contributes only its problem.

Must not know: processes, Trio, and the engine's use of an outcome.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final, final

import attrs

from greenroom.core import frozen
from greenroom.hooks._event_table import HookEvent

STOP_BLOCK_CAP: Final = 8
"""Maximum number of consecutive times that stop hooks keep a turn going."""


class Permission(StrEnum):
    """A hook's decision about a call. It never lifts a deny or ask rule; the rules are evaluated after the hooks."""

    ALLOW = "allow"
    ASK = "ask"
    DEFER = "defer"
    DENY = "deny"


_RANK: Final = {permission: rank for rank, permission in enumerate(Permission)}


@final
@frozen(kw_only=True)
class PermissionDecision:
    """The answer of a `PermissionRequest` hook in place of a person."""

    is_allowed: bool
    updated_input: Mapping[str, Any] | None = None
    updated_permissions: tuple[Any, ...] = ()
    message: str = ""
    """For the model, with a denial."""
    interrupt: bool = False
    """End the turn as well, with a denial."""


class ReplyAction(StrEnum):
    """Answers to a question of an MCP server."""

    ACCEPT = "accept"
    DECLINE = "decline"
    CANCEL = "cancel"


@final
@frozen(kw_only=True)
class ElicitationReply:
    """A hook's answer to an MCP server, or its replacement for a person's answer."""

    action: ReplyAction
    content: Mapping[str, Any] | None = None
    """The fields of the form; None if absent. Not validated against the server's schema."""


@final
@frozen(kw_only=True)
class Extras:
    """Fields of single events; None if absent."""

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
    reply: ElicitationReply | None = None


NO_EXTRAS: Final = Extras()


@final
@frozen(kw_only=True)
class HookAnswer:
    """The decoded answer of one handler; the defaults have no effect."""

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
    """Errors, without the handler's name. The action proceeds."""


@final
@frozen(kw_only=True)
class HookOutcome:
    """The combined answer of an event's handlers; the defaults change nothing."""

    event: HookEvent
    stops: bool = False
    """End everything, whatever the other fields say."""
    stop_reason: str = ""
    """For people; the first that was given."""
    block_reasons: tuple[str, ...] = ()
    """The reasons for blocking, one text per handler that blocks. `CATALOG` says what blocking means for each event."""
    permission: Permission | None = None
    permission_reason: str = ""
    """One line from each handler that gave the decision in `permission`."""
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
    """Notices for people: handlers that failed, timed out or gave malformed answers. None of them decided anything."""

    @property
    def is_blocked(self) -> bool:
        """True if any handler blocks."""
        return bool(self.block_reasons)

    @property
    def reason(self) -> str:
        """All reasons for blocking, as one text."""
        return "\n".join(self.block_reasons)


def fold_answers(event: HookEvent, answers: Iterable[HookAnswer]) -> HookOutcome:
    """Fold the answers of an event's handlers.

    Args:
        event: The event that they answered.
        answers: In configuration order, not in order of arrival.
    """
    said = list(answers)
    permission = max((answer.permission for answer in said if answer.permission), key=_RANK.__getitem__, default=None)
    reasons = [
        answer.permission_reason for answer in said if answer.permission is permission and permission is not None
    ]
    return HookOutcome(
        event=event,
        stops=any(answer.stops for answer in said),
        stop_reason=next((answer.stop_reason for answer in said if answer.stops and answer.stop_reason), ""),
        block_reasons=tuple(
            answer.block_reason or f"blocked by hook {answer.hook}" for answer in said if answer.blocks
        ),
        permission=permission,
        permission_reason="\n".join(filter(None, reasons)),
        updated_input=_last(answer.updated_input for answer in said),
        contexts=tuple(answer.context for answer in said if answer.context),
        system_messages=tuple(answer.system_message for answer in said if answer.system_message),
        terminal_sequences=tuple(answer.terminal_sequence for answer in said if answer.terminal_sequence),
        decision=_decide([answer.decision for answer in said if answer.decision is not None]),
        extras=_merge([answer.extras for answer in said if answer.extras is not NO_EXTRAS]),
        problems=tuple(f"{answer.hook}: {problem}" for answer in said for problem in answer.problems),
    )


def _decide(decisions: list[PermissionDecision]) -> PermissionDecision | None:
    """Combine decisions: one denial denies; otherwise allow, with the last rewritten input and all further permissions."""
    if not decisions:
        return None
    denials = [decision for decision in decisions if not decision.is_allowed]
    if denials:
        message = "\n".join(denial.message for denial in denials if denial.message)
        return PermissionDecision(
            is_allowed=False, message=message, interrupt=any(denial.interrupt for denial in denials)
        )
    return PermissionDecision(
        is_allowed=True,
        updated_input=_last(decision.updated_input for decision in decisions),
        updated_permissions=tuple(each for decision in decisions for each in decision.updated_permissions),
    )


def _merge(extras: list[Extras]) -> Extras:
    if not extras:
        return NO_EXTRAS
    names = [field.name for field in attrs.fields(Extras)]
    return Extras(**{name: _last(getattr(extra, name) for extra in extras) for name in names})


def _last(values: Iterable[Any]) -> Any:
    found = None
    for value in values:
        if value is not None:
            found = value
    return found


@final
@frozen(kw_only=True)
class StopVerdict:
    """The decision whether a turn that is about to end continues."""

    goes_on: bool = False
    said: tuple[str, ...] = ()
    """For the model: the reason to continue."""
    warning: str = ""
    """For people: a note that hooks were overruled."""


@final
class StopGuard:
    """Counter of how often stop hooks keep one turn going, so that it ends eventually. Make one per turn."""

    __slots__ = ("_blocks", "_cap")

    def __init__(self, cap: int = STOP_BLOCK_CAP) -> None:
        self._cap = cap
        self._blocks = 0

    @property
    def is_active(self) -> bool:
        """The `stop_hook_active` of the next input: True if a hook has already kept this turn going."""
        return self._blocks > 0

    def decide(self, outcome: HookOutcome) -> StopVerdict:
        """Decide whether the turn continues after a Stop or SubagentStop; above the cap (0 disables it) it ends."""
        said = (*outcome.block_reasons, *outcome.contexts)
        if outcome.stops or not said:
            self._blocks = 0
            return StopVerdict()
        if self._cap and self._blocks >= self._cap:
            times = self._blocks
            self._blocks = 0
            return StopVerdict(
                warning=f"stop hooks kept this turn going {times} times in a row; the turn ended at the next one"
            )
        self._blocks += 1
        return StopVerdict(goes_on=True, said=said)


def read_outcome(values: Mapping[str, Any]) -> HookOutcome:
    """Return the outcome with these fields, given as plain values.

    Raises:
        KeyError, TypeError, ValueError: They are not those of an outcome.
    """
    extras, decision, permission = dict(values["extras"]), values["decision"], values["permission"]
    if extras["reply"] is not None:
        extras["reply"] = ElicitationReply(
            action=ReplyAction(extras["reply"]["action"]), content=extras["reply"]["content"]
        )
    if extras["watch_paths"] is not None:
        extras["watch_paths"] = tuple(extras["watch_paths"])
    if decision is not None:
        updates = tuple(decision["updated_permissions"])
        decision = PermissionDecision(**{**decision, "updated_permissions": updates})
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }
    fields |= {
        "event": HookEvent(values["event"]),
        "permission": None if permission is None else Permission(permission),
        "decision": decision,
        "extras": Extras(**extras),
    }
    return HookOutcome(**fields)
