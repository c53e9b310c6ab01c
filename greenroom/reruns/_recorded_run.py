"""A recorded run, read for a re-run: its journal as places and sequences, its model's answers, its effects; and updates of it, which
put what the code of today asks for in the place of what was asked then.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final, final

import attrs

from greenroom.actors import ActorCreated
from greenroom.agents.events import AgentSpoke, ModelBegan
from greenroom.core import JournalError, UsageError, is_session_id
from greenroom.core.ports import SystemDisk
from greenroom.effects import EFFECTS_FILE, EffectRecord, RecordedEffect, Step, read_effects
from greenroom.mailbox import MessageLeased, MessagePut
from greenroom.models.recordings import MODEL_FILE, ModelRecording, read_recording, write_recording
from greenroom.session import EVENTS, INVOCATION, USER_FOLDER, SessionBegan, SessionEnded
from greenroom.trace import JOURNAL, Entry, read_journal

_UPDATE: Final = ".update"
"""The folder, in a run folder, of the files of an update that is complete but for their move into place."""


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

    def text_of(self, agent: str, call: str) -> str | None:
        """Return what the model read as the result of an agent's call; None if it read none."""
        for exchange in self.model.exchanges:
            for message in exchange.request.get("messages", ()) if exchange.agent == agent else ():
                for block in message["content"]:
                    if block.get("tool_use_id") == call:
                        return str(block.get("content", ""))
        return None


def read_run(folder: Path) -> RecordedRun:
    """Read a recorded run; it blocks.

    Raises:
        UsageError: It cannot be done again; the text says what is missing.
    """
    _finish_update(folder)
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


def update_record(
    recorded: RecordedRun,
    requests: Mapping[tuple[str, int], Mapping[str, Any]],
    inputs: Sequence[tuple[RecordedEffect, Mapping[str, Any]]],
) -> None:
    """Replace requests and inputs in the record of a run; it blocks. If it is killed, all are replaced or none.

    Args:
        recorded: The run.
        requests: Requests of today, by the agent and its number of the request.
        inputs: Results on record, with their inputs of today.
    """
    exchanges = (
        attrs.evolve(exchange, request=requests.get((exchange.agent, exchange.number), exchange.request))
        for exchange in recorded.model.exchanges
    )
    model = write_recording(attrs.evolve(recorded.model, exchanges=tuple(exchanges)))
    changed = {(effect.of, effect.agent, effect.key, effect.at): asked for effect, asked in inputs}
    path = recorded.folder / EFFECTS_FILE
    lines = []
    for line in path.read_bytes().splitlines():
        values = json.loads(line) if line.strip() else {}
        asked = changed.get(tuple(values.get(name) for name in ("of", "agent", "key", "at")))  # type: ignore[arg-type]
        lines.append(line if asked is None else json.dumps({**values, "asked": asked}, separators=(",", ":")).encode())
    disk, making = SystemDisk(is_durable=False), recorded.folder / f"{_UPDATE}.new"
    shutil.rmtree(making, ignore_errors=True)  # of one that was killed
    disk.make_folder(making)
    disk.write(making / MODEL_FILE, model)
    disk.write(making / EFFECTS_FILE, b"".join(line + b"\n" for line in lines))
    making.rename(recorded.folder / _UPDATE)
    _finish_update(recorded.folder)


def _finish_update(folder: Path) -> None:
    """Move the files of an update into their places, also of one whose process was killed meanwhile."""
    update = folder / _UPDATE
    if not update.is_dir() or update.is_symlink():
        return
    for name in (MODEL_FILE, EFFECTS_FILE):
        with suppress(FileNotFoundError):
            (update / name).replace(folder / name)
    update.rmdir()
