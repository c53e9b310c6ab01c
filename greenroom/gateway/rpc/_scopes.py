"""Rights of credentials: scopes, and sessions.

Must not know: credentials themselves, connections.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, final

import attrs


class RpcScope(StrEnum):
    """A kind of thing that a client may do."""

    READ = "read"
    """Look."""
    WRITE = "write"
    """Say something, start and stop work."""
    APPROVE = "approve"
    """Answer questions about calls."""
    ADMIN = "admin"
    """Change who may do what, and the gateway itself."""


ALL_SCOPES: Final = frozenset(RpcScope)
PAGE_SCOPES: Final = frozenset({RpcScope.READ, RpcScope.WRITE, RpcScope.APPROVE})
"""Scopes of a page in a browser."""


@final
@attrs.frozen(kw_only=True)
class Grant:
    """The rights of a token."""

    account: str
    """The account under which answered calls are remembered: `operator`, `page`, or `token:NAME`."""
    id: str
    """Its name in listings; pages have one each."""
    scopes: frozenset[RpcScope]
    sessions: frozenset[str] | None = None
    """The keys of the sessions that it is good for; None for all."""
    page_token: str = attrs.field(default="", repr=False)
    """A token that was made for a one-time code; its holder is told once."""

    def with_scopes(self, scopes: frozenset[RpcScope]) -> Grant:
        """Return the same with fewer scopes."""
        return attrs.evolve(self, scopes=self.scopes & scopes)

    def reaches(self, session: str) -> bool:
        """True if it is good for a session; an event of no session is for those that reach all."""
        return self.sessions is None or session in self.sessions
