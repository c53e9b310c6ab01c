"""Messages of the board: requests to create and change items, and reports of members."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import attrs

from greenroom.actors import Ref, Request
from greenroom.core import frozen
from greenroom.teams._board_items import Item
from greenroom.teams._edits import Edit, EditRefused
from greenroom.teams._item_events import ItemEvent


@final
@frozen(kw_only=True)
class CreateItem(Request[Item | EditRefused]):
    """Request to create an item; texts that are too long are cut."""

    subject: str
    description: str
    by: str
    active_form: str = ""
    metadata: Mapping[str, Any] = attrs.field(factory=dict)
    id: str = ""
    """An id from `ReserveId`; empty for the next one."""


@final
@frozen
class ReserveId(Request[str]):
    """Request for the id of an item that may be created later, or never; no other item gets it."""


@final
@frozen(kw_only=True)
class Edited:
    """The changes of an edit."""

    before: Item
    after: Item | None
    """None if the item was deleted."""
    events: tuple[ItemEvent, ...]


@final
@frozen(kw_only=True)
class EditItem(Request[Edited | EditRefused]):
    """Request to change an item; answered with the changes, or the reason for the refusal."""

    edit: Edit


@final
@frozen(kw_only=True)
class Join:
    """Announces a member: it may own items, which are released when it ends."""

    member: str
    ref: Ref[Any]


@final
@frozen(kw_only=True)
class Idle:
    """Reports that a member has nothing to do and takes the next item that can be claimed. Implies `Join`."""

    member: str
    ref: Ref[Any]
    takes_items: bool = True
    """False if it must wait for an answer first; it then reports again."""


@final
@frozen(kw_only=True)
class Occupied:
    """Reports that an idle member has something else to do."""

    member: str


@final
@frozen(kw_only=True)
class GiveBack:
    """Reports that a member's turn on an item did not end well."""

    member: str
    item: str
    why: str
    is_failure: bool
    """False if the turn was ended on request: an abort does not count as a failure."""


@final
@frozen(kw_only=True)
class TurnOver:
    """Reports that a member's turn on an item ended well; if it still owns the item, the lead is notified."""

    member: str
    item: str


@final
@frozen
class HandOut:
    """Hands out items if possible; a restarted board sends it to itself."""


BoardMessage = CreateItem | ReserveId | EditItem | Join | Idle | Occupied | GiveBack | TurnOver | HandOut


@final
@frozen(kw_only=True)
class ItemAssignment:
    """A member was given an item by another one, and has not begun it."""

    owner: str
    item: Item
    by: str
