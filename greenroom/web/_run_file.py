"""A run as one file for a browser, to be sent on: the page, its columns, its events in blocks, its conversations.

Rule 1: it loads nothing, and runs nothing but the page's own script: its policy names them by their hashes. Rule 2: the same run gives the
same bytes. Rule 3: with `none` it holds no field with words and no conversation, with `short` at most 160 characters of each. Secrets of
known forms, and the values of variables that hold some, are masked and counted.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, final

from greenroom.containment import Secrets
from greenroom.core import JournalError, UsageError, open_private
from greenroom.core.texts import as_json
from greenroom.gateway.record import content_fields, events_of, find_journal, is_label
from greenroom.trace import read_journal, runs_folder
from greenroom.web._bundle import bundled
from greenroom.web._run_findings import FindProblems, problems_in
from greenroom.web._shown_run import MAX_LINES, ShownRun

BLOCK: Final = 5_000
"""Events in one block."""
SHORT_CHARS: Final = 160
MAX_LISTED: Final = 50
"""Messages of a lane that are listed."""
_FORMS: Final = re.compile(
    r"sk-(?:ant-)?[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{30,}|\bAKIA[0-9A-Z]{16}\b|xox[abprs]-[A-Za-z0-9-]{20,}"
    r"|\bBearer [A-Za-z0-9._~+/-]{20,}=*|-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----[\s\S]*?-----END (?:[A-Z]+ )?PRIVATE KEY-----"
)
_NAMES: Final = frozenset({"id", "blocked_by", "returned_by"})
"""Fields of a folded state that hold ids."""
_LANES: Final = ("now", "next", "later", "leased", "postponed")


class Content(StrEnum):
    """The share of the words of people, models and tools that an export holds."""

    NONE = "none"
    SHORT = "short"
    ALL = "all"


@final
class Redaction:
    """The rules of what a file holds: secrets are masked with stars, and texts are cut or left out.

    Attributes:
        count: Number of secrets that were masked.
    """

    def __init__(self, content: Content, environ: Mapping[str, str]) -> None:
        self._content = content
        self._secrets = Secrets(environ, has_forms=True)
        self.count = 0

    def event(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Return an event's line."""
        words = content_fields(str(raw.get("ev", "")))
        return {
            name: self._field(value, is_words=name in words) for name, value in raw.items() if self._keeps(name, words)
        }

    def fields(self, values: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """Return the fields of a patch or a card; without content, a text is kept only if its name says that it holds no words."""
        if values is None:
            return None
        is_none = self._content is Content.NONE
        return {
            name: self._field(value, is_words=True)
            for name, value in values.items()
            if not is_none or name in _NAMES or is_label(name) or not _holds_text(value)
        }

    def value(self, value: Any) -> Any:
        """Return a JSON value of a conversation."""
        return self._field(value, is_words=True)

    def _keeps(self, name: str, words: frozenset[str]) -> bool:
        return self._content is not Content.NONE or name not in words

    def _field(self, value: Any, *, is_words: bool) -> Any:
        if isinstance(value, str):
            text = self._masked(value)
            is_long = is_words and self._content is Content.SHORT and len(text) > SHORT_CHARS
            return f"{text[: SHORT_CHARS - 1]}…" if is_long else text
        if isinstance(value, Mapping):
            return {self._masked(str(name)): self._field(each, is_words=is_words) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [self._field(each, is_words=is_words) for each in value]
        return value

    def _masked(self, text: str) -> str:
        masked, count = _FORMS.subn(lambda found: "*" * len(found[0]), text)
        known = self._secrets.mask(masked)
        self.count += count + (known != masked)
        return known


def export_html(run: str, *, runs: Path | None, output: Path, content: str, find_problems: FindProblems) -> str:
    """Write a run as one file, and return what is in it, in words.

    Args:
        run: As for `greenroom replay`.
        runs: The folder of the runs; None for the project's.
        output: The file; it is written beside and then renamed.
        content: The words that it holds: `none`, `short` or `all`.
        find_problems: What is listed as findings.

    Raises:
        UsageError: The run does not exist, or the folder of the file does not.
        JournalError: The journal cannot be read.
        OSError: The file cannot be written.
    """
    journal = find_journal(run, runs_folder(runs))
    if not output.parent.is_dir():
        raise UsageError(f"cannot write --output {output}: the folder {output.parent} does not exist")
    if output.exists() and output.samefile(journal):
        raise UsageError(f"--output {output}: that is the journal itself")
    wanted = Content(content)
    redaction = Redaction(wanted, os.environ)
    shown = ShownRun(journal)
    try:
        shown.read_all()
        parts = b"".join(_file(shown, journal, redaction, wanted, find_problems))
    finally:
        shown.close()
    beside = output.with_name(f".{output.name}.{os.getpid()}.part")
    try:
        with os.fdopen(open_private(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            file.write(parts)
        beside.replace(output)
    finally:
        beside.unlink(missing_ok=True)
    held = {
        Content.NONE: "no texts and no conversations",
        Content.SHORT: f"texts of at most {SHORT_CHARS} characters",
        Content.ALL: "all texts and conversations",
    }[wanted]
    masked = f"; {redaction.count} secrets masked" if redaction.count else ""
    return f"{output}: {len(shown.index):,} events, {held}{masked}; open it in a browser"


def _file(
    shown: ShownRun, journal: Path, redaction: Redaction, content: Content, find_problems: FindProblems
) -> Iterator[bytes]:
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
    yield _part("columns", _columns(shown, redaction, content))
    for begin in range(0, len(shown.index), BLOCK):
        lines = [redaction.event(raw) for raw in shown.index.raw_events(begin, begin + BLOCK)]
        yield _part(f"events-{begin // BLOCK}", as_json(lines))
    yield _part("mail", as_json(_mail(shown)))
    yield _part("findings", as_json({"problems": _problems(journal, redaction, find_problems), "why": ""}))
    if content is not Content.NONE:
        for actor in shown.agents():
            yield _part(f"talk-{actor}", as_json(_talk(shown, actor, redaction)))
    yield b"<script>" + script + b"</script>\n</body>\n</html>\n"


def _columns(shown: ShownRun, redaction: Redaction, content: Content) -> bytes:
    head, body = shown.pack({}, max_rows=sys.maxsize)
    lists = head["lists"]
    lists["cards"]["items"] = [(number, redaction.fields(card)) for number, card in lists["cards"]["items"]]
    lists["patches"]["items"] = [
        (position, (section, subject, redaction.fields(fields)))
        for position, (section, subject, fields) in lists["patches"]["items"]
    ]
    facts = {**shown.facts(), "content": content, "block": BLOCK}
    words = {name: facts.get(name) or "" for name in ("title", "cwd", "damage")}
    facts |= dict.fromkeys(words, "") if content is Content.NONE else redaction.fields(words) or {}
    text = as_json({**head, "run": facts})
    text += b" " * (-(len(text) + 4) % 8)
    return len(text).to_bytes(4, "little") + text + body


def _mail(shown: ShownRun) -> list[Any]:
    """Return what each mailbox holds from an event on: position, number of the actor, message numbers by lane, accepted, died."""
    return [
        (
            position,
            actor,
            {lane: list(getattr(box, lane))[:MAX_LISTED] for lane in _LANES if getattr(box, lane)},
            box.accepted,
            box.died,
        )
        for position, actor, box in shown.mailboxes()
    ]


def _problems(journal: Path, redaction: Redaction, find_problems: FindProblems) -> Sequence[Mapping[str, Any]]:
    try:
        found = problems_in(read_journal(journal, events_of(journal)), journal.parent, find_problems)
    except JournalError:  # damaged: what is whole was read, and the damage is told
        return []
    texts = [redaction.fields({"text": problem["text"]}) or {"text": "(its text is left out)"} for problem in found]
    return [{**problem, **text} for problem, text in zip(found, texts, strict=True)]


def _talk(shown: ShownRun, actor: str, redaction: Redaction) -> dict[str, Any]:
    lines: list[Any] = []
    while True:
        answer = shown.talk(actor, len(lines), 0.0)
        lines += answer["lines"]
        if len(answer["lines"]) < MAX_LINES:
            return {"lines": [_said(line, redaction) for line in lines], "why": answer.get("why", "")}


def _said(line: Mapping[str, Any], redaction: Redaction) -> dict[str, Any]:
    kept = ("timestamp", "origin", "notices", "isCompactSummary", "damaged")
    message = line.get("message")
    said: dict[str, Any] = {name: line[name] for name in kept if name in line}
    if isinstance(message, Mapping):
        said["message"] = {"role": message.get("role"), "content": redaction.value(message.get("content"))}
    return said


def _holds_text(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_holds_text, value.values()))
    return any(map(_holds_text, value)) if isinstance(value, list | tuple) else isinstance(value, str) and value != ""


def _part(name: str, content: bytes) -> bytes:
    packed = base64.b64encode(gzip.compress(content, 6, mtime=0))
    shown = html.escape(name).encode(errors="replace")  # the id of an agent is whatever the journal says
    return b'<script type="text/plain" data-part="' + shown + b'">' + packed + b"</script>\n"


def _hash(content: bytes) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content).digest()).decode()
