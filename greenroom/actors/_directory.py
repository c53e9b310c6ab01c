"""The directory of a runtime: names of living actors, and dead letters.

A name belongs to one living actor and is free again when that actor has terminated. A dead letter is counted and can be
inspected; it is never sent again.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, final

import attrs

from greenroom.actors._events import NameRegistered, NameReleased
from greenroom.core import NameTaken, Recorder
from greenroom.mailbox import DeadReason, Envelope, Lane, MessageDied

if TYPE_CHECKING:
    from greenroom.actors._cell import Cell

DEAD_LETTERS_KEPT: Final = 1_000


@final
@attrs.frozen(kw_only=True)
class DeadLetter:
    """A message that was never fully processed."""

    actor: str
    """Id of its receiver."""
    message: Any
    lane: Lane
    reason: DeadReason


@final
class DeadLetters:
    """The latest dead letters, and their number by reason."""

    def __init__(self) -> None:
        self._latest: deque[DeadLetter] = deque(maxlen=DEAD_LETTERS_KEPT)
        self._counts: Counter[DeadReason] = Counter()

    def __repr__(self) -> str:
        return f"<DeadLetters {dict(self._counts)!r}>"

    def add(self, letter: DeadLetter) -> None:
        """Count a dead letter and keep it."""
        self._counts[letter.reason] += 1
        self._latest.append(letter)

    def latest(self) -> list[DeadLetter]:
        """Return the last 1,000 dead letters, oldest first."""
        return list(self._latest)

    @property
    def counts(self) -> Mapping[DeadReason, int]:
        """The number of dead letters by reason, since the start."""
        return dict(self._counts)


@final
class Directory:
    """Living actors by path, and the dead letters of a runtime."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._by_path: dict[str, Cell[Any]] = {}
        self.dead_letters = DeadLetters()

    def register(self, cell: Cell[Any]) -> None:
        """Register a cell under its path.

        Raises:
            NameTaken: A living actor already has that path.
        """
        if cell.path in self._by_path:
            raise NameTaken(cell.path)
        self._by_path[cell.path] = cell
        if cell.is_named:
            self._recorder.emit_fields(NameRegistered, cell.id, cell.incarnation, 0, cell.path)

    def release(self, cell: Cell[Any]) -> None:
        """Unregister a cell, so that its path is free."""
        if self._by_path.pop(cell.path, None) is not None and cell.is_named:
            self._recorder.emit_fields(NameReleased, cell.id, cell.incarnation, cell.exit_seq, cell.path)

    def find(self, path: str) -> Cell[Any] | None:
        """Return the living actor at a path."""
        return self._by_path.get(path)

    def living(self, actor: str) -> Cell[Any] | None:
        """Return the living actor with an id; a linear search."""
        return next((cell for cell in self._by_path.values() if cell.id == actor), None)

    def refused(self, cell: Cell[Any], message: Any, lane: Lane, reason: DeadReason) -> None:
        """Note a message that a mailbox refused: the sender knows, so it does not go to the journal."""
        recorder = self._recorder
        name = type(message).__name__
        fields = (cell.id, cell.incarnation, 0, 0, lane.value, name, reason.value, False)
        recorder.note((recorder.number(), recorder.now(), MessageDied, *fields))
        self.dead_letters.add(DeadLetter(actor=cell.id, message=message, lane=lane, reason=reason))

    def buried(self, cell: Cell[Any], envelope: Envelope[Any], reason: DeadReason) -> None:
        """Note a message that died in a mailbox; the mailbox has recorded the event."""
        letter = DeadLetter(actor=cell.id, message=envelope.message, lane=envelope.lane, reason=reason)
        self.dead_letters.add(letter)
