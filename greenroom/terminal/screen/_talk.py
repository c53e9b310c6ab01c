"""Texts of agents for people: lines of transcripts as parts of a conversation, findings of an item as lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from greenroom.terminal.screen._picture import TalkKind, TalkPart

MAX_PART_CHARS: Final = 20_000
"""Characters of a part; more is not shown."""
_SUBJECTS: Final = ("command", "file_path", "path", "pattern", "subject", "to", "url", "query", "prompt", "taskId")
"""Inputs of calls that say best what a call is about, in this order."""

_MAIL: Final = re.compile(
    r'\s*<(?P<tag>teammate-message|cross-session-message|channel) [a-z_]+="(?P<who>[^"]*)"[^>]*>(?P<text>.*?)</(?P=tag)>\s*',
    re.DOTALL,
)
"""A message in a prompt, between two tags of the runtime; the first attribute says who wrote it."""

_PLACED: Final = re.compile(r"[\w./-]+\.\w+:\d+")
_LISTS: Final = ("spotted", "hits", "markers")
"""Lists of places in the facts of a file or a search, those that matter most first."""


def talk_parts(line: Mapping[str, Any]) -> Iterator[TalkPart]:
    """Yield the parts of a line of a transcript; none for lines that people are not shown.

    Args:
        line: A JSON object, of any origin: what does not look like a message yields nothing.
    """
    message = line.get("message")
    if line.get("type") not in {"user", "assistant"} or not isinstance(message, dict) or line.get("isMeta"):
        return
    kind = TalkKind.ANSWER if message.get("role") == "assistant" else TalkKind.PROMPT
    content = message.get("content")
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content or ():
        if isinstance(block, dict):
            yield from _parts(block, kind)


def _parts(block: Mapping[str, Any], kind: TalkKind) -> Iterator[TalkPart]:
    match block.get("type"):
        case "text":
            text = _text(block.get("text"))
            mail = _mail(text) if kind is TalkKind.PROMPT else []
            if mail:
                yield from mail
            elif text.strip():
                yield TalkPart(kind=kind, text=text.strip("\n"))
        case "tool_use":
            yield TalkPart(kind=TalkKind.CALL, title=str(block.get("name", "")), text=_subject(block.get("input")))
        case "tool_result":
            result = TalkKind.ERROR if block.get("is_error") else TalkKind.RESULT
            yield TalkPart(kind=result, text=_text(block.get("content")).strip("\n") or "(no output)")


def _mail(text: str) -> list[TalkPart]:
    """Return the messages that a prompt consists of, each with its sender; none if it holds anything else."""
    parts, at = [], 0
    while (found := _MAIL.match(text, at)) is not None:
        parts.append(TalkPart(kind=TalkKind.PROMPT, text=found["text"].strip("\n"), title=found["who"]))
        at = found.end()
    return parts if at == len(text) else []


def _text(content: object) -> str:
    """Return the text of a block, or of the blocks within it."""
    if isinstance(content, str):
        return content[:MAX_PART_CHARS]
    if isinstance(content, list):
        texts = [str(each.get("text", f"[{each.get('type', '?')}]")) for each in content if isinstance(each, dict)]
        return "\n".join(texts)[:MAX_PART_CHARS]
    return ""


def _subject(given: object) -> str:
    if not isinstance(given, dict):
        return ""
    found = next((given[name] for name in _SUBJECTS if isinstance(given.get(name), str)), None)
    return found[:MAX_PART_CHARS] if found is not None else json.dumps(given, ensure_ascii=False)[:MAX_PART_CHARS]


def finding_lines(text: str) -> list[str]:
    """Return the findings of a text: its lines that name a path and a line, and the places of JSON objects in it."""
    return [finding for line in text.splitlines() for finding in _of_line(line)]


def _of_line(line: str) -> Iterator[str]:
    if line.startswith("{"):
        try:
            facts = json.loads(line)
        except ValueError:
            return
        if isinstance(facts, dict):
            yield from _of_facts(facts)
    elif _PLACED.search(line):
        yield re.sub(r"[`*]", "", line).strip("- \t")


def _of_facts(facts: Mapping[str, Any]) -> Iterator[str]:
    path = facts.get("path", "")
    if facts.get("problem"):
        yield f"{path}: {facts['problem']}"
    for name in _LISTS:
        entries = facts.get(name)
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict) and "line" in entry:
                kind = entry.get("kind") or entry.get("word") or ""
                words = ": ".join(str(part) for part in (kind, entry.get("text", "")) if part)
                yield f"{entry.get('path', path)}:{entry['line']} {words}"
