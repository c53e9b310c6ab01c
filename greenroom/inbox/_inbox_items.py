"""Entries that wait for a conversation: kind, origin, lane, expiry.

Rule 1: only the user's own words can be commands: texts of a channel, a schedule or another agent are plain text,
whatever they begin with. Rule 2: `now` is for the user, `next` for the user and a leader; everything else is `later`,
so that it never precedes the user's words. This module must not depend on the clock, the disk, Trio, or the taker.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import StrEnum
from typing import Final, final

import attrs

from greenroom.core import UsageError
from greenroom.inbox._channel_pushes import Attributes
from greenroom.inbox._origin import HUMAN, UNCLASSIFIED, Origin, OriginKind
from greenroom.mailbox import Lane


class EntryKind(StrEnum):
    """Treatment of an entry."""

    PROMPT = "prompt"
    """The model reads it."""
    BASH = "bash"
    """A command of the user: it is run, and the model reads its result with the next prompt."""
    TASK_NOTIFICATION = "task-notification"
    """The model reads how background work ended."""
    ORPHANED_PERMISSION = "orphaned-permission"
    """A person's answer about a call whose question is gone."""


ALONE: Final = frozenset({EntryKind.BASH, EntryKind.ORPHANED_PERMISSION})
"""Kinds that need a turn of their own, as a command by `/name` does."""

HIGHEST: Final = {
    OriginKind.HUMAN: Lane.NOW,
    OriginKind.COORDINATOR: Lane.NEXT,
    OriginKind.CHANNEL: Lane.LATER,
    OriginKind.PEER: Lane.LATER,
    OriginKind.TASK_NOTIFICATION: Lane.LATER,
    OriginKind.AUTO_CONTINUATION: Lane.LATER,
    OriginKind.UNCLASSIFIED: Lane.LATER,
}
"""The most urgent lane of a session's queue for each origin."""
_ORDER: Final = {lane: place for place, lane in enumerate(Lane)}
_META: Final = frozenset({OriginKind.TASK_NOTIFICATION, OriginKind.AUTO_CONTINUATION})
_BASH: Final = "!"


@attrs.frozen(kw_only=True)
class WaitingEntry:
    """Something that may wait in an agent's inbox, be added to a running turn, or lead to a turn."""

    origin: Origin = UNCLASSIFIED
    """Its origin."""
    expires_s: float = math.inf
    """Time on the run's clock from which it is ignored."""

    @property
    def text(self) -> str:
        """The text."""
        return ""

    @property
    def kind(self) -> EntryKind:
        """Its treatment."""
        is_notice = self.origin.kind is OriginKind.TASK_NOTIFICATION
        return EntryKind.TASK_NOTIFICATION if is_notice else EntryKind.PROMPT

    @property
    def is_alone(self) -> bool:
        """True if it needs a turn of its own."""
        return self.kind in ALONE

    @property
    def is_meta(self) -> bool:
        """True if it is for the model only and is not shown to people who look at the conversation."""
        return False

    def is_expired(self, now_s: float) -> bool:
        """True if it is to be ignored."""
        return now_s >= self.expires_s


@final
@attrs.frozen(kw_only=True)
class InboxItem(WaitingEntry):
    """Something that was sent to a session."""

    uuid: str
    """Its id in receipts, and of its line in the transcript if it has one of its own."""
    text: str
    """The text; for a bash entry the command, for a late answer the id of the call."""
    lane: Lane = Lane.NEXT
    """Its urgency: first in, first out within a lane."""
    kind: EntryKind = EntryKind.PROMPT
    is_meta: bool = False
    is_command: bool = False
    """True if it is a command by `/name`."""
    permission_mode: str = ""
    """The permission mode that its turn must not exceed; empty for that of the session. It then needs a turn of its own."""
    attributes: Attributes = ()
    """Attributes that a channel gave its message; the model reads them in the tag."""
    answer: object = None
    """The person's answer, for a late answer."""
    id: str = attrs.field(default=attrs.Factory(lambda self: self.uuid, takes_self=True))
    """Its id in a store: that of its sender, where somebody outside chose it."""

    @property
    def is_alone(self) -> bool:
        """True if it needs a turn of its own."""
        return self.is_command or self.kind in ALONE or self.permission_mode != ""

    @property
    def is_stored(self) -> bool:
        """True if a store keeps it: a late answer is not kept, since its question is open again in the next process."""
        return self.kind is not EntryKind.ORPHANED_PERMISSION


def make_item(
    text: str,
    *,
    uuid: str,
    origin: Origin = HUMAN,
    priority: Lane | str | None = None,
    is_meta: bool | None = None,
    expires_s: float = math.inf,
    is_command: Callable[[str], bool] = lambda _: False,
) -> InboxItem:
    """Return a text as an item, with its lane and treatment.

    Args:
        text: The text. From the user, a leading `!` makes it a bash entry.
        uuid: A new uuid.
        origin: Its origin.
        priority: `now`, `next` or `later`; by default `next` for the user and a leader, else `later`.
        is_meta: True if it is for the model only; by default True for the runtime's own texts.
        expires_s: Time on the run's clock from which it is ignored.
        is_command: Returns True for a user's text that is a command by `/name`.

    Raises:
        UsageError: It is blank, or the priority is unknown or not allowed for the origin.
    """
    if not text.strip():
        raise UsageError("text must not be blank")
    highest = HIGHEST[origin.kind]
    lane = max(highest, Lane.NEXT, key=_ORDER.__getitem__) if priority is None else _lane(priority)
    if _ORDER[lane] < _ORDER[highest]:
        raise UsageError(
            f"priority {lane.value!r} is not allowed for {origin.kind.value!r}; its highest is {highest.value!r}"
        )
    kind = EntryKind.TASK_NOTIFICATION if origin.kind is OriginKind.TASK_NOTIFICATION else EntryKind.PROMPT
    is_slash = False
    if origin.is_consent:
        stripped = text.lstrip()
        if stripped.startswith(_BASH):
            kind, text = EntryKind.BASH, stripped.removeprefix(_BASH).strip()
            if not text:
                raise UsageError("expected a command after '!'")
        else:
            is_slash = is_command(text)
    return InboxItem(
        uuid=uuid,
        text=text,
        lane=lane,
        kind=kind,
        origin=origin,
        is_command=is_slash,
        is_meta=origin.kind in _META if is_meta is None else is_meta,
        expires_s=expires_s,
    )


def late_answer(call_id: str, answer: object, *, uuid: str) -> InboxItem:
    """Return a person's answer about a call whose question is gone."""
    return InboxItem(uuid=uuid, text=call_id, kind=EntryKind.ORPHANED_PERMISSION, origin=HUMAN, answer=answer)


def _lane(priority: Lane | str) -> Lane:
    try:
        return Lane(priority)
    except ValueError:
        names = ", ".join(repr(lane.value) for lane in Lane)
        raise UsageError(f"unknown priority {priority!r}; expected one of {names}") from None
