"""Histories: the messages of a session's transcript, bounded, with secrets masked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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
TOOL_RESULT: Final = "toolResult"
"""The role of calls of tools and their results."""
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
    return [message for line in lines for message in _messages_of(line) if has_tools or message["role"] != TOOL_RESULT]


def _messages_of(line: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what was said in a line, then the calls or results in it."""
    if line.get("type") not in {"user", "assistant"} or line.get("isMeta"):
        return
    origin = line.get("origin")
    facts: dict[str, Any] = {"at": str(line.get("timestamp", "")), "id": str(line.get("uuid", ""))}
    if isinstance(origin, Mapping):
        facts |= {"origin": dict(origin)}
    blocks = content_blocks(line)
    said = [block["text"] for block in blocks if block.get("type") == "text" and block.get("text")]
    if said:
        yield {"role": str(line["type"]), "text": "\n".join(said), **facts}
    work = [text for block in blocks if (text := _work_text(block))]
    if work:
        yield {"role": TOOL_RESULT, "text": "\n".join(work), **facts}


def _work_text(block: Any) -> str:
    match block:
        case {"type": "tool_use", "name": str(name)}:
            return f"[calls {name}]"
        case {"type": "tool_result", "content": content}:
            texts = (
                [content]
                if isinstance(content, str)
                else [each.get("text", "") for each in content or () if isinstance(each, dict)]
            )
            return "\n".join(filter(None, texts))
    return ""
