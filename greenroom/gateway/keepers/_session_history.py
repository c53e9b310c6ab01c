"""The history of a session as tools, commands and clients read it: from its transcript, bounded, with secrets masked.

Rule 1: nothing is opened or changed by reading. Rule 2: an answer has at most `MAX_BYTES`, a block at most `MAX_BLOCK`; a message that
is too large is replaced by a marker. Rule 3: the pages lead to every older message.
Must not know: Trio, registry.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, final

import attrs

from greenroom.core import UsageError
from greenroom.core.texts import printable_text
from greenroom.gateway.announce._quotes import one_line
from greenroom.store import read_transcript

MAX_BLOCK: Final = 4_000
"""Characters of a block; the rest of a longer one is left out."""
MAX_BYTES: Final = 80_000
"""Size of an answer as JSON, what stands around its messages included."""
MAX_MESSAGES: Final = 1_000
"""Messages of an answer."""
_AROUND_BYTES: Final = 2_000
_MAX_SHOWN_BYTES: Final = 64_000
"""Size of a message as it is shown; a larger one is replaced by a marker."""
_MAX_SAID_BYTES: Final = 500_000
"""Size of a message as it was said; of a larger one nothing is shown but the marker."""

MAX_ABOUT: Final = 120
"""Characters of what a call is about."""
TOOL_RESULT: Final = "toolResult"
"""The role of calls of tools and their results, as clients show them."""

Mask: TypeAlias = Callable[[str], str]
"""Hides secrets in a text."""
HistoryDetail: TypeAlias = Literal["texts", "calls", "results"]
"""The blocks that are read: texts; also calls of tools; also their results."""
BlockKind: TypeAlias = Literal["text", "call", "result"]
_KINDS: Final[Mapping[HistoryDetail, frozenset[BlockKind]]] = {
    "texts": frozenset(("text",)),
    "calls": frozenset(("text", "call")),
    "results": frozenset(("text", "call", "result")),
}


@final
@attrs.frozen
class HistoryBlock:
    """A part of a message."""

    kind: BlockKind
    text: str
    """The text, the result, or the input of a call as JSON."""
    name: str = ""
    """The tool of a call."""
    left_out: int = 0
    """Characters that were left out at its end."""
    about: str = ""
    """The subject of a call, on one line."""

    @property
    def shown(self) -> str:
        """The text, with a line about what was left out."""
        return f"{self.text}… [{self.left_out:,} characters left out]" if self.left_out else self.text


@final
@attrs.frozen(kw_only=True)
class HistoryMessage:
    """A message of a conversation."""

    role: str
    """`user` or `assistant`."""
    blocks: tuple[HistoryBlock, ...] = ()
    at: str = ""
    """When it was said, as the transcript has it."""
    id: str = ""
    """Id of its line in the transcript."""
    origin: Mapping[str, Any] = attrs.field(factory=dict)
    """Who said it, unless it was the user."""
    omitted: str = ""
    """The marker in the place of its blocks, if it is too large."""

    def as_row(self) -> dict[str, Any]:
        """Return it as the session tools show it, with its blocks."""
        row: dict[str, Any] = {"role": self.role}
        if self.omitted:
            return row | {"omitted": self.omitted}
        row["content"] = [_as_content(block) for block in self.blocks]
        return row | ({"timestamp": self.at} if self.at else {})

    def as_texts(self) -> list[dict[str, Any]]:
        """Return it as clients and chats show it: what was said, then its calls or results, each in one text."""
        said = [block for block in self.blocks if block.kind == "text"]
        work = [block for block in self.blocks if block.kind != "text"]
        shown = [self._shown(self.role, said)] if said or self.omitted else []
        return [*shown, self._shown(TOOL_RESULT, work)] if work else shown

    def _shown(self, role: str, blocks: Sequence[HistoryBlock]) -> dict[str, Any]:
        texts = [
            f"[calls {block.name}] {block.about}".rstrip() if block.kind == "call" else block.text for block in blocks
        ]
        shown: dict[str, Any] = {"role": role, "text": self.omitted or "\n".join(texts)}
        if any(block.left_out for block in blocks):
            shown["truncated"] = True
        return shown | {"at": self.at, "id": self.id} | ({"origin": dict(self.origin)} if self.origin else {})


@final
@attrs.frozen(kw_only=True)
class HistoryPage:
    """A part of a conversation, the oldest message first."""

    messages: tuple[HistoryMessage, ...] = ()
    start: int = 0
    """Number of messages before it."""
    total: int = 0
    """Number of messages up to the newest one that was asked about."""

    @property
    def before(self) -> int | None:
        """The value of `before` for older messages; None if there are none."""
        return self.start or None

    @property
    def skip(self) -> int | None:
        """The value of `skip` for older messages; None if there are none."""
        return self.total - self.start if self.start else None


def read_page(
    transcript: Path,
    *,
    limit: int,
    before: int | None = None,
    skip: int = 0,
    detail: HistoryDetail = "texts",
    mask: Mask = lambda text: text,
) -> HistoryPage:
    """Return the newest messages of a transcript, or older ones. It blocks.

    Args:
        transcript: The file; one that is not there has no messages.
        limit: Number of messages, from 1 to 1,000.
        before: Only messages before this number, counted from the oldest one; None for all.
        skip: Number of newest messages that are left out.
        detail: The kinds of blocks that are read; messages without such a block are left out.
        mask: Hides secrets.
    """
    limit, skip = min(max(1, limit), MAX_MESSAGES), max(0, skip)
    kinds = _KINDS[detail]
    window: deque[Mapping[str, Any]] = deque(maxlen=limit + skip)
    total = 0
    for line in islice(_lines(transcript, kinds), None if before is None else max(0, before)):
        window.append(line)
        total += 1
    chosen: list[HistoryMessage] = []
    size = _AROUND_BYTES
    candidates = list(window)[: len(window) - skip] if skip else list(window)
    for line in reversed(candidates):
        message = _bounded(line, kinds, mask)
        size += max(_size(message.as_row()), sum(map(_size, message.as_texts()))) + 2
        if chosen and size > MAX_BYTES:
            break
        chosen.append(message)
    start = max(0, total - skip) - len(chosen)
    return HistoryPage(messages=tuple(reversed(chosen)), start=start, total=total)


def _lines(transcript: Path, kinds: frozenset[BlockKind]) -> Iterator[Mapping[str, Any]]:
    """Yield the lines that are messages with blocks of some kinds."""
    try:
        for line in read_transcript(transcript):
            if line.get("type") not in {"user", "assistant"} or line.get("isMeta") or line.get("isSidechain"):
                continue
            if any(_kind(block) in kinds and _is_said(block) for block in _content(line)):
                yield line
    except UsageError:
        return  # a session that was never opened has no file


def _bounded(line: Mapping[str, Any], kinds: frozenset[BlockKind], mask: Mask) -> HistoryMessage:
    origin = line.get("origin")
    message = HistoryMessage(
        role=str(line["type"]),
        at=str(line.get("timestamp") or ""),
        id=str(line.get("uuid") or ""),
        origin=origin if isinstance(origin, Mapping) else {},
    )
    texts = [(_kind(block), _text(block), block) for block in _content(line)]
    said = [(kind, text, block) for kind, text, block in texts if kind in kinds]
    size = sum(len(text.encode("utf-8", "replace")) for _, text, _ in said)
    if size <= _MAX_SAID_BYTES:
        # Masked before it is cut, or half a secret would be shown.
        blocks = tuple(_shown_block(kind, mask(printable_text(text)), block, mask) for kind, text, block in said)
        whole = attrs.evolve(message, blocks=blocks)
        size = _size(whole.as_row())
        if size <= _MAX_SHOWN_BYTES:
            return whole
    return attrs.evolve(message, omitted=f"[message of {size:,} bytes left out]")


def _shown_block(kind: BlockKind, text: str, block: Mapping[str, Any], mask: Mask) -> HistoryBlock:
    values = block.get("input")
    about = about_call(values, mask) if kind == "call" and isinstance(values, Mapping) else ""
    kept = len(text) if len(text) <= MAX_BLOCK else MAX_BLOCK - 60
    return HistoryBlock(kind, text[:kept], str(block.get("name") or ""), left_out=len(text) - kept, about=about)


def about_call(values: Mapping[str, Any], mask: Mask) -> str:
    """Return what a call is about: the first text of its input, on one line.

    Args:
        values: The input.
        mask: Hides secrets.
    """
    text = next((value for value in values.values() if isinstance(value, str)), "")
    return one_line(mask(text), MAX_ABOUT)  # masked before it is cut, or half a secret would be shown


def _as_content(block: HistoryBlock) -> dict[str, Any]:
    match block.kind:
        case "call":
            return {"type": "toolCall", "name": block.name, "input": block.shown}
        case "result":
            return {"type": "toolResult", "text": block.shown}
    return {"type": "text", "text": block.shown}


def _size(shown: Mapping[str, Any]) -> int:
    return len(json.dumps(shown, ensure_ascii=False).encode("utf-8", "replace"))


def _content(line: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the blocks of a line of a transcript; a text alone is one block."""
    message = line.get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    if isinstance(content, str):
        return ({"type": "text", "text": content},)
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else ()


def _kind(block: Mapping[str, Any]) -> BlockKind | None:
    match block.get("type"):
        case "text":
            return "text"
        case "tool_use":
            return "call"
        case "tool_result":
            return "result"
    return None


def _is_said(block: Mapping[str, Any]) -> bool:
    return _kind(block) != "text" or bool(str(block.get("text") or "").strip())


def _text(block: Mapping[str, Any]) -> str:
    match _kind(block):
        case "text":
            return str(block.get("text") or "")
        case "call":
            return json.dumps(block.get("input"), ensure_ascii=False, default=str)
        case "result":
            content = block.get("content")
            parts = content if isinstance(content, list) else []
            joined = "\n".join(str(part.get("text") or "") for part in parts if isinstance(part, Mapping))
            return content if isinstance(content, str) else joined
    return ""
