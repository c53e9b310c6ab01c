"""The history of a session as tools and clients read it: from its transcript, bounded, with secrets masked.

Rule 1: nothing is opened or changed by reading. Rule 2: an answer has at most `MAX_BYTES`; `next_offset` leads to every older message.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, final

import attrs

from greenroom.gateway.keepers._turn_lookup import transcript_lines

MAX_BLOCK: Final = 4_000
"""Characters of a block of text; a longer one is cut."""
MAX_BYTES: Final = 80_000
"""Size of an answer as JSON; a message that alone is larger is replaced by a marker."""
MAX_LIMIT: Final = 200
DEFAULT_LIMIT: Final = 20
TOO_LARGE: Final = "[a message of {size} bytes is left out here]"
CUT: Final = "[... cut: {left} characters more]"

Mask = Callable[[str], str]
"""Hides secrets in a text."""


@final
@attrs.frozen(kw_only=True)
class HistoryMessage:
    """A message of a conversation."""

    role: str
    """`user`, `assistant` or `toolResult`."""
    text: str
    at_s: float = 0.0
    id: str = ""
    """Id of its line in the transcript; empty if it has none."""
    origin: Mapping[str, Any] = attrs.field(factory=dict)
    """Who said it, unless it was the user."""

    def to_json(self) -> dict[str, Any]:
        """Return it as tools and clients read it."""
        values = attrs.asdict(self)
        return {name: value for name, value in values.items() if value}


@final
@attrs.frozen(kw_only=True)
class History:
    """A part of a conversation, the oldest message first."""

    session: str
    session_id: str
    messages: tuple[HistoryMessage, ...] = ()
    next_offset: int | None = None
    """What to pass as `before` for older messages; None if there are none."""


def read_messages(
    run_folder: Path,
    *,
    limit: int = DEFAULT_LIMIT,
    include_tools: bool = False,
    before: int | None = None,
    mask: Mask = lambda text: text,
) -> tuple[tuple[HistoryMessage, ...], int | None]:
    """Return the newest messages of a session and the offset of older ones. It blocks.

    Args:
        run_folder: The folder of the session; a session that is archived is read as well.
        limit: Number of messages, from 1 to 200.
        include_tools: True for calls and results of tools as well.
        before: Number of messages, from the oldest one, of which the newest are returned; None for all.
        mask: Hides secrets.
    """
    limit = min(max(1, limit), MAX_LIMIT)
    kept = [message for message in _messages(run_folder) if include_tools or message.role != TOOL_RESULT]
    end = len(kept) if before is None else min(max(0, before), len(kept))
    chosen: list[HistoryMessage] = []
    size = 2
    for message in reversed(kept[max(0, end - limit) : end]):
        shown = _bounded(message, mask)
        size += _size(shown)
        if chosen and size > MAX_BYTES:
            break
        chosen.append(shown)
    start = end - len(chosen)
    return tuple(reversed(chosen)), start or None


TOOL_RESULT: Final = "toolResult"


def _bounded(message: HistoryMessage, mask: Mask) -> HistoryMessage:
    masked = mask(message.text)  # before it is cut, or half a secret would be shown
    text = "\n".join(_cut(block) for block in masked.split(_BLOCK_END))
    shown = attrs.evolve(message, text=text)
    size = _size(shown)
    return shown if size <= MAX_BYTES - 2 else attrs.evolve(message, text=TOO_LARGE.format(size=size))


def _cut(block: str) -> str:
    if len(block) <= MAX_BLOCK:
        return block
    return block[:MAX_BLOCK] + CUT.format(left=len(block) - MAX_BLOCK)


def _size(message: HistoryMessage) -> int:
    return len(json.dumps(message.to_json(), ensure_ascii=False).encode("utf-8", "replace")) + 2


_BLOCK_END: Final = "\x00"


def _messages(run_folder: Path) -> Iterator[HistoryMessage]:
    for values in transcript_lines(run_folder):
        if values.get("type") not in {"user", "assistant"}:
            continue
        blocks = content_blocks(values)
        if values.get("isMeta") and not _is_result(blocks):
            continue
        results = [block for block in blocks if _kind(block) == "tool_result"]
        said = [str(block.get("text", "")) for block in blocks if _kind(block) == "text"]
        calls = [f"[calls {block.get('name')}]" for block in blocks if _kind(block) == "tool_use"]
        if results:
            yield _made(values, TOOL_RESULT, [_result_text(block) for block in results])
        if any(text.strip() for text in said):
            yield _made(values, str(values["type"]), said)
        elif calls:
            yield _made(values, TOOL_RESULT, calls)


def content_blocks(line: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the content blocks of a line of a transcript; a text alone is one block."""
    message = line.get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    if isinstance(content, str):
        return ({"type": "text", "text": content},) if content else ()
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else ()


def _is_result(blocks: Sequence[Any]) -> bool:
    return any(_kind(block) == "tool_result" for block in blocks)


def _kind(block: Any) -> str:
    return str(block.get("type")) if isinstance(block, Mapping) else ""


def _result_text(block: Mapping[str, Any]) -> str:
    content = block.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("text", "")) for part in parts if _kind(part) == "text")


def _made(values: Mapping[str, Any], role: str, texts: Sequence[str]) -> HistoryMessage:
    origin = values.get("origin")
    return HistoryMessage(
        role=role,
        text=_BLOCK_END.join(text.replace(_BLOCK_END, "") for text in texts),
        at_s=_seconds(values.get("timestamp")),
        id=str(values.get("uuid", "")),
        origin=origin if isinstance(origin, Mapping) else {},
    )


def _seconds(stamp: object) -> float:
    try:
        return datetime.fromisoformat(str(stamp)).timestamp()
    except ValueError:
        return 0.0
