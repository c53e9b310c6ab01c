"""The run folder of a branch: the kept part of another run, under its own id. It looks at the disk.

Rule 1: the other run is only read. Rule 2: the folder is there whole, or not at all. Rule 3: events, and the messages of a
mailbox, get new numbers without a gap; everything else in them is as it was.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, final

import attrs

from greenroom.agents.events import ToolEnded
from greenroom.agents.subagents import record_path
from greenroom.branches._branch_changes import BranchChanges
from greenroom.branches._consistent_cut import Cut
from greenroom.branches._cut_transcripts import TRANSCRIPTS, CutTranscripts
from greenroom.branches._unread_items import unread_items
from greenroom.core import JournalError, UsageError
from greenroom.core.ports import Disk
from greenroom.session import BRANCH_FILE, BranchStart, is_file_of_run, load_changed
from greenroom.store import INBOX, store_items
from greenroom.trace import JOURNAL, Codec, Entry, Header

_KEPT_FILES: Final = ("swarm.json", ".gitignore")
_KEPT_FOLDERS: Final = ("plans",)
_REPORT: Final = "report.md"
_WRITES_REPORT: Final = "WriteReport"


@final
@attrs.frozen(kw_only=True)
class BranchPlan:
    """The parts of a branch."""

    source: Path
    """The folder of the run that it branches off from."""
    header: Header
    """Of that run."""
    entries: Sequence[Entry]
    """All events of that run."""
    cut: Cut
    changes: BranchChanges
    given: Sequence[str]
    """The changes, in words."""
    start: BranchStart


def write_branch(plan: BranchPlan, folder: Path, disk: Disk) -> None:
    """Write a run folder.

    Raises:
        UsageError: A transcript is missing, or a change replaces nothing, or the journal names a file of another folder.
        JournalError: The folder cannot be written.
    """
    _check_names(plan.cut)
    making = folder.parent / f".{folder.name}.new"
    try:
        try:
            disk.make_folder(making / TRANSCRIPTS)
            _write_transcripts(plan, making, folder.name, disk)
            _copy_others(plan, making, disk)
            _write_definitions(plan, making, disk)
            _write_inbox(plan, making)
            disk.write(making / BRANCH_FILE, plan.start.content)
            disk.write(making / JOURNAL, b"".join(_journal(plan, folder.name)))
            disk.close()
            making.rename(folder)
        except BaseException:
            shutil.rmtree(making, ignore_errors=True)
            raise
    except OSError as error:
        raise JournalError(str(folder), error.strerror or str(error)) from error


def _check_names(cut: Cut) -> None:
    """Refuse names of files that lead out of the run folder: a journal may come from somebody else."""
    for stand in cut.stands:
        for name in (stand.agent.transcript, stand.agent.agent):
            if "/" in name or "\0" in name:
                raise UsageError(f"the journal names {name!r} as a file of its run folder, which it cannot be")


def _journal(plan: BranchPlan, run: str) -> Iterator[bytes]:
    import orjson

    about = {
        "from_run": plan.start.from_run,
        "from_seq": plan.start.from_seq,
        "kept": plan.start.kept,
        "changes": [*plan.given],
    }
    yield Codec().encode_header(attrs.evolve(plan.header, run=run, about=about))
    lines = (plan.source / JOURNAL).read_bytes().split(b"\n")[:-1]
    kept, numbers = frozenset(plan.cut.kept), dict[int, int]()
    messages: dict[str, dict[int, int]] = {}
    """New numbers of messages, by mailbox: a message that was left out leaves no gap."""
    for raw in lines[1:]:
        line: dict[str, Any] = orjson.loads(raw)
        seq = line["seq"]
        if seq not in kept:
            continue
        numbers[seq] = line["seq"] = len(numbers) + 1
        if "parent" in line:
            line["parent"] = numbers.get(line["parent"], 0)
        if "msg" in line:
            own = messages.setdefault(line.get("actor", ""), {})
            if line["ev"] == "message.put":
                own[line["msg"]] = len(own) + 1
            line["msg"] = own.get(line["msg"], line["msg"])
        if line["ev"] == "session.begin":
            messages.clear()  # another process has other mailboxes
            line["session"] = run
        yield orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)


def _write_transcripts(plan: BranchPlan, making: Path, run: str, disk: Disk) -> None:
    began = None if plan.header.started is None else datetime.fromisoformat(plan.header.started)
    transcripts = CutTranscripts(plan.source, run, plan.changes)
    main = plan.cut.stands[0]
    # A fork's transcript points into its parent's, so the lines that forks begin with stay, whatever becomes of the parent.
    for stand in plan.cut.stands:
        content = transcripts.cut(stand, is_main=stand is main, began=began)
        if content:
            disk.write(making / TRANSCRIPTS / stand.agent.transcript, content)
    transcripts.check_used()


def _write_definitions(plan: BranchPlan, making: Path, disk: Disk) -> None:
    for name, file in plan.start.definitions.items():
        path = making / file
        disk.make_folder(path.parent)
        disk.write(path, plan.changes.definitions[name].encode())
        load_changed(name, path)


def _write_inbox(plan: BranchPlan, making: Path) -> None:
    transcript = plan.cut.stands[0].agent.transcript
    items = unread_items(plan.source, transcript, plan.entries, plan.cut)
    if items:
        store_items(making / INBOX, items)


def _copy_others(plan: BranchPlan, making: Path, disk: Disk) -> None:
    kept = frozenset(plan.cut.kept)
    tasks = {entry["task"] for entry in plan.entries if entry.kind == "task.new" and entry.seq in kept}
    files = [*_KEPT_FILES, *(str(record_path(stand.agent.agent)) for stand in plan.cut.stands)]
    files += [f"tasks/{task}.output" for task in sorted(tasks) if "/" not in task]
    has_report = any(
        isinstance(entry.event, ToolEnded) and entry.event.tool == _WRITES_REPORT
        for entry in plan.entries
        if entry.seq in kept
    )
    if has_report:
        files.append(_REPORT)
    for name in _KEPT_FOLDERS:
        files += [f"{name}/{path.name}" for path in sorted((plan.source / name).glob("*"))]
    for name in files:
        if is_file_of_run(plan.source, name):
            disk.make_folder((making / name).parent)
            disk.write(making / name, (plan.source / name).read_bytes())
