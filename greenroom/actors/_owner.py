"""What an actor needs of those around it: the supervisor above, whoever watches, and what its runtime shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, final

import attrs

from greenroom.actors._lifecycle import Outcome
from greenroom.core import Cause, Recorder

if TYPE_CHECKING:
    from greenroom.actors._cell import Cell
    from greenroom.actors._directory import Directory
    from greenroom.waiting import Timers


@final
@attrs.frozen
class Verdict:
    """What becomes of an actor after an incarnation ended.

    `is_gone` is final. Otherwise it comes back: in place after `delay_s`, or, where that is None, when its supervisor
    starts it again; until then it is held.
    """

    is_gone: bool
    delay_s: float | None = None


GONE: Final = Verdict(is_gone=True)


class Owner(Protocol):
    """What an actor needs of the supervisor above it."""

    @property
    def id(self) -> str:
        """Id of the supervisor."""
        ...

    def child_ready(self, cell: Cell[Any]) -> None:
        """Hear that a child is ready for messages."""
        ...

    def child_exited(self, cell: Cell[Any], outcome: Outcome) -> Verdict:
        """Decide what becomes of a child whose incarnation ended; answers in the same step."""
        ...

    def discard(self, cell: Cell[Any]) -> None:
        """Let a child be gone that has ended and was held for a restart."""
        ...

    def drain_child(self, cell: Cell[Any], grace_s: float, cause: Cause) -> None:
        """Let a child handle what it has and end; after `grace_s` walk the ladder."""
        ...

    def stop_child(self, cell: Cell[Any], grace_s: float | None, cause: Cause) -> None:
        """Walk the ladder for a child: stop, abort its turn, kill, give up."""
        ...


@final
@attrs.define
class Incidents:
    """What nobody should have done, counted since the runtime was opened."""

    refused_cycles: int = 0
    swallowed_cancels: int = 0
    masked_errors: int = 0


@final
@attrs.frozen(kw_only=True)
class ActorContext:
    """What the actors of one runtime share."""

    recorder: Recorder
    directory: Directory
    timers: Timers
    incidents: Incidents = attrs.field(factory=Incidents)
