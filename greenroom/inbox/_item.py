"""What waits for a conversation: its kind, its origin, its lane, until when it counts.

Rule 1: only the user's own words are commands: what a channel, a schedule or another agent says is text, whatever it begins
with. Rule 2: `now` is the user's, `next` the user's and a leader's; everything else is `later`, so that it never goes before
what the user says (agents 9.3).
Must not know: clock, disk, Trio, who takes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import StrEnum
from typing import Final, final

import attrs

from greenroom.core import UsageError
from greenroom.inbox._origin import HUMAN, UNCLASSIFIED, Origin, OriginKind
from greenroom.mailbox import Lane


class Kind(StrEnum):
    """What is to be done with it (agents 9.2)."""

    PROMPT = "prompt"
    """The model reads it."""
    BASH = "bash"
    """A command of the user's: it is run, and the model reads what came of it with the next prompt."""
    TASK_NOTIFICATION = "task-notification"
    """The model reads how something in the background went."""
    ORPHANED_PERMISSION = "orphaned-permission"
    """A person's answer about a call whose question is gone."""


ALONE: Final = frozenset({Kind.BASH, Kind.ORPHANED_PERMISSION})
"""Each of these has a turn of its own, as a command by `/name` has (agents 9.8)."""

HIGHEST: Final = {
    OriginKind.HUMAN: Lane.NOW,
    OriginKind.COORDINATOR: Lane.NEXT,
    OriginKind.CHANNEL: Lane.LATER,
    OriginKind.PEER: Lane.LATER,
    OriginKind.TASK_NOTIFICATION: Lane.LATER,
    OriginKind.AUTO_CONTINUATION: Lane.LATER,
    OriginKind.UNCLASSIFIED: Lane.LATER,
}
"""The first lane that what comes from there may wait in through a session's queue."""
_ORDER: Final = {lane: place for place, lane in enumerate(Lane)}
_META: Final = frozenset({OriginKind.TASK_NOTIFICATION, OriginKind.AUTO_CONTINUATION})
_BASH: Final = "!"


@attrs.frozen(kw_only=True)
class Entry:
    """What may wait in an agent's inbox and be taken up by a turn that runs, or lead to one."""

    origin: Origin = UNCLASSIFIED
    """Where it comes from."""
    expires_s: float = math.inf
    """From then on, on the run's clock, it counts no more: who would take it lets it go."""

    @property
    def text(self) -> str:
        """What is said."""
        return ""

    @property
    def kind(self) -> Kind:
        """What is to be done with it."""
        is_notice = self.origin.kind is OriginKind.TASK_NOTIFICATION
        return Kind.TASK_NOTIFICATION if is_notice else Kind.PROMPT

    @property
    def is_alone(self) -> bool:
        """Whether it has a turn of its own, which nothing else shares."""
        return self.kind in ALONE

    @property
    def is_meta(self) -> bool:
        """Whether it is for the model only; people who look at the conversation are not shown it."""
        return False

    def is_expired(self, now_s: float) -> bool:
        """Whether it counts no more."""
        return now_s >= self.expires_s


@final
@attrs.frozen(kw_only=True)
class Item(Entry):
    """What was handed in for a session."""

    uuid: str
    """Names it: in receipts, and as the line of the transcript that holds it."""
    text: str
    """What is said; of a bash entry the command, of a late answer the id of the call."""
    lane: Lane = Lane.NEXT
    """How urgent it is: first in, first out within a lane."""
    kind: Kind = Kind.PROMPT
    is_meta: bool = False
    is_command: bool = False
    """Whether it is a command by `/name`."""
    answer: object = None
    """Of a late answer, what the person said."""

    @property
    def is_alone(self) -> bool:
        """Whether it has a turn of its own, which nothing else shares."""
        return self.is_command or self.kind in ALONE


def make_item(
    text: str,
    *,
    uuid: str,
    origin: Origin = HUMAN,
    priority: Lane | str | None = None,
    is_meta: bool | None = None,
    expires_s: float = math.inf,
    is_command: Callable[[str], bool] = lambda _: False,
) -> Item:
    """Return what somebody said as an item: where it waits, and whether it is a command.

    Args:
        text: What was said. Of the user, `!` in front makes it a bash entry.
        uuid: A new one.
        origin: Where it comes from.
        priority: `now`, `next` or `later`; by default the user's and a leader's is `next`, everything else `later`.
        is_meta: Whether it is for the model only; by default what the runtime itself says is.
        expires_s: When it counts no more, on the run's clock.
        is_command: Says whether a text of the user's is a command by `/name`.

    Raises:
        UsageError: It is blank, the priority is none, or one that what comes from there may not have.
    """
    if not text.strip():
        raise UsageError("what is sent needs text; this is blank")
    highest = HIGHEST[origin.kind]
    lane = max(highest, Lane.NEXT, key=_ORDER.__getitem__) if priority is None else _lane(priority)
    if _ORDER[lane] < _ORDER[highest]:
        raise UsageError(
            f"priority {lane.value!r} is not for what comes from {origin.kind.value!r}; {highest.value!r} is its highest"
        )
    kind = Kind.TASK_NOTIFICATION if origin.kind is OriginKind.TASK_NOTIFICATION else Kind.PROMPT
    is_slash = False
    if origin.is_consent:
        stripped = text.lstrip()
        if stripped.startswith(_BASH):
            kind, text = Kind.BASH, stripped.removeprefix(_BASH).strip()
            if not text:
                raise UsageError("there is no command behind the '!'")
        else:
            is_slash = is_command(text)
    return Item(
        uuid=uuid,
        text=text,
        lane=lane,
        kind=kind,
        origin=origin,
        is_command=is_slash,
        is_meta=origin.kind in _META if is_meta is None else is_meta,
        expires_s=expires_s,
    )


def late_answer(call_id: str, answer: object, *, uuid: str) -> Item:
    """Return a person's answer about a call whose question is gone (agents 9.16)."""
    return Item(uuid=uuid, text=call_id, kind=Kind.ORPHANED_PERMISSION, origin=HUMAN, answer=answer)


def _lane(priority: Lane | str) -> Lane:
    try:
        return Lane(priority)
    except ValueError:
        names = ", ".join(repr(lane.value) for lane in Lane)
        raise UsageError(f"there is no priority {priority!r}; there are {names}") from None
