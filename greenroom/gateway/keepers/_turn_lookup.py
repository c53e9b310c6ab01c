"""What the files of a session tell of the turn that took up an item: an earlier process may have ended before it reported that.

Rule 1: the files are read, and the session is not opened. Rule 2: a turn that its process cut has not ended; the next turn that read the
conversation ended it too, for that had all of it before the model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias, final

import attrs

from greenroom.actors import State
from greenroom.agents import load_conversation
from greenroom.agents.events import AgentDefined, ModelEnded
from greenroom.core import JournalError, UsageError
from greenroom.gateway.announce._announcement import SpentRequest
from greenroom.gateway.keepers._turn_fold import ItemGone, ItemsTaken, TurnFold, TurnOutcome, spent_request
from greenroom.session import EVENTS, SessionBegan
from greenroom.session.record._resume import conversation_file
from greenroom.trace import JOURNAL, read_journal

TRANSCRIPT: Final = "main.jsonl"


@final
@attrs.frozen
class ItemFate:
    """What became of an item."""

    is_read: bool = False
    """True if a turn has taken it up."""
    over: TurnOutcome | None = None
    """The end of that turn; None if there was none, or it was cut."""
    gone: str = ""
    """Why it was read by no turn; empty if it was, or waits."""


def look_up(run_folder: Path, item: str) -> ItemFate:
    """Return what became of an item of a session. It blocks."""
    path = conversation_file(run_folder)
    line, said, is_read = _final_message(path, item)
    over, is_last, gone = _end_in_journal(run_folder / JOURNAL, item)
    if not is_read and over is None:
        return ItemFate(gone=gone)
    is_whole = over is not None and (over.state is State.COMPLETED or not is_last)
    if not is_whole and _was_lost(path):
        return ItemFate(is_read=True)
    if over is None:
        over = TurnOutcome(state=State.COMPLETED, taken=(item,))
    return ItemFate(is_read=True, over=attrs.evolve(over, line=line, said=said))


def find_answer(run_folder: Path, text: str) -> str:
    """Return the final message of the last turn that a text began; empty if there is none. It blocks."""
    said, is_asked = "", False
    for values in _lines(conversation_file(run_folder)):
        content = (values.get("message") or {}).get("content")
        blocks = content if isinstance(content, list) else []
        words = "\n".join(block.get("text", "") for block in blocks if block.get("type") == "text")
        if values.get("type") == "user" and words == text:
            said, is_asked = "", True
        elif values.get("type") == "assistant" and is_asked:
            said = "" if any(block.get("type") == "tool_use" for block in blocks) else words
    return said


def spent_requests(run_folder: Path) -> tuple[SpentRequest, ...]:
    """Return all requests that the journal of a session holds. It blocks."""
    try:
        entries = read_journal(run_folder / JOURNAL, EVENTS).entries
    except JournalError:
        return ()
    models: dict[str, str] = {}
    found = []
    for entry in entries:
        match entry.event:
            case AgentDefined(actor=actor, model=model):
                models[actor] = model
            case ModelEnded() as ended:
                found.append(spent_request(ended, models.get(ended.actor, "")))
    return tuple(found)


LookUp: TypeAlias = Callable[[Path, str], ItemFate]
"""Returns what became of an item, given the run folder of its session and its id; it blocks."""


def _was_lost(path: Path) -> bool:
    try:
        return load_conversation(path).was_lost
    except UsageError:
        return False


def _end_in_journal(path: Path, item: str) -> tuple[TurnOutcome | None, bool, str]:
    """Return the end of the last turn that took up an item, whether no other turn followed, and why the item is gone.

    None for one that was cut, if no other turn has read the conversation behind it. One that the journal lacks is the last one: a transcript
    is written before the events that point into it.
    """
    try:
        entries = read_journal(path, EVENTS).entries
    except JournalError:
        return None, True, ""
    fold, over, is_last, is_taken, gone = TurnFold(""), None, True, False, ""
    for entry in entries:
        event = entry.event
        match event:
            case AgentDefined(transcript="main.jsonl"):
                fold.main = event.actor
            case SessionBegan():
                fold.is_open = False
        match fold.take(event):
            case ItemsTaken(taken) if taken == item:
                over, is_last, is_taken = None, True, True
            case ItemGone(left, why) if left == item:
                gone = why
            case TurnOutcome() as ended if item in ended.taken or item in ended.dropped:
                over, is_last, is_taken = None if ended.is_cut else ended, True, True
            case TurnOutcome(has_read=True, is_cut=False) as ended:
                is_last = False
                if is_taken and over is None:
                    over = attrs.evolve(ended, requests=())
    return over, is_last, gone


def _final_message(path: Path, item: str) -> tuple[str, str, bool]:
    """Return the id and text of the final message of the turn that took up an item, and whether the item is in the transcript."""
    line, said, is_read, is_final = "", "", False, False
    for values in _lines(path):
        if not is_read:
            is_read = values.get("uuid") == item or item in (values.get("items") or ())
            continue
        content = (values.get("message") or {}).get("content")
        blocks = content if isinstance(content, list) else []
        if values.get("type") == "user" and is_final and (values.get("origin") or not values.get("isMeta")):
            break  # another turn: only the note that resumes one has no sender
        if values.get("type") == "assistant":
            text = "\n".join(block.get("text", "") for block in blocks if block.get("type") == "text")
            line, said = str(values.get("uuid", "")), text or said
            is_final = not any(block.get("type") == "tool_use" for block in blocks)
    return line, said, is_read


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with path.open("rb") as lines:
            for text in lines:
                try:
                    values = json.loads(text)
                except ValueError:  # torn
                    continue
                if isinstance(values, dict):
                    yield values
    except OSError:
        return
