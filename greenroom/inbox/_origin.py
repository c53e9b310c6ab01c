"""Where something that an agent is told comes from (agents 13.16).

Rule 1: an origin is said by whoever hands the thing in, never read out of its text. Rule 2: nothing but `human` counts as
the user's consent (agents 0.4).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, final

import attrs


class OriginKind(StrEnum):
    """Who speaks; the words of the output formats."""

    HUMAN = "human"
    """The user, or the program in the user's name."""
    CHANNEL = "channel"
    """A server that pushes messages into the session."""
    PEER = "peer"
    """Another agent."""
    COORDINATOR = "coordinator"
    """The agent or program that leads this one."""
    TASK_NOTIFICATION = "task-notification"
    """The end, or a stall, of something in the background."""
    AUTO_CONTINUATION = "auto-continuation"
    """The runtime itself: a schedule, a hook, a turn that is gone on with."""
    UNCLASSIFIED = "unclassified"
    """Nobody said."""


@final
@attrs.frozen
class Origin:
    """Where something comes from."""

    kind: OriginKind
    name: str = ""
    """The server of a channel, or the peer's name; empty for the others."""
    subkind: str = ""
    """What exactly, where the kind alone does not say it, such as `schedule`."""

    @property
    def is_consent(self) -> bool:
        """Whether it may count as the user's consent."""
        return self.kind is OriginKind.HUMAN

    def to_json(self) -> dict[str, str]:
        """Return it as the output formats have it."""
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
AUTO_CONTINUATION: Final = Origin(OriginKind.AUTO_CONTINUATION)
SCHEDULE: Final = Origin(OriginKind.AUTO_CONTINUATION, subkind="schedule")
HOOK: Final = Origin(OriginKind.AUTO_CONTINUATION, subkind="hook")
UNCLASSIFIED: Final = Origin(OriginKind.UNCLASSIFIED)


def peer(name: str) -> Origin:
    """Return the origin of what another agent says."""
    return Origin(OriginKind.PEER, name)


def channel(server: str) -> Origin:
    """Return the origin of what a server pushes."""
    return Origin(OriginKind.CHANNEL, server)
