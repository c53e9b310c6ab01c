"""What a user writes: a behavior, its messages and its requests."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

from greenroom.actors._looking import public_attributes
from greenroom.core import Level
from greenroom.mailbox import MailboxPolicy

if TYPE_CHECKING:
    from greenroom.actors._context import Context
    from greenroom.actors._lifecycle import Outcome
    from greenroom.actors._signals import Signal

M = TypeVar("M")
R_co = TypeVar("R_co", covariant=True)


class Request(Generic[R_co]):
    """A message that is answered with an `R`: `await ref.ask(request)` returns what `ctx.reply(value)` was given."""

    __slots__ = ()


class Unfinished(StrEnum):
    """What becomes of a message whose turn was aborted or failed. An ask is never run again: it gets the error."""

    DROP = "drop"
    """Dead letter `aborted` or `failed`."""
    REQUEUE = "requeue"
    """Back to the front of its lane; after 3 attempts dead letter `poison`. For work that may run twice."""
    KEEP = "keep"
    """Postponed, as by `ctx.postpone()`: back in the next state, or after a restart. The third failure makes it a dead
    letter `poison`; aborts are not counted."""


class Behavior(Generic[M]):
    """What an actor does with its messages.

    One object serves one incarnation: a restart makes a new one. With `async def on_message` the actor is a Trio task.
    With a plain `def on_message` it is served by the runtime's dispatcher: a fifth of the price, but it cannot wait,
    `abort_turn` answers `idle`, and `start_soon` is refused.

    A commit covers what the runtime holds (reply, acknowledgement). What the behavior keeps in `self` is its own:
    change it after the last await, or keep it in one frozen value and assign that last. Context variables are no place
    for state: a task that is restarted in place keeps them, and nobody else does.
    """

    on_failure: ClassVar[Literal["crash", "continue"]] = "crash"
    """Whether an error of the handler ends the incarnation, or only its turn."""
    unfinished: ClassVar[Unfinished] = Unfinished.DROP
    turn_tasks: ClassVar[bool] = False
    """Whether turns may call `ctx.turn.start_soon`; it costs 4 us a turn."""
    actor_tasks: ClassVar[bool] = False
    """Whether the behavior may call `ctx.start_soon`."""
    journal: ClassVar[Level] = Level.LIFECYCLE
    """How much of it the journal holds."""
    mailbox: ClassVar[MailboxPolicy] = MailboxPolicy()

    async def on_start(self, ctx: Context) -> None:
        """Get ready, within the start deadline; whoever spawned the actor waits for it. Not for plain behaviors."""

    def on_message(self, message: M, ctx: Context) -> Awaitable[None] | None:
        """Handle one message: one turn.

        An error fails the turn and, unless `on_failure` says `continue`, the incarnation. Cancellation means that the
        turn is being aborted or the actor killed: clean up and let it pass.
        """
        raise NotImplementedError

    def on_signal(self, signal: Signal, ctx: Context) -> Awaitable[None] | None:
        """Handle a signal, such as the `Down` of an actor that is watched; by default it is ignored."""
        return None

    async def on_stop(self, ctx: Context) -> None:
        """Clean up at the end of the incarnation, however it ends, within the kill grace. Not for plain behaviors."""

    def on_unfinished(self, message: M, outcome: Outcome, ctx: Context) -> None:
        """React to a turn that failed or was killed, in the step in which that is decided; it cannot wait.

        The place for whatever depends on how a turn ended: an `except trio.Cancelled` in the handler misses the ends that
        leave a nursery as a group. It is called once, after the turn's own clean-up and before its message is given up.
        `ctx.turn` is still that turn. An error raised here fails the turn.

        Args:
            message: What the turn handled; a signal, too.
            outcome: How it ended, as the outcome table decided.
        """

    def snapshot(self) -> object:
        """Return what `ref.get_state()` shows of it; by default a dict of its public attributes.

        It is called in the step of whoever looks, also in the middle of a turn: it may only read, and it cannot wait.
        """
        return public_attributes(self)


class Parent(Behavior[M]):
    """A behavior that keeps other actors in its actor nursery: a supervisor."""

    actor_tasks = True

    async def stop_children(self) -> None:
        """End the children in order, each with its grace; called when the actor was stopped."""
        raise NotImplementedError

    def end_children(self) -> None:
        """Cancel whatever still lives below, in one step; called at every end."""
        raise NotImplementedError


def overrides(behavior: Behavior[Any], name: str) -> bool:
    """Whether a behavior has its own version of a hook."""
    return getattr(type(behavior), name) is not getattr(Behavior, name)


def is_simple(behavior_class: type[Behavior[Any]]) -> bool:
    """Whether nothing of it runs between turns and at the end, so that an idle one can be ended in one step."""
    return not behavior_class.actor_tasks and behavior_class.on_stop is Behavior.on_stop


def is_plain(behavior_class: type[Behavior[Any]]) -> bool:
    """Whether the dispatcher can serve it: nothing in it waits."""
    if behavior_class.turn_tasks or behavior_class.actor_tasks:
        return False
    if any(getattr(behavior_class, hook) is not getattr(Behavior, hook) for hook in ("on_start", "on_stop")):
        return False
    handlers = (behavior_class.on_message, behavior_class.on_signal)
    return not any(inspect.iscoroutinefunction(handler) for handler in handlers)
