"""The turn in which an earlier process ended, while this one resumes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import attrs
import trio

from greenroom.core import TurnFailed, TurnKilled

if TYPE_CHECKING:
    from greenroom.agents._inputs import Answer


@final
@attrs.define(eq=False, repr=False)
class Resumption:
    """A turn that is resumed by itself, for those who want its answer; a crash of the agent in it does not end it."""

    _answer: Answer | None = attrs.field(default=None, init=False)
    _error: Exception | None = attrs.field(default=None, init=False)
    _over: trio.Event = attrs.field(factory=trio.Event, init=False)
    _is_awaited: bool = attrs.field(default=False, init=False)

    def __repr__(self) -> str:
        return f"<Resumption: {'over' if self.is_over else 'open'}>"

    @property
    def is_over(self) -> bool:
        """True if the turn has ended."""
        return self._over.is_set()

    def settle(self, answer: Answer) -> None:
        """Note the answer of the turn."""
        if not self.is_over:
            self._answer = answer
            self._over.set()

    def fail(self, error: Exception, *, partial: str = "") -> None:
        """Note that the turn failed, or was ended; `partial` is its text so far."""
        if not self.is_over:
            if isinstance(error, TurnFailed | TurnKilled):
                error.partial = partial
            self._error = error
            self._over.set()

    def claim(self) -> bool:
        """Claim the answer; False if somebody has claimed it."""
        was_awaited, self._is_awaited = self._is_awaited, True
        return not was_awaited

    async def wait(self) -> Answer:
        """Wait for the end of the turn, and return its answer.

        Raises:
            TurnFailed: It failed.
            TurnKilled: It was ended.
            ActorEnded: Its agent has ended.
        """
        await self._over.wait()
        if self._error is not None:
            raise self._error
        assert self._answer is not None
        return self._answer
