"""A model whose latency is slept on a timer wheel: asyncio's sleeps, which the peers' models use, cost a fifth of Trio's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Self

from benchmarks.agents.scenario import LATENCY_S
from benchmarks.wheel import Wheel
from greenroom.models import Model, ModelRequest, ModelResponse, ModelStream, Notice
from greenroom.models._types import Delta


class LateModel:
    """Another model, of which each answer comes after the latency."""

    def __init__(self, model: Model, wheel: Wheel) -> None:
        self._model = model
        self._wheel = wheel

    @property
    def name(self) -> str:
        return self._model.name

    def open(self) -> AbstractAsyncContextManager[None]:
        return self._model.open()

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[ModelStream]:
        return LateStream(self._model.stream(request), self._wheel)


class LateStream:
    """An answer that is read whole."""

    def __init__(self, opening: AbstractAsyncContextManager[ModelStream], wheel: Wheel) -> None:
        self._opening = opening
        self._wheel = wheel
        self._stream: ModelStream | None = None

    async def __aenter__(self) -> Self:
        self._stream = await self._opening.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._opening.__aexit__(None, None, None)  # noqa: ASYNC102 - it only puts off the end of a scope

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delta:
        raise NotImplementedError

    @property
    def so_far(self) -> ModelResponse:
        assert self._stream is not None
        return self._stream.so_far

    async def wait_response(self, on_notice: Callable[[Notice], Awaitable[object]] | None = None) -> ModelResponse:
        assert self._stream is not None
        await self._wheel.sleep(LATENCY_S)
        return await self._stream.wait_response(on_notice)
