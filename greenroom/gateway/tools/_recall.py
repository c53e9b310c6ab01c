"""Recall of conversations for other sessions: bounded, masked, newest first in pages.

Rule 1: no answer is larger than `MAX_ANSWER`, no block longer than `MAX_BLOCK`; a message that is too large is replaced by a marker. Rule 2:
secrets are masked in the answer, never on disk. Rule 3: reading changes nothing.
Must not know: Trio, registry.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, final

import attrs

from greenroom.core import UsageError
from greenroom.gateway.keepers._session_history import content_blocks
from greenroom.store import read_transcript

MAX_BLOCK: Final = 4_000
"""Characters of a block."""
MAX_ANSWER: Final = 80_000
"""Bytes of an answer."""
MAX_ROW: Final = 20_000
"""Bytes of a message; a larger one is replaced by a marker."""
MAX_MESSAGES: Final = 1_000
"""Messages of an answer."""
Mask = Callable[[str], str]


@final
@attrs.frozen(kw_only=True)
class RecalledPage:
    """A page of a conversation, oldest first."""

    messages: tuple[Mapping[str, Any], ...]
    next_offset: int | None = None
    """The offset of the next older page; None if there is none."""


def recall(
    path: Path, *, limit: int, offset: int = 0, with_tools: bool = False, mask: Mask = lambda text: text
) -> RecalledPage:
    """Return the newest messages of a transcript, or older ones. Blocks: the file is read.

    Args:
        path: The transcript; one that is not there has no messages.
        limit: Most messages.
        offset: Number of newer messages that are left out.
        with_tools: True to return results of tools.
        mask: Masks secrets in a text.
    """
    wanted = max(1, min(limit, MAX_MESSAGES))
    kept: deque[Mapping[str, Any]] = deque(maxlen=wanted + offset + 1)
    for line in _messages(path, with_tools=with_tools):
        kept.append(line)
    rows = list(kept)
    newest = rows[: len(rows) - offset] if offset else rows
    found: list[Mapping[str, Any]] = []
    size = 0
    for line in reversed(newest):
        if len(found) == wanted:
            break
        row = _row(line, with_tools=with_tools, mask=mask)
        row_bytes = len(json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        if row_bytes > MAX_ROW:
            row = {"role": row["role"], "omitted": f"[message of {row_bytes:,} bytes left out]"}
            row_bytes = len(json.dumps(row))
        if found and size + row_bytes > MAX_ANSWER - 2_000:  # the rest of the answer
            break
        size += row_bytes + 2
        found.append(row)
    is_more = len(found) < len(newest)
    return RecalledPage(messages=tuple(reversed(found)), next_offset=offset + len(found) if is_more else None)


def _messages(path: Path, *, with_tools: bool) -> Iterator[Mapping[str, Any]]:
    try:
        for line in read_transcript(path):
            is_message = line.get("type") in {"user", "assistant"}
            is_hidden = bool(line.get("isSidechain") or line.get("isMeta"))
            if is_message and not is_hidden and (with_tools or any(_is_said(block) for block in content_blocks(line))):
                yield line
    except UsageError:
        return  # a session that was never opened has no file


def _is_said(block: Mapping[str, Any]) -> bool:
    return block.get("type") in {"text", "tool_use"}


def _row(line: Mapping[str, Any], *, with_tools: bool, mask: Mask) -> dict[str, Any]:
    content = []
    for block in content_blocks(line):
        match block.get("type"):
            case "text":
                content.append({"type": "text", "text": _short(mask(str(block.get("text", ""))))})
            case "tool_use":
                value = json.dumps(block.get("input"), ensure_ascii=False, default=str)
                content.append({"type": "toolCall", "name": str(block.get("name")), "input": _short(mask(value))})
            case "tool_result" if with_tools:
                content.append({"type": "toolResult", "text": _short(mask(_result_text(block.get("content"))))})
    row: dict[str, Any] = {"role": line.get("type"), "content": content}
    if isinstance(line.get("timestamp"), str):
        row["timestamp"] = line["timestamp"]
    return row


def _result_text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(each.get("text", "")) for each in content if isinstance(each, Mapping))
    return content if isinstance(content, str) else ""


def _short(text: str) -> str:
    return (
        text
        if len(text) <= MAX_BLOCK
        else f"{text[: MAX_BLOCK - 60]}… [{len(text) - MAX_BLOCK + 60:,} characters left out]"
    )
