"""The limit of uninterrupted messages between teammates: two agents that only answer each other cost without end.

A message counts until its sender has made another call than sending, or somebody else has spoken. At the limit nothing
is lost: a message is refused, so its sender knows.
"""

from __future__ import annotations

from typing import ClassVar, Final, final

import attrs

from greenroom.core import Event

MAX_MESSAGES: Final = 50
"""Maximum number of messages between teammates in a row, without other work; the longest useful exchanges have some
ten.
"""


@final
@attrs.frozen(kw_only=True)
class MailHeld(Event):
    """A teammate's message was refused because teammates have only exchanged messages for too long."""

    kind: ClassVar[str] = "mail.held"

    team: str
    """Name of the team."""
    sender: str
    """Name of the teammate."""
    messages: int
    """Messages between teammates since one of them did something else."""


@final
class ExchangeLimit:
    """Counts the uninterrupted messages between the teammates of one team.

    Attributes:
        limit: Maximum messages in a row; infinite for no limit.
        count: Messages since a teammate did something else.
        is_told: True if the lead was notified of the refused exchange.
    """

    def __init__(self, limit: float = MAX_MESSAGES) -> None:
        self.limit = limit
        self.count = 0
        self.is_told = False
        self._sent: dict[str, int] = {}
        self._work: dict[str, int] = {}

    def restart(self) -> None:
        """Restart the count: the lead, the user or another agent has spoken, or there was other work."""
        self.count, self.is_told = 0, False

    def admit(self, sender: str, calls: int) -> bool:
        """Count a message of a teammate; return False if it is over the limit.

        Args:
            sender: Name of the teammate.
            calls: Tool calls that it has made so far, including this one.
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
