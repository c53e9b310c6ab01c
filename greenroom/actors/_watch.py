"""Watching: who hears of an actor's ends, and how its last incarnations ended.

Rule 1: a watch is told once. Rule 2: what a callback raises concerns nobody else: everybody is told, the actor goes its
way, and `watch.failed` is on record. Rule 3: a watch of the dead is answered at once, unless it is made in a callback
about the same actor: then one tick later, so that a callback that watches again does not call itself.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, final

from greenroom.actors._events import WatchFailed
from greenroom.actors._lifecycle import TERMINAL, Outcome, State, describe
from greenroom.actors._signals import Down
from greenroom.core import Cause, stand_in
from greenroom.mailbox import Delivery, Envelope, Lane, Mailbox
from greenroom.waiting import TICK_S

if TYPE_CHECKING:
    from greenroom.actors._cell import Cell

DOWNS_KEPT: Final = 8
"""So many past incarnations are remembered in full for whoever watches them late."""
_FORGOTTEN: Final = Cause("runtime", "it ended so long ago that nobody knows how")


@final
class Hearing:
    """Puts a Down into the mailbox of an actor that watches, and takes it back while it waits there."""

    __slots__ = ("_envelope", "_mailbox")

    def __init__(self, mailbox: Mailbox[Any]) -> None:
        self._mailbox = mailbox
        self._envelope: Envelope[Any] | None = None

    def __call__(self, down: Down) -> None:
        """Hear of an end."""
        delivery = self._mailbox.put_nowait(down, Lane.NOW, parent=down.seq, is_system=True)
        if delivery is Delivery.ACCEPTED:
            self._envelope = self._mailbox.last(Lane.NOW)
            self._mailbox.pin_last(Lane.NOW)  # the next incarnation watches what it wants to hear of itself

    def retract(self) -> None:
        """Take it back, unless it is being handled or was."""
        if self._envelope is not None:
            self._mailbox.withdraw(self._envelope)


@final
class Watch:
    """One wish to hear of an actor's end."""

    __slots__ = ("_among", "_cell", "callback", "incarnation")

    def __init__(self, cell: Cell[Any], callback: Callable[[Down], None], incarnation: int | None) -> None:
        self._cell = cell
        self._among: dict[Watch, None] | None = None
        self.callback = callback
        self.incarnation = incarnation
        """The one that is meant; None for the last one, whichever that is."""

    def __repr__(self) -> str:
        return f"<Watch of {self._cell.path!r}>"

    @property
    def is_open(self) -> bool:
        """Whether it was neither told nor cancelled."""
        return self in (self._cell.watches or ())

    def join(self, among: dict[Watch, None]) -> None:
        """Be one of several that are cancelled together; it leaves them when it is told."""
        self._among = among
        among[self] = None

    def cancel(self) -> None:
        """Stop watching; a Down that waits in the mailbox of `ctx.watch` is taken back."""
        self.detach()
        if isinstance(self.callback, Hearing):
            self.callback.retract()

    def detach(self) -> None:
        """Be told nothing any more."""
        if self._cell.watches is not None:
            self._cell.watches.pop(self, None)
        if self._among is not None:
            self._among.pop(self, None)


def watch_cell(cell: Cell[Any], callback: Callable[[Down], None], incarnation: int | None = None) -> Watch:
    """Watch an actor, or one incarnation of it."""
    watch = Watch(cell, callback, incarnation)
    if cell.watches is None:
        cell.watches = {}
    cell.watches[watch] = None
    if cell.is_gone or (incarnation is not None and (incarnation < cell.incarnation or cell.state in TERMINAL)):
        if cell.is_telling:
            cell.shared.timers.after(TICK_S, functools.partial(_tell, cell, watch))
        else:
            _tell(cell, watch)
    return watch


def note_down(cell: Cell[Any], outcome: Outcome) -> None:
    """Note how an incarnation ended, for whoever watches it now or later."""
    if cell.down is not None:
        if cell.past is None:
            cell.past = deque(maxlen=DOWNS_KEPT)
        cell.past.append(cell.down)
    cell.down = Down(
        actor=cell.id,
        incarnation=cell.incarnation,
        state=outcome.state,
        cause=outcome.cause or cell.stop_cause,
        error=outcome.error and stand_in(outcome.error),  # whoever keeps a ref must not keep its frames
        seq=cell.exit_seq,
        path=cell.path,
    )


def tell_watchers(cell: Cell[Any], *, is_final: bool) -> None:
    """Tell those who watch the incarnation that has ended, or everybody."""
    for watch in [watch for watch in cell.watches or () if is_final or watch.incarnation is not None]:
        _tell(cell, watch)


def _tell(cell: Cell[Any], watch: Watch) -> None:
    if not watch.is_open:  # an earlier callback may have cancelled it
        return
    watch.detach()
    was_telling, cell.is_telling = cell.is_telling, True
    try:
        watch.callback(_down_of(cell, watch.incarnation))
    except Exception as error:  # noqa: BLE001 - the boundary: whoever watches must not harm the watched, nor the others
        cell.recorder.emit(
            WatchFailed(actor=cell.id, inc=cell.incarnation, parent=cell.exit_seq, error=describe(error))
        )
    finally:
        cell.is_telling = was_telling


def _down_of(cell: Cell[Any], incarnation: int | None) -> Down:
    assert cell.down is not None
    known: tuple[Down, ...] = (cell.down, *(cell.past or ()))
    for down in known:
        if incarnation is None or down.incarnation == incarnation:
            return down
    # It was restarted, so it failed, unless it was restarted whatever its end.
    state = State.FAILED
    number = incarnation or 0
    return Down(actor=cell.id, path=cell.path, incarnation=number, state=state, cause=_FORGOTTEN, error=None, seq=0)
