"""A run as one file for a browser, to be sent on: the page, its columns, its events in blocks, its conversations.

Rule 1: it loads nothing, and runs nothing but the page's own script: its policy names them by their hashes. Rule 2: the same run gives the
same bytes. Rule 3: with `none` it holds no field with words and no conversation, with `short` at most 160 characters of each. Rule 4: memory is
bounded by the columns: events and conversations go through in blocks, and what is collected is kept compressed.
"""

from __future__ import annotations

import base64
import hashlib
import html
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, final

from greenroom.core import JournalError
from greenroom.core.texts import as_json
from greenroom.session import FOLDS
from greenroom.trace import TRANSCRIPTS, ColumnedWorld, LockState, RunIndex, TimedLines, read_lock
from greenroom.trace.exports import Content, Redaction, Sink
from greenroom.views import MailboxView
from greenroom.web._bundle import bundled
from greenroom.web._run_facts import RunFacts, RunStanding, epoch_s, parsed_line
from greenroom.web._run_findings import FindProblems, look_for_problems

BLOCK: Final = 5_000
"""Events in one block."""
MAX_LISTED: Final = 50
"""Messages of a lane that are listed."""
MAX_LINES: Final = 200
"""Lines of a conversation that are read at a time."""
_LANES: Final = ("now", "next", "later", "leased", "postponed")
_MARK: Final = b'"items":"patches"'
"""Stands in the head for what is put there when it is written; in a text of the head its quotes would be escaped."""
_CHUNK: Final = 3 << 18
"""Bytes that become Base64 at a time, a multiple of 3."""


def write_run_file(
    journal: Path, index: RunIndex, count: int, *, sink: Sink, redaction: Redaction, find_problems: FindProblems
) -> int:
    """Write the first events of a run as one file, and return their number.

    Args:
        journal: The journal.
        index: Its index.
        count: Number of events.
        sink: Takes the parts of the file.
        redaction: The words that it holds.
        find_problems: What is listed as findings.

    Raises:
        JournalError: The journal cannot be read, or has changed since it was indexed.
    """
    for part in _RunFile(journal, index, count, redaction, find_problems).parts():
        sink(part)
    return count


@final
class _Packed:
    """Content that is kept compressed, until it is written as a part of the page."""

    def __init__(self, level: int = 6) -> None:
        self._compressor = zlib.compressobj(level, zlib.DEFLATED, 31)
        self._pieces: list[bytes] = []
        self.size = 0
        """Bytes that were added."""

    def add(self, content: bytes) -> None:
        """Append some bytes."""
        self.size += len(content)
        self._pieces.append(self._compressor.compress(content))

    def unpacked(self) -> Iterator[bytes]:
        """Yield everything that was added, and nothing can be added any more."""
        unpacker = zlib.decompressobj(31)
        for piece in self._whole():
            yield unpacker.decompress(piece)
        yield unpacker.flush()

    def part(self, name: str) -> Iterator[bytes]:
        """Yield it as a part of the page."""
        shown = html.escape(name).encode(errors="replace")  # the id of an agent is whatever the journal says
        yield b'<script type="text/plain" data-part="' + shown + b'">'
        left = b""
        for piece in self._whole():
            left += piece
            whole = len(left) // _CHUNK * _CHUNK
            yield base64.b64encode(left[:whole])
            left = left[whole:]
        yield base64.b64encode(left) + b"</script>\n"

    def _whole(self) -> Iterator[bytes]:
        self._pieces.append(self._compressor.flush())
        return iter(self._pieces)


@final
class _List:
    """A JSON list, kept compressed."""

    def __init__(self, packed: _Packed) -> None:
        self.packed = packed
        self._has_any = False

    def add(self, value: Any) -> None:
        """Append a value."""
        self.packed.add((b"," if self._has_any else b"[") + as_json(value))
        self._has_any = True

    def end(self) -> None:
        """Close the list."""
        self.packed.add(b"]" if self._has_any else b"[]")


@final
class _RunFile:
    """The file of one run."""

    def __init__(
        self, journal: Path, index: RunIndex, count: int, redaction: Redaction, find_problems: FindProblems
    ) -> None:
        self._journal = journal
        self._index = index
        self._count = count
        self._redaction = redaction
        self._find_problems = find_problems
        self._world = ColumnedWorld(FOLDS, index.classes)
        self._facts = RunFacts()
        self._patches, self._mail = _List(_Packed(1)), _List(_Packed())

    def parts(self) -> Iterator[bytes]:
        """Yield the parts of the file in order."""
        self._fold()
        script, style = (text.encode() for text in bundled("run"))
        policy = (
            f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; base-uri 'none'; "
            "form-action 'none'; require-trusted-types-for 'script'"
        )
        yield (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n<title>greenroom run</title>\n<style>'
        ).encode()
        yield (
            style
            + b"</style>\n</head>\n<body>\n"
            + b'<div id="app"><p class="loading" role="status">Reading the run...</p></div>\n'
        )
        yield b"<noscript>This page needs JavaScript.</noscript>\n"
        yield from _part("columns", self._columns())
        for begin in range(0, self._count, BLOCK):
            yield from _part(f"events-{begin // BLOCK}", _listed(self._events(begin)))
        yield from self._mail.packed.part("mail")
        yield from _part("findings", [as_json(self._problems())])
        if self._redaction.content is not Content.NONE:
            for actor, name in self._facts.transcripts.items():
                if name:
                    yield from _part(f"talk-{self._redaction.labels(actor)}", self._talk(name))
        yield b"<script>" + script + b"</script>\n</body>\n</html>\n"

    def _fold(self) -> None:
        """Fold the events, and set aside what is not a table."""
        columns = self._world.columns
        assert columns is not None
        for begin in range(0, self._count, BLOCK):
            end = min(begin + BLOCK, self._count)
            entries = self._index.entries(begin, end)
            if len(entries) != end - begin:
                raise JournalError(str(self._journal), "the journal was changed while it was read")
            for position, entry in enumerate(entries, start=begin):
                self._facts.note(entry)
                for subject in self._world.apply_noting(entry):
                    if isinstance(subject.after, MailboxView):
                        self._mail.add(_mailbox(position, columns.number_of(subject.subject), subject.after))
            for position, (section, subject_key, fields) in columns.patches:
                self._patches.add((position, (section, subject_key, self._redaction.fields(fields))))
            columns.patches.clear()
        self._mail.end()
        self._patches.end()

    def _columns(self) -> Iterator[bytes]:
        """Yield the length of the head, the head, and the tables."""
        assert self._world.columns is not None
        head, tables = self._world.columns.pack_parts({})
        cards = head["lists"]["cards"]
        cards["items"] = [(number, self._redaction.fields(card)) for number, card in cards["items"]]
        for names in ("actors", "labels", "kinds"):
            head["lists"][names]["items"] = self._redaction.labels(head["lists"][names]["items"])
        head["lists"]["patches"] = {"from": 0, "items": "patches"}
        before, _, after = as_json({**head, "run": self._about()}).partition(_MARK)
        before += b'"items":'
        size = len(before) + self._patches.packed.size + len(after)
        padding = -(size + 4) % 8
        yield (size + padding).to_bytes(4, "little") + before
        yield from self._patches.packed.unpacked()
        yield after + b" " * padding
        yield from tables

    def _events(self, begin: int) -> Iterator[Any]:
        for raw in self._index.raw_events(begin, min(begin + BLOCK, self._count)):
            yield self._redaction.event(raw)

    def _about(self) -> dict[str, Any]:
        """Return what there is to say of the whole run."""
        facts = self._facts.shown(self._index, self._standing(), self._world.world, self._journal)
        facts |= {"events": self._count, "content": self._redaction.content, "block": BLOCK}
        words = {name: facts.get(name) or "" for name in ("title", "cwd", "damage")}
        if self._redaction.content is Content.NONE:
            return facts | dict.fromkeys(words, "")
        return facts | (self._redaction.fields(words) or {})

    def _standing(self) -> RunStanding:
        if self._facts.has_ended:
            return RunStanding.ENDED
        is_cut = self._count < len(self._index)
        is_free = read_lock(self._journal.parent)[0] is LockState.FREE
        return RunStanding.BROKEN_OFF if is_free and not is_cut else RunStanding.RUNNING

    def _problems(self) -> Mapping[str, Any]:
        found = look_for_problems(self._index, self._count, self._journal, self._find_problems)
        texts = [
            self._redaction.fields({"text": problem["text"]}) or {"text": "(its text is left out)"}
            for problem in found["problems"]
        ]
        return {
            **found,
            "problems": [{**problem, **text} for problem, text in zip(found["problems"], texts, strict=True)],
        }

    def _talk(self, name: str) -> Iterator[bytes]:
        """Yield the conversation of an agent up to the last event."""
        try:
            lines = TimedLines(self._journal.parent / TRANSCRIPTS, name)
        except JournalError as error:
            yield as_json({"lines": [], "why": f"the transcript cannot be read: {error.why}"})
            return
        try:
            lines.read_on()
            count = len(lines)
            if 0 < self._count < len(self._index):
                assert self._index.header is not None
                at_s = epoch_s(self._index.header, self._index.time_s(self._count - 1))
                count = lines.count_at(at_s + 0.001)  # transcripts round down to milliseconds
            yield b'{"why":"","lines":'
            yield from _listed(
                self._said(parsed_line(line))
                for begin in range(0, count, MAX_LINES)
                for line in lines.lines(begin, min(begin + MAX_LINES, count))
            )
            yield b"}"
        finally:
            lines.close()

    def _said(self, line: Mapping[str, Any]) -> dict[str, Any]:
        kept = ("timestamp", "origin", "notices", "isCompactSummary", "damaged")
        message = line.get("message")
        said: dict[str, Any] = {name: line[name] for name in kept if name in line}
        if isinstance(message, Mapping):
            said["message"] = {"role": message.get("role"), "content": self._redaction.value(message.get("content"))}
        return said


def _mailbox(position: int, actor: int, box: MailboxView) -> Sequence[Any]:
    """Return what a mailbox holds from an event on: position, number of the actor, message numbers by lane, accepted, died."""
    lanes = {lane: list(getattr(box, lane))[:MAX_LISTED] for lane in _LANES if getattr(box, lane)}
    return position, actor, lanes, box.accepted, box.died


def _listed(values: Iterable[Any]) -> Iterator[bytes]:
    """Yield a JSON list."""
    has_any = False
    for value in values:
        yield (b"," if has_any else b"[") + as_json(value)
        has_any = True
    yield b"]" if has_any else b"[]"


def _part(name: str, chunks: Iterable[bytes]) -> Iterator[bytes]:
    packed = _Packed()
    for chunk in chunks:
        packed.add(chunk)
    return packed.part(name)


def _hash(content: bytes) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content).digest()).decode()
