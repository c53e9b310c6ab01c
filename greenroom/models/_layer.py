"""A model around another one: the common part of deadlines, budgets, retries and recorders."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import TypeAlias, final

from greenroom.models._answer_stream import AnswerSource, AnswerStream
from greenroom.models._model import Model, ModelStream
from greenroom.models._token_usage import Usage
from greenroom.models._types import Delta, ModelRequest, ModelResponse

MakeSource: TypeAlias = Callable[[AbstractAsyncContextManager[ModelStream], ModelRequest], AnswerSource | None]
"""Makes the source of one answer, given the inner model's stream, which is not entered yet, and the request; None leaves it as it is."""


@final
class Layer:
    """A model whose answers come through a source of its own.

    Args:
        model: The inner model, which provides name and connections.
        text: The start of its repr, such as `budgeted`.
        make: Makes the source of each answer.
        more: The end of its repr.
        sent: Returns the request for the inner model; None: unchanged.
    """

    def __init__(
        self,
        model: Model,
        text: str,
        make: MakeSource,
        *,
        more: str = "",
        sent: Callable[[ModelRequest], ModelRequest] | None = None,
    ) -> None:
        self._model = model
        self._text = text
        self._make = make
        self._more = more
        self._sent = sent

    def __repr__(self) -> str:
        return f"<{self._text} {self._model!r}{self._more}>"

    @property
    def name(self) -> str:
        """The inner model's name."""
        return self._model.name

    def open(self) -> AbstractAsyncContextManager[None]:
        """Open the inner model."""
        return self._model.open()

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[ModelStream]:
        """Stream an answer through the layer."""
        if self._sent is not None:
            request = self._sent(request)
        manager = self._model.stream(request)  # here, so that a usage error is raised by the call
        source = self._make(manager, request)
        return manager if source is None else AnswerStream(source)


class LayerSource:
    """The source of one answer, from the inner model's stream, which is entered when the first delta is requested.

    A layer that asks another model, or another one afterwards, makes its stream in `_begin`, or sets `_manager` behind `close`.

    Args:
        manager: That stream, not entered yet.
        model: The name of the model, for an empty answer.
    """

    def __init__(self, manager: AbstractAsyncContextManager[ModelStream], model: str) -> None:
        self._manager = manager
        self._entered = AsyncExitStack()
        self._stream: ModelStream | None = None
        self._part = ModelResponse((), None, Usage(), model)
        """The part of the answer that was received, after the stream was left."""
        self._has_begun = False

    async def _begin(self) -> AbstractAsyncContextManager[ModelStream]:
        """Return the inner stream; what this enters is left with it."""
        return self._manager

    async def _enter(self) -> ModelStream:
        self._has_begun = True
        return await self._entered.enter_async_context(await self._begin())

    async def next_delta(self) -> Delta | None:
        """Return the next delta of the inner stream; None at its end."""
        if self._stream is None:
            self._stream = await self._enter()
        return await anext(self._stream, None)

    @property
    def so_far(self) -> ModelResponse:
        """The received part."""
        return self._part if self._stream is None else self._stream.so_far

    async def finish(self) -> bool:
        """Return False: every delta is read."""
        return False

    @property
    def is_holding(self) -> bool:
        """True if something was entered, or tried, and has to be left."""
        return self._has_begun

    async def close(self) -> None:
        """Leave the inner stream; its part stays."""
        if self._stream is not None:
            self._part, self._stream = self._stream.so_far, None
        self._has_begun = False
        await self._entered.aclose()
