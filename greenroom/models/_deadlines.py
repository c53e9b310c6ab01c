"""Deadlines around any model: how long an answer may stall in each phase, and how long it may take in total.

Rule 1: waiting for the first token, writing, and writing a tool's input stall for different times, so each phase has a
limit of its own. Rule 2: a provider's `ping` keeps a connection alive, but is not progress of an answer. Rule 3: a
stall may pass, so it is retryable; an answer that used up its whole time would use it up again, so it is not. Rule 4: a
limit is one scope around one read; nothing is left open between reads. Rule 5: a silent connection differs from an
answer without progress; the model itself watches the connection, and is given the limit.

Must not know: the machine's clock, only Trio's; running tools, whose limits are the engine's.
"""

from __future__ import annotations

import math
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import Final, final

import attrs
import trio

from greenroom.core.validation import checked
from greenroom.models._failure_kinds import failure
from greenroom.models._layer import Layer, LayerSource
from greenroom.models._model import Model, ModelStream
from greenroom.models._types import (
    Delta,
    ModelRequest,
    StreamRestarted,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
    ToolUseStarted,
    UsageDelta,
)


class Phase(StrEnum):
    """The phases of an answer."""

    FIRST_TOKEN = "first token"  # noqa: S105  no password
    """Nothing has arrived; the model may think without showing it."""
    STREAMING = "streaming"
    """Text or thinking is arriving."""
    TOOL_INPUT = "tool input"
    """The input of a tool is arriving; providers hold back long ones to send them in one piece."""


_PHASE_AFTER: Final[dict[type, Phase | None]] = {
    TextDelta: Phase.STREAMING,
    ThinkingDelta: Phase.STREAMING,
    ToolUseStarted: Phase.TOOL_INPUT,
    ToolInputDelta: Phase.TOOL_INPUT,
    StreamRestarted: Phase.FIRST_TOKEN,
    UsageDelta: None,  # unchanged: the first usage comes with the head of the answer
}


def phase_after(phase: Phase, delta: Delta) -> Phase:
    """Return the phase of an answer after `delta`."""
    return _PHASE_AFTER[type(delta)] or phase


@attrs.frozen(kw_only=True, field_transformer=checked)
class Deadlines:
    """Time limits of one request, in seconds of Trio's clock; `inf` disables one."""

    first_token_s: float = attrs.field(default=1200.0, validator=attrs.validators.gt(0))
    """From sending the request to the first piece of text, thinking or a call; the head of the answer does not count.
    """
    streaming_s: float = attrs.field(default=300.0, validator=attrs.validators.gt(0))
    """Between two pieces once the first has come, and from the last piece to the end."""
    tool_input_s: float = attrs.field(default=600.0, validator=attrs.validators.gt(0))
    """The same once a tool use has begun."""
    request_s: float = attrs.field(default=3600.0, validator=attrs.validators.gt(0))
    """The whole answer, from sending the request to its end."""
    silence_s: float = attrs.field(default=300.0, validator=attrs.validators.gt(0))
    """Without any sign of life of the connection, in any phase; a provider's `ping` is one. A model that works behind a
    silent connection for longer needs a higher limit here as well as in its phase.
    """

    def limit_s(self, phase: Phase) -> float:
        """Return how long an answer may stall in this phase."""
        limits = {
            Phase.FIRST_TOKEN: self.first_token_s,
            Phase.STREAMING: self.streaming_s,
            Phase.TOOL_INPUT: self.tool_input_s,
        }
        return limits[phase]


def with_deadlines(model: Model, deadlines: Deadlines | None = None) -> Model:
    """Return a model whose answers fail with `timeout` when they stall or take too long.

    Put it inside of `retrying`, so that each attempt has its own time and a stall is retried.

    Args:
        deadlines: None for the defaults.
    """
    limits = deadlines or Deadlines()

    def sent(request: ModelRequest) -> ModelRequest:
        return attrs.evolve(request, silence_s=limits.silence_s)

    return Layer(model, "with deadlines", lambda manager, _: _TimedSource(manager, limits, model.name), sent=sent)


@final
class _TimedSource(LayerSource):
    def __init__(self, manager: AbstractAsyncContextManager[ModelStream], deadlines: Deadlines, model: str) -> None:
        super().__init__(manager, model)
        self._deadlines = deadlines
        self._phase = Phase.FIRST_TOKEN
        self._ends_at_s = math.inf
        self._moved_at_s = 0.0

    async def next_delta(self) -> Delta | None:
        if self._stream is None:
            self._stream = await self._enter()
            self._moved_at_s = trio.current_time()
            self._ends_at_s = self._moved_at_s + self._deadlines.request_s
        stalls_at_s = self._moved_at_s + self._deadlines.limit_s(self._phase)
        delta: Delta | None = None
        with trio.CancelScope(deadline=min(stalls_at_s, self._ends_at_s)) as scope:
            try:
                delta = await anext(self._stream)
            except StopAsyncIteration:
                return None
        if scope.cancelled_caught or delta is None:
            raise self._failed(stalls_at_s)
        self._note(delta)
        return delta

    def _note(self, delta: Delta) -> None:
        self._phase = phase_after(self._phase, delta)
        if not isinstance(delta, UsageDelta):
            self._moved_at_s = trio.current_time()
        if isinstance(delta, StreamRestarted):
            self._moved_at_s += delta.wait_s  # no read is expected until then

    def _failed(self, stalls_at_s: float) -> Exception:
        if self._ends_at_s <= stalls_at_s:
            why = f"the answer was not complete after {self._deadlines.request_s:g} s"
            return failure("timeout", why, is_retryable=False)
        why = f"the answer stalled for {self._deadlines.limit_s(self._phase):g} s ({self._phase})"
        return failure("timeout", why)
