"""The port of a store for entries that wait in boxes, and the rules that every store of them has to keep.

Rule 1: a put that returned survives the death of the process. Rule 2: an id is known to its box while the item waits, and for
seven days after that: a second put of it changes nothing and answers as the first. Rule 3: an item is given to one taker at a
time, in the order in which it came in, and again to the next taker until it is acknowledged or withdrawn. Rule 4: a box that
is full refuses what comes in and drops nothing. This module must not depend on the clock, the disk, Trio, or a database.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, Protocol, final

import attrs

from greenroom.core import PeerError, UsageError
from greenroom.inbox._inbox_items import EntryKind
from greenroom.inbox._origin import UNCLASSIFIED, Origin, OriginKind
from greenroom.mailbox import Lane

MAX_ITEMS: Final = 500
"""Maximum number of items that may wait in a box."""
MAX_BYTES: Final = 8 * 1024 * 1024
"""Maximum size of the texts that may wait in a box, in bytes."""
MAX_LETTERS: Final = 50
"""Maximum number of items of peers that may wait in a box, besides held ones."""
MAX_HELD: Final = 100
"""Maximum number of held items of a box; the oldest is refused for the next one."""
MAX_CHARS: Final = 1_048_576
"""Maximum length of a text, in characters."""
MAX_ATTEMPTS: Final = 3
"""Number of turns that may begin with an item and leave no line of it; then it is kept, and given to no turn."""
KNOWN_S: Final = 7 * 24 * 3600.0
"""Seconds for which the id of an item that has left its box is still known."""
_MAX_NAME: Final = 200
_MAX_ROUTE: Final = 4096


class LetterPolicy(StrEnum):
    """Treatment of letters of other sessions; it stands in the store, so that it holds while nobody has the session open."""

    ACCEPT = "accept"
    """The agent reads them."""
    HOLD = "hold"
    """They wait until a person releases them."""
    REFUSE = "refuse"
    """They are not taken."""


@final
@attrs.frozen(kw_only=True)
class StoredItem:
    """An entry in a box of a store."""

    id: str
    """The sender's id of it, unique within the box."""
    box: str
    """The box: an agent of a run, or any key that the host chooses."""
    text: str
    origin: Origin = UNCLASSIFIED
    lane: Lane = Lane.LATER
    kind: EntryKind = EntryKind.PROMPT
    is_meta: bool = False
    is_command: bool = False
    is_held: bool = False
    """True if nobody is given it before it is released."""
    route: Mapping[str, Any] = attrs.field(factory=dict)
    """A small JSON object of the sender's, such as an address for the answer."""
    created_at: float = 0.0
    """Time at which it was made, in seconds since 1970."""
    expires_at: float = math.inf
    """Time from which it is given to nobody, in seconds since 1970."""
    seq: int = attrs.field(default=0, eq=False)
    """Its number in the store, which the store gives: a larger one came in later."""
    attempts: int = attrs.field(default=0, eq=False)
    """Number of turns that began with it."""

    @property
    def size_bytes(self) -> int:
        """What it counts against the limit of its box."""
        return len(self.text.encode())

    @property
    def is_letter(self) -> bool:
        """True if it is a peer's words, of which fewer may wait."""
        return self.origin.kind is OriginKind.PEER


@final
@attrs.frozen
class Place:
    """The answer to a put."""

    seq: int
    """The number of the item."""
    is_new: bool
    """False if the box knew the id already; then nothing was changed."""


@final
@attrs.frozen(kw_only=True)
class Taken:
    """What a taker gets from a box; each item in one of these lists, once."""

    items: tuple[StoredItem, ...] = ()
    """Items to be read, in order."""
    poisoned: tuple[StoredItem, ...] = ()
    """Items with which too many turns began; they stay in the store."""
    expired: tuple[StoredItem, ...] = ()
    """Items that were too late; they have left the box."""
    refused: tuple[StoredItem, ...] = ()
    """Held items that made room for newer ones; they have left the box."""


@final
@attrs.frozen(kw_only=True)
class BoxStatistics:
    """The content of a box."""

    waiting: int = 0
    """Items that are to be read, taken ones included."""
    waiting_bytes: int = 0
    letters: int = 0
    """Items of peers among `waiting`."""
    held: int = 0
    poisoned: int = 0
    oldest_at: float | None = None
    """Time at which the oldest waiting item was made, in seconds since 1970; None for none."""


@final
class BoxFull(PeerError):
    """A box has no room for an item; nothing was changed.

    Attributes:
        box: The box.
    """

    def __init__(self, box: str, why: str) -> None:
        super().__init__(f"box {box!r} is full: {why}; send it again later")
        self.box = box


class InboxStore(Protocol):
    """A store of boxes. Several processes may put; one at a time may take from a box: the holder of its session.

    All methods raise `JournalError` where the store cannot be read or written; nothing was changed then. A cancelled call was
    carried out whole or not at all.
    """

    async def put(self, items: Sequence[StoredItem]) -> tuple[Place, ...]:
        """Put items and return their places; all of them are in, or none.

        Raises:
            UsageError: An item is invalid, as `check_item` says.
            BoxFull: A box has no room.
        """
        ...

    async def take(self, box: str, limit: int = MAX_ITEMS) -> Taken:
        """Return what was not taken since `reopen`, in order; it never waits for more."""
        ...

    async def reopen(self, box: str) -> None:
        """Give everything that was taken and not acknowledged again; called by a new taker."""
        ...

    async def begin(self, box: str, ids: Iterable[str]) -> None:
        """Count that a turn begins with these items."""
        ...

    async def ack(self, box: str, ids: Iterable[str]) -> None:
        """Remove items that were read; ids that are unknown or have left change nothing."""
        ...

    async def release(self, box: str, ids: Iterable[str]) -> None:
        """Release held items: they are taken after everything that came in before."""
        ...

    async def withdraw(self, box: str, item_id: str) -> bool:
        """Remove an item that waits, or is held; False if there is none."""
        ...

    async def held(self, box: str) -> tuple[StoredItem, ...]:
        """Return the held items that have not expired, in order."""
        ...

    async def policy(self, box: str) -> LetterPolicy:
        """Return the treatment of letters; a box that was never told refuses them."""
        ...

    async def set_policy(self, box: str, policy: LetterPolicy) -> None:
        """Set the treatment of letters."""
        ...

    async def wait_news(self, box: str) -> None:
        """Wait until something may be there to be taken that was not there at the last `take`, of this process or another."""
        ...

    async def statistics(self, box: str) -> BoxStatistics:
        """Return what is in a box."""
        ...

    async def boxes(self) -> tuple[str, ...]:
        """Return the names of the boxes that hold items, in order; an item that was acknowledged counts no more."""
        ...

    async def aclose(self) -> None:
        """Close the store; what was put stays in it."""
        ...


def check_item(item: StoredItem) -> None:
    """Refuse an item that no store takes.

    Raises:
        UsageError: An id or box is blank or too long, the text is blank or too long, the route is too large or no JSON.
    """
    for what, value in (("id", item.id), ("box", item.box)):
        if not value.strip() or len(value) > _MAX_NAME or not value.isprintable():
            raise UsageError(
                f"the {what} of an item must have 1 to {_MAX_NAME} printable characters, got {value[:80]!r}"
            )
    if not item.text.strip():
        raise UsageError(f"the text of item {item.id!r} must not be blank")
    if len(item.text) > MAX_CHARS:
        raise UsageError(f"the text of item {item.id!r} has {len(item.text)} characters; {MAX_CHARS} are allowed")
    try:
        route = json.dumps(dict(item.route), allow_nan=False)
        item.text.encode()
    except (TypeError, ValueError) as error:
        raise UsageError(f"item {item.id!r} cannot be stored: {error}") from None
    if len(route) > _MAX_ROUTE:
        raise UsageError(f"the route of item {item.id!r} has {len(route)} characters; {_MAX_ROUTE} are allowed")


def check_room(item: StoredItem, there: BoxStatistics) -> None:
    """Refuse an item for which its box has no room.

    Raises:
        BoxFull: There is none.
    """
    if item.is_held:
        return  # the oldest held one makes room
    if there.waiting >= MAX_ITEMS:
        raise BoxFull(item.box, f"{there.waiting} items wait")
    if there.waiting_bytes + item.size_bytes > MAX_BYTES:
        raise BoxFull(item.box, f"{there.waiting_bytes} bytes wait and {item.size_bytes} more exceed {MAX_BYTES}")
    if item.is_letter and there.letters >= MAX_LETTERS:
        raise BoxFull(item.box, f"{there.letters} letters of other sessions wait")
