"""Fallbacks of a model: further names that are asked when the first request of a turn fails for good.

Rule 1: only before anything of an answer was received, and only for failures that another model may not have. Rule 2: the model that
answered the first request answers the whole turn. Rule 3: the next turn begins with the model itself again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final, final

import attrs

from greenroom.core import ProviderError
from greenroom.models._continuation import GO_ON, RESUME
from greenroom.models._layer import Layer, LayerSource
from greenroom.models._model import Model, ModelStream
from greenroom.models._token_usage import Usage
from greenroom.models._types import Delta, ModelRequest, ModelResponse, ToolResultBlock, UsageDelta

OF_ONE_MODEL: Final = frozenset(
    (
        *("rate_limited", "overloaded", "server_error", "timeout", "connection"),
        *("authentication", "billing", "permission", "not_found", "protocol"),
    )
)
"""Kinds of failures after which another model is asked: it is not there, may not be used, or does not answer. A conversation that is
too long, or that was refused, is the same for another one.
"""
MAX_AGENTS: Final = 256
"""Agents whose answering model is remembered."""


def with_fallbacks(model: Model, names: Sequence[str]) -> Model:
    """Return a model that asks others, by their names, when it fails in the first request of a turn.

    Put it around `retrying`: a failure counts once its retries are over.

    Args:
        model: The model; a request that names another one (`ModelRequest.model`) goes to that one, without fallbacks.
        names: Exact names, in the order in which they are asked.
    """
    answering: OrderedDict[str, str] = OrderedDict()

    def sent(request: ModelRequest) -> ModelRequest:
        name = "" if request.model or begins_turn(request) else answering.get(request.agent, "")
        return attrs.evolve(request, model=name) if name else request

    def source(manager: AbstractAsyncContextManager[ModelStream], request: ModelRequest) -> _FallbackSource | None:
        if request.model or not begins_turn(request):
            return None
        answering.pop(request.agent, None)
        return _FallbackSource(model, request, manager, tuple(names), answering)

    return Layer(model, "with fallbacks", source, more=f" to {', '.join(names)}", sent=sent)


def begins_turn(request: ModelRequest) -> bool:
    """True if a request is the first one of a turn: it brings no results, and continues no answer."""
    if not request.messages or request.messages[-1].role != "user":
        return False
    last = request.messages[-1]
    return not any(isinstance(block, ToolResultBlock) for block in last.content) and last.text not in {GO_ON, RESUME}


@final
class _FallbackSource(LayerSource):
    """The source of one answer, from the first of several models that does not fail."""

    def __init__(
        self,
        model: Model,
        request: ModelRequest,
        first: AbstractAsyncContextManager[ModelStream],
        names: tuple[str, ...],
        answering: OrderedDict[str, str],
    ) -> None:
        super().__init__(first, model.name)
        self._model = model
        self._request = request
        self._left = list(names)
        self._answering = answering
        self._lost = Usage()

    @property
    def so_far(self) -> ModelResponse:
        """The received part; its usage is that of all models that were asked."""
        part = super().so_far
        return attrs.evolve(part, usage=self._lost + part.usage)

    async def next_delta(self) -> Delta | None:
        """Return the next delta; the first one may be another model's."""
        while True:
            if self._stream is None:
                self._stream = await self._enter()
            try:
                delta = await anext(self._stream, None)
            except ProviderError as error:
                if not self._left or error.kind not in OF_ONE_MODEL or self._stream.so_far.content:
                    raise
                await self._ask_next()
                continue
            return attrs.evolve(delta, usage=self._lost + delta.usage) if isinstance(delta, UsageDelta) else delta

    async def _ask_next(self) -> None:
        name = self._left.pop(0)
        await self.close()
        self._lost += self._part.usage
        self._part = ModelResponse((), None, Usage(), name)
        self._answering[self._request.agent] = name
        while len(self._answering) > MAX_AGENTS:
            self._answering.popitem(last=False)
        self._request = attrs.evolve(self._request, model=name, attempt=1)
        self._manager = self._model.stream(self._request)
