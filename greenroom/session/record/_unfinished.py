"""The work that a run has left, seen without opening it: nothing is written into its folder, and nobody is told anything."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, final

import attrs

from greenroom.core.ports import Ports
from greenroom.session.parts._stored_inbox import MAIN_BOX, read_known
from greenroom.session.record._recovery import read_left
from greenroom.session.record._resume import Fork, find_session, load_agent
from greenroom.store import INBOX, open_inbox_store

_FILES: Final = (INBOX, f"{INBOX}-wal")


@final
@attrs.frozen(kw_only=True)
class Unfinished:
    """The work that a run has left."""

    run: str
    """The id of its session."""
    was_cut: bool
    """True if the main agent's last turn did not come to its end."""
    ends: int = 0
    """Number of ends of tasks that nobody was told of."""
    messages: int = 0
    """Number of messages that wait for the main agent."""

    @property
    def is_any(self) -> bool:
        """True if a session that is opened on the run has something to do by itself, or to resume."""
        return self.was_cut or self.ends > 0 or self.messages > 0


async def find_unfinished(run: Path | str | Fork, runs: Path, ports: Ports | None = None) -> Unfinished:
    """Return the work that a run has left; of a fork, what its copy begins with.

    Args:
        run: A run folder, the id of a session or `last`; or a fork of one.
        runs: The folder of the runs.
        ports: Threads, and the date and time; by default the machine's.

    Raises:
        UsageError: The session is unknown.
        JournalError: The store of what waits is damaged, or a newer version wrote it.
    """
    ports = ports or Ports()
    is_fork = isinstance(run, Fork)
    folder = await ports.blocking.run(find_session, run.run if isinstance(run, Fork) else run, runs)
    loaded = await load_agent(folder, None, ports.blocking)
    if is_fork:
        return Unfinished(run=folder.name, was_cut=loaded.was_cut)
    left = await ports.blocking.run(read_left, folder)
    return Unfinished(
        run=folder.name, was_cut=loaded.was_cut, ends=len(left.due), messages=await _count_messages(folder, ports)
    )


async def _count_messages(folder: Path, ports: Ports) -> int:
    """Return how many messages wait. It looks at a copy of the store: opening a store writes to its folder."""
    run = ports.blocking.run
    if not await run((folder / INBOX).is_file):
        return 0
    place = Path(await run(partial(tempfile.mkdtemp, prefix="greenroom-")))
    try:
        await run(_copy, folder, place)
        store = await open_inbox_store(place / INBOX, blocking=ports.blocking, wall=ports.clock.wall)
        try:
            taken = await store.take(MAIN_BOX)
        finally:
            await store.aclose()  # noqa: ASYNC102 - shielded inside, one call of the disk
        known = await run(read_known, folder, [item.id for item in taken.items])
        return sum(item.id not in known.ended and item.id not in known.read for item in taken.items)
    finally:
        await run(_removal(place))  # noqa: ASYNC102 - a call of the disk, which is never abandoned


def _copy(folder: Path, to: Path) -> None:
    for name in _FILES:
        if (folder / name).is_file():
            shutil.copyfile(folder / name, to / name)


def _removal(place: Path) -> Callable[[], None]:
    return partial(shutil.rmtree, place, ignore_errors=True)
