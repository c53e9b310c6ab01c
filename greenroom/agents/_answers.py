"""The answer of a turn, and of one that a new process resumes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import attrs
import trio

from greenroom.core import TurnFailed, TurnKilled
from greenroom.models import ToolUseBlock, Usage


@final
@attrs.frozen(kw_only=True)
class Answer:
    """The answer of a turn that completed."""

    text: str
    """The last thing it said."""
    usage: Usage
    """Of this turn."""
    rounds: int
    """Model requests in this turn."""
    stop_reason: str
    structured: Mapping[str, Any] | None = None
    """The answer in the form of the definition's `answer_schema`; None without one."""
    deferred: ToolUseBlock | None = None
    """The call that a hook has put off, and that is still open; with `stop_reason` `tool_deferred` or `tool_deferred_unavailable`."""


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
