"""Anthropic's Messages API as plain values: the body of a request, and the events of an answer folded into an assembly.

Must not know: the SDK, sockets, Trio.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from greenroom.core import Image, UsageError
from greenroom.models._assembly import Assembly
from greenroom.models._clean_text import clean, clean_json
from greenroom.models._failures import failure, kind_of_type
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
    Usage,
)

JsonObject: TypeAlias = dict[str, Any]

# --- requests --------------------------------------------------------------------------------------------------------

_CACHE_UP_TO_HERE: Final = {"type": "ephemeral"}
MAX_MARKS: Final = 4
"""Of `cache_control` in one request."""
MAX_IN_MESSAGES: Final = 3
"""One is left for the system text."""


def request_body(request: ModelRequest) -> JsonObject:
    """Return the body of a request, without the model's name.

    The provider caches the prefix up to each mark and takes four marks: in messages of the user, see `_marked`; the system
    text; and where one is left the tools, which agents share.

    Raises:
        UsageError: Thinking may take all that may be written.
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
    """Return which blocks of a conversation are marked, three at most.

    A request ends with a message of the user: that is where the next one will read. The one before the last answer is
    where the previous request ended, so this one reads there what that one wrote; the provider looks back over no more
    than 20 blocks, which one round of parallel tool calls exceeds. Where the user was the last to speak twice, the previous
    request may as well have ended between the two, and got no answer. Where text follows several results, siblings that
    differ in the text alone read there what the first of them wrote: forks of one answer, whose calls are long.
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
                text = "(no message)"  # the provider refuses an error that says nothing
            content = result_content(clean(text), images) if images and not is_error else clean(text)
            return {"type": "tool_result", "tool_use_id": tool_use_id, "content": content, "is_error": is_error}


def result_content(text: str, images: Sequence[Image]) -> list[JsonObject]:
    """Return a result with images as the blocks that it is sent as; the provider refuses blank text."""
    sources = [{"type": "base64", "media_type": one.media_type, "data": one.base64} for one in images]
    said = [{"type": "text", "text": text}] if text.strip() else []
    return [*said, *({"type": "image", "source": one} for one in sources)]


def _tool(tool: ToolSchema) -> JsonObject:
    return {
        "name": tool.name,
        "description": clean(tool.description),
        "input_schema": clean_json(tool.input_schema),
    }


# --- events ----------------------------------------------------------------------------------------------------------


def fold(assembly: Assembly, event: JsonObject) -> Delta | None:
    """Add one event to what has arrived and return the delta it brings, if any.

    Unknown events, and unknown pieces inside known ones, are passed over: the provider announces that it adds some.

    Raises:
        ProviderError: It is an `error` event; or it has not the form that its type promises (`protocol`).
    """
    try:
        on_event = _ON_EVENT.get(event["type"])
        return None if on_event is None else on_event(assembly, event)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        kind = event.get("type")
        what = f"an event of type {kind!r}" if isinstance(kind, str) else "an event"
        raise failure("protocol", f"the answer is garbled: {what} is malformed", is_retryable=True) from error


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
            raise TypeError("a stop reason must be a text")
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
    """Return the usage after an event: what it gives replaces what was there, since its counts are cumulative."""

    def newest(name: str) -> int:
        value = fields.get(name)
        return getattr(usage, name) if value is None else max(0, int(value))

    return Usage(
        newest("input_tokens"),
        newest("output_tokens"),
        newest("cache_creation_input_tokens"),
        newest("cache_read_input_tokens"),
    )
