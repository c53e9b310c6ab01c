"""Links: actors that live under a supervisor, and no longer than a turn (kernel 9.5).

Rule 1: a link is a task in the turn's nursery, so the turn cannot end before the linked actor has. Rule 2: whoever asks
for the end of the turn, or of its actor, kills what is linked in the same step, all the way down. Rule 3: the wait that
follows is shielded, and bounded by the ladder of the linked actor and of what is linked below it; it is over before the
clean-up of the parent begins, so it costs nothing of that grace. Rule 4: nobody is linked to what it lives under.
Must not know: supervisors, how turns are run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import trio

from greenroom.actors._events import ActorUnresponsive, TurnLinked, TurnUnlinked
from greenroom.actors._waits import refuse_cycle
from greenroom.actors._watch import watch_cell
from greenroom.core import Cause, Level, UsageError

if TYPE_CHECKING:
    from greenroom.actors._cell import Cell
    from greenroom.actors._signals import Down


@final
class Link:
    """Ties an actor to a turn. Made by `ctx.turn.link(ref)`.

    Attributes:
        down: How the linked actor ended; None while it lives, and when it was unlinked first.
    """

    __slots__ = ("_cell", "_child", "_settled", "_turn", "_watch", "down", "is_ending")

    def __init__(self, cell: Cell[Any], child: Cell[Any]) -> None:
        self._cell = cell
        self._child = child
        self._turn = cell.turn
        self._settled = trio.Event()
        self.down: Down | None = None
        self.is_ending = False
        """Whether the turn has ended first, and the linked actor is being ended."""
        self._watch = watch_cell(child, self._hear)

    def __repr__(self) -> str:
        return f"<Link from {self._cell.path!r} to {self._child.path!r}>"

    @property
    def is_open(self) -> bool:
        """Whether the linked actor still lives and is still tied to the turn."""
        return not self._settled.is_set()

    @property
    def is_waiting(self) -> bool:
        """Whether the turn waits: as long as the link is open."""
        return self.is_open

    async def wait(self) -> Down | None:
        """Wait until the linked actor is gone for good and return how it ended; None once it was unlinked.

        Cancelled, it does not wait any more; the turn does, unless it goes on.
        """
        await self._settled.wait()
        return self.down

    def unlink(self) -> None:
        """Leave the actor alone from now on: move it to the background. Nothing happens when the link is over."""
        if self.is_open:
            self._watch.cancel()
            self._close()
            if self._cell.level >= Level.TURNS:
                self._cell.recorder.emit(TurnUnlinked(**self._fields()))

    def open(self, nursery: trio.Nursery) -> None:
        """Begin to hold the turn back, unless the actor is gone already."""
        cell = self._cell
        if not self.is_open:
            return
        if cell.links is None:
            cell.links = {}
        if cell.waits is None:
            cell.waits = {}
        cell.links[self] = None
        cell.waits[self] = self._child
        if cell.level >= Level.TURNS:
            cell.recorder.emit(TurnLinked(**self._fields()))
        nursery.start_soon(self._hold, name=f"link to {self._child.path}")

    def end(self) -> None:
        """Kill the linked actor, because the turn ends first."""
        if self.is_open and not self.is_ending:
            self.is_ending = True
            self._child.cancel_restart()
            self._child.request_kill(Cause(self._cell.id, "the turn that it was linked to has ended"))

    def ladder_s(self) -> float:
        """How long the end of the linked actor may take: clean-up, escalation, and before them all that is below."""
        below = max((link.ladder_s() for link in self._child.links or ()), default=0.0)
        return below + 2 * self._child.kill_grace_s

    async def _hold(self) -> None:
        try:
            await self._settled.wait()
        except trio.Cancelled:
            self.end()
            with trio.move_on_after(self.ladder_s(), shield=True):
                await self._settled.wait()
            if self.is_open:
                child = self._child
                self._cell.recorder.emit(ActorUnresponsive(actor=child.id, inc=child.incarnation, parent=child.seq))
                self._watch.cancel()
                self._close()
            raise

    def _hear(self, down: Down) -> None:
        self.down = down
        self._close()

    def _close(self) -> None:
        self._settled.set()
        for table in (self._cell.links, self._cell.waits):
            if table is not None:
                table.pop(self, None)

    def _fields(self) -> dict[str, Any]:
        cell = self._cell
        fields = {"actor": cell.id, "inc": cell.incarnation, "parent": cell.seq}
        return {**fields, "turn": self._turn, "child": self._child.id}


def make_link(cell: Cell[Any], child: Cell[Any], nursery: trio.Nursery) -> Link:
    """Tie an actor to the current turn of another one; see `Turn.link`."""
    is_above = not child.path or f"{cell.path}/".startswith(f"{child.path}/")
    if is_above and child is not cell:
        raise UsageError(f"{cell.path!r} lives under {child.path or 'root'!r}, which its turn therefore cannot hold")
    refuse_cycle(cell, child)
    link = Link(cell, child)
    link.open(nursery)
    return link


def end_links(cell: Cell[Any]) -> None:
    """Kill whatever is linked to the current turn of an actor, and what is linked below, in this step."""
    for link in tuple(cell.links or ()):
        link.end()
