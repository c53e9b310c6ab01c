"""Opening of a journal: the writer's task around the body of a block, and bare errors when the block is left."""

from __future__ import annotations

import platform
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, get_args

import attrs
import trio
from trio.lowlevel import enable_ki_protection

from greenroom._version import __version__
from greenroom.core import Event, JournalError, Recorder, UsageError, is_cancelled, whole_path
from greenroom.core.ports import Disk, Ports
from greenroom.trace._codec import Header, codec_of
from greenroom.trace._durability import Durability
from greenroom.trace._journal import Journal
from greenroom.trace._journal_reader import JOURNAL
from greenroom.trace._run_folder import OpenedJournal, make_folder, open_files
from greenroom.trace._run_lock import RunHeld, hold_run

_WAITS_S: Final = (0.01, 0.02, 0.05, 0.1, 0.3)
"""Seconds between the attempts to take the lock of a process that has ended."""


@attrs.define
class HeldError:
    """Holds the body's error until the nursery has closed, so that it leaves bare."""

    error: BaseException | None = None

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        self.error = error
        return True


def bare_interrupt(error: BaseException) -> KeyboardInterrupt | SystemExit | None:
    """Return the KeyboardInterrupt or SystemExit in a group, if there is one: it leaves bare."""
    while isinstance(error, BaseExceptionGroup):
        group = error.subgroup((KeyboardInterrupt, SystemExit))
        if group is None:
            return None
        error = group.exceptions[0]
    return error if isinstance(error, KeyboardInterrupt | SystemExit) else None


def _check(durability: Durability) -> None:
    if durability not in get_args(Durability):
        raise UsageError(f"durability must be 'process' or 'power', got {durability!r}")


@asynccontextmanager
async def open_journal(
    folder: Path,
    *,
    ports: Ports,
    catalog: Iterable[type[Event]] = (),
    recorder: Recorder | None = None,
    run: str | None = None,
    seed: int | None = None,
    choices: str | None = None,
    about: Mapping[str, Any] | None = None,
    durability: Durability = "process",
    lock: Callable[[Path], AbstractContextManager[None]] = hold_run,
    prepare: Callable[[Disk, Path, Header], None] | None = None,
) -> AsyncIterator[Journal]:
    """Open the journal of a run folder, new or resumed; leaving the block writes and syncs everything.

    Open it around the runtime, so that it is first up and last down. Errors of the body leave bare, not as a group.

    Args:
        folder: The run folder; created if missing. A relative path counts from the current folder.
        ports: Time, disk and threads. The disk is closed at the end for all its users: do not share it.
        catalog: The event classes that readers will have; classes that could not be read back are refused.
        recorder: Receives the events; by default a new one, available as `journal.recorder`. It must continue from the
            last event on disk.
        run: Id of a new run; by default the folder's name.
        seed: For the header.
        choices: For the header.
        about: Further plain values for the header, by name.
        durability: `process` or `power`.
        lock: Locks the folder against other writers; a test kit whose disk is not a file system has its own.
        prepare: Called in a thread, with the lock held, before the journal is read: it may begin the journal anew.

    Raises:
        UsageError: The recorder does not continue from the last event on disk.
        JournalError: Another process writes this run, the folder cannot be written, the journal is damaged or of a
            newer format; at the end, remaining bytes could not be written.
        InternalError: Two event classes have the same kind.
    """
    _check(durability)
    folder, codec, now = whole_path(folder), codec_of(tuple(catalog)), ports.clock.bind()
    header = _new_header(ports, now, run=run or folder.name, seed=seed, choices=choices, about=about or {})

    def open_held() -> OpenedJournal:
        """Lock the folder, then read what the journal holds. It blocks."""
        make_folder(ports.disk, folder)
        held.enter_context(lock(folder))
        if prepare is not None:
            prepare(ports.disk, folder / JOURNAL, header)
        return open_files(ports, folder / JOURNAL, codec, header)

    with ExitStack() as held:
        opened = await _once_free(partial(ports.blocking.run, open_held))
        own = recorder or Recorder(now, first_seq=opened.last_seq + 1)
        if own.seq != opened.last_seq:
            raise UsageError(f"recorder must continue from the journal's last event {opened.last_seq}, got {own.seq}")
        journal = Journal(folder, opened, own, ports, durability)
        async with _written(journal):
            yield journal


def _new_header(ports: Ports, now: Callable[[], float], **fields: Any) -> Header:
    return Header(
        greenroom=__version__,
        python=platform.python_version(),
        trio=trio.__version__,
        clock=now(),
        started=ports.clock.wall().isoformat(timespec="milliseconds"),
        **fields,
    )


async def _once_free(attempt: Callable[[], Awaitable[OpenedJournal]]) -> OpenedJournal:
    """Open a journal; wait a moment if the process that held it has ended and a child of it has not let go yet."""
    for wait_s in _WAITS_S:
        try:
            return await attempt()
        except RunHeld as error:
            if not error.has_ended:
                raise
        await trio.sleep(wait_s)
    return await attempt()


@asynccontextmanager
@enable_ki_protection  # of the frames here, not of the body's
async def _written(journal: Journal) -> AsyncIterator[None]:
    """Run the writer around the body; write the rest at the end."""
    stop_listening = journal.recorder.listen(journal.hear)
    held = HeldError()
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(journal.run, name="greenroom journal")
            with held:
                yield
            journal.begin_closing()
    except BaseExceptionGroup as group:  # from the writer: a bug; or a KeyboardInterrupt that landed in the nursery
        error = bare_interrupt(group) or group
        error.__cause__ = None if held.error is None or is_cancelled(held.error) else held.error
        held.error = error
    finally:
        stop_listening()
        try:
            journal.finish()
        except JournalError as error:
            if held.error is None or is_cancelled(held.error):  # a note would not be seen
                raise
            held.error.add_note(str(error))
    if held.error is not None:
        raise held.error
