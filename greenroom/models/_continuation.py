"""Continuation of answers that were cut at their length limit or paused by the provider: a pure plan.

Rule 1: only a cut answer is continued; one that calls a tool is not, because its results continue it. Rule 2: its text
stays in the conversation unchanged, followed by a message that asks to continue: providers refuse a request that ends
with the model's own words, and a later change of sent messages voids cache and thoughts. Rule 3: the limit rises each
time, so that a long tool call fits in the end. Rule 4: it ends after a fixed number of times, whatever the model does.

Must not know: the conversation, Trio.
"""

from __future__ import annotations

from typing import Final, final

import attrs

from greenroom.core.validation import checked
from greenroom.models._endings import Next, next_after
from greenroom.models._token_usage import Usage
from greenroom.models._types import Block, ModelResponse, TextBlock

GO_ON: Final = (
    "Your answer was cut off at the limit of its length. Go on exactly where it ends, without an apology and without "
    "repeating anything. If a tool call was cut off, make it again; break what is long into smaller pieces."
)
"""The message for the model after a cut."""
RESUME: Final = (
    "Your answer was paused before it was complete. Go on exactly where it ends, without an apology and without repeating "
    "anything."
)
"""The message for the model after a pause."""


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class ContinuationPolicy:
    """Limits for continuing an answer that was cut at its length limit."""

    times: int = attrs.field(default=3, validator=attrs.validators.ge(0))
    """Maximum number of further requests for one answer; 0: it stays cut."""
    growth: float = attrs.field(default=2.0, validator=attrs.validators.ge(1))
    """Factor by which the length limit rises each time."""
    most_tokens: int = attrs.field(default=64_000, validator=attrs.validators.ge(1))
    """Upper bound of the limit; an agent whose own limit is higher keeps it."""
    pauses: int = attrs.field(default=10, validator=attrs.validators.ge(0))
    """Maximum number of further requests after the provider paused an answer (`pause_turn`)."""

    def raised(self, max_tokens: int) -> int:
        """Return the limit of the request that follows one with this limit."""
        return max(max_tokens, min(int(max_tokens * self.growth), self.most_tokens))


@final
@attrs.frozen
class GoOn:
    """Send another request for the same answer."""

    max_tokens: int
    """The most that the model may write in it."""
    prompt: str
    """A message of the user to append first, for the model only; empty if nothing arrived that could be continued."""


_DEFAULTS: Final = ContinuationPolicy()


@final
class LongAnswer:
    """One answer of a model, in as many requests as it takes.

        answer = LongAnswer(8192)
        while True:
            response = ...  # of a request with at most `answer.max_tokens`; its message is appended to the conversation
            go_on = answer.add(response)
            if go_on is None:
                break
            if go_on.prompt:
                ...  # append it as a message of the user
        answer.response.text

    Args:
        max_tokens: The most that the model may write in the first request.
        policy: None for the defaults.
    """

    def __init__(self, max_tokens: int, policy: ContinuationPolicy | None = None) -> None:
        self._max_tokens = max_tokens
        self._policy = policy or _DEFAULTS
        self._times = 0
        self._pauses = 0
        self._response: ModelResponse | None = None

    def __repr__(self) -> str:
        return f"<LongAnswer continued {self._times + self._pauses} times>"

    @property
    def max_tokens(self) -> int:
        """The most that the model may write in the next request."""
        return self._max_tokens

    @property
    def response(self) -> ModelResponse:
        """All parts as one response: a cut text is one text again, and the usage is that of all requests.

        For readers of the answer. The conversation holds the parts as they came.
        """
        return ModelResponse((), None, Usage(), "") if self._response is None else self._response

    def add(self, response: ModelResponse) -> GoOn | None:
        """Add the next part; return what to do, or None if this was the last one.

        An answer that is still cut or paused then has the corresponding stop reason.
        """
        self._response = response if self._response is None else _joined(self._response, response)
        match next_after(response):
            case Next.RESUME:
                return self._resume(response)
            case Next.CONTINUE:
                return self._continue(response)
        return None

    def _resume(self, response: ModelResponse) -> GoOn | None:
        if self._pauses >= self._policy.pauses:
            return None
        self._pauses += 1
        return GoOn(self._max_tokens, RESUME if response.content else "")

    def _continue(self, response: ModelResponse) -> GoOn | None:
        if self._times >= self._policy.times:
            return None
        raised = self._policy.raised(self._max_tokens)
        if not response.content and raised == self._max_tokens:
            return None  # all of it was thinking, and would be again
        self._max_tokens = raised
        self._times += 1
        return GoOn(raised, GO_ON if response.content else "")


def _joined(first: ModelResponse, second: ModelResponse) -> ModelResponse:
    return attrs.evolve(second, content=_seamless(first.content, second.content), usage=first.usage + second.usage)


def _seamless(first: tuple[Block, ...], second: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return both in a row, adjacent texts joined."""
    if first and second and isinstance(first[-1], TextBlock) and isinstance(second[0], TextBlock):
        return (*first[:-1], TextBlock(first[-1].text + second[0].text), *second[1:])
    return first + second
