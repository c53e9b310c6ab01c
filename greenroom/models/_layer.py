"""A model around another one: the common part of deadlines, budgets, retries and recorders."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import TypeAlias, final

from greenroom.models._answer_stream import AnswerSource, AnswerStream
from greenroom.models._model import Model, ModelStream
from greenroom.models._types import ModelRequest, ModelResponse, Usage

MakeSource: TypeAlias = Callable[[AbstractAsyncContextManager[ModelStream], ModelRequest], AnswerSource | None]
"""Makes the source of one answer, given the inner model's stream, not entered yet, and the request; None leaves it
unchanged.
"""


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

    Args:
        manager: That stream, not entered yet.
        model: The name of the model, for an empty answer.
    """

    def __init__(self, manager: AbstractAsyncContextManager[ModelStream], model: str) -> None:
        self._manager = manager
        self._entered = AsyncExitStack()
        self._stream: ModelStream | None = None
        self._nothing = ModelResponse((), None, Usage(), model)

    async def _enter(self) -> ModelStream:
        return await self._entered.enter_async_context(self._manager)

    @property
    def so_far(self) -> ModelResponse:
        """The received part."""
        return self._nothing if self._stream is None else self._stream.so_far

    async def finish(self) -> bool:
        """Return False: every delta is read."""
        return False

    @property
    def is_holding(self) -> bool:
        """True if the inner stream was entered and has to be closed."""
        return self._stream is not None

    async def close(self) -> None:
        """Leave the inner stream."""
        await self._entered.aclose()
