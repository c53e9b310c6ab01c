"""The recorded order of mailboxes, and mailboxes that enforce it.

For each mailbox the record has one sequence: the messages that were put, and its owner's own steps (leases, model requests,
ends of turns). A message that is early is held before the mailbox; an owner that is early waits at its edge.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias, final

import attrs
import trio

from greenroom.core import CLASS, FIELDS, SEQ, Event, Record, field_names
from greenroom.mailbox import (
    DeadReason,
    Delivery,
    Envelope,
    Lane,
    Mailbox,
    MailboxStatistics,
    MessageLeased,
    MessagePut,
)
from greenroom.waiting import ReplySlot

StepKind: TypeAlias = Literal["put", "lease", "request", "end"]
Label: TypeAlias = tuple[str, str]
"""Sender and type of a message."""


@final
@attrs.frozen(kw_only=True)
class Step:
    """One entry of an owner's recorded sequence."""

    seq: int
    what: StepKind
    label: Label = ("", "")

    def __str__(self) -> str:
        words = {"lease": "the lease of a message", "request": "a model request", "end": "the end of a turn"}
        sender, kind = self.label
        return words.get(self.what) or f"a message {kind} from {sender or 'the program'}"


@final
class Held(NamedTuple):
    """A message that came before its place."""

    label: Label
    envelope: Envelope[Any]
    admit: Callable[[Envelope[Any]], None]


@final
class OwnerOrder:
    """The recorded sequence of one mailbox and its owner, and how far the re-run is."""

    def __init__(self, owner: str, steps: Sequence[Step]) -> None:
        self.owner = owner
        self._steps = steps
        self._position = 0
        self._left = Counter(step.label for step in steps if step.what == "put")
        self.held: list[Held] = []
        """Messages that came before their place."""
        self.edges: list[trio.Event] = []
        """Steps of the owner that wait for messages."""

    @property
    def next(self) -> Step | None:
        """The next recorded step; None behind the last."""
        return self._steps[self._position] if self._position < len(self._steps) else None

    @property
    def expects_message(self) -> bool:
        """True if the next recorded step is a message that has not been put yet."""
        step = self.next
        return step is not None and step.what == "put"

    def is_early(self, label: Label) -> bool:
        """True if a message comes before its recorded place. One that is not in the record is never early."""
        step = self.next
        waiting = sum(held.label == label for held in self.held)
        if step is None or self._left[label] <= waiting:
            return False
        return waiting > 0 or step.what != "put" or step.label != label

    def pass_put(self, label: Label) -> None:
        """Note that a message was put."""
        step = self.next
        if step is not None and step.what == "put" and step.label == label:
            self._position += 1
            self._left[label] -= 1

    def pass_step(self, what: StepKind) -> None:
        """Note a step of the owner."""
        step = self.next
        if step is not None and step.what == what:
            self._position += 1

    def take_due(self) -> Held | None:
        """Remove and return the held message whose place has come; None if there is none."""
        step = self.next
        if step is None or step.what == "put":
            for held in self.held:
                if step is None or held.label == step.label:
                    self.held.remove(held)
                    return held
        return None

    def lift(self) -> None:
        """Stop enforcing the order."""
        self._position = len(self._steps)
        self._left.clear()

    def open_edges(self) -> bool:
        """Wake the owner's steps that need not wait any more; return whether there was one."""
        if not self.edges or self.expects_message:
            return False
        for edge in self.edges:
            edge.set()
        self.edges.clear()
        return True


@final
class PlaceOrder:
    """The recorded sequences of all mailboxes. It follows the events of the re-run.

    Args:
        steps: The recorded steps of each owner, by its id.
        request: Class of the event with which a model request begins; one outside of all turns has turn 0, and is not a step.
        end: Class of the event with which the last word of a turn is recorded.
    """

    def __init__(self, steps: Mapping[str, Sequence[Step]], *, request: type[Event], end: type[Event]) -> None:
        self._owners = {owner: OwnerOrder(owner, sequence) for owner, sequence in steps.items()}
        self._request, self._end = request, end
        self._turn_at = FIELDS + field_names(request).index("turn")
        self._actors: dict[int, str] = {}
        """The actor of each event of the re-run, by its number."""

    def owner(self, actor: str) -> OwnerOrder | None:
        """Return the sequence of an actor; None if the record has none."""
        return self._owners.get(actor)

    def owners(self) -> Iterable[OwnerOrder]:
        """Return all sequences."""
        return self._owners.values()

    @property
    def events(self) -> int:
        """Number of events of the re-run so far."""
        return len(self._actors)

    def sender(self, parent: int) -> str:
        """Return the actor of an event of the re-run; empty for none."""
        return self._actors.get(parent, "")

    def follow(self, record: Record) -> None:
        """Take an event of the re-run; a listener of its recorder."""
        event, actor = record[CLASS], record[FIELDS]
        self._actors[record[SEQ]] = actor
        owner = self._owners.get(actor)
        if owner is None:
            return
        if event is MessagePut:
            owner.pass_put((self.sender(record[FIELDS + 2]), record[_TYPE_AT]))
        elif event is MessageLeased:
            owner.pass_step("lease")
        elif event is self._end:
            owner.pass_step("end")
        elif event is self._request and record[self._turn_at]:
            owner.pass_step("request")


_TYPE_AT: Final = FIELDS + field_names(MessagePut).index("type")


@final
class OrderedMailbox(Mailbox[Any]):
    """A mailbox that messages enter at their recorded places.

    Args:
        owner: Id of its actor.
        order: The recorded sequences.
        more: As for `Mailbox`.
    """

    __slots__ = ("_order", "_own", "_unplaced")

    def __init__(self, owner: str = "", *, order: PlaceOrder, **more: Any) -> None:
        super().__init__(owner, **more)
        self._order = order
        self._own = order.owner(owner)
        self._unplaced: Envelope[Any] | None = None
        """The message that was put last, if it was held."""

    def put_nowait(
        self,
        message: Any,
        lane: Lane = Lane.NEXT,
        size_bytes: int = 0,
        parent: int = 0,
        reply: ReplySlot | None = None,
        is_system: bool = False,  # noqa: FBT001, FBT002 - as in `Mailbox`
    ) -> Delivery:
        """Put a message, or hold it until its place has come; it counts as accepted either way."""
        if self._closed and not (is_system and self.is_draining):
            return self._refuse(Delivery.CLOSED)
        is_counted = lane is not Lane.NOW and not is_system
        if is_counted:
            if self._producers or not self._has_room(size_bytes):
                return self._refuse(Delivery.FULL, size_bytes)
            self._hold(size_bytes)
        self._admit(Envelope(message, lane, 0, parent, reply, size_bytes, is_counted))
        return Delivery.ACCEPTED

    def _admit(self, envelope: Envelope[Any]) -> None:
        label = (self._order.sender(envelope.parent), type(envelope.message).__name__)
        if self._own is None or not self._own.is_early(label):
            self._unplaced = None
            super()._admit(envelope)
        else:
            self._unplaced = envelope
            self._own.held.append(Held(label, envelope, super()._admit))

    def statistics(self) -> MailboxStatistics:
        """Return the current state and counters; held messages count as waiting, so that nobody takes the owner for idle."""
        found = super().statistics()
        if self._own is None or not self._own.held:
            return found
        held = Counter(held.envelope.lane for held in self._own.held)
        return attrs.evolve(
            found,
            now=found.now + held[Lane.NOW],
            next=found.next + held[Lane.NEXT],
            later=found.later + held[Lane.LATER],
        )

    def newest(self, lane: Lane) -> Envelope[Any]:
        """Return the message that was put, or held, last."""
        return super().newest(lane) if self._unplaced is None else self._unplaced

    def take(self, among: frozenset[Lane] | None = None) -> Envelope[Any] | None:
        """Lease the next message; None while an earlier message of the record has not been put."""
        return None if self._own is not None and self._own.expects_message else super().take(among)

    def withdraw(self, envelope: Envelope[Any], *, is_known: bool = False, parent: int = 0) -> bool:
        """Withdraw a message; a held one is put first, as it was in the record."""
        self._put_held(envelope)
        return super().withdraw(envelope, is_known=is_known, parent=parent)

    def close(self, reason: str, *, dead_reason: DeadReason = DeadReason.CLOSED, parent: int = 0) -> None:
        """Close the mailbox; held messages are put first, and become dead letters as queued ones do."""
        self._put_held(None)
        super().close(reason, dead_reason=dead_reason, parent=parent)

    def _put_held(self, envelope: Envelope[Any] | None) -> None:
        """Put a held message, or all of them if None, although its place has not come."""
        for held in tuple(self._own.held) if self._own is not None else ():
            if envelope is None or held.envelope is envelope:
                assert self._own is not None
                self._own.held.remove(held)
                held.admit(held.envelope)
