"""The story of one agent: its prompts, answers, calls and mail, from its transcript and the journal, in order of time."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, final

import attrs

from greenroom.core import UsageError
from greenroom.replay._actor_names import ActorNames
from greenroom.replay._entry_words import paths_of
from greenroom.store import read_transcript
from greenroom.terminal import Page, is_terminal, printable
from greenroom.trace import Entry, JournalText

MAX_TEXT: Final = 1_200
"""Characters of a text that are shown; `--all` shows all of it."""
_TRANSCRIPTS: Final = "transcripts"
_INDENT: Final = " " * 22


@final
@attrs.frozen
class StoryLine:
    """Something that was said or done."""

    t: float
    """Seconds since the run began; those of a transcript are a few milliseconds off."""
    what: str
    text: str


def agent_story(journal: JournalText, agent: str, *, folder: Path, is_all: bool) -> Page:
    """Return the story of an agent.

    Args:
        journal: The journal of its run.
        agent: Its name, path, id, or a pattern that fits one agent; `lead` is the main agent.
        folder: The run folder.
        is_all: True to show long texts in full.

    Raises:
        UsageError: The run has no such agent, or its transcript cannot be read.
    """
    names = ActorNames(paths_of(journal.entries))
    actor, defined = _find(journal.entries, agent, names)
    story = sorted(
        [
            *_from_transcript(folder / _TRANSCRIPTS / defined["transcript"], _first_turn_t(journal.entries, actor)),
            *_from_journal(journal.entries, actor, names),
        ],
        key=lambda line: line.t,
    )
    facts = {
        "agent": names[actor],
        "id": actor,
        "definition": defined["definition"],
        "model": defined["model"],
        "story": [attrs.asdict(line) for line in story],
    }
    head = f"{names[actor]}, definition {defined['definition']}, model {defined['model']}, {defined['transcript']}"
    width = shutil.get_terminal_size().columns if is_terminal() else None
    return Page(facts=facts, lines=[head, "", *_lines(story, None if is_all else MAX_TEXT, width)])


def _find(entries: Sequence[Entry], agent: str, names: ActorNames) -> tuple[str, Entry]:
    agents = {entry.event.actor: entry for entry in entries if entry.kind == "agent.defined"}
    known = ", ".join(names[actor] for actor in agents) or "none: this run has no agents"
    pattern = "main" if agent == "lead" and not any(names[actor] == "lead" for actor in agents) else agent
    try:
        found = names.matching(pattern) & agents.keys()
    except UsageError:
        found = set()
    if not found:
        raise UsageError(f"--transcript must name an agent of this run, got {agent!r}; expected one of: {known}")
    if len(found) > 1:
        many = ", ".join(sorted(names[actor] for actor in found))
        raise UsageError(f"--transcript {agent!r} fits several agents ({many}); give the name of one")
    actor = found.pop()
    if not agents[actor]["transcript"]:
        raise UsageError(f"--transcript {agent}: no transcript is kept of {names[actor]}")
    return actor, agents[actor]


# --- from the transcript ----------------------------------------------------------------------------------------------


def _first_turn_t(entries: Sequence[Entry], actor: str) -> float:
    return next((entry.t for entry in entries if entry.kind == "turn.begin" and entry.event.actor == actor), 0.0)


def _from_transcript(path: Path, first_t: float) -> Iterator[StoryLine]:
    """Yield what was said; the first line, which a turn begins with, ties its clock to that of the journal."""
    first_s: float | None = None
    t = first_t
    for line in read_transcript(path):
        said_s = _wall_s(line.get("timestamp"))
        first_s = said_s if first_s is None else first_s
        if first_s is not None and said_s is not None:
            t = max(t, first_t + said_s - first_s)  # a clock that was set back does not reorder what was said
        message = line.get("message")
        if isinstance(message, Mapping):
            yield from (StoryLine(t, what, text) for what, text in _said(message))


def _wall_s(text: Any) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp() if isinstance(text, str) else None
    except ValueError:
        return None


def _said(message: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    is_model = message.get("role") == "assistant"
    content = message.get("content")
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content or ():
        if not isinstance(block, Mapping):
            continue
        match block.get("type"):
            case "text":
                yield "answer" if is_model else "prompt", str(block.get("text", ""))
            case "thinking":
                yield "thought", str(block.get("thinking", ""))
            case "tool_use":
                yield "call", f"{block.get('name')} {json.dumps(block.get('input'), ensure_ascii=False)}"
            case "tool_result":
                result = "".join(text for _, text in _said({"content": block.get("content")}))
                yield "failed" if block.get("is_error") else "result", result
            case other:
                yield str(other), ""


# --- from the journal -------------------------------------------------------------------------------------------------

_TOLD: Final[Mapping[str, Callable[[Entry], str]]] = {
    "turn.begin": lambda entry: f"turn {entry['turn']} began",
    "turn.end": lambda entry: f"turn {entry['turn']} {entry['state']} {entry['error']}".strip(),
    "turn.abort_requested": lambda entry: f"abort requested by {entry['cause'].who}: {entry['cause'].why}",
    "actor.kill_requested": lambda entry: f"kill requested by {entry['cause'].who}: {entry['cause'].why}",
    "actor.end": lambda entry: f"incarnation {entry.event.inc} {entry['state']} {entry['error']}".strip(),
    "model.retried": lambda entry: f"request failed ({entry['error']}), again in {entry['delay_s']:.1f} s",
    "permission.asked": lambda entry: f"{entry['tool']} waits for an answer: {entry['reason']}",
    "permission.denied": lambda entry: f"{entry['tool']} was denied: {entry['reason']}",
}


def _from_journal(entries: Sequence[Entry], actor: str, names: ActorNames) -> Iterator[StoryLine]:
    """Yield turns, ends, and mail to and from the agent; the texts of mail that it read are in its prompts as well."""
    members = {entry["name"] for entry in entries if entry.kind == "mate.joined" and entry.event.actor == actor}
    members |= {"team-lead", "main", "lead"} if names[actor] == "main" else set()
    texts = {entry["mail"]: entry["text"] for entry in entries if entry.kind == "mail.sent" and entry["text"]}
    for entry in entries:
        if entry.event.actor == actor and entry.kind in _TOLD:
            yield StoryLine(entry.t, "-", names.in_text(_TOLD[entry.kind](entry)))
        elif entry.kind == "mail.sent" and {entry["sender"], entry["to"]} & members:
            text = entry["text"] or texts.get(entry["text_of"], "") or entry["summary"]
            yield StoryLine(entry.t, "mail", f"{entry['sender']} to {entry['to']}: {text}")
        elif entry.kind.startswith("item.") and entry.get("owner") in members:
            what = entry.kind.partition(".")[2]
            yield StoryLine(entry.t, "-", f"item {entry['item']} {what} {entry.get('why', '')}".strip())


def _lines(story: Sequence[StoryLine], most: int | None, width: int | None) -> Iterator[str]:
    """Yield the story as lines, wrapped at the width of a terminal if there is one."""
    for line in story:
        if line.what == "-":
            yield f"{line.t:>10.3f}  {printable(line.text)}"
            continue
        text = line.text if most is None or len(line.text) <= most else line.text[:most]
        first, *rest = [part for each in text.strip("\n").split("\n") for part in _wrapped(each, width)]
        yield f"{line.t:>10.3f}  {line.what:<8}  {first}"
        yield from (f"{_INDENT}{each}" for each in rest)
        if len(text) < len(line.text):
            yield f"{_INDENT}... {len(line.text) - len(text):,} more characters; --all has them"


def _wrapped(text: str, width: int | None) -> Sequence[str]:
    room = None if width is None else max(width - len(_INDENT), 20)
    return [text] if room is None or len(text) <= room else textwrap.wrap(text, room, replace_whitespace=False)
