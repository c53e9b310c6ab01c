"""Origins of texts for agents.

An origin is stated by the code that hands a text in, never read from the text. Only `human` counts as the user's
consent.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, final

import attrs


class OriginKind(StrEnum):
    """Kind of speaker; the words of the output formats."""

    HUMAN = "human"
    """The user, or the program on the user's behalf."""
    CHANNEL = "channel"
    """A server that pushes messages into the session."""
    PEER = "peer"
    """Another agent."""
    COORDINATOR = "coordinator"
    """The agent or program that leads this one."""
    TASK_NOTIFICATION = "task-notification"
    """The end, or a stall, of background work."""
    AUTO_CONTINUATION = "auto-continuation"
    """The runtime itself: a schedule, a hook, a resumed turn."""
    UNCLASSIFIED = "unclassified"
    """Not stated."""


@final
@attrs.frozen
class Origin:
    """The origin of a text."""

    kind: OriginKind
    name: str = ""
    """The server of a channel, or the peer's name; else empty."""
    subkind: str = ""
    """A more precise kind, such as `schedule`."""

    @property
    def is_consent(self) -> bool:
        """True if it may count as the user's consent."""
        return self.kind is OriginKind.HUMAN

    def to_json(self) -> dict[str, str]:
        """Return its JSON form in the output formats."""
        values = {"kind": self.kind.value}
        if self.name:
            values[_NAME_KEY.get(self.kind, "name")] = self.name
        if self.subkind:
            values["subkind"] = self.subkind
        return values


_NAME_KEY: Final = {OriginKind.CHANNEL: "server", OriginKind.PEER: "from"}

HUMAN: Final = Origin(OriginKind.HUMAN)
COORDINATOR: Final = Origin(OriginKind.COORDINATOR)
TASK_NOTIFICATION: Final = Origin(OriginKind.TASK_NOTIFICATION)
MONITOR: Final = Origin(OriginKind.TASK_NOTIFICATION, subkind="monitor")
AUTO_CONTINUATION: Final = Origin(OriginKind.AUTO_CONTINUATION)
SCHEDULE: Final = Origin(OriginKind.AUTO_CONTINUATION, subkind="schedule")
HOOK: Final = Origin(OriginKind.AUTO_CONTINUATION, subkind="hook")
UNCLASSIFIED: Final = Origin(OriginKind.UNCLASSIFIED)


def peer(name: str) -> Origin:
    """Return the origin of another agent's texts."""
    return Origin(OriginKind.PEER, name)


def channel(server: str) -> Origin:
    """Return the origin of a server's pushed texts."""
    return Origin(OriginKind.CHANNEL, server)
