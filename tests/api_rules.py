"""The rules of the Messages API for a request, written from its public reference; it shares no code with what makes requests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_ID = re.compile(r"^[a-zA-Z0-9_-]+$")
_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,128}$")
_OF_USER = {"text", "tool_result", "image", "document"}
_OF_ASSISTANT = {"text", "tool_use", "thinking", "redacted_thinking"}


def violations(body: Mapping[str, Any]) -> list[str]:
    """Return what the API would refuse in the body of a request, each in one sentence; empty for a valid one."""
    messages = body["messages"]
    found = [*_of_tools(body), *_of_order(messages), *_of_pairs(messages)]
    for number, message in enumerate(messages):
        found += [f"messages.{number}: {one}" for one in _of_content(message, is_last=number == len(messages) - 1)]
    if sum(1 for block in _blocks(body) if "cache_control" in block) > 4:
        found.append("a request has at most 4 cache_control blocks")
    return found


def _blocks(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from body.get("tools", ())
    yield from body.get("system", ()) if isinstance(body.get("system"), list) else ()
    for message in body["messages"]:
        yield from message["content"] if isinstance(message["content"], list) else ()


def _of_tools(body: Mapping[str, Any]) -> Iterator[str]:
    names = [tool["name"] for tool in body.get("tools", ())]
    if len(set(names)) < len(names):
        yield "tools: names must be unique"
    for name in names:
        if not _NAME.match(name):
            yield f"tools: {name!r} does not match the pattern"
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
        yield "max_tokens must be at least 1"


def _of_order(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not messages:
        yield "messages: at least one message is required"
    for number, message in enumerate(messages):
        if message["role"] != ("assistant" if number % 2 else "user"):
            yield f"messages.{number}: roles must alternate, and the first one is user"


def _content(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _of_pairs(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    seen: set[str] = set()
    asked: list[str] = []
    for number, message in enumerate(messages):
        content = _content(message)
        results = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
        if sorted(results) != sorted(asked):
            yield f"messages.{number}: tool_result blocks {results} must answer the tool_use blocks {asked} before them"
        kinds = [block["type"] for block in content]
        if "tool_result" in kinds[len(results) :]:
            yield f"messages.{number}: tool_result blocks come first"
        asked = [block["id"] for block in content if block["type"] == "tool_use"]
        for call in asked:
            if call in seen:
                yield f"messages.{number}: tool_use ids must be unique: {call}"
            seen.add(call)
    if asked:
        yield f"tool_use ids {asked} were found without tool_result blocks"


def _of_content(message: Mapping[str, Any], *, is_last: bool) -> Iterator[str]:
    content = _content(message)
    allowed = _OF_USER if message["role"] == "user" else _OF_ASSISTANT
    if not content:
        yield "content must not be empty"
    for block in content:
        kind = block["type"]
        if kind not in allowed:
            yield f"a {kind} block is not allowed for the role {message['role']}"
        if kind == "text" and not block["text"].strip():
            yield "text blocks must contain non-whitespace text"
        if kind == "tool_use" and not (_ID.match(block["id"]) and _NAME.match(block["name"])):
            yield f"tool_use {block['id']!r} {block['name']!r} does not match the pattern"
        if kind == "tool_use" and not isinstance(block["input"], dict):
            yield "tool_use.input must be an object"
        if kind == "thinking" and not block.get("signature"):
            yield "thinking.signature is required"
        if kind == "tool_result":
            yield from _of_result(block)
    if message["role"] == "assistant" and content:
        if content[-1]["type"] in {"thinking", "redacted_thinking"}:
            yield "the final block of an assistant message cannot be thinking"
        if is_last and content[-1]["type"] == "text" and content[-1]["text"] != content[-1]["text"].rstrip():
            yield "final assistant content cannot end with trailing whitespace"


def _of_result(block: Mapping[str, Any]) -> Iterator[str]:
    if not _ID.match(block["tool_use_id"]):
        yield f"tool_result.tool_use_id {block['tool_use_id']!r} does not match the pattern"
    content = block.get("content", "")
    parts = content if isinstance(content, list) else []
    if any(part["type"] == "text" and not part["text"].strip() for part in parts):
        yield "text blocks must contain non-whitespace text"
    if block.get("is_error") and (not content or any(part["type"] != "text" for part in parts)):
        yield "content of an error result must be text that is not empty"
