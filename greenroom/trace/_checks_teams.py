"""Checks of what teammates own: no item waits for somebody who does not know of it.

A teammate works on an item in a turn. So an item in progress is in good hands as long as its owner has a turn, mail, or was told
of the item since; else the lead was told that the owner left it as it is. Where the owner is idle or gone and nobody was told,
nothing ever goes on with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import attrs

from greenroom.trace._entries import Entry

Finding: TypeAlias = tuple[int, str]
Key: TypeAlias = tuple[str, str]
"""A team, and the name of a member or the id of an item."""

_OVER: Final = ("item.completed", "item.released", "item.assigned", "item.deleted")
_ENDS: Final = ("mate.left", "mate.parked")
