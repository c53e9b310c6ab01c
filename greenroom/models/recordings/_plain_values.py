"""Lossless conversion of requests, answers and their pieces to plain JSON values and back.

The provider's format is another one, see `request_body`: it omits everything for our own use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, TypeAlias

import attrs

from greenroom.core import Image, ProviderError, UsageError
from greenroom.models._chaos import PlannedCrash
from greenroom.models._token_usage import Usage
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
    UsageDelta,
)
from greenroom.models.budgets._call_budget import BudgetExceeded, Spent

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
    """Return a value as dicts, lists, strings, numbers, booleans and None; defaults are left out."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if attrs.has(type(value)):
        # Fields that are not compared, such as callbacks, are not part of the value.
        fields = [(field, getattr(value, field.name)) for field in attrs.fields(type(value)) if field.eq]
        named = {field.name: plain(item) for field, item in fields if item != field.default}
        kind = _NAMES.get(type(value))
        return named if kind is None else {"type": kind, **named}
    return str(value) if isinstance(value, Decimal) else value


def message_of(value: Mapping[str, Any]) -> Message:
    """Return the message of a plain value."""
    return Message(value["role"], tuple(block_of(block) for block in value["content"]))


def block_of(value: Mapping[str, Any]) -> Block:
    """Return the block of a plain value."""
    fields = _fields(value)
    if "images" in fields:
        fields["images"] = tuple(Image(**image) for image in fields["images"])
    return _BLOCKS[value["type"]](**fields)


def delta_of(value: Mapping[str, Any]) -> Delta:
    """Return the delta of a plain value."""
    fields = _fields(value)
    for name in fields.keys() & {"usage", "lost"}:
        fields[name] = Usage(**fields[name])
    return _DELTAS[value["type"]](**fields)


def request_of(value: Mapping[str, Any]) -> ModelRequest:
    """Return the request of a plain value."""
    fields = dict(value)
    fields["messages"] = tuple(message_of(message) for message in fields["messages"])
    if "tools" in fields:
        fields["tools"] = tuple(ToolSchema(**tool) for tool in fields["tools"])
    if fields.get("thinking") is not None:
        fields["thinking"] = Thinking(**fields["thinking"])
    return ModelRequest(**fields)


def response_of(value: Mapping[str, Any]) -> ModelResponse:
    """Return the response of a plain value."""
    content = tuple(block_of(block) for block in value["content"])
    return ModelResponse(**{**value, "content": content, "usage": Usage(**value["usage"])})


def _fields(value: Mapping[str, Any]) -> JsonObject:
    return {name: item for name, item in value.items() if name != "type"}


# --- errors ----------------------------------------------------------------------------------------------------------


_FACTS: Final[Mapping[type[Exception], Sequence[str]]] = {
    ProviderError: ("kind", "status", "retry_after_s", "is_retryable"),
    BudgetExceeded: ("budget", "limit", "allowed", "spent", "asked"),
}


def plain_error(error: Exception) -> JsonObject:
    """Return a model's error as plain values; of unexpected errors, only type and text."""
    values: JsonObject = {"type": type(error).__name__, "message": str(error)}
    values |= {name: plain(getattr(error, name)) for name in _FACTS.get(type(error), ())}
    notes = getattr(error, "__notes__", None)
    return {**values, "notes": list(notes)} if notes else values


def error_of(value: Mapping[str, Any]) -> Exception | None:
    """Return an equal error of a plain value; None for one with only type and text."""
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
    "PlannedCrash": lambda value: PlannedCrash(value["message"]),
    "UsageError": lambda value: UsageError(value["message"]),
}
