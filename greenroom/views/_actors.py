"""The state of actors, names and supervisors, folded from their events with the `step` of the live machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias, final

from greenroom.actors import (
    EDGE_TO,
    TERMINAL,
    AbortRequested,
    ActorBegan,
    ActorCreated,
    ActorEntered,
    ActorExited,
    ActorGone,
    ActorResumed,
    ActorSuspended,
    ActorUnresponsive,
    DrainRequested,
    Edge,
    KillRequested,
    NameRegistered,
    NameReleased,
    State,
    StopRequested,
    TurnBegan,
    TurnEnded,
    step,
)
from greenroom.core import Cause, IllegalTransition, altered, frozen
from greenroom.supervisor import ChildRestarted, SupervisorEscalated, SupervisorFinished
from greenroom.views import _mailboxes

_ActorEvent: TypeAlias = (
    ActorBegan
    | ActorEntered
    | ActorExited
    | ActorGone
    | TurnBegan
    | TurnEnded
    | AbortRequested
    | StopRequested
    | DrainRequested
    | KillRequested
    | ActorSuspended
    | ActorResumed
    | ActorUnresponsive
)


@final
@frozen(kw_only=True)
class TurnCounts:
    """Number of turns by outcome."""

    completed: int = 0
    failed: int = 0
    killed: int = 0

    @property
    def total(self) -> int:
        """All turns that have ended."""
        return self.completed + self.failed + self.killed


@final
@frozen(kw_only=True)
class ActorView:
    """One actor, across its incarnations. Turns are known only if its journal has them."""

    id: str
    path: str
    behavior: str
    supervisor: str
    """Id; empty for the root."""
    descent: str
    """Id of the actor that spawned it; empty for the host."""
    journal: str
    """`lifecycle`, `turns` or `full`."""
    incarnation: int = 1
    state: State = State.PENDING
    turn: int = 0
    """Number of the current or the last turn."""
    is_busy: bool = False
    turn_msg: int = 0
    turns: TurnCounts = TurnCounts()
    is_aborting: bool = False
    """True if the end of the current turn was requested."""
    request: str = ""
    """`stop` or `kill` if the end of this incarnation was requested."""
    cause: Cause | None = None
    """Requester and reason of its end."""
    error: str = ""
    entered: str = ""
    """The state last entered with `ctx.enter`, as text; empty before."""
    is_suspended: bool = False
    """True if it takes no messages until it is resumed or restarted."""
    is_draining: bool = False
    """True if it accepts no new messages and ends once it has handled the queued ones."""
    is_unresponsive: bool = False
    is_gone: bool = False
    is_lost: bool = False
    """True if it had not ended when its process did."""
    is_past: bool = False
    """True if its process is over; a later process may start it again under the same id."""

    def lost(self) -> ActorView:
        """Return the view after the end of the process."""
        if self.is_gone or self.state in TERMINAL:
            return altered(self, is_past=True)
        return altered(self, is_past=True, is_lost=True, is_busy=False)


@final
@frozen(kw_only=True)
class NameView:
    """A name of an actor."""

    owner: str
    """Id of the actor."""

    def lost(self) -> None:
        """Return None: names do not outlive their process."""


def created(before: ActorView | None, event: ActorCreated) -> ActorView:
    """Begin an incarnation: the first one, or the next after a terminal state."""
    if before is None or before.is_past:  # an agent may return in another process, and starts over
        if event.inc != 1:
            raise _refused("absent", f"{event.kind} of incarnation {event.inc}")
    elif before.is_gone or before.state not in TERMINAL or event.inc != before.incarnation + 1:
        raise _refused(before.state, event.kind)
    return ActorView(
        id=event.actor,
        path=event.path,
        behavior=event.behavior,
        supervisor=event.supervisor,
        descent=event.descent,
        journal=event.journal,
        incarnation=event.inc,
        turns=before.turns if before else TurnCounts(),
        is_draining=before is not None and before.is_draining and not before.is_past,
    )


def began(before: ActorView | None, event: ActorBegan) -> ActorView:
    """Move from `pending` to `running`."""
    view = _current(before, event)
    return altered(view, state=step(view.state, Edge.BEGIN))


def entered(before: ActorView | None, event: ActorEntered) -> ActorView:
    """Record the state that the actor entered."""
    view = _current(before, event)
    if view.state is not State.RUNNING:
        raise _refused(view.state, event.kind)
    return altered(view, entered=event.state)


def exited(before: ActorView | None, event: ActorExited) -> ActorView:
    """Reach the terminal state."""
    view = _current(before, event)
    if view.is_busy:
        raise _refused(f"{view.state} in turn {view.turn}", event.kind)
    state = step(view.state, _edge_to(event.state, event.kind))
    return altered(view, state=state, cause=event.cause or view.cause, error=event.error)


def gone(before: ActorView | None, event: ActorGone) -> ActorView:
    """Mark the actor as terminated permanently."""
    view = _current(before, event)
    if view.state not in TERMINAL or view.is_gone:
        raise _refused(view.state, event.kind)
    return altered(view, is_gone=True)


def turn_began(before: ActorView | None, event: TurnBegan) -> ActorView:
    """Begin the next turn."""
    view = _current(before, event)
    if view.state is not State.RUNNING or view.is_busy or event.turn != view.turn + 1:
        raise _refused(f"{view.state} after turn {view.turn}", f"{event.kind} {event.turn}")
    return altered(view, turn=event.turn, is_busy=True, turn_msg=event.msg)


def turn_ended(before: ActorView | None, event: TurnEnded) -> ActorView:
    """End the current turn; a turn has no `pending` state, so its machine begins as running."""
    view = _current(before, event)
    _in_turn(view, event)
    state = step(State.RUNNING, _edge_to(event.state, event.kind))
    return altered(
        view,
        is_busy=False,
        is_aborting=False,
        turns=altered(view.turns, **{state.value: getattr(view.turns, state.value) + 1}),
    )


def abort_requested(before: ActorView | None, event: AbortRequested) -> ActorView:
    """Record that the end of the current turn was requested."""
    view = _current(before, event)
    _in_turn(view, event)
    return altered(view, is_aborting=True)


def stop_requested(before: ActorView | None, event: StopRequested) -> ActorView:
    """Record that the actor will end after its turn."""
    return _asked(before, event, "stop", event.cause)


def drain_requested(before: ActorView | None, event: DrainRequested) -> ActorView:
    """Record that the actor accepts no new messages."""
    return altered(_current(before, event), is_draining=True)


def kill_requested(before: ActorView | None, event: KillRequested) -> ActorView:
    """Record that the actor will end now."""
    return _asked(before, event, "kill", event.cause)


def suspended(before: ActorView | None, event: ActorSuspended) -> ActorView:
    """Record that the actor takes no messages."""
    return _suspended(before, event, is_suspended=True)


def resumed(before: ActorView | None, event: ActorResumed) -> ActorView:
    """Record that the actor takes messages again."""
    return _suspended(before, event, is_suspended=False)


def unresponsive(before: ActorView | None, event: ActorUnresponsive) -> ActorView:
    """Record that the actor did not end although every rung of the ladder was tried."""
    return altered(_current(before, event), is_unresponsive=True)


def registered(before: NameView | None, event: NameRegistered) -> NameView:
    """Register a name of an actor."""
    if before is not None:
        raise _refused(f"taken by {before.owner}", event.kind)
    return NameView(owner=event.actor)


def released(before: NameView | None, event: NameReleased) -> None:
    """Free a name."""
    if before is None or before.owner != event.actor:
        raise _refused(f"taken by {before.owner}" if before else "free", event.kind)


def _asked(before: ActorView | None, event: StopRequested | KillRequested, request: str, cause: Cause) -> ActorView:
    view = _current(before, event)
    if view.state in TERMINAL:
        raise _refused(view.state, event.kind)
    return altered(view, request=request, cause=view.cause or cause)


def _suspended(before: ActorView | None, event: ActorSuspended | ActorResumed, *, is_suspended: bool) -> ActorView:
    view = _current(before, event)
    if view.state in TERMINAL or view.is_suspended is is_suspended:
        raise _refused(f"{view.state}, suspended" if view.is_suspended else view.state, event.kind)
    return altered(view, is_suspended=is_suspended)


def _current(before: ActorView | None, event: _ActorEvent) -> ActorView:
    """Return the actor if the event is about its current incarnation, else raise."""
    if before is None:
        raise _refused("absent", event.kind)
    if before.incarnation != event.inc:
        raise _refused(f"incarnation {before.incarnation}", f"{event.kind} of incarnation {event.inc}")
    return before


def _in_turn(view: ActorView, event: TurnEnded | AbortRequested) -> None:
    if not view.is_busy or event.turn != view.turn:
        where = f"turn {view.turn}" if view.is_busy else "no turn"
        raise _refused(where, f"{event.kind} {event.turn}")


def _edge_to(state: str, kind: str) -> Edge:
    try:
        return _EDGE_TO[state]
    except KeyError:
        raise _refused("any", f"{kind} to {state!r}") from None


_EDGE_TO: Final[Mapping[str, Edge]] = {state.value: edge for state, edge in EDGE_TO.items()}


def _refused(state: str, event: str) -> IllegalTransition:
    return IllegalTransition(state=state, event=event)


# --- supervisors --------------------------------------------------------------------------------------------------------


@final
@frozen(kw_only=True)
class SupervisorView:
    """The decisions of one supervisor; each child's own view names its supervisor."""

    restarts: int = 0
    """Decisions to restart; a batch counts once."""
    in_window: int = 0
    """Decisions within the window at the last decision."""
    last_child: str = ""
    """Id of the child of the last decision."""
    gave_up_on: str = ""
    """Id of the child that made it give up, if it did."""


def restarted(before: SupervisorView | None, event: ChildRestarted) -> SupervisorView:
    """Count a decision to restart."""
    view = before or SupervisorView()
    return altered(view, restarts=view.restarts + 1, in_window=event.restarts, last_child=event.child)


def escalated(before: SupervisorView | None, event: SupervisorEscalated) -> SupervisorView:
    """Record that a supervisor gave up."""
    view = before or SupervisorView()
    return altered(view, in_window=event.restarts, last_child=event.child, gave_up_on=event.child)


def finished(before: SupervisorView | None, event: SupervisorFinished) -> SupervisorView:
    """Record that a supervisor ends with a significant child."""
    return altered(before or SupervisorView(), last_child=event.child)


FOLDS: Final = (
    *_mailboxes.FOLDS,
    ("actors", ActorCreated, "actor", created),
    ("actors", ActorBegan, "actor", began),
    ("actors", ActorEntered, "actor", entered),
    ("actors", ActorExited, "actor", exited),
    ("actors", ActorGone, "actor", gone),
    ("actors", TurnBegan, "actor", turn_began),
    ("actors", TurnEnded, "actor", turn_ended),
    ("actors", AbortRequested, "actor", abort_requested),
    ("actors", StopRequested, "actor", stop_requested),
    ("actors", DrainRequested, "actor", drain_requested),
    ("actors", KillRequested, "actor", kill_requested),
    ("actors", ActorSuspended, "actor", suspended),
    ("actors", ActorResumed, "actor", resumed),
    ("actors", ActorUnresponsive, "actor", unresponsive),
    ("names", NameRegistered, "name", registered),
    ("names", NameReleased, "name", released),
    ("supervisors", ChildRestarted, "actor", restarted),
    ("supervisors", SupervisorEscalated, "actor", escalated),
    ("supervisors", SupervisorFinished, "actor", finished),
)
"""All folds of the kernel: `(section, event class, key field, function)`, as `greenroom.trace` reads them."""
