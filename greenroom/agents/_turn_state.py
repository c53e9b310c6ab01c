"""The place of a turn in the record, and what others may ask about the latest turn of an agent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import final

import attrs

from greenroom.core import Recorder
from greenroom.inbox import UNCLASSIFIED, Origin
from greenroom.permissions import Mode


@final
@attrs.define(kw_only=True, eq=False)
class TurnState:
    """The part of an agent's latest turn that others may read; the next turn has its own."""

    token: tuple[str, int, int]
    """Agent, incarnation, turn: with `seq`, the place of the turn in the record."""
    seq: int
    """Number of the event with which the turn began."""
    recorder: Recorder
    origin: Origin = UNCLASSIFIED
    """The origin of the message that began it."""
    mode_limit: Mode | None = None
    """The permission mode that the turn must not exceed; None for that of its agent."""
    prompt_id: str | None = None
    """The id of the user's message whose turn runs; None where it is none, or no turn runs."""
    reminders: list[str] = attrs.field(factory=list)
    """Texts of hooks for the model to read with the next message."""

    def begin_with(self, origin: Origin, mode_limit: Mode | None = None) -> None:
        """Note the origin of the message that the turn begins with, and the permission mode that it must not exceed."""
        self.origin = origin
        self.mode_limit = mode_limit

    def name_prompt(self, prompt_id: str | None) -> None:
        """Set the id of the user's message whose turn runs; None once it has ended."""
        self.prompt_id = prompt_id

    def remind(self, texts: Iterable[str]) -> None:
        """Add texts for the model to read with the next message."""
        self.reminders += texts

    def take_reminders(self) -> list[str]:
        """Return what the model is to read, and forget it."""
        taken, self.reminders = self.reminders, []
        return taken

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Keep what hooks say within the block out of the next message: the caller passes it on, unless the block fails."""
        before = list(self.reminders)
        yield
        self.reminders = before
