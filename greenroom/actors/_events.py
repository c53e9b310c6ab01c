"""Events of actors, turns and names."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, final

from greenroom.actors._states import EndState
from greenroom.core import Cause, Event, Level, OneOf, frozen


@frozen(kw_only=True)
class _RequestEvent(Event):
    cause: Cause
    """Its requester and reason."""


@frozen(kw_only=True)
class _TurnEvent(Event):
    level: ClassVar[Level] = Level.TURNS

    turn: int
    """Number of the turn within its incarnation, from 1."""


@final
@frozen(kw_only=True)
class ActorCreated(Event):
    """An incarnation was created; its state is `pending`."""

    kind: ClassVar[str] = "actor.new"

    path: str
    """Path in the tree, such as `session/teams/review/mate-3`; only in this event."""
    behavior: str
    """Name of the behavior class."""
    supervisor: str
    """Id of its supervisor; empty for the root."""
    descent: str
    """Id of the actor that spawned it; empty for the host."""
    journal: Annotated[str, OneOf(*(level.name.lower() for level in Level))]
    """Level of its journal: `lifecycle`, `turns` or `full`."""
    capacity: int = 0
    """Capacity of `next` and `later` together; 0 in journals without this field."""
    restart: Annotated[str, OneOf("permanent", "transient", "temporary", "")] = ""
    """`permanent`, `transient` or `temporary`; empty for the root, and in journals without this field."""


@final
@frozen(kw_only=True)
class ActorBegan(Event):
    """`pending -> running`."""

    kind: ClassVar[str] = "actor.begin"


@final
@frozen(kw_only=True)
class ActorEntered(Event):
    """The actor changed its state (`ctx.enter`); its postponed messages are returned."""

    kind: ClassVar[str] = "actor.entered"
    level: ClassVar[Level] = Level.TURNS

    state: str
    """The state as text, truncated to 80 characters."""


@frozen(kw_only=True)
class _MachineEnded(Event):
    fails: ClassVar[str] = "state"

    state: EndState
    """`completed`, `failed` or `killed`."""
    by: Annotated[str, OneOf("own", "ancestor", "")]
    """`own` if its own scope was cancelled, `ancestor` if an outer one was; otherwise empty."""
    cause: Cause | None
    """Requester of the end and reason; None if there is none."""
    error: str
    """Class and text of the error, if it failed."""
    late_cancel: bool
    """Its end was requested, and it returned anyway."""
    during_kill: bool
    """It failed while it was being cancelled."""
    cleanup_cut: bool
    """Its clean-up exceeded its grace."""
    swallowed: bool = False
    """It received its cancellation and returned anyway; set only if that was observed."""
    masked_error: str = ""
    """The exception hidden by the one that ended it, if it was being cancelled: an error, or `Cancelled`."""


@final
@frozen(kw_only=True)
class ActorExited(_MachineEnded):
    """An incarnation reached its terminal state."""

    kind: ClassVar[str] = "actor.end"


@final
@frozen(kw_only=True)
class ActorGone(Event):
    """The actor has terminated: mailbox closed, name free, asks settled; the Downs follow."""

    kind: ClassVar[str] = "actor.gone"

    state: EndState
    """End state of its last incarnation: `completed`, `failed` or `killed`."""


@final
@frozen(kw_only=True)
class TurnBegan(_TurnEvent):
    """A turn began. Turns have no `new` event."""

    kind: ClassVar[str] = "turn.begin"

    msg: int
    """Number of the message that it handles."""


@final
@frozen(kw_only=True)
class TurnEnded(_MachineEnded):
    """A turn reached its terminal state."""

    kind: ClassVar[str] = "turn.end"
    level: ClassVar[Level] = Level.TURNS

    turn: int
    """Number of the turn within its incarnation, from 1."""
    msg: int
    """Number of the message that it handled."""


@final
@frozen(kw_only=True)
class TurnNoted(_TurnEvent):
    """A whole turn in one event, for the recorder; for actors whose journal has no turns."""

    kind: ClassVar[str] = "turn.noted"

    msg: int
    """Number of the message that it handled."""
    began_t: float
    """Time of its beginning, on the run's clock; the event itself has the time of its end."""
    state: EndState
    """`completed`, `failed` or `killed`."""


@final
@frozen(kw_only=True)
class AbortRequested(_TurnEvent):
    """An abort of the current turn was requested before its commit."""

    kind: ClassVar[str] = "turn.abort_requested"

    cause: Cause
    """Its requester and reason."""


@final
@frozen(kw_only=True)
class StopRequested(_RequestEvent):
    """A stop was requested: the actor ends after its current turn."""

    kind: ClassVar[str] = "actor.stop_requested"

    grace_s: float
    """Seconds after which the current turn is aborted."""


@final
@frozen(kw_only=True)
class DrainRequested(_RequestEvent):
    """A drain was requested: the actor refuses new messages, processes those that are queued, and ends."""

    kind: ClassVar[str] = "actor.drain_requested"


@final
@frozen(kw_only=True)
class KillRequested(_RequestEvent):
    """A kill was requested: the actor is cancelled."""

    kind: ClassVar[str] = "actor.kill_requested"

    grace_s: float | None = None
    """Seconds for its clean-up; None in journals without this field."""


@final
@frozen(kw_only=True)
class TurnLinked(_TurnEvent):
    """Another actor was linked to this turn: it does not outlive it."""

    kind: ClassVar[str] = "turn.linked"

    child: str
    """Id of the linked actor."""


@final
@frozen(kw_only=True)
class TurnUnlinked(_TurnEvent):
    """The linked actor was released from the turn."""

    kind: ClassVar[str] = "turn.unlinked"

    child: str
    """Id of the actor."""


@final
@frozen(kw_only=True)
class AskRefused(Event):
    """An ask or link was refused because it would deadlock: the target waits for the caller. Nothing was queued."""

    kind: ClassVar[str] = "ask.refused"

    target: str
    """Id of the target."""
    ring: tuple[str, ...]
    """Ids of the actors of the cycle, each waiting for the next; the first one is repeated at the end."""


@final
@frozen(kw_only=True)
class ActorSuspended(_RequestEvent):
    """The actor was suspended: it takes no messages."""

    kind: ClassVar[str] = "actor.suspended"


@final
@frozen(kw_only=True)
class ActorResumed(_RequestEvent):
    """The actor was resumed: it takes messages again."""

    kind: ClassVar[str] = "actor.resumed"


@final
@frozen(kw_only=True)
class ActorUnresponsive(Event):
    """An actor did not end after stop, abort and kill: it blocks, or shields itself."""

    kind: ClassVar[str] = "actor.unresponsive"


@final
@frozen(kw_only=True)
class KillOverran(Event):
    """A killed actor ended after its grace: its code, or that of an actor below it, did not stop in time."""

    kind: ClassVar[str] = "actor.overran"

    seconds: float
    """From the kill to the end."""
    grace_s: float
    """The grace, in seconds."""


@final
@frozen(kw_only=True)
class WatchFailed(Event):
    """The callback of a watch raised; the event's actor is the watched one."""

    kind: ClassVar[str] = "watch.failed"

    error: str
    """Class and text of the error."""


@final
@frozen(kw_only=True)
class NameRegistered(Event):
    """The actor was registered under its path."""

    kind: ClassVar[str] = "name.registered"

    name: str
    """The path, such as `session/main`."""


@final
@frozen(kw_only=True)
class NameReleased(Event):
    """The path is free again."""

    kind: ClassVar[str] = "name.released"

    name: str
    """The path, such as `session/main`."""


EVENTS: Final = (
    ActorCreated,
    ActorBegan,
    ActorEntered,
    ActorExited,
    ActorGone,
    TurnBegan,
    TurnEnded,
    TurnNoted,
    AbortRequested,
    StopRequested,
    DrainRequested,
    KillRequested,
    TurnLinked,
    TurnUnlinked,
    AskRefused,
    ActorSuspended,
    ActorResumed,
    ActorUnresponsive,
    KillOverran,
    WatchFailed,
    NameRegistered,
    NameReleased,
)
