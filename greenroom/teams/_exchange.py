"""Messages between teammates that no work interrupts, and their limit: two agents that only answer each other cost without end.

Rule 1: a message counts until its sender has made another call than sending, or somebody else has spoken. Rule 2: at the limit nothing
is lost: a message is refused, so its sender knows. Must not know: clock, disk, Trio, actors.
"""

from __future__ import annotations

from typing import ClassVar, Final, final

import attrs

from greenroom.core import Event

MAX_MESSAGES: Final = 50
"""Messages between teammates in a row, without other work; the longest exchanges of teams at work have some ten."""


@final
@attrs.frozen(kw_only=True)
class MailHeld(Event):
    """A teammate's message was refused, because teammates have only exchanged messages for too long."""

    kind: ClassVar[str] = "mail.held"

    team: str
    """Name of the team."""
    sender: str
    """Name of the teammate."""
    messages: int
    """Messages between teammates since one of them did something else."""


@final
class Exchange:
    """Counts the messages between the teammates of one team that no work interrupts.

    Attributes:
        limit: Messages in a row; infinite for no limit.
        count: Messages since somebody did something else.
        is_told: True if the lead was told of the exchange that is held.
    """

    def __init__(self, limit: float = MAX_MESSAGES) -> None:
        self.limit = limit
        self.count = 0
        self.is_told = False
        self._sent: dict[str, int] = {}
        self._work: dict[str, int] = {}

    def restart(self) -> None:
        """Count anew: the lead, the user or another agent has spoken, or there was work."""
        self.count, self.is_told = 0, False

    def admit(self, sender: str, calls: int) -> bool:
        """Count a message of a teammate; returns False if it is over the limit.

        Args:
            sender: Name of the teammate.
            calls: Tool calls that it has made so far, this one included.
        """
        self._sent[sender] = self._sent.get(sender, 0) + 1
        work = calls - self._sent[sender]
        if work > self._work.get(sender, 0):
            self.restart()
        self._work[sender] = max(work, self._work.get(sender, 0))
        if self.count >= self.limit:
            return False
        self.count += 1
        return True
