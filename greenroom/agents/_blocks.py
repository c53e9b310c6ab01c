"""Conversations as the provider's JSON, and the rule that makes every one of them acceptable.

Each tool use is followed, in the next message, by exactly one result. A message of the user holds its
results before its text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, get_args

import attrs

from greenroom.core import IMAGE_TYPES, Image, UsageError
from greenroom.models import (
    Block,
    Message,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    result_content,
)

ROLES: Final = get_args(Role)
_NOT_ALLOWED: Final = re.compile(r"[^a-zA-Z0-9_-]")
"""Matches a character that providers do not accept in the id of a call or the name of a tool."""
_NAME_CHARS: Final = 128
"""Maximum length of the name of a tool."""
INTERRUPTED: Final = "[Request interrupted by user for tool use]"
"""The result of a call that was ended with its turn (the leading coding agent's text)."""
LOST_RESULT: Final = (
    "[The process ended while this ran, or before its result was on record; its effects, if any, remain]"
)
"""The result of a call that an earlier process left without one: nobody interrupted it."""


def encode_message(message: Message) -> dict[str, Any]:
    """Return a message as the provider's API has it."""
    return {"role": message.role, "content": [*map(_encode, message.content)]}


def _encode(block: Block) -> dict[str, Any]:
    if isinstance(block, TextBlock):  # type by type: patterns of classes cost three times as much
        return {"type": "text", "text": block.text}
    if isinstance(block, ToolUseBlock):
        return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
    if isinstance(block, ToolResultBlock):
        content = result_content(block.content, block.images) if block.images else block.content
        result = {"type": "tool_result", "tool_use_id": block.tool_use_id, "content": content}
        return {**result, "is_error": True} if block.is_error else result
    if block.is_redacted:
        return {"type": "redacted_thinking", "data": block.signature}
    return {"type": "thinking", "thinking": block.thinking, "signature": block.signature}


def decode_message(values: Mapping[str, Any], *, source: str) -> Message:
    """Return the message that a transcript line holds.

    Raises:
        UsageError: It is not a message of a conversation.
    """
    try:
        role, content = values["role"], values["content"]
        if role not in {"user", "assistant"}:
            raise UsageError(f"{source}: the role {role!r} is neither user nor assistant")
        if isinstance(content, str):
            return Message(role, (TextBlock(content),))
        return Message(role, tuple(_decode(block) for block in content))
    except (KeyError, TypeError) as error:
        raise UsageError(f"{source}: this is not a message of a conversation ({error!r})") from None


def _decode_text(block: Mapping[str, Any]) -> Block:
    return TextBlock(_text(block, "text"))


def _decode_call(block: Mapping[str, Any]) -> Block:
    values = block["input"]
    if not isinstance(values, Mapping):
        raise TypeError("'input' is not an object")
    return ToolUseBlock(_text(block, "id"), _text(block, "name"), values)


def _decode_result(block: Mapping[str, Any]) -> Block:
    text, images = _result_parts(block)
    return ToolResultBlock(_text(block, "tool_use_id"), text, bool(block.get("is_error")), images)


def _decode_thinking(block: Mapping[str, Any]) -> Block:
    return ThinkingBlock(_text(block, "thinking"), _text(block, "signature"))


def _decode_redacted(block: Mapping[str, Any]) -> Block:
    return ThinkingBlock("", _text(block, "data"), is_redacted=True)


_DECODERS: Final[Mapping[str, Callable[[Mapping[str, Any]], Block]]] = {
    "text": _decode_text,
    "tool_use": _decode_call,
    "tool_result": _decode_result,
    "thinking": _decode_thinking,
    "redacted_thinking": _decode_redacted,
}


def _decode(block: Mapping[str, Any]) -> Block:
    kind = block["type"]
    decode = _DECODERS.get(kind)
    if decode is None:
        raise UsageError(f"a block of type {kind!r} is not known here")
    return decode(block)


def decode_known(values: Mapping[str, Any]) -> tuple[Message | None, list[str]]:
    """Return what can be read of a message that anybody may have written, and what was left out of it."""
    role: Any = values.get("role")
    content = values.get("content")
    if role not in ROLES:
        return None, [f"a message of the role {role!r} was left out"]
    if isinstance(content, str):
        return Message(role, (TextBlock(content),)), []
    if not isinstance(content, list):
        return None, ["a message without content was left out"]
    blocks: list[Block] = []
    notes: list[str] = []
    for block in content:
        try:
            blocks.append(_decode(block))
        except (KeyError, TypeError, UsageError) as error:
            notes.append(f"a block of a message was left out ({error})")
    return Message(role, tuple(blocks)), notes


def _text(block: Mapping[str, Any], key: str) -> str:
    value = block[key]
    if not isinstance(value, str):
        raise TypeError(f"{key!r} is not a text")
    return value


def _result_parts(block: Mapping[str, Any]) -> tuple[str, tuple[Image, ...]]:
    """Return a result's text and images; of what else other products write into it, that it was left out."""
    content = block.get("content")
    if isinstance(content, str):
        return content, ()
    if not content:
        return "", ()
    if not isinstance(content, list):
        raise TypeError("'content' is neither text nor blocks")
    texts: list[str] = []
    images: list[Image] = []
    for each in content:
        if not isinstance(each, Mapping):
            continue
        image = _image(each)
        if image is not None:
            images.append(image)
        else:
            texts.append(each["text"] if isinstance(each.get("text"), str) else "(left out)")
    return "\n".join(texts), tuple(images)


def _image(block: Mapping[str, Any]) -> Image | None:
    source = block.get("source")
    if block.get("type") != "image" or not isinstance(source, Mapping):
        return None
    media_type, data = source.get("media_type"), source.get("data")
    if media_type not in IMAGE_TYPES or not isinstance(data, str):
        return None
    return Image(media_type, data)


def is_acceptable_call(call: ToolUseBlock) -> bool:
    """True if a provider takes the id and the name of a call back."""
    id_, name = call.id, call.name
    if not id_ or not 0 < len(name) <= _NAME_CHARS:
        return False
    both = name + id_
    # Nearly always an identifier but for its hyphens; in a large swarm, a pattern takes five times as long to find that.
    return (both.isascii() and both.replace("-", "_").isidentifier()) or _NOT_ALLOWED.search(both) is None


def acceptable_call(call: ToolUseBlock, taken: set[str]) -> ToolUseBlock:
    """Return a call under an id that no other one has, with an id and a name that providers take; `taken` gets the id."""
    if call.id not in taken and is_acceptable_call(call):
        taken.add(call.id)
        return call
    base = fresh = _NOT_ALLOWED.sub("_", call.id) or "call"
    number = 1
    while fresh in taken:
        number += 1
        fresh = f"{base}_{number}"
    taken.add(fresh)
    return attrs.evolve(call, id=fresh, name=_NOT_ALLOWED.sub("_", call.name)[:_NAME_CHARS] or "unnamed")


def open_calls(messages: Sequence[Message]) -> tuple[ToolUseBlock, ...]:
    """Return the tool uses at the end of a conversation that have no result yet."""
    if messages and messages[-1].role == "assistant":
        return messages[-1].tool_uses
    return ()


def results_for(
    calls: Sequence[ToolUseBlock], results: Mapping[str, ToolResultBlock], *, lost: AbstractSet[str] = frozenset()
) -> tuple[ToolResultBlock, ...]:
    """Return one result for each call, in their order.

    Args:
        calls: The calls.
        results: Those that there are, by the ids of the calls.
        lost: The ids of calls whose results were lost with an earlier process; other missing ones were interrupted.
    """
    return tuple(
        results.get(call.id) or ToolResultBlock(call.id, LOST_RESULT if call.id in lost else INTERRUPTED, is_error=True)
        for call in calls
    )
