"""Histories: the messages of a session's transcript, bounded, with secrets masked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from greenroom.core.ports import Blocking
from greenroom.core.texts import printable_text
from greenroom.gateway.keepers._session_history import content_blocks
from greenroom.gateway.record._rows import SessionRow
from greenroom.gateway.runs._completions import TRANSCRIPT, transcript_place
from greenroom.store import read_transcript

MAX_BYTES: Final = 80_000
"""Bytes of text of one answer."""
MAX_TEXT: Final = 4_000
"""Characters of one message; the rest is in the transcript."""


async def read_history(
    state: Path,
    row: SessionRow,
    *,
    blocking: Blocking,
    mask: Callable[[str], str],
    limit: int,
    before: int | None = None,
    has_tools: bool = False,
) -> dict[str, Any]:
    """Return the newest messages of a session, the oldest of them first.

    Args:
        state: The state folder.
        row: The session.
        blocking: Runs what blocks.
        mask: Returns a text without secrets.
        limit: Messages at most.
        before: Only messages before this number, as an earlier answer says it.
        has_tools: True with results of tools.
    """
    place = transcript_place(state, row.key, row.session_id, row.transcript or TRANSCRIPT)
    messages = await blocking.run(_read, place, has_tools=has_tools)
    end = len(messages) if before is None else min(before, len(messages))
    chosen: list[dict[str, Any]] = []
    size = 0
    start = end
    for number in range(end - 1, max(-1, end - limit - 1), -1):
        message = dict(messages[number])
        text = mask(printable_text(message["text"]))
        if len(text) > MAX_TEXT:
            text, message["truncated"] = text[:MAX_TEXT], True
        size += len(text.encode("utf-8", "replace"))
        if chosen and size > MAX_BYTES:
            break
        chosen.append({**message, "text": text})
        start = number
    answer = {"sessionKey": row.key, "sessionId": row.session_id, "messages": chosen[::-1]}
    return answer | ({"nextOffset": start} if start else {})


def _read(place: Path, *, has_tools: bool) -> list[dict[str, Any]]:
    try:
        lines = list(read_transcript(place))
    except OSError:
        return []
    return [message for line in lines if (message := _message_of(line, has_tools=has_tools)) is not None]


def _message_of(line: Mapping[str, Any], *, has_tools: bool) -> dict[str, Any] | None:
    if line.get("type") not in {"user", "assistant"} or line.get("isMeta"):
        return None
    blocks = content_blocks(line)
    texts = [text for block in blocks if (text := _text_of(block, has_tools=has_tools))]
    if not texts:
        return None
    origin = line.get("origin")
    return {
        "role": str(line["type"]) if any(block.get("type") == "text" for block in blocks) else "toolResult",
        **({"origin": dict(origin)} if isinstance(origin, Mapping) else {}),
        "text": "\n".join(texts),
        "at": str(line.get("timestamp", "")),
        "id": str(line.get("uuid", "")),
    }


def _text_of(block: Any, *, has_tools: bool) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "tool_use", "name": str(name)} if has_tools:
            return f"[calls {name}]"
        case {"type": "tool_result", "content": content} if has_tools:
            texts = (
                [content]
                if isinstance(content, str)
                else [each.get("text", "") for each in content or () if isinstance(each, dict)]
            )
            return "\n".join(filter(None, texts))
    return ""
