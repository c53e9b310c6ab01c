"""A recorded run, read for a re-run: its journal as places and sequences, its model's answers, its effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import final

import attrs

from greenroom.actors import ActorCreated
from greenroom.agents.events import AgentSpoke, ModelBegan
from greenroom.core import JournalError, UsageError, is_session_id
from greenroom.effects import EffectRecord, Step, read_effects
from greenroom.mailbox import MessageLeased, MessagePut
from greenroom.models.recordings import ModelRecording, read_recording
from greenroom.session import EVENTS, INVOCATION, USER_FOLDER, SessionBegan, SessionEnded
from greenroom.trace import JOURNAL, Entry, read_journal


@final
@attrs.frozen(kw_only=True)
class RecordedRun:
    """A run that can be done again."""

    folder: Path
    name: str
    """The session's id."""
    cwd: str
    started: datetime
    paths: Mapping[str, str]
    """Paths of the actors in their tree, by id."""
    places: Sequence[tuple[int, float]]
    """Number and time of each event."""
    steps: Mapping[str, Sequence[Step]]
    """The sequence of each mailbox, by its owner's id."""
    model: ModelRecording
    effects: EffectRecord
    run_folder: str
    """Where the run folder was when it was recorded."""
    home: str
    """The user's folder then; empty if it is not on record."""
    error: str
    """Class and text of the error that its program ended with; empty if there was none."""
    is_cut: bool
    """True if its process was killed."""


def read_run(folder: Path) -> RecordedRun:
    """Read a recorded run; it blocks.

    Raises:
        UsageError: It cannot be done again; the text says what is missing.
    """
    effects = read_effects(folder)
    if "forked" in effects.head.surroundings:
        raise UsageError(
            f"the run {folder.name} was forked from another, and only whole conversations can be done again"
        )
    model = read_recording(folder)
    try:
        journal = read_journal(folder / JOURNAL, EVENTS)
    except JournalError as error:
        raise UsageError(f"the journal of the run {folder.name} cannot be read: {error}") from error
    beginnings = [entry.event for entry in journal.entries if isinstance(entry.event, SessionBegan)]
    if effects.processes > 1 or len(beginnings) > 1:
        raise UsageError(f"the run {folder.name} was resumed, and only runs of one process can be done again")
    began = beginnings[0] if beginnings else None
    if began is None or journal.header.started is None:
        raise UsageError(f"the journal of {folder.name} is not that of a session")
    if not is_session_id(began.session):  # it names the folder of the re-run
        raise UsageError(f"the journal of {folder.name} is damaged: {began.session!r} is not the id of a session")
    return RecordedRun(
        folder=folder,
        name=began.session,
        cwd=began.cwd,
        run_folder=effects.head.surroundings.get("run_folder", str(folder)),
        home=effects.head.surroundings.get(USER_FOLDER, ""),
        error=error_in(journal.entries) or "",
        started=datetime.fromisoformat(journal.header.started),
        paths={
            entry.event.actor: entry.event.path for entry in journal.entries if isinstance(entry.event, ActorCreated)
        },
        places=[(entry.seq, entry.t) for entry in journal.entries],
        steps=_steps(journal.entries),
        model=model,
        effects=effects,
        is_cut=error_in(journal.entries) is None,
    )


def read_arguments(folder: Path) -> str:
    """Return the arguments of the program of a recorded run, as text; empty if they are not on record. It blocks.

    Raises:
        UsageError: The run has no record of effects.
    """
    return read_effects(folder).head.surroundings.get(INVOCATION, "")


def error_in(entries: Sequence[Entry]) -> str | None:
    """Return the error that a session ended with, empty for none; None if it has not ended."""
    return next((entry.event.error for entry in entries if isinstance(entry.event, SessionEnded)), None)


def _steps(entries: Sequence[Entry]) -> dict[str, list[Step]]:
    steps: dict[str, list[Step]] = {}
    actors: dict[int, str] = {}
    for entry in entries:
        event, actor = entry.event, entry.event.actor
        actors[entry.seq] = actor
        if isinstance(event, MessagePut):
            label = (actors.get(event.parent, ""), event.type)
            step = Step(seq=entry.seq, what="put", label=label)
        elif isinstance(event, MessageLeased):
            step = Step(seq=entry.seq, what="lease")
        elif isinstance(event, AgentSpoke):
            step = Step(seq=entry.seq, what="end")
        elif isinstance(event, ModelBegan) and event.turn:
            step = Step(seq=entry.seq, what="request")
        else:
            continue
        steps.setdefault(actor, []).append(step)
    return {actor: sequence for actor, sequence in steps.items() if any(step.what == "put" for step in sequence)}
