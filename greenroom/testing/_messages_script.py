"""Scripted replies of the Messages server, and their streamed events."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

import attrs
import trio

from greenroom.models import AnswerLike, Call, Say, Think, Usage, as_answer

Ending: TypeAlias = Literal["whole", "cut", "stall", "early", "garbage", "overloaded"]
"""Ending of a stream: complete; a closed connection; never; a proper end of the body that comes too early; an event
that is not valid JSON; an `error` event.
"""


@attrs.frozen(kw_only=True)
class StreamReply:
    """A stream of events, complete or broken."""

    answer: AnswerLike = ""
    usage: Usage = Usage(input_tokens=10, output_tokens=5)  # noqa: RUF009  frozen
    pieces: int = 2
    """Number of pieces of each text and each input."""
    gate: trio.Event | None = None
    """The head of the response is sent at once, the first event when this is set."""
    is_head_late: bool = False
    """True if the head waits for the gate, too."""
    is_joined: bool = False
    """True if all events are sent in one write, each still in its own chunk; saves a fifth of a request's cost."""
    ending: Ending = "whole"
    events: int | None = None
    """Number of events before an ending other than `whole`; None: all."""


@attrs.frozen(kw_only=True)
class ErrorReply:
    """A refusal with a status and the provider's error body."""

    status: int
    type: str = "api_error"
    message: str = "scripted"
    headers: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class RawReply:
    """Any status, headers and body."""

    status: int = 200
    headers: Mapping[str, str] = attrs.field(factory=lambda: {"content-type": "text/event-stream"})
    body: bytes = b""


@attrs.frozen
class HangUp:
    """No response: the connection is closed once the request has been read."""


Reply: TypeAlias = StreamReply | ErrorReply | RawReply | HangUp
ReplyLike: TypeAlias = Reply | AnswerLike
"""Items of a script; an answer alone is streamed completely."""


@attrs.frozen(kw_only=True)
class ReceivedRequest:
    """One received request."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


Script: TypeAlias = Iterable[ReplyLike] | Callable[[ReceivedRequest], ReplyLike]


def as_reply(reply: ReplyLike) -> Reply:
    """Return the full reply of a short form."""
    if isinstance(reply, StreamReply | ErrorReply | RawReply | HangUp):
        return reply
    return StreamReply(answer=reply)


def encode_event(event_type: str, text: str) -> bytes:
    """Return one server-sent event."""
    return f"event: {event_type}\ndata: {text}\n\n".encode()


def events_of(reply: StreamReply) -> Iterator[dict[str, Any]]:
    """Yield the events of an answer as the provider sends them."""
    answer = as_answer(reply.answer)
    usage = attrs.asdict(reply.usage)
    yield {"type": "message_start", "message": _head(usage)}
    yield {"type": "ping"}
    for index, part in enumerate(answer.parts):
        start, deltas = _block(index, part, reply.pieces)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": answer.ends_with, "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": usage["output_tokens"]}}
    yield {"type": "message_stop"}


def _head(usage: Mapping[str, int]) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-loopback",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**usage, "output_tokens": 1},
    }


def _cut(text: str, pieces: int) -> list[str]:
    size = max(1, -(-len(text) // pieces))
    return [text[start : start + size] for start in range(0, len(text), size)]


def _block(index: int, part: Say | Call | Think, pieces: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the start of a block, and its deltas."""
    match part:
        case Say(text):
            deltas = [{"type": "text_delta", "text": piece} for piece in _cut(text, pieces)]
            return {"type": "text", "text": ""}, deltas
        case Think(text, signature):
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _cut(text, pieces)]
            deltas.append({"type": "signature_delta", "signature": signature})
            return {"type": "thinking", "thinking": "", "signature": ""}, deltas
        case Call(name, value):
            deltas = [
                {"type": "input_json_delta", "partial_json": piece} for piece in _cut(json.dumps(dict(value)), pieces)
            ]
            return {"type": "tool_use", "id": part.id or f"toolu_{index}", "name": name, "input": {}}, deltas
