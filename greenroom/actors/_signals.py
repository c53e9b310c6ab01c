"""Signals: what the runtime tells an actor. They are no messages of anybody's and are never refused."""

from __future__ import annotations

from typing import final

import attrs

from greenroom.actors._lifecycle import State
from greenroom.core import Cause


@attrs.frozen(kw_only=True)
class Signal:
    """Something the runtime tells an actor; it travels in lane `now`, outside its capacity."""


@final
@attrs.frozen(kw_only=True)
class Down(Signal):
    """An actor that was watched has ended; exactly one per watch."""

    actor: str
    incarnation: int
    state: State
    """The terminal state of its last incarnation."""
    cause: Cause | None
    error: BaseException | None
    """Why it failed: of the class and with the attributes of what was raised; its traceback is a note of text."""
    seq: int
    """Number of the terminal event."""
    path: str = ""
    """Its readable path in the tree, which ends with its name."""
