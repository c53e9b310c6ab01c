"""Judging of credentials: a right one is let in at once, a wrong one is answered late.

Rule 1: a wrong credential costs the one who shows it a second, and nobody else anything. Rule 2: what a credential means is said by
the endpoint's judge. This module must not know of requests, frames or sockets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

import trio

from greenroom.core import PeerError
from greenroom.serving._admission import Admission, Seat
from greenroom.serving._secrets import Judge

WRONG_S: Final = 1.0
"""Time after which a wrong credential is answered, in seconds."""


@final
class NotProven(PeerError):
    """A peer has not proven itself.

    Attributes:
        is_full: True if its credential was right, but the endpoint has as many connections as it takes.
    """

    def __init__(self, *, is_full: bool) -> None:
        super().__init__("too many connections" if is_full else "the credential is wrong")
        self.is_full = is_full


@final
class Proof:
    """What one connection has proven."""

    def __init__(
        self, admission: Admission, seat: Seat, *, path: str, limit: int, on_proven: Callable[[], None] | None = None
    ) -> None:
        self.grant: object = None
        """What its credential means; None while it has shown no right one."""
        self._admission = admission
        self._seat = seat
        self._path = path
        self._limit = limit
        self._on_proven = on_proven

    async def examine(self, credential: str, judge: Judge) -> object:
        """Return what a credential means.

        Raises:
            NotProven: It is wrong, which is said after 1 s, or the endpoint is full.
        """
        grant = judge(credential)
        if grant is None:
            self._admission.note_wrong(self._seat)
            await trio.sleep(WRONG_S)
            raise NotProven(is_full=False)
        if not self._admission.prove(self._seat, self._path, limit=self._limit):
            raise NotProven(is_full=True)
        self.grant = grant
        if self._on_proven is not None:
            self._on_proven()
        await trio.lowlevel.checkpoint()
        return grant
