"""Who belongs to a team, and how its members reach the board and each other. Knows nothing of tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, final

import attrs

from greenroom.actors import Ref
from greenroom.agents import AgentHome
from greenroom.teams._board import BoardHome
from greenroom.teams._events import MailSent


@final
@attrs.frozen(kw_only=True)
class Roster:
    """Who belongs to a team, and how its members reach the board and each other."""

    board: Ref[Any]
    home: BoardHome
    addresses: Mapping[str, Ref[Any]]
    """By name; the lead is `lead`."""
    emit: Callable[[MailSent], int]
    check_open: Callable[[], None]
    """Raises when nothing new may begin, because it could not be put on record."""
    wait_durable: Callable[[], Awaitable[None]]
    """Returns when everything recorded so far survives a crash of the process."""
    team: str = ""
    homes: dict[str, AgentHome] = attrs.field(factory=dict)
    """Of the members that are agents, by name: whose hooks are asked."""
