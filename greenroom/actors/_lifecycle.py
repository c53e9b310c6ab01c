"""The one lifecycle of everything that runs: actors, turns, tasks, tool calls.

Rule 1: five edges, and terminal states absorb. A restart is a new machine with the next incarnation.
Rule 2: `decide_outcome` is the only thing that turns the way a body ended into a state (kernel 9.4).
Rule 3: the cause is what the requester stored before it cancelled anything; Trio's own reason is not read, because it
names whichever scope was first.
Must not know: clock, disk, mailboxes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any, Final, TypeAlias, final

import attrs
import trio

from greenroom.core import (
    Cause,
    IllegalTransition,
    InternalError,
    OneOf,
    TurnFailed,
    TurnKilled,
    cut_text,
    error_text,
    message_of,
    split_cancelled,
)


class State(StrEnum):
    """Where a machine is."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    KILLED = "killed"


class Edge(StrEnum):
    """What moves a machine."""

    BEGIN = "begin"
    COMPLETE = "complete"
    FAIL = "fail"
    KILL = "kill"


_S = State
TRANSITIONS: Final[Mapping[State, Mapping[Edge, State]]] = {
    _S.PENDING: {Edge.BEGIN: _S.RUNNING, Edge.KILL: _S.KILLED},
    _S.RUNNING: {Edge.COMPLETE: _S.COMPLETED, Edge.FAIL: _S.FAILED, Edge.KILL: _S.KILLED},
    _S.COMPLETED: {},
    _S.FAILED: {},
    _S.KILLED: {},
}
TERMINAL: Final = frozenset(state for state, row in TRANSITIONS.items() if not row)
EndState: TypeAlias = Annotated[str, OneOf(*TERMINAL)]
"""A field of an event that holds a terminal state."""
EDGE_TO: Final[Mapping[State, Edge]] = {
    _S.RUNNING: Edge.BEGIN,
    _S.COMPLETED: Edge.COMPLETE,
    _S.FAILED: Edge.FAIL,
    _S.KILLED: Edge.KILL,
}


def step(state: State, edge: Edge) -> State:
    """Return the state that follows, or refuse.

    Raises:
        IllegalTransition: The table has no cell for this pair.
    """
    try:
        return TRANSITIONS[state][edge]
    except KeyError:
        raise IllegalTransition(state=state, event=edge) from None


@attrs.frozen(kw_only=True)
class Outcome:
    """How a body ended, as the table of kernel 9.4 sees it."""

    state: State
    cause: Cause | None = None
    """Who asked for the end, and why; for `completed`, a request that came too late."""
    by: str = ""
    """`own` when its own scope was cancelled, `ancestor` when an outer one was."""
    error: BaseException | None = None
    """The error, or the group of them, without any `Cancelled`."""
    late_cancel: bool = False
    """A request came, and the body returned all the same."""
    during_kill: bool = False
    """It failed while it was being ended."""
    cleanup_cut: bool = False
    """Its clean-up did not end within its grace."""
    swallowed: bool = False
    """It was told that it is cancelled, and returned all the same; set only where that was seen (`note_cancelled`)."""
    masked_error: str = ""
    """While it was being ended: the error that a `Cancelled` hides, or `Cancelled` where an error took its place."""
    reraise: BaseException | None = None
    """What has to go on to whoever is outside: a `Cancelled` of theirs, KeyboardInterrupt, SystemExit."""

    def fields(self, cause: Cause | None = None) -> tuple[Any, ...]:
        """Return what an event about this end says of it, in the order of its fields; `cause` where there is no own one."""
        ends = (self.state._value_, self.by, self.cause or cause, describe(self.error))
        return (*ends, self.late_cancel, self.during_kill, self.cleanup_cut, self.swallowed, self.masked_error)

    @property
    def must_crash(self) -> bool:
        """True if a turn that ended so ends the incarnation, whatever its behavior says: our own errors, and what must leave."""
        return self.reraise is not None or (self.error is not None and _holds(self.error, InternalError))

    def error_for(self, actor: str, path: str = "") -> Exception:
        """Return what whoever asked gets, when this is how the turn ended that was to answer."""
        if self.state is State.FAILED:
            error = TurnFailed(actor, describe(self.error), path=path)
            error.__cause__ = self.error
            return error
        cause = self.cause or Cause("runtime", "the actor was ended")
        return TurnKilled(actor, who=cause.who, why=cause.why, path=path)


COMPLETED: Final = Outcome(state=State.COMPLETED)


@final
class TurnEnd:
    """How one turn ended, for whoever waits for it; one shot."""

    __slots__ = ("_callbacks", "_outcome")

    def __init__(self) -> None:
        self._callbacks: list[Callable[[Outcome], object]] = []
        self._outcome: Outcome | None = None

    def settle(self, outcome: Outcome) -> None:
        """Say how it ended."""
        self._outcome = outcome
        for callback in self._callbacks:
            callback(outcome)

    def tell(self, callback: Callable[[Outcome], object]) -> None:
        """Call `callback` with how it ended: when it does, or at once when it has. It may only wake."""
        if self._outcome is not None:
            callback(self._outcome)
        else:
            self._callbacks.append(callback)


def decide_outcome(error: BaseException | None, *, requested: Cause | None, was_caught: bool) -> Outcome:
    """Say how a body ended. To be called after its scope was left: only then is `was_caught` known.

    Args:
        error: What left the scope, if anything.
        requested: The cause that was stored with the first request to end it, if there was one.
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
    reraise = rest if _must_leave(rest) else cancelled
    return Outcome(
        state=State.FAILED,
        cause=requested,
        error=rest,
        during_kill=requested is not None or cancelled is not None,
        reraise=reraise,
    )


def describe(error: BaseException | None) -> str:
    """Return one line about an error: its class and text, cut; empty for none."""
    if error is None:
        return ""
    if isinstance(error, BaseExceptionGroup):
        return cut_text("; ".join(describe(one) for one in error.exceptions))
    return " ".join(error_text(error).split())


def text_of(error: BaseException) -> str:
    """Return what an error says, in one line, cut."""
    return " ".join(message_of(error).split())


# What was raised because nothing is there yet, and is waited for while it is handled: that it is cancelled then hides no error.
# By name, because streams of other libraries have classes of their own.
_NOT_YET: Final = frozenset(("BlockingIOError", "WouldBlock", "SSLWantReadError", "SSLWantWriteError"))


def masked_error(error: BaseException) -> str:
    """Say what an exception hides: the error behind a `Cancelled`, or `Cancelled` behind an error; empty for nothing."""
    leaves = list(_leaves(error))
    behind = [one for leaf in leaves for one in _contexts(leaf)]
    if all(isinstance(leaf, trio.Cancelled) for leaf in leaves):
        hidden = (one for one in behind if type(one).__name__ not in _NOT_YET)
        return next((describe(one) for one in hidden if isinstance(one, Exception | BaseExceptionGroup)), "")
    return "Cancelled" if any(isinstance(one, trio.Cancelled) for one in behind) else ""


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _leaves(one)
    else:
        yield error


def _contexts(error: BaseException) -> Iterator[BaseException]:
    """Yield what was being handled when an error was raised, and so on; the chain may be a circle."""
    seen = {id(error)}
    while (behind := error.__context__) is not None and id(behind) not in seen:
        seen.add(id(behind))
        yield from _leaves(behind)
        error = behind


def _must_leave(error: BaseException) -> bool:
    return _holds(error, KeyboardInterrupt, SystemExit) or not isinstance(error, Exception | BaseExceptionGroup)


def _holds(error: BaseException, *kinds: type[BaseException]) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return error.subgroup(kinds) is not None
    return isinstance(error, kinds)
