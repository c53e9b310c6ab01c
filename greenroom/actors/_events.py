"""What actors put on record: their machines, their turns, names, and the compact note of a turn below the journal."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, final

import attrs

from greenroom.actors._lifecycle import EndState
from greenroom.core import Cause, Event, Level, OneOf


@final
@attrs.frozen(kw_only=True)
class ActorCreated(Event):
    """An incarnation exists: `pending`."""

    kind: ClassVar[str] = "actor.new"

    path: str
    """Readable place in the tree, such as `session/teams/review/mate-3`; only here."""
    behavior: str
    """Name of the behavior: a class or a function."""
    supervisor: str
    """Id of the supervisor that may stop it; empty for the root."""
    descent: str
    """Id of the actor that asked for it; empty for the host."""
    journal: Annotated[str, OneOf(*(level.name.lower() for level in Level))]
    """The level of its journal: `lifecycle`, `turns` or `full`."""
    capacity: int = 0
    """What `next` and `later` hold together; 0 in journals that do not say."""
    restart: Annotated[str, OneOf("permanent", "transient", "temporary", "")] = ""
    """`permanent`, `transient` or `temporary`; empty for the root, and in journals that do not say."""


@final
@attrs.frozen(kw_only=True)
class ActorBegan(Event):
    """`pending -> running`."""

    kind: ClassVar[str] = "actor.begin"


@final
@attrs.frozen(kw_only=True)
class ActorEntered(Event):
    """The actor is in another state of its own (`ctx.enter`); what it had postponed comes back."""

    kind: ClassVar[str] = "actor.entered"
    level: ClassVar[Level] = Level.TURNS

    state: str
    """As text, cut after 80 characters."""


@attrs.frozen(kw_only=True)
class _MachineEnded(Event):
    fails: ClassVar[str] = "state"

    state: EndState
    """`completed`, `failed` or `killed`."""
    by: Annotated[str, OneOf("own", "ancestor", "")]
    """`own` if its own scope was cancelled, `ancestor` if one further out was; else empty."""
    cause: Cause | None
    """Who asked for the end, and why, if somebody did."""
    error: str
    """Class and text of the error, if it failed."""
    late_cancel: bool
    """Its end was asked for, and it returned all the same."""
    during_kill: bool
    """It failed while it was being ended."""
    cleanup_cut: bool
    """Its clean-up did not end within its grace."""
    swallowed: bool = False
    """It heard of its cancel and returned all the same; only where that was seen."""
    masked_error: str = ""
    """What the exception hides that ended it, if it was being ended: an error, or `Cancelled`."""


@final
@attrs.frozen(kw_only=True)
class ActorExited(_MachineEnded):
    """An incarnation reached its terminal state."""

    kind: ClassVar[str] = "actor.end"


@final
@attrs.frozen(kw_only=True)
class ActorGone(Event):
    """The actor is gone for good: mailbox closed, name free, asks settled; the Downs follow."""

    kind: ClassVar[str] = "actor.gone"

    state: EndState
    """How its last incarnation ended: `completed`, `failed` or `killed`."""


@final
@attrs.frozen(kw_only=True)
class TurnBegan(Event):
    """A turn runs; it exists only from here on, so it has no `new`."""

    kind: ClassVar[str] = "turn.begin"
    level: ClassVar[Level] = Level.TURNS

    turn: int
    """Number of the turn within its incarnation, from 1."""
    msg: int
    """Number of the message that it handles."""


@final
@attrs.frozen(kw_only=True)
class TurnEnded(_MachineEnded):
    """A turn reached its terminal state."""

    kind: ClassVar[str] = "turn.end"
    level: ClassVar[Level] = Level.TURNS

    turn: int
    """Number of the turn within its incarnation, from 1."""
    msg: int
    """Number of the message that it handled."""


@final
@attrs.frozen(kw_only=True)
class TurnNoted(Event):
    """A whole turn in one record, for the recorder of actors whose journal has no turns."""

    kind: ClassVar[str] = "turn.noted"
    level: ClassVar[Level] = Level.TURNS

    turn: int
    """Number of the turn within its incarnation, from 1."""
    msg: int
    """Number of the message that it handled."""
    began_t: float
    """When it began, on the run's clock; the note itself has the time of its end."""
    state: EndState
    """`completed`, `failed` or `killed`."""


@final
@attrs.frozen(kw_only=True)
class AbortRequested(Event):
    """Somebody asked for the end of the current turn, and the turn was still open."""

    kind: ClassVar[str] = "turn.abort_requested"
    level: ClassVar[Level] = Level.TURNS

    turn: int
    """Number of the turn that was meant."""
    cause: Cause
    """Who asked, and why."""


@final
@attrs.frozen(kw_only=True)
class StopRequested(Event):
    """Somebody asked the actor to stop after its current turn."""

    kind: ClassVar[str] = "actor.stop_requested"

    cause: Cause
    """Who asked, and why."""
    grace_s: float
    """Seconds that the current turn gets before it is aborted."""


@final
@attrs.frozen(kw_only=True)
class DrainRequested(Event):
    """Somebody asked the actor to take nothing new, to handle what it has, and to end."""

    kind: ClassVar[str] = "actor.drain_requested"

    cause: Cause
    """Who asked, and why."""


@final
@attrs.frozen(kw_only=True)
class KillRequested(Event):
    """Somebody asked for the end of the actor at once."""

    kind: ClassVar[str] = "actor.kill_requested"

    cause: Cause
    """Who asked, and why."""
    grace_s: float | None = None
    """Seconds that its clean-up gets; None in journals that do not say."""


@final
@attrs.frozen(kw_only=True)
class TurnLinked(Event):
    """Another actor lives no longer than this turn."""

    kind: ClassVar[str] = "turn.linked"
    level: ClassVar[Level] = Level.TURNS

    turn: int
    """Number of the turn."""
    child: str
    """Id of the linked actor."""


@final
@attrs.frozen(kw_only=True)
class TurnUnlinked(Event):
    """The linked actor may go on without the turn."""

    kind: ClassVar[str] = "turn.unlinked"
    level: ClassVar[Level] = Level.TURNS

    turn: int
    """Number of the turn."""
    child: str
    """Id of the actor that was linked."""


@final
@attrs.frozen(kw_only=True)
class AskRefused(Event):
    """An actor was to wait for one that waits for it; nothing was queued."""

    kind: ClassVar[str] = "ask.refused"

    target: str
    """Id of the actor that it was to wait for."""
    ring: tuple[str, ...]
    """Ids, each of an actor that waits for the next; the first again at the end."""


@final
@attrs.frozen(kw_only=True)
class ActorSuspended(Event):
    """The actor takes no further message."""

    kind: ClassVar[str] = "actor.suspended"

    cause: Cause
    """Who asked, and why."""


@final
@attrs.frozen(kw_only=True)
class ActorResumed(Event):
    """The actor takes messages again."""

    kind: ClassVar[str] = "actor.resumed"

    cause: Cause
    """Who asked, and why."""


@final
@attrs.frozen(kw_only=True)
class ActorUnresponsive(Event):
    """An actor did not end although every rung of the ladder was tried: it blocks, or shields itself."""

    kind: ClassVar[str] = "actor.unresponsive"


@final
@attrs.frozen(kw_only=True)
class KillOverran(Event):
    """An actor that was killed ends later than its grace: code of its own, or of an actor below it, did not stop."""

    kind: ClassVar[str] = "actor.overran"

    seconds: float
    """From the kill to the end."""
    grace_s: float
    """Seconds that it had."""


@final
@attrs.frozen(kw_only=True)
class WatchFailed(Event):
    """What was called at an actor's end raised; the actor of the event is the one that was watched."""

    kind: ClassVar[str] = "watch.failed"

    error: str
    """Class and text."""


@final
@attrs.frozen(kw_only=True)
class NameRegistered(Event):
    """A path in the tree leads to this actor."""

    kind: ClassVar[str] = "name.registered"

    name: str
    """The path, such as `session/main`."""


@final
@attrs.frozen(kw_only=True)
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
