"""Keeping an agent's notes: what was learned goes into them, and on demand they are merged and pruned.

A run over the notes can write inside their folder and do nothing else. One at a time, in this process and in
others. It begins like the agent's own requests and leaves the conversation alone; the agent starts with what was noted
the next time, not now.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Final, final

import attrs
import trio

from greenroom.agents._forked import ForkFailed, run_forked
from greenroom.agents._side_run import Emit, SideRun, open_side_run
from greenroom.agents._state import AgentState
from greenroom.agents.memory import MEMORY_FILE, NOTES_LINES, MemoryFolder, hold_notes
from greenroom.agents.side._confined import Confined, can_write
from greenroom.core import UsageError
from greenroom.core.texts import reminder
from greenroom.models import Message

EXTRACTION: Final = "memory extraction"
CONSOLIDATION: Final = "memory consolidation"
EXTRACTION_ROUNDS: Final = 6
CONSOLIDATION_ROUNDS: Final = 20
MAX_LISTED: Final = 200
"""Files of the notes that the model is told of."""
_WRITERS: Final = frozenset({"Write", "Edit"})

_TOOLS: Final = (
    "For this you have Read, Write and Edit inside {folder}, and nothing else: every other call is refused. A file that exists "
    "has to be read before it is changed. Keep MEMORY.md an index of short lines, below {lines} lines, with details in files of "
    "their own beside it."
)
_EXTRACT: Final = (
    "Step aside from the work and keep your notes: look at what was said since you last did{since}, and note what will help in "
    "later conversations: what the user wants done in which way, decisions and their reasons, what went wrong and why. Correct "
    "notes that turned out wrong. Nothing that the project's files say already, nothing that holds for this conversation only, "
    "no secrets. Take it from the conversation; do not look into the project. Where nothing is worth a note, write nothing and "
    "answer NOTHING. When done, say in one line what you noted."
)
_CONSOLIDATE: Final = (
    "Step aside from the work and put your notes in order: read them, merge what says the same, correct what turned out wrong, "
    "make dates absolute, and drop what no longer holds or helps. To drop a file, write nothing into it: empty files are removed "
    "afterwards. When done, say in one line what you changed."
)


@final
@attrs.frozen(kw_only=True)
class MemoryChanges:
    """The result of a run over the notes of an agent."""

    written: tuple[Path, ...]
    """Files that were made or changed, in order."""
    removed: tuple[Path, ...]
    """Files that were left empty, and are gone."""
    text: str
    """The model's account of it; empty where it did not complete."""


def extraction_directive(folder: Path, files: Sequence[str], new: int) -> str:
    """Return what the model is told to note what is worth it.

    Args:
        folder: Of the notes.
        files: What lies there.
        new: Messages since the last time.
    """
    since = f", the last {new} messages" if new else ""
    return _directive(_EXTRACT.format(since=since), folder, files)


def consolidation_directive(folder: Path, files: Sequence[str]) -> str:
    """Return what the model is told to put its notes in order."""
    return _directive(_CONSOLIDATE, folder, files)


def _directive(about: str, folder: Path, files: Sequence[str]) -> str:
    listed = "\n".join(f"- {name if name.isprintable() else repr(name)}" for name in files) or "(none yet)"
    tools = _TOOLS.format(folder=folder, lines=NOTES_LINES)
    return reminder(f"{about}\n\n{tools}\n\nFiles there:\n{listed}")


def since(messages: Sequence[Message], last: Message | None) -> Sequence[Message]:
    """Return what follows a message; everything where it is not there any more."""
    place = next((number for number, one in enumerate(messages) if one is last), -1)
    return messages[place + 1 :]


def has_written(messages: Sequence[Message], folder: Path) -> bool:
    """Return whether an agent asked for notes to be written itself."""
    paths = [call.input.get("file_path") for message in messages for call in message.tool_uses if call.name in _WRITERS]
    return any(isinstance(path, str) and Path(path).is_relative_to(folder) for path in paths)


@final
class NoteKeeper:
    """Keeps the notes of one agent.

    Args:
        home: The agent's.
        agent: The agent's id.
        emit: Records an event.
    """

    def __init__(self, home: AgentState, agent: str, emit: Emit) -> None:
        self._home = home
        self._agent = agent
        self._emit = emit
        self._lock = trio.Lock()
        self._seen: Message | None = None

    async def extract(self) -> MemoryChanges | None:
        """Note what was said since the last time and is worth it; None where there is nothing to look at.

        Where an agent has written notes by itself since then, nothing is added. Cancelled or failed, what was written stays, and
        the next time begins where this one did.

        Raises:
            UsageError: The agent has no notes, or no tools to write them with.
            NotesUnavailable: The folder cannot be written, or somebody else is at it.
            ProviderError: The model could not be asked.
            ForkFailed: It did not come to an end within its requests, and wrote nothing.
        """
        memory = self._memory()
        async with self._lock:
            place = open_side_run(self._home, self._agent, self._emit)
            messages = place.conversation.messages
            new = since(messages, self._seen)
            changes: MemoryChanges | None = None
            if any(message.role == "assistant" for message in new) and not has_written(new, memory.folder):
                async with self._held(memory):
                    files = await self._home.services.blocking.run(list_notes, memory.folder)
                    directive = extraction_directive(memory.folder, files, len(new))
                    changes = await self._run(place, memory, directive, EXTRACTION, EXTRACTION_ROUNDS)
            self._seen = messages[-1] if messages else None
            return changes

    async def consolidate(self) -> MemoryChanges:
        """Merge and prune the notes.

        Cancelled, what was written stays.

        Raises:
            UsageError: The agent has no notes, or no tools to write them with.
            NotesUnavailable: The folder cannot be written, or somebody else is at it.
            ProviderError: The model could not be asked.
            ForkFailed: It did not come to an end within its requests, and wrote nothing.
        """
        memory = self._memory()
        async with self._lock, self._held(memory):
            files = await self._home.services.blocking.run(list_notes, memory.folder)
            if not files:
                return MemoryChanges(written=(), removed=(), text="")
            place = open_side_run(self._home, self._agent, self._emit)
            directive = consolidation_directive(memory.folder, files)
            return await self._run(place, memory, directive, CONSOLIDATION, CONSOLIDATION_ROUNDS)

    def _memory(self) -> MemoryFolder:
        memory = self._home.profile.memory
        if memory is None:
            raise UsageError("this agent keeps no notes: its session reads no sources, or memory is switched off")
        if not can_write(self._home.profile.tools):
            raise UsageError(
                "notes are written with the tools Read, Write and Edit, and this agent does not have all three"
            )
        return memory

    def _held(self, memory: MemoryFolder) -> AbstractAsyncContextManager[None]:
        """Return a block that holds the notes; a re-run leaves their folder as it is."""
        services = self._home.services
        return nullcontext() if services.is_rerun else hold_notes(memory, services.blocking)

    async def _run(
        self, place: SideRun, memory: MemoryFolder, directive: str, purpose: str, rounds: int
    ) -> MemoryChanges:
        calls = Confined(place=place, folder=memory.folder)
        text = ""
        try:
            result = await run_forked(place, directive, purpose=purpose, max_rounds=rounds, run_call=calls.run_call)
            text = result.text.strip()
        except ForkFailed:  # it is recorded; what was written by then is what came of it
            if not calls.written:
                raise
        services = self._home.services
        removed = () if services.is_rerun else await services.blocking.run(remove_blank, tuple(calls.written))
        written = tuple(each for each in calls.written if each not in removed)
        return MemoryChanges(written=written, removed=removed, text=text)


def list_notes(folder: Path) -> list[str]:
    """Return the names of the files in a folder, below it too, the entry file first; links are not followed. It blocks."""
    found: list[str] = []
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [str((Path(parent) / name).relative_to(folder)) for name in files if not name.startswith(".")]
        if len(found) >= MAX_LISTED:
            break
    return sorted(found, key=lambda name: (name != MEMORY_FILE, name))[:MAX_LISTED]


def remove_blank(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Remove those of these files that hold nothing, and return them. It blocks."""
    removed = []
    for path in paths:
        try:
            if not path.is_symlink() and not path.read_bytes().strip():
                path.unlink()
                removed.append(path)
        except OSError:
            continue  # it is gone, or it stays: the model reads it as it is
    return tuple(removed)
