"""Anthropic's Messages API as plain values: request bodies, server-sent events, and events folded into an assembly.

An event stream may be cut anywhere; an event counts once its blank line has come. Only `data` is read, because the
provider repeats the event's name there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, final

from greenroom.core import Image, UsageError
from greenroom.models._clean_text import clean, clean_json
from greenroom.models._failure_kinds import failure, kind_of_type
from greenroom.models._response_assembly import Assembly
from greenroom.models._token_usage import Usage
from greenroom.models._types import (
    Block,
    Delta,
    Message,
    ModelRequest,
    TextBlock,
    Thinking,
    ThinkingBlock,
    ToolResultBlock,
    ToolSchema,
    ToolUseBlock,
)

JsonObject: TypeAlias = dict[str, Any]

# --- requests --------------------------------------------------------------------------------------------------------

_CACHE_UP_TO_HERE: Final = {"type": "ephemeral"}
_MAX_TOKENS: Final = 10**15
"""A count beyond this is not a count; records hold numbers of at most 64 bits."""
LARGEST_ANSWER_BYTES: Final = 256 * 1024 * 1024
LARGEST_EVENT_BYTES: Final = 64 * 1024 * 1024
MAX_MARKS: Final = 4
"""Maximum number of `cache_control` marks in one request."""
MAX_IN_MESSAGES: Final = 3
"""One is left for the system text."""


def request_body(request: ModelRequest) -> JsonObject:
    """Return the body of a request, without the model's name.

    The provider caches the prefix up to each mark and allows four marks: in messages of the user, see `_marked`; the
    system text; and if one is left the tools, which agents share.

    Raises:
        UsageError: The thinking budget leaves no tokens for the answer.
    """
    messages = [_message(message) for message in request.messages]
    messages = [message for message in messages if message["content"]]
    if messages and messages[-1]["role"] == "assistant" and messages[-1]["content"][-1]["type"] == "text":
        last = messages[-1]["content"][-1]
        last["text"] = last["text"].rstrip()  # the provider refuses a last answer that ends with white space
    marked = _marked(messages)
    for block in marked:
        block["cache_control"] = _CACHE_UP_TO_HERE
    body: JsonObject = {"messages": messages, "max_tokens": request.max_tokens}
    if request.system.strip():
        body["system"] = [{"type": "text", "text": clean(request.system), "cache_control": _CACHE_UP_TO_HERE}]
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        if len(marked) + len(body.get("system", ())) < MAX_MARKS:
            body["tools"][-1]["cache_control"] = _CACHE_UP_TO_HERE
    if request.thinking is not None:
        body["thinking"] = _thinking(request.thinking, request.max_tokens)
    if request.effort is not None:
        body["output_config"] = {"effort": request.effort}
    return body


def _marked(messages: Sequence[JsonObject]) -> list[JsonObject]:
    """Return the blocks of a conversation to mark, at most three.

    A request ends with a message of the user: that is where the next one will read. The message before the last answer
    is where the previous request ended, so this one reads there what that one wrote; the provider looks back over no
    more than 20 blocks, which one round of parallel tool calls exceeds. If the last two messages are the user's, the
    previous request may have ended between them, without an answer. If text follows several results, siblings that
    differ only in the text read there what the first of them wrote: forks of one answer, whose calls are long.
    """
    roles = [message["role"] for message in messages]
    users = [index for index, role in enumerate(roles) if role == "user"]
    answer = max((index for index, role in enumerate(roles) if role != "user"), default=0)
    asked = [index for index in users if index < answer]
    unanswered = users[-2:-1] if roles[-2:] == ["user", "user"] else []
    blocks = [messages[index]["content"][-1] for index in dict.fromkeys((*users[-1:], *asked[-1:], *unanswered))]
    if users and len(blocks) < MAX_IN_MESSAGES:
        results = [block for block in messages[users[-1]]["content"] if block["type"] == "tool_result"]
        blocks += results[-1:] if len(results) > 1 and results[-1] is not blocks[0] else []
    return blocks


def _thinking(thinking: Thinking, max_tokens: int) -> JsonObject:
    if thinking.budget_tokens is not None and thinking.budget_tokens >= max_tokens:
        raise UsageError(f"thinking may take {thinking.budget_tokens} tokens, but the whole answer only {max_tokens}")
    fields = {"type": thinking.mode, "budget_tokens": thinking.budget_tokens, "display": thinking.display}
    return {name: value for name, value in fields.items() if value is not None}


def _message(message: Message) -> JsonObject:
    # The provider refuses blank text, and a message without content.
    content = [block for block in message.content if not (isinstance(block, TextBlock) and not block.text.strip())]
    return {"role": message.role, "content": [_block(block) for block in content]}


def _block(block: Block) -> JsonObject:
    match block:
        case TextBlock(text):
            return {"type": "text", "text": clean(text)}
        case ThinkingBlock(_, signature, is_redacted=True):
            return {"type": "redacted_thinking", "data": signature}
        case ThinkingBlock(thinking, signature):
            return {"type": "thinking", "thinking": clean(thinking), "signature": signature}
        case ToolUseBlock(id, name, value):
            return {"type": "tool_use", "id": id, "name": name, "input": clean_json(value)}
        case ToolResultBlock(tool_use_id, text, is_error, images):
            if is_error and not text:
                text = "(no message)"  # the provider refuses an error without text
            content = result_content(clean(text), images) if images and not is_error else clean(text)
            return {"type": "tool_result", "tool_use_id": tool_use_id, "content": content, "is_error": is_error}


def result_content(text: str, images: Sequence[Image]) -> list[JsonObject]:
    """Return a result with images as blocks; the provider refuses blank text."""
    sources = [{"type": "base64", "media_type": image.media_type, "data": image.base64} for image in images]
    said = [{"type": "text", "text": text}] if text.strip() else []
    return [*said, *({"type": "image", "source": source} for source in sources)]


def _tool(tool: ToolSchema) -> JsonObject:
    return {
        "name": tool.name,
        "description": clean(tool.description),
        "input_schema": clean_json(tool.input_schema),
    }


# --- events ----------------------------------------------------------------------------------------------------------


def fold(assembly: Assembly, event: JsonObject) -> Delta | None:
    """Add one event to an assembly and return its delta, if any.

    Unknown events, and unknown pieces inside known ones, are ignored: the provider announces that it adds some.

    Raises:
        ProviderError: It is an `error` event; or it violates the form of its type (`protocol`).
    """
    try:
        on_event = _ON_EVENT.get(event["type"])
        return None if on_event is None else on_event(assembly, event)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        kind = event.get("type")
        what = f"an event of type {kind!r}" if isinstance(kind, str) else "an event"
        raise failure("protocol", f"the answer is malformed: {what} is invalid", is_retryable=True) from error


def _on_message_start(assembly: Assembly, event: JsonObject) -> Delta | None:
    message = event["message"]
    return assembly.begin(
        id=message["id"], model=message["model"], usage=_merged_usage(Usage(), message.get("usage") or {})
    )


def _on_block_start(assembly: Assembly, event: JsonObject) -> Delta | None:
    block = event["content_block"]
    match block["type"]:
        case "text":
            assembly.open_text()
            return assembly.add_text(block.get("text") or "")
        case "thinking":
            assembly.open_thinking()
            assembly.sign(block.get("signature") or "")
            return assembly.add_thinking(block.get("thinking") or "")
        case "redacted_thinking":
            assembly.add_redacted(block["data"])
        case "tool_use":
            return assembly.open_tool_use(id=block["id"], name=block["name"], initial=block.get("input") or {})
        case _:
            assembly.skip_block()
    return None


def _on_block_delta(assembly: Assembly, event: JsonObject) -> Delta | None:
    delta = event["delta"]
    if assembly.is_skipping:
        return None
    match delta["type"]:
        case "text_delta":
            return assembly.add_text(delta["text"])
        case "thinking_delta":
            return assembly.add_thinking(delta["thinking"])
        case "signature_delta":
            assembly.sign(delta["signature"])
        case "input_json_delta":
            return assembly.add_json(delta["partial_json"])
    return None


def _on_block_stop(assembly: Assembly, event: JsonObject) -> Delta | None:  # noqa: ARG001  one signature for the table
    return assembly.end_block()


def _on_message_delta(assembly: Assembly, event: JsonObject) -> Delta | None:
    stop_reason = event["delta"].get("stop_reason")
    if stop_reason is not None:
        if not isinstance(stop_reason, str):
            raise TypeError("a stop reason must be a string")
        assembly.end(clean(stop_reason))
    return assembly.use(_merged_usage(assembly.usage, event.get("usage") or {}))


def _on_error(assembly: Assembly, event: JsonObject) -> Delta | None:  # noqa: ARG001
    error = event["error"]
    # No status: it was 200 when the stream began.
    raise failure(kind_of_type(error["type"]), f"{error['type']}: {error.get('message', '')}")


_ON_EVENT: Final[Mapping[str, Callable[[Assembly, JsonObject], Delta | None]]] = {
    "message_start": _on_message_start,
    "content_block_start": _on_block_start,
    "content_block_delta": _on_block_delta,
    "content_block_stop": _on_block_stop,
    "message_delta": _on_message_delta,
    "error": _on_error,
}


def _merged_usage(usage: Usage, fields: Mapping[str, Any]) -> Usage:
    """Return the usage after an event: its values replace the previous ones, since its counts are cumulative."""

    def newest(name: str) -> int:
        value = fields.get(name)
        count: int = getattr(usage, name) if value is None else max(0, int(value))
        if count > _MAX_TOKENS:
            raise ValueError(name)
        return count

    return Usage(
        newest("input_tokens"),
        newest("output_tokens"),
        newest("cache_creation_input_tokens"),
        newest("cache_read_input_tokens"),
    )


# --- server-sent events ----------------------------------------------------------------------------------------------


@final
class EventParser:
    """Parser of the chunks of one response. Lines end in LF or CRLF."""

    __slots__ = ("_lines", "_read", "_rest", "_rest_size", "_size")

    def __init__(self) -> None:
        self._rest: list[bytes] = []  # the current line, in pieces
        self._rest_size = 0
        self._lines: list[bytes] = []  # data of the incomplete event
        self._size = 0
        self._read = 0

    def feed(self, chunk: bytes) -> list[str]:
        """Return the data of the events that `chunk` completes.

        Raises:
            ValueError: The data is not UTF-8, or an event or the whole answer is larger than any real one.
        """
        events: list[str] = []
        self._read += len(chunk)
        if self._read > LARGEST_ANSWER_BYTES:
            raise ValueError(f"an answer of more than {LARGEST_ANSWER_BYTES} bytes")
        lines = chunk.split(b"\n")
        if len(lines) > 1:
            lines[0] = b"".join((*self._rest, lines[0]))
            self._rest.clear()
            self._rest_size = 0
        last = lines.pop()
        self._rest.append(last)
        self._rest_size += len(last)
        for line in lines:
            name, _, value = line.removesuffix(b"\r").partition(b":")
            if name == b"data":
                self._lines.append(value.removeprefix(b" "))
                self._size += len(value)
            elif not name and not value:
                # Lone surrogates that a server wrote as such pass here, and are repaired with those in JSON escapes.
                text = b"\n".join(self._lines).decode("utf-8", "surrogatepass")
                self._lines.clear()
                self._size = 0
                if text:
                    events.append(text)
        if self._size + self._rest_size > LARGEST_EVENT_BYTES:
            raise ValueError(f"an event of more than {LARGEST_EVENT_BYTES} bytes")
        return events
