"""Run folders as a crash leaves them: what was written is kept in order, so that every beginning of it can be had again."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any, final

import attrs

from greenroom.agents._state import CLOSING
from greenroom.core.ports import Disk, Ports, SystemDisk
from greenroom.session import EVENTS, FOLDS
from greenroom.testing import virtual_ports
from greenroom.trace import JOURNAL, fold, read_journal


@final
class RecordingDisk:
    """The disk, with a list of all that was appended or replaced, a line at a time."""

    append_all = Disk.append_all

    def __init__(self) -> None:
        self._disk = SystemDisk()
        self.make_folder = self._disk.make_folder
        self.sync = self._disk.sync
        self.read = self._disk.read
        self.size = self._disk.size
        self.close = self._disk.close
        self.writes: list[tuple[Path, bytes, bool]] = []

    def append(self, path: Path, content: bytes) -> None:
        """Append, and note each line."""
        self._disk.append(path, content)
        self.writes += [(path, line, False) for line in content.splitlines(keepends=True)]

    def write(self, path: Path, content: bytes) -> None:
        """Replace, and note it."""
        self._disk.write(path, content)
        self.writes.append((path, content, True))

    def restore(self, count: int, run_folder: Path, to: Path) -> Path:
        """Make a run folder that holds the first writes, and a torn part of the next one; return it."""
        made = to / run_folder.name
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(parents=True)
        torn = [(path, content[: len(content) // 2], False) for path, content, _ in self.writes[count : count + 1]]
        for path, content, is_whole in [*self.writes[:count], *torn]:
            place = made / path.relative_to(run_folder)
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("wb" if is_whole else "ab") as file:
                file.write(content)
        return made


def recording_ports(disk: RecordingDisk, seed: int = 0) -> Ports:
    """Return virtual ports on a disk that records."""
    return attrs.evolve(virtual_ports(seed), disk=disk)


def tasks_of(run_folder: Path) -> dict[tuple[str, int], Any]:
    """Return the runs of tasks as the journal tells of them."""
    journal = read_journal(run_folder / JOURNAL, EVENTS)
    return dict(fold(journal.entries, FOLDS).section("tasks"))


def told_in(run_folder: Path) -> Counter[str]:
    """Return how many lines of transcripts tell of each end of a task."""
    counted: Counter[str] = Counter()
    for path in (run_folder / "transcripts").glob("*.jsonl"):
        for line in path.read_text().splitlines():
            try:
                counted.update(json.loads(line).get("notices", {}).keys())
            except ValueError:  # torn
                continue
    return counted


def turns_in_closing(run_folder: Path, *, since: int | None = None) -> list[dict[str, Any]]:
    """Return the turns that agents began while their session closed.

    Args:
        run_folder: The run.
        since: The number of the last event before the session of its latest process began to close; by default a session closes for each
            agent when the agent is suspended for it.
    """
    agents: set[str] = set()
    closed: set[str] = set()
    found = []
    for line in map(json.loads, (run_folder / JOURNAL).read_text().splitlines()):
        actor = line.get("actor", "")
        match line.get("ev"):
            case "session.begin":
                closed.clear()
            case "actor.new" if line["behavior"] in {"Agent", "ChildAgent"}:
                agents.add(actor)
            case "actor.suspended" if line["cause"]["why"] == CLOSING:
                closed.add(actor)
            case "turn.begin" if actor in closed or (since is not None and actor in agents and line["seq"] > since):
                found.append(line)
    return found
