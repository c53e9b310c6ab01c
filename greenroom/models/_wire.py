"""Requests, answers and their pieces as plain JSON values and back, without loss.

What a provider is sent is another form, see `request_body`: it leaves out what nobody but we need.
Must not know: files, Trio, a provider.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, TypeAlias

import attrs

from greenroom.core import Image, ProviderError, UsageError
from greenroom.models._budget import BudgetExceeded, Spent
from greenroom.models._types import (
    Block,
    Delta,
    Message,
    ModelRequest,
    ModelResponse,
    StreamRestarted,
    TextBlock,
    TextDelta,
    Thinking,
    ThinkingBlock,
    ThinkingDelta,
    ToolInputDelta,
    ToolResultBlock,
    ToolSchema,
    ToolUseBlock,
    ToolUseStarted,
    Usage,
    UsageDelta,
)

JsonObject: TypeAlias = dict[str, Any]

_BLOCKS: Final[Mapping[str, type[Block]]] = {
    "text": TextBlock,
    "thinking": ThinkingBlock,
    "tool_use": ToolUseBlock,
    "tool_result": ToolResultBlock,
}
_DELTAS: Final[Mapping[str, type[Delta]]] = {
    "text": TextDelta,
    "thinking": ThinkingDelta,
    "tool_use": ToolUseStarted,
    "tool_input": ToolInputDelta,
    "usage": UsageDelta,
    "restarted": StreamRestarted,
}
_NAMES: Final[Mapping[type, str]] = {kind: name for table in (_BLOCKS, _DELTAS) for name, kind in table.items()}


def plain(value: Any) -> Any:
    """Return a value of ours as dicts, lists, texts, numbers, truth values and None; what is a default is left out."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if attrs.has(type(value)):
        # What takes no part in comparing, such as who listens, is no part of the value.
        fields = [(field, getattr(value, field.name)) for field in attrs.fields(type(value)) if field.eq]
        named = {field.name: plain(one) for field, one in fields if one != field.default}
        kind = _NAMES.get(type(value))
        return named if kind is None else {"type": kind, **named}
    return str(value) if isinstance(value, Decimal) else value


def message_of(value: Mapping[str, Any]) -> Message:
    """Return the message that `plain` has made this of."""
    return Message(value["role"], tuple(block_of(block) for block in value["content"]))


def block_of(value: Mapping[str, Any]) -> Block:
    """Return the block that `plain` has made this of."""
    fields = _fields(value)
    if "images" in fields:
        fields["images"] = tuple(Image(**one) for one in fields["images"])
    return _BLOCKS[value["type"]](**fields)


def delta_of(value: Mapping[str, Any]) -> Delta:
    """Return the delta that `plain` has made this of."""
    fields = _fields(value)
    for name in fields.keys() & {"usage", "lost"}:
        fields[name] = Usage(**fields[name])
    return _DELTAS[value["type"]](**fields)


def request_of(value: Mapping[str, Any]) -> ModelRequest:
    """Return the request that `plain` has made this of."""
    fields = dict(value)
    fields["messages"] = tuple(message_of(one) for one in fields["messages"])
    if "tools" in fields:
        fields["tools"] = tuple(ToolSchema(**one) for one in fields["tools"])
    if fields.get("thinking") is not None:
        fields["thinking"] = Thinking(**fields["thinking"])
    return ModelRequest(**fields)


def response_of(value: Mapping[str, Any]) -> ModelResponse:
    """Return the response that `plain` has made this of."""
    content = tuple(block_of(block) for block in value["content"])
    return ModelResponse(**{**value, "content": content, "usage": Usage(**value["usage"])})


def _fields(value: Mapping[str, Any]) -> JsonObject:
    return {name: one for name, one in value.items() if name != "type"}


# --- errors ----------------------------------------------------------------------------------------------------------


_FACTS: Final[Mapping[type[Exception], Sequence[str]]] = {
    ProviderError: ("kind", "status", "retry_after_s", "is_retryable"),
    BudgetExceeded: ("budget", "limit", "allowed", "spent", "asked"),
}


def plain_error(error: Exception) -> JsonObject:
    """Return an error of a model as plain values; of errors that no model has by contract, only type and text."""
    values: JsonObject = {"type": type(error).__name__, "message": str(error)}
    values |= {name: plain(getattr(error, name)) for name in _FACTS.get(type(error), ())}
    notes = getattr(error, "__notes__", None)
    return {**values, "notes": list(notes)} if notes else values


def error_of(value: Mapping[str, Any]) -> Exception | None:
    """Return an error like the one that `plain_error` has made this of; None for one that only has type and text."""
    make = _ERRORS.get(value["type"])
    if make is None:
        return None
    error = make(value)
    for note in value.get("notes", ()):
        error.add_note(note)
    return error


def _provider_error(value: Mapping[str, Any]) -> Exception:
    return ProviderError(
        value["message"],
        kind=value["kind"],
        status=value["status"],
        retry_after_s=value["retry_after_s"],
        is_retryable=value["is_retryable"],
    )


def _budget_exceeded(value: Mapping[str, Any]) -> Exception:
    limit = value["limit"]
    return BudgetExceeded(
        budget=value["budget"],
        limit=limit,
        allowed=Decimal(value["allowed"]) if limit == "usd" else value["allowed"],
        spent=_spent(value["spent"]),
        asked=_spent(value["asked"]),
    )


def _spent(value: Mapping[str, Any]) -> Spent:
    fields = dict(value)
    if "usage" in fields:
        fields["usage"] = Usage(**fields["usage"])
    if "usd" in fields:
        fields["usd"] = Decimal(fields["usd"])
    return Spent(**fields)


_ERRORS: Final[Mapping[str, Callable[[Mapping[str, Any]], Exception]]] = {
    "ProviderError": _provider_error,
    "BudgetExceeded": _budget_exceeded,
    "UsageError": lambda value: UsageError(value["message"]),
}
