"""Base classes for user-defined actors."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

from greenroom.actors._inspection import public_attributes
from greenroom.core import Level
from greenroom.mailbox import MailboxPolicy

if TYPE_CHECKING:
    from greenroom.actors._context import Context
    from greenroom.actors._lifecycle import Outcome
    from greenroom.actors._signals import Signal

M = TypeVar("M")
R_co = TypeVar("R_co", covariant=True)


class Request(Generic[R_co]):
    """A message with an answer of type `R`: `await ref.ask(request)` returns the value given to `ctx.reply(value)`."""

    __slots__ = ()


class Unfinished(StrEnum):
    """Policy for a message whose turn was aborted or failed. An ask is never retried: the asker gets the error."""

    DROP = "drop"
    """Make it a dead letter `aborted` or `failed`."""
    REQUEUE = "requeue"
    """Return it to the front of its lane; after 3 attempts it is a dead letter `poison`. For work that may run twice."""
    KEEP = "keep"
    """Postpone it, as `ctx.postpone()` does: it returns in the next state, or after a restart. The third failure makes it
    a dead letter `poison`; aborts are not counted."""


class Behavior(Generic[M]):
    """Base class for actors: handles messages, one turn each.

    Each incarnation has its own object: a restart creates a new one. With `async def on_message` the actor is a Trio task.
    With a plain `def on_message` it runs on the runtime's dispatcher, at a fifth of the cost, but it cannot wait,
    `abort_turn` answers `idle`, and `start_soon` is refused.

    A commit covers the runtime's state (reply, acknowledgement), not the attributes of the behavior: change those after
    the last await, or keep them in one frozen value that is assigned last. Do not keep state in context variables: only a
    task that is restarted in place keeps them.
    """

    on_failure: ClassVar[Literal["crash", "continue"]] = "crash"
    """Effect of an error in the handler: `crash` ends the incarnation, `continue` only the turn."""
    unfinished: ClassVar[Unfinished] = Unfinished.DROP
    turn_tasks: ClassVar[bool] = False
    """True if turns may call `ctx.turn.start_soon`; costs 4 us a turn."""
    actor_tasks: ClassVar[bool] = False
    """True if the behavior may call `ctx.start_soon`."""
    journal: ClassVar[Level] = Level.LIFECYCLE
    """The level of detail in the journal."""
    mailbox: ClassVar[MailboxPolicy] = MailboxPolicy()

    async def on_start(self, ctx: Context) -> None:
        """Set up the incarnation, within the start timeout; the spawner waits for it. Not for plain behaviors."""

    def on_message(self, message: M, ctx: Context) -> Awaitable[None] | None:
        """Handle one message, as one turn.

        An error fails the turn and, unless `on_failure` is `continue`, the incarnation. Cancellation means that the turn is
        being aborted or the actor killed: clean up, and do not swallow it.
        """
        raise NotImplementedError

    def on_signal(self, signal: Signal, ctx: Context) -> Awaitable[None] | None:
        """Handle a signal, such as the `Down` of a watched actor; ignored by default."""
        return None

    async def on_stop(self, ctx: Context) -> None:
        """Clean up when the incarnation ends, for whatever reason, within the kill grace. Not for plain behaviors."""

    def on_unfinished(self, message: M, outcome: Outcome, ctx: Context) -> None:
        """React to a turn that failed or was killed, in the same step; it cannot wait.

        Use this for everything that depends on how a turn ended: an `except trio.Cancelled` in the handler misses ends that
        leave a nursery as a group. It is called once, after the turn's own clean-up and before its message is given up.
        `ctx.turn` is still that turn. An error raised here fails the turn.

        Args:
            message: The message, or signal, that the turn handled.
            outcome: How the turn ended.
        """

    def snapshot(self) -> object:
        """Return the state shown by `ref.get_state()`; by default a dict of the public attributes.

        It is called in the caller's step, also in the middle of a turn: it may only read, and it cannot wait.
        """
        return public_attributes(self)


class Parent(Behavior[M]):
    """Base class for behaviors that run other actors in their nursery: supervisors."""

    actor_tasks = True

    async def stop_children(self) -> None:
        """Stop the children in order, each with its grace; called when the actor was stopped."""
        raise NotImplementedError

    def end_children(self) -> None:
        """Kill all remaining children, in one step; called at every end."""
        raise NotImplementedError


def overrides(behavior: Behavior[Any], name: str) -> bool:
    """True if the behavior overrides a hook."""
    return getattr(type(behavior), name) is not getattr(Behavior, name)


def is_simple(behavior_class: type[Behavior[Any]]) -> bool:
    """True if no code of the behavior runs between turns or at the end, so that an idle actor can be ended in one step."""
    return not behavior_class.actor_tasks and behavior_class.on_stop is Behavior.on_stop


def is_plain(behavior_class: type[Behavior[Any]]) -> bool:
    """True if the dispatcher can serve the behavior: no handler can wait."""
    if behavior_class.turn_tasks or behavior_class.actor_tasks:
        return False
    if any(getattr(behavior_class, hook) is not getattr(Behavior, hook) for hook in ("on_start", "on_stop")):
        return False
    handlers = (behavior_class.on_message, behavior_class.on_signal)
    return not any(inspect.iscoroutinefunction(handler) for handler in handlers)
