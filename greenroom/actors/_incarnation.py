"""An actor from one start to the next end, and the owner that decides what follows.

Rule 1: a request stores its cause before it cancels anything; the first cause wins. Rule 2: an idle simple actor ends in the
step of the request (`end_if_idle`); everything else ends in a step of whatever runs it.
Must not know: how turns are run.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, final

import attrs
import trio
from trio.lowlevel import Task

from greenroom.actors._events import ActorBegan, ActorEntered
from greenroom.actors._lifecycle import COMPLETED, GONE, Outcome, Verdict
from greenroom.actors._send_timer import SendTimer
from greenroom.actors._states import TERMINAL, Edge, State, step
from greenroom.actors._subscription import Subscription
from greenroom.actors._turn import Turn
from greenroom.core import Cause, Level
from greenroom.mailbox import MailboxPolicy

if TYPE_CHECKING:
    from greenroom.actors._cell import Cell


class Owner:
    """The supervisor of an actor, as the actor sees it; this base class never restarts."""

    @property
    def id(self) -> str:
        """Id of the supervisor; empty for the host."""
        return ""

    def child_exited(self, cell: Cell[Any], outcome: Outcome) -> Verdict:
        """Decide, in the same step, whether a child whose incarnation has ended is restarted."""
        return GONE

    def discard(self, cell: Cell[Any]) -> None:
        """Terminate a stopped child that was kept for a restart."""
        cell.terminate()

    def drain_child(self, cell: Cell[Any], grace_s: float, cause: Cause) -> None:
        """Drain a child; stop it after `grace_s`."""
        self.stop_child(cell, grace_s, cause)

    def stop_child(self, cell: Cell[Any], grace_s: float | None, cause: Cause) -> None:
        """Stop a child, with escalation if it does not end."""
        cell.request_stop(cause, grace_s or 0.0)


@final
@attrs.frozen(kw_only=True)
class Traits:
    """Properties of a behavior class that decide how its actors are run."""

    behavior_class: type[Any]
    level: Level
    policy: MailboxPolicy
    is_plain: bool
    is_simple: bool


@attrs.frozen(kw_only=True)
class LifeSpec:
    """Limits of the life of an actor; `restart` is for the record."""

    restart: str = ""
    kill_grace_s: float
    start_timeout_s: float


@final
@attrs.define(eq=False, repr=False, weakref_slot=False)
class Incarnation:
    """An actor from a start to its next end: its state, task, timers, and the causes of its end."""

    cell: Cell[Any]
    number: int
    delay_s: float
    """Seconds of back-off before it begins."""
    state: State = State.PENDING
    scope: trio.CancelScope | None = None
    """The scope of its task; None on the dispatcher."""
    task: Task | None = None
    """The task of its turns; None on the dispatcher."""
    behavior: Any = None
    """The behavior, while it lives; only the engines, which are above, know its class."""
    nursery: trio.Nursery | None = None
    stop_cause: Cause | None = None
    kill_cause: Cause | None = None
    killed_s: float = math.inf
    """When its kill was requested, on the run's clock."""
    is_ready: bool = False
    is_held: bool = False
    """True if it has ended, and is kept for a restart."""
    is_suspended: bool = False
    entered: Hashable = None
    """Its state, as set by the behavior."""
    timers: dict[SendTimer, None] | None = None
    subscriptions: dict[Subscription, None] | None = None
    """Its own subscriptions to other actors (`ctx.watch`)."""
    turn: Turn = attrs.field(
        init=False,
        default=attrs.Factory(
            lambda self: Turn(self, self.cell, self.cell.traits.level is not Level.LIFECYCLE), takes_self=True
        ),
    )

    @property
    def is_asked_to_end(self) -> bool:
        """True if a stop or kill has been requested."""
        return self.stop_cause is not None or self.kill_cause is not None

    def begin(self) -> None:
        """Move from `pending` to `running`."""
        self.state = step(self.state, Edge.BEGIN)
        self.cell.seq = self.cell.record(ActorBegan)

    def end_if_idle(self) -> Verdict | None:
        """End the incarnation, whose end was requested, in the caller's step if none of its code runs.

        Between turns, a simple actor has no code to run: it does not have to wait for its task, which finds out afterwards.
        Returns the verdict; None if the incarnation has not ended here.
        """
        cell, traits = self.cell, self.cell.traits
        is_idle = self.is_ready if self.state is not State.PENDING else traits.is_plain
        if not (is_idle and traits.is_simple and self.turn.envelope is None) or self.state in TERMINAL:
            return None
        if self.kill_cause is None:
            return cell.exit(COMPLETED)
        return cell.exit(Outcome(state=State.KILLED, by="own", cause=self.kill_cause))

    def stop_if_drained(self) -> bool:
        """Stop the actor if it is draining; called when its mailbox is empty. Return True if it is."""
        cause = self.cell.drain_cause
        if cause is None or self.is_suspended:
            return False
        self.cell.is_unwanted = True  # also if it is about to be restarted together with a sibling
        self.cell.request_stop(cause, 0.0)
        return True

    def change_state(self, state: Hashable, text: str) -> None:
        """Enter another state: end the timers of the old one, and return postponed messages."""
        cell = self.cell
        self.entered = state
        for timer in [timer for timer in self.timers or () if timer.for_state]:
            timer.cancel()
        seq = cell.record(ActorEntered, text) if cell.traits.level >= Level.TURNS else 0
        cell.mailbox.recall(parent=seq)

    def close(self) -> None:
        """End timers and subscriptions, and drop the behavior. Queued messages of timers are pinned, and die with it."""
        for timer in self.timers or ():
            timer.end()
        for subscription in list(self.subscriptions or ()):
            subscription.close()
        self.behavior = self.task = self.timers = None  # a task holds its cell, in its context variables
