"""Going on with what an earlier process began: the run folder to reopen, and the conversations in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, final

import attrs

from greenroom.agents import Loaded, load_conversation
from greenroom.core import UsageError, whole_path
from greenroom.core.ports import Blocking, Disk, Ports
from greenroom.core.validation import checked
from greenroom.effects import plain_clock
from greenroom.session._events import SessionTitled
from greenroom.session.record._json_lines import objects_of
from greenroom.session.record._transcript_names import DELETED, MAIN_FILE, TRANSCRIPTS, transcript_name
from greenroom.store import Transcript, TranscriptHeader
from greenroom.trace import JOURNAL, find_run


def find_session(run: Path | str, runs: Path) -> Path:
    """Return the run folder that is meant; it holds the main agent's conversation.

    Args:
        run: A run folder, the id of a session, or `last`: the last run that got so far that there is a conversation.
        runs: The folder of the runs.

    Raises:
        UsageError: The session is unknown.
    """
    try:
        place = find_run(str(run), runs, fits=_has_conversation)
    except UsageError:
        raise UsageError(f"No conversation found with session ID: {run}") from None
    folder = place.parent if place.name == JOURNAL else place
    if not _has_conversation(folder):
        raise UsageError(f"No conversation found with session ID: {run}")
    return whole_path(folder)


def _has_conversation(folder: Path) -> bool:
    return conversation_file(folder).is_file()


def conversation_file(run_folder: Path) -> Path:
    """Return the transcript of a run's main agent: the last archived one if there is no other. It blocks, and may not be there."""
    path = run_folder / TRANSCRIPTS / MAIN_FILE
    if path.exists():
        return path
    return max(path.parent.glob(f"{MAIN_FILE}{DELETED}*"), default=path)


def is_archived(run_folder: Path) -> bool:
    """True if the conversation of a run is in the archive. It blocks."""
    return conversation_file(run_folder).name != MAIN_FILE


@final
@attrs.frozen(kw_only=True)
class Beginning:
    """The arguments with which a run was last opened; empty if its journal does not say."""

    model: str = ""
    agent: str = ""
    permission_mode: str = ""
    mode: str = ""
    title: str = ""
    """The latest."""


def read_beginning(run_folder: Path) -> Beginning:
    """Return what a run was last opened with. It looks at the disk: call it through `Blocking`.

    A run without a journal says nothing. Only the lines that say it are decoded, so it takes as long as reading the journal's bytes.
    """
    found: Mapping[str, Any] = {}
    for values in objects_of(run_folder / JOURNAL, b'"session.'):
        match values.get("ev"):
            case "session.begin":
                found = values
            case SessionTitled.kind:
                found = {**found, "title": values.get("title")}
    names = [field.name for field in attrs.fields(Beginning)]
    return Beginning(**{name: str(found[name]) for name in names if found.get(name)})


@final
@attrs.frozen(field_transformer=checked)
class Fork:
    """A run whose main agent's conversation a new session begins with; the run itself stays as it is."""

    run: Path | str = "last"
    """A run folder, the id of a session, or `last`."""


def copy_conversation(old: Path, new: Path, disk: Disk) -> None:
    """Copy the main agent's transcript into another run folder, as that one's own. It blocks.

    A line that a crash has torn is left out. What the old session was granted is not copied: it is in no transcript.
    """
    place = new / TRANSCRIPTS / MAIN_FILE
    disk.make_folder(place.parent)
    made = []
    with conversation_file(old).open("rb") as lines:
        for line in lines:
            try:
                values = json.loads(line)
            except ValueError:
                continue
            if isinstance(values, dict) and "sessionId" in values:
                values["sessionId"] = new.name
            made.append(json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    disk.write(place, b"".join(made))


async def load_agent(run_folder: Path, agent_id: str | None, blocking: Blocking) -> Loaded:
    """Read the conversation of an agent of a run; None means the main agent's.

    Raises:
        UsageError: The run has no such agent, or the lines of its transcript are not its own.
    """
    name = transcript_name(agent_id or "", is_main=agent_id is None)
    path = run_folder / TRANSCRIPTS / name
    if agent_id is None:
        path = await blocking.run(conversation_file, run_folder)
    if agent_id is not None and not agent_id.isalnum():
        raise UsageError(f"{agent_id!r} is not an agent id")
    if not await blocking.run(path.is_file):
        raise UsageError(f"{run_folder.name} has no conversation of an agent {agent_id or 'main'!r}")
    loaded = await blocking.run(load_conversation, path)
    if agent_id is not None and loaded.agent_id not in {"", agent_id}:
        raise UsageError(f"{name} of {run_folder.name} holds the conversation of another agent, {loaded.agent_id!r}")
    return loaded


def transcript_opener(
    run_folder: Path,
    session_id: str,
    cwd: Path,
    *,
    ports: Ports,
    version: str,
    write: Callable[[Path, bytes], None],
    branch: str = "",
) -> Callable[[str], Transcript]:
    """Return what makes the transcript of an agent: `main.jsonl` for the first, `agent-<id>.jsonl` for the others.

    The branch stands in the first alone: others may work in a checkout of their own.
    """
    has_main = False
    folder, where = run_folder / TRANSCRIPTS, str(cwd)

    def open_one(agent_id: str) -> Transcript:
        nonlocal has_main
        is_main, has_main = not has_main, True
        header = TranscriptHeader(
            session_id=session_id,
            agent_id=agent_id,
            is_sidechain=not is_main,
            cwd=where,
            version=version,
            branch=branch if is_main else "",
        )
        path = folder / transcript_name(agent_id, is_main=is_main)
        return Transcript(path, header, write=write, ids=ports.ids, wall=plain_clock(ports.clock).wall)

    return open_one
