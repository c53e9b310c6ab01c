"""Streaming events for models that have none of their own: rules, scripts, recorded runs.

The events are those that the provider would send for these deltas, in its order: one start, one end, and blocks one
after the other. Without a listener nothing changes.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any, Final, TypeAlias, final

from greenroom.models._layer import Layer, LayerSource
from greenroom.models._model import Model, ModelStream
from greenroom.models._token_usage import Usage
from greenroom.models._types import (
    Delta,
    ModelRequest,
    ModelResponse,
    OnEvent,
    StreamRestarted,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
    ToolUseStarted,
    UsageDelta,
)

JsonObject: TypeAlias = dict[str, Any]


def with_events(model: Model) -> Model:
    """Return a model whose answers have the events of the provider's API, for `ModelRequest.on_event`.

    They are derived from the deltas: consecutive texts are one block, and thinking has no signature.
    """

    def make(manager: AbstractAsyncContextManager[ModelStream], request: ModelRequest) -> _EventedSource | None:
        return (
            None if request.on_event is None else _EventedSource(manager, request.model or model.name, request.on_event)
        )

    return Layer(model, "with events", make)


@final
class _EventedSource(LayerSource):
    def __init__(self, manager: AbstractAsyncContextManager[ModelStream], model: str, on_event: OnEvent) -> None:
        super().__init__(manager, model)
        self._events = Events(on_event)

    async def next_delta(self) -> Delta | None:
        if self._stream is None:
            self._stream = await self._enter()
        delta = await anext(self._stream, None)
        if delta is None:
            self._events.end(self._stream.so_far)
        else:
            self._events.take(delta, self._stream.so_far)
        return delta


@final
class Events:
    """Converter of the deltas of one answer into events.

    Args:
        on_event: Called with each of them.
    """

    def __init__(self, on_event: OnEvent) -> None:
        self._on_event = on_event
        self._has_begun = False
        self._index = -1
        self._open = ""
        """The type of the open block; empty for none."""

    def take(self, delta: Delta, so_far: ModelResponse) -> None:
        """Add a delta, and the answer including it."""
        if isinstance(delta, StreamRestarted):
            self._has_begun, self._index, self._open = False, -1, ""
            return
        if not self._has_begun:
            self._begin(so_far)
        match delta:
            case TextDelta(text):
                self._in_block({"type": "text", "text": ""})
                self._piece({"type": "text_delta", "text": text})
            case ThinkingDelta(thinking):
                self._in_block({"type": "thinking", "thinking": "", "signature": ""})
                self._piece({"type": "thinking_delta", "thinking": thinking})
            case ToolUseStarted(id, name):
                self._close_block()
                self._in_block({"type": "tool_use", "id": id, "name": name, "input": {}})
            case ToolInputDelta(_, json):
                self._piece({"type": "input_json_delta", "partial_json": json})
            case UsageDelta():
                pass  # the first is in the start event, the last in the end event

    def end(self, response: ModelResponse) -> None:
        """Add the end of the answer."""
        if not self._has_begun:
            self._begin(response)
        self._close_block()
        self._on_event(
            {
                "type": "message_delta",
                "delta": {"stop_reason": response.stop_reason, "stop_sequence": None},
                "usage": _usage(response.usage),
            }
        )
        self._on_event({"type": "message_stop"})

    def _begin(self, so_far: ModelResponse) -> None:
        self._has_begun = True
        message: JsonObject = {
            "id": so_far.id,
            "type": "message",
            "role": "assistant",
            "model": so_far.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": _usage(so_far.usage),
        }
        self._on_event({"type": "message_start", "message": message})

    def _in_block(self, block: JsonObject) -> None:
        if self._open == block["type"]:
            return
        self._close_block()
        self._index += 1
        self._open = block["type"]
        self._on_event({"type": "content_block_start", "index": self._index, "content_block": block})

    def _piece(self, delta: JsonObject) -> None:
        self._on_event({"type": "content_block_delta", "index": self._index, "delta": delta})

    def _close_block(self) -> None:
        if self._open:
            self._open = ""
            self._on_event({"type": "content_block_stop", "index": self._index})


_USAGE: Final = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def _usage(usage: Usage) -> JsonObject:
    return {name: getattr(usage, name) for name in _USAGE}
