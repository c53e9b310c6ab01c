"""What an agent is doing now."""

from __future__ import annotations

from typing import final

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
    summary: str = ""
    """The same in 3 to 8 words of its own; empty where nobody keeps that up to date."""
