"""The machines of the gateway: deliveries and sessions, and the words that people and tools read for the end of a run.

Rule 1: terminal states have no way out. Rule 2: a run is a task, and has the machine of all tasks; a limit of time, a stop and a lost
process are causes of its end, not states. Rule 3: the words are read from one table, never from the text of a model.
Must not know: clock, disk, Trio.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, final

import attrs

from greenroom.core import IllegalTransition
from greenroom.tasks import TaskState

# --- deliveries ---------------------------------------------------------------------------------------------------------


class DeliveryState(StrEnum):
    """State of what is to be told to a chat."""

    NONE = "none"
    """There is something to tell, and its text is not being made yet."""
    COMPOSING = "composing"
    """Its text is being made."""
    DUE = "due"
    """Its text is on record, and it is sent until a channel has taken it."""
    DELIVERED = "delivered"
    """The channel has taken all of it, or the requester's session has it in its place."""
    SKIPPED = "skipped"
    """Nothing is to be shown."""
    BLOCKED = "blocked"
    """It is not tried any more, and kept for a person to decide."""
    DISMISSED = "dismissed"
    """A person, or the end of the time that it is kept, gave it up."""


class DeliveryStep(StrEnum):
    """Steps of a delivery."""

    COMPOSE = "compose"
    READY = "ready"
    """Its text is on record."""
    SKIP = "skip"
    DELIVER = "deliver"
    BLOCK = "block"
    RETRY = "retry"
    """A person asks for another try, or the channel is back."""
    DISMISS = "dismiss"


_D = DeliveryState
DELIVERY: Final[Mapping[DeliveryState, Mapping[DeliveryStep, DeliveryState]]] = {
    # From NONE directly if no model has to say anything: after a failure, and for replies. Delivered without having been due
    # if no channel gets it: the requester's session has it.
    _D.NONE: {
        DeliveryStep.COMPOSE: _D.COMPOSING,
        DeliveryStep.READY: _D.DUE,
        DeliveryStep.SKIP: _D.SKIPPED,
        DeliveryStep.DELIVER: _D.DELIVERED,
    },
    # Again from the beginning if the process ended before the text was on record.
    _D.COMPOSING: {
        DeliveryStep.COMPOSE: _D.COMPOSING,
        DeliveryStep.READY: _D.DUE,
        DeliveryStep.SKIP: _D.SKIPPED,
        DeliveryStep.DELIVER: _D.DELIVERED,
    },
    _D.DUE: {DeliveryStep.DELIVER: _D.DELIVERED, DeliveryStep.BLOCK: _D.BLOCKED},
    _D.BLOCKED: {DeliveryStep.RETRY: _D.DUE, DeliveryStep.DISMISS: _D.DISMISSED},
    _D.DELIVERED: {},
    _D.SKIPPED: {},
    _D.DISMISSED: {},
}
DELIVERY_ENDS: Final = frozenset(state for state, row in DELIVERY.items() if not row)


def step_delivery(state: DeliveryState, edge: DeliveryStep) -> DeliveryState:
    """Return the next state of a delivery.

    Raises:
        IllegalTransition: The table has no entry for this pair.
    """
    try:
        return DELIVERY[state][edge]
    except KeyError:
        raise IllegalTransition(state=state, event=edge) from None


class SendResult(StrEnum):
    """The result of one try to send a part."""

    TAKEN = "taken"
    """The channel says that it has it."""
    REFUSED = "refused"
    """The channel says no."""
    FAILED = "failed"
    """The channel was not reached."""
    UNKNOWN = "unknown"
    """The connection, or this process, ended between the question and the answer."""


# --- sessions -----------------------------------------------------------------------------------------------------------


class SessionState(StrEnum):
    """State of a session that the gateway knows."""

    OPEN = "open"
    """It is in memory."""
    CLOSED = "closed"
    """It is on disk, and opened for the next message."""
    ARCHIVED = "archived"
    """It takes no message any more."""


class SessionStep(StrEnum):
    """Steps of a session."""

    OPEN = "open"
    CLOSE = "close"
    ARCHIVE = "archive"


_S = SessionState
SESSION: Final[Mapping[SessionState, Mapping[SessionStep, SessionState]]] = {
    _S.OPEN: {SessionStep.CLOSE: _S.CLOSED},
    _S.CLOSED: {SessionStep.OPEN: _S.OPEN, SessionStep.ARCHIVE: _S.ARCHIVED},
    _S.ARCHIVED: {},
}


def step_session(state: SessionState, edge: SessionStep) -> SessionState:
    """Return the next state of a session.

    Raises:
        IllegalTransition: The table has no entry for this pair.
    """
    try:
        return SESSION[state][edge]
    except KeyError:
        raise IllegalTransition(state=state, event=edge) from None


# --- the end of a run, in words -----------------------------------------------------------------------------------------


class EndCause(StrEnum):
    """The kind of cause for which a run ended."""

    ITSELF = "itself"
    """It returned or raised."""
    TIMEOUT = "timeout"
    """Its limit of time."""
    STOP = "stop"
    """A person, a budget, or the end of the gateway."""
    LOST = "lost"
    """Its process ended, and it could not be resumed."""


@final
@attrs.frozen
class EndWords:
    """The words for the end of a run."""

    status: str
    """For tools: `outcome.status`."""
    template: str
    """In the chat: the `Status:` line."""
    listed: str
    """In lists."""


WORDS: Final[Mapping[tuple[TaskState, EndCause], EndWords]] = {
    (TaskState.COMPLETED, EndCause.ITSELF): EndWords("ok", "success", "done"),
    (TaskState.FAILED, EndCause.ITSELF): EndWords("error", "error", "error"),
    (TaskState.KILLED, EndCause.TIMEOUT): EndWords("timeout", "timeout", "timeout"),
    (TaskState.KILLED, EndCause.STOP): EndWords("error", "error", "stopped"),
    (TaskState.FAILED, EndCause.LOST): EndWords("unknown", "unknown", "unknown"),
}
"""No other end exists: a run that completes after its limit has completed, and has no other cause."""
UNFINISHED_WORDS: Final[Mapping[TaskState, str]] = {TaskState.PENDING: "queued", TaskState.RUNNING: "running"}


def words_for(state: TaskState, cause: EndCause) -> EndWords:
    """Return the words for an end.

    Raises:
        IllegalTransition: No run can end so.
    """
    try:
        return WORDS[state, cause]
    except KeyError:
        raise IllegalTransition(state=state, event=f"end by {cause}") from None
