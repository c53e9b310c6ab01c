"""The state of mailboxes and dead letters, folded from their events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias, final

from greenroom.core import IllegalTransition, altered, frozen
from greenroom.mailbox import (
    Lane,
    MessageAcked,
    MessageDied,
    MessageLeased,
    MessagePostponed,
    MessagePut,
    MessageReturned,
)

_MessageEvent: TypeAlias = MessageLeased | MessageAcked | MessagePostponed | MessageReturned
_MovingEvent: TypeAlias = MessagePut | MessageLeased | MessageReturned | MessageDied


@final
@frozen(kw_only=True)
class MailboxView:
    """Contents of a mailbox as message numbers; only for actors whose journal is `full`."""

    now: tuple[int, ...] = ()
    next: tuple[int, ...] = ()
    later: tuple[int, ...] = ()
    leased: tuple[int, ...] = ()
    postponed: tuple[int, ...] = ()
    accepted: int = 0
    acked: int = 0
    died: int = 0

    @property
    def depth(self) -> int:
        """Number of messages in the lanes."""
        return len(self.now) + len(self.next) + len(self.later)

    def lost(self) -> MailboxView:
        """Return the view after the end of the process: the counters only."""
        return MailboxView(accepted=self.accepted, acked=self.acked, died=self.died)


_EMPTY: Final = MailboxView()
_FIELD_OF: Final[Mapping[str, str]] = {Lane.NOW: "now", Lane.NEXT: "next", Lane.LATER: "later"}
"""The field of each lane."""


def put(before: MailboxView | None, event: MessagePut) -> MailboxView:
    """Append a message to its lane."""
    view = before or _EMPTY
    return _with_lane(view, event, (*_lane(view, event), event.msg), accepted=view.accepted + 1)


def leased(before: MailboxView | None, event: MessageLeased) -> MailboxView:
    """Move a message from its lane to the leased ones."""
    view = before or _EMPTY
    return _with_lane(view, event, _without(_lane(view, event), event), leased=(*view.leased, event.msg))


def acked(before: MailboxView | None, event: MessageAcked) -> MailboxView:
    """Remove a leased message."""
    view = before or _EMPTY
    return altered(view, leased=_without(view.leased, event), acked=view.acked + 1)


def postponed(before: MailboxView | None, event: MessagePostponed) -> MailboxView:
    """Move a leased message to the postponed ones."""
    view = before or _EMPTY
    return altered(view, leased=_without(view.leased, event), postponed=(*view.postponed, event.msg))


def returned(before: MailboxView | None, event: MessageReturned) -> MailboxView:
    """Return a leased or postponed message to the front of its lane."""
    view = before or _EMPTY
    lane = (event.msg, *_lane(view, event))
    if event.msg in view.postponed:
        return _with_lane(view, event, lane, postponed=_without(view.postponed, event))
    return _with_lane(view, event, lane, leased=_without(view.leased, event))


def died(before: MailboxView | None, event: MessageDied) -> MailboxView:
    """Remove a message from wherever it was; below the level `full` it was never recorded there."""
    view = before or _EMPTY
    lane = tuple(number for number in _lane(view, event) if number != event.msg)
    leased, postponed = (
        tuple(number for number in part if number != event.msg) for part in (view.leased, view.postponed)
    )
    return _with_lane(view, event, lane, leased=leased, postponed=postponed, died=view.died + 1)


def counted(before: int | None, _: MessageDied) -> int:
    """Count a dead letter by its reason."""
    return (before or 0) + 1


def _lane(view: MailboxView, event: _MovingEvent) -> tuple[int, ...]:
    field = _FIELD_OF.get(event.lane)
    if field is None:
        raise IllegalTransition(state=f"a mailbox without a lane {event.lane!r}", event=event.kind)
    numbers: tuple[int, ...] = getattr(view, field)
    return numbers


def _with_lane(view: MailboxView, event: _MovingEvent, numbers: tuple[int, ...], **others: Any) -> MailboxView:
    return altered(view, **{_FIELD_OF[event.lane]: numbers}, **others)


def _without(numbers: tuple[int, ...], event: _MessageEvent) -> tuple[int, ...]:
    if numbers and numbers[0] == event.msg:  # nearly always
        return numbers[1:]
    if event.msg not in numbers:
        raise IllegalTransition(state=f"a mailbox without message {event.msg}", event=event.kind)
    return tuple(number for number in numbers if number != event.msg)


FOLDS: Final = (
    ("mailboxes", MessagePut, "actor", put),
    ("mailboxes", MessageLeased, "actor", leased),
    ("mailboxes", MessageAcked, "actor", acked),
    ("mailboxes", MessagePostponed, "actor", postponed),
    ("mailboxes", MessageReturned, "actor", returned),
    ("mailboxes", MessageDied, "actor", died),
    ("dead_letters", MessageDied, "reason", counted),
)
