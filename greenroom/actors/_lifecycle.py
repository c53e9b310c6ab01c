"""Outcomes of everything that runs: actors, turns, tasks, tool calls.

Rule 1: only `decide_outcome` turns the way a body ended into a state.
Rule 2: the cause is the one that the requester stored before it cancelled anything; Trio's own reason is not read, because
it names whichever scope was first.
Must not know: clock, disk, mailboxes.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, Final, final

import attrs
import trio

from greenroom.actors._states import State
from greenroom.core import Cause, InternalError, TurnFailed, TurnKilled, split_cancelled
from greenroom.core.texts import cut_text, error_text, message_of


@attrs.frozen(kw_only=True, slots=False)  # made for each failed turn: without slots it is made in a third of the time
class Outcome:
    """The way a body ended, as decided by `decide_outcome`."""

    state: State
    cause: Cause | None = None
    """Requester of the end and reason; for `completed`, a request that came too late."""
    by: str = ""
    """`own` when its own scope was cancelled, `ancestor` when an outer one was."""
    error: BaseException | None = None
    """The error, or the group of them, without any `Cancelled`."""
    late_cancel: bool = False
    """The end was requested, and the body returned anyway."""
    during_kill: bool = False
    """It failed while it was being ended."""
    cleanup_cut: bool = False
    """Its clean-up exceeded its grace."""
    swallowed: bool = False
    """It received its cancellation and returned anyway; set only if that was observed (`note_cancelled`)."""
    masked_error: str = ""
    """While it was being ended: the error hidden by a `Cancelled`, or `Cancelled` if an error took its place."""
    reraise: BaseException | None = None
    """The exception that must propagate: a `Cancelled` of an outer scope, KeyboardInterrupt, SystemExit."""

    def without_frames(self, error: BaseException | None) -> Outcome:
        """Return it with a copy of its error that keeps no frames alive, and nothing to raise again."""
        return Outcome(
            state=self.state,
            cause=self.cause,
            by=self.by,
            error=error,
            late_cancel=self.late_cancel,
            during_kill=self.during_kill,
            cleanup_cut=self.cleanup_cut,
            swallowed=self.swallowed,
            masked_error=self.masked_error,
        )

    def fields(self, cause: Cause | None = None) -> tuple[Any, ...]:
        """Return the fields of an event about this end, in order; `cause` is used if the outcome has none."""
        return (
            self.state._value_,
            self.by,
            self.cause or cause,
            describe(self.error),
            self.late_cancel,
            self.during_kill,
            self.cleanup_cut,
            self.swallowed,
            self.masked_error,
        )

    @property
    def must_crash(self) -> bool:
        """True if such a turn ends the incarnation whatever `on_failure` says: internal errors, and what must propagate."""
        return self.reraise is not None or (self.error is not None and _holds(self.error, InternalError))

    def error_for(self, actor: str, path: str = "") -> Exception:
        """Return the error for the asker whose turn ended this way."""
        if self.state is State.FAILED:
            error = TurnFailed(actor, describe(self.error), path=path)
            error.__cause__ = self.error
            return error
        cause = self.cause or Cause("runtime", "the actor was ended")
        return TurnKilled(actor, who=cause.who, why=cause.why, path=path)


COMPLETED: Final = Outcome(state=State.COMPLETED)


@final
@attrs.frozen
class Verdict:
    """The decision of a supervisor after an incarnation has ended.

    If `is_gone`, the actor terminates. Otherwise it is restarted: in place after `delay_s`, or, if that is None, when its
    supervisor starts it again; until then it is held.
    """

    is_gone: bool
    delay_s: float | None = None


GONE: Final = Verdict(is_gone=True)


class Unfinished(StrEnum):
    """Policy for a message whose turn was aborted or failed. An ask is never retried: the asker gets the error."""

    DROP = "drop"
    """Make it a dead letter `aborted` or `failed`."""
    REQUEUE = "requeue"
    """Return it to the front of its lane; after 3 attempts it is a dead letter `poison`. For work that may run twice."""
    KEEP = "keep"
    """Postpone it, as `ctx.postpone()` does: it returns in the next state, or after a restart. The third failure makes it
    a dead letter `poison`; aborts are not counted."""


def decide_outcome(error: BaseException | None, *, requested: Cause | None, was_caught: bool) -> Outcome:
    """Return how a body ended. Call it after its scope was left: only then is `was_caught` known.

    Args:
        error: The exception that left the scope, if any.
        requested: The cause stored with the first request to end it, if any.
        was_caught: The scope's `cancelled_caught`.
    """
    if error is None:
        if was_caught:
            return Outcome(state=State.KILLED, by="own", cause=requested)
        if requested is None:
            return COMPLETED
        return Outcome(state=State.COMPLETED, cause=requested, late_cancel=True)
    cancelled, rest = split_cancelled(error)
    if rest is None:
        return Outcome(state=State.KILLED, by="ancestor", cause=requested, reraise=cancelled)
    must_leave = _holds(rest, KeyboardInterrupt, SystemExit) or not isinstance(rest, Exception | BaseExceptionGroup)
    return Outcome(
        state=State.FAILED,
        cause=requested,
        error=rest,
        during_kill=requested is not None or cancelled is not None,
        reraise=rest if must_leave else cancelled,
    )


def describe(error: BaseException | None) -> str:
    """Return the class and text of an error in one line, truncated; empty for None."""
    if error is None:
        return ""
    if isinstance(error, BaseExceptionGroup):
        return cut_text("; ".join(describe(each) for each in error.exceptions))
    return " ".join(error_text(error).split())


def text_of(error: BaseException) -> str:
    """Return the text of an error in one line, truncated."""
    return " ".join(message_of(error).split())


# Raised because nothing has arrived yet; their handlers wait for it, and a cancellation of that wait hides no error. Compared
# by name, because streams of other libraries have classes of their own.
_NOT_YET: Final = frozenset(("BlockingIOError", "WouldBlock", "SSLWantReadError", "SSLWantWriteError"))


def masked_error(error: BaseException) -> str:
    """Return what an exception hides: the error behind a `Cancelled`, or `Cancelled` behind an error; else empty."""
    if error.__context__ is None and not isinstance(error, BaseExceptionGroup):
        return ""  # as nearly always: a restart pays for what follows
    leaves = list(_leaves(error))
    behind = [context for leaf in leaves for context in _contexts(leaf)]
    if all(isinstance(leaf, trio.Cancelled) for leaf in leaves):
        hidden = (context for context in behind if type(context).__name__ not in _NOT_YET)
        return next(
            (describe(context) for context in hidden if isinstance(context, Exception | BaseExceptionGroup)), ""
        )
    return "Cancelled" if any(isinstance(context, trio.Cancelled) for context in behind) else ""


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    else:
        yield error


def _contexts(error: BaseException) -> Iterator[BaseException]:
    """Yield the exceptions in the `__context__` chain of an error; the chain may be a circle."""
    seen = {id(error)}
    while (behind := error.__context__) is not None and id(behind) not in seen:
        seen.add(id(behind))
        yield from _leaves(behind)
        error = behind


def _holds(error: BaseException, *kinds: type[BaseException]) -> bool:
    if not isinstance(error, BaseExceptionGroup):
        return isinstance(error, kinds)
    return any(isinstance(leaf, kinds) for leaf in _leaves(error))
