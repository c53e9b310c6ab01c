"""Items that waited for the main agent when a run was cut: their words come from the store or the transcript of the run.

It looks at the disk.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from greenroom.branches._consistent_cut import Cut
from greenroom.inbox import (
    EntryKind,
    InboxAccepted,
    InboxExpired,
    InboxTaken,
    InboxWithdrawn,
    Origin,
    OriginKind,
    StoredItem,
)
from greenroom.mailbox import Lane
from greenroom.store import INBOX, read_transcript
from greenroom.trace import Entry

BOX: Final = "main"
_FRAME: Final = re.compile(
    r"<(channel|teammate-message|cross-session-message)\b[^>]*>\n?(?P<text>.*?)\n?</\1>", re.DOTALL
)


def unread_items(source: Path, transcript: str, entries: Iterable[Entry], cut: Cut) -> list[StoredItem]:
    """Return the items that were accepted before a cut and are not read before it, in the order in which they came.

    Args:
        source: The run folder.
        transcript: Name of the main agent's transcript.
        entries: The journal.
        cut: The cut.
    """
    kept = frozenset(cut.kept)
    waiting: dict[str, InboxAccepted] = {}
    for entry in entries:
        event = entry.event
        if entry.seq in kept and isinstance(event, InboxAccepted):
            waiting.setdefault(event.item, event)
        elif entry.seq in kept and isinstance(event, InboxTaken | InboxWithdrawn | InboxExpired):
            waiting.pop(event.item, None)
    if not waiting:
        return []
    texts = dict(_stored(source / INBOX)) | dict(_read(source / "transcripts" / transcript))
    return [_item(event, texts[item]) for item, event in waiting.items() if item in texts]


def _item(event: InboxAccepted, text: str) -> StoredItem:
    return StoredItem(
        id=event.item,
        box=BOX,
        text=text,
        origin=Origin(OriginKind(event.origin), event.sender),
        lane=Lane(event.lane),
        kind=EntryKind(event.entry),
        is_command=text.startswith("/"),
        is_held=event.is_held,
    )


def _stored(path: Path) -> Iterator[tuple[str, str]]:
    if path.is_file():
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as on:
            yield from on.execute("SELECT id, text FROM items")


def _read(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the ids and the words of the items that stand in a transcript."""
    for line in read_transcript(path):
        content = (line.get("message") or {}).get("content")
        if line.get("type") != "user" or not isinstance(content, list):
            continue
        texts = [_plain(str(block.get("text", ""))) for block in content if block.get("type") == "text"]
        items = line.get("items") or [line.get("uuid")]
        if isinstance(line.get("typed"), str):
            texts = [line["typed"]]
        yield from _paired([str(item) for item in items], texts)


def _paired(items: Sequence[str], texts: Sequence[str]) -> Iterable[tuple[str, str]]:
    """Return each item with its text; the texts of a line that do not count are before those of its items."""
    return zip(items, texts[-len(items) :], strict=False)


def _plain(text: str) -> str:
    found = _FRAME.fullmatch(text)
    return text if found is None else found["text"]
