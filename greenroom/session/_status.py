"""What a session shows of its agents, and what it needs of its journal."""

from __future__ import annotations

from typing import Protocol, final

import attrs

from greenroom.models import Usage


@final
@attrs.frozen(kw_only=True)
class AgentStatus:
    """What an agent is doing now."""

    id: str
    path: str
    definition: str
    activity: str
    """What it does at this moment, for people; empty while it waits."""
    usage: Usage


class Recording(Protocol):
    """What a session needs of its journal."""

    def check_open(self) -> None:
        """Raise when nothing new may begin, because it could not be put on record."""
        ...

    async def commit(self) -> None:
        """Return when everything so far, transcripts included, survives a crash of the process."""
        ...
