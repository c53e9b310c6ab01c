"""Base classes for user-defined actors."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

from greenroom.actors._incarnation import Traits
from greenroom.actors._lifecycle import Unfinished
from greenroom.core import Level
from greenroom.mailbox import MailboxPolicy

if TYPE_CHECKING:
    from greenroom.actors._context import Context
    from greenroom.actors._lifecycle import Outcome
    from greenroom.actors._subscription import Signal

M = TypeVar("M")


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
        names: list[str] = []
        for above in type(self).__mro__:
            slots = above.__dict__.get("__slots__", ())
            names += (slots,) if isinstance(slots, str) else slots
        names += getattr(self, "__dict__", ())
        return {name: getattr(self, name) for name in names if not name.startswith("_") and hasattr(self, name)}


class Parent(Behavior[M]):
    """Base class for behaviors that run other actors in their nursery: supervisors."""

    actor_tasks = True

    async def stop_children(self) -> None:
        """Stop the children in order, each with its grace; called when the actor was stopped."""
        raise NotImplementedError

    def end_children(self) -> None:
        """Kill all remaining children, in one step; called at every end."""
        raise NotImplementedError


def overrides(behavior_class: type[Behavior[Any]], name: str) -> bool:
    """True if the class overrides a hook."""
    return getattr(behavior_class, name) is not getattr(Behavior, name)


def is_simple(behavior_class: type[Behavior[Any]]) -> bool:
    """True if no code of the behavior runs between turns or at the end, so that an idle actor can be ended in one step."""
    return not (behavior_class.actor_tasks or overrides(behavior_class, "on_stop"))


def is_plain(behavior_class: type[Behavior[Any]]) -> bool:
    """True if the dispatcher can serve the behavior: no handler can wait."""
    if behavior_class.turn_tasks or not is_simple(behavior_class) or overrides(behavior_class, "on_start"):
        return False
    handlers = (behavior_class.on_message, behavior_class.on_signal)
    return not any(inspect.iscoroutinefunction(handler) for handler in handlers)


@functools.lru_cache(maxsize=1_024)
def traits_of(behavior_class: type[Any]) -> Traits:
    """Return the properties of a behavior class that decide how its actors are run."""
    return Traits(
        behavior_class=behavior_class,
        level=behavior_class.journal,
        policy=behavior_class.mailbox,
        is_plain=is_plain(behavior_class),
        is_simple=is_simple(behavior_class),
    )
