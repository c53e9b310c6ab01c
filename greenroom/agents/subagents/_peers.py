"""The port to the main agents of other sessions: what becomes of a letter, and who takes letters now."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, Protocol, TypeAlias, final

import attrs

LetterAnswer: TypeAlias = Literal["delivered", "stored", "held"]
"""Where a letter is: with a running session, in the store of one that does not run, or with a person who has to let it in."""


class PeerState(StrEnum):
    """Answer that a letter to another session would get now."""

    TAKES = "takes messages now"
    HOLDS = "a person there has to let messages in"
    STORES = "does not run; reads messages when it is opened again"
    LISTENS = "listens; takes messages, or a person there has to let them in"
    REFUSES = "takes no messages"


@final
@attrs.frozen(kw_only=True)
class PeerStatus:
    """Another session that can be reached, or could be."""

    address: str
    """The address: `session:<id>` or `uds:<path>`."""
    state: PeerState
    why: str = ""
    """The reason why it takes none, if there is more to say."""


class Peers(Protocol):
    """The port to the main agents of other sessions."""

    async def survey(self) -> tuple[PeerStatus, ...]:
        """Return the other sessions that are known, those that take letters first."""
        ...

    async def send(self, to: str, text: str) -> LetterAnswer:
        """Send a message to an address such as `session:<id>`, and return where it is.

        Raises:
            PeerError: It has not, or nobody knows; the text says why.
        """
        ...
