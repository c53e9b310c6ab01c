"""A store of boxes in an SQLite file, which outlives the process; several processes may put into it.

Rule 1: steps that come together are one transaction: what it costs to reach the disk is shared. Rule 2: a step looks before it
writes, so that one that is refused changes nothing and the others of its transaction stand. Rule 3: the file is made by the
first write, for its user alone; reading a box of a file that is not there finds nothing. Rule 4: a file that is damaged, or
that a newer version wrote, is never changed.
"""

from __future__ import annotations

import math
import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar, final

import attrs
import trio

from greenroom.core import GreenroomError, JournalError
from greenroom.core.ports import Blocking
from greenroom.inbox import (
    KNOWN_S,
    MAX_ATTEMPTS,
    MAX_HELD,
    MAX_ITEMS,
    BoxStatistics,
    LetterPolicy,
    Place,
    StoredItem,
    Taken,
    check_item,
    check_room,
)
from greenroom.store._box_news import BoxNews
from greenroom.store._inbox_file import BUSY_S, refusal_of
from greenroom.store._inbox_rows import INSERT, REFUSED, SELECT, item_of, row_of

VERSION: Final = 1
"""Version of the tables."""

_TABLES: Final = """
CREATE TABLE items (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, box TEXT NOT NULL, id TEXT NOT NULL, state INTEGER NOT NULL,
    text TEXT NOT NULL, origin TEXT NOT NULL, sender TEXT NOT NULL, subkind TEXT NOT NULL, lane TEXT NOT NULL,
    kind TEXT NOT NULL, flags INTEGER NOT NULL, route TEXT NOT NULL, created_at REAL NOT NULL, expires_at REAL,
    attempts INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL, left_at REAL, UNIQUE (box, id)
);
CREATE INDEX there ON items (box, state, seq) WHERE state < 4;
CREATE INDEX gone ON items (left_at) WHERE state = 4;
CREATE TABLE boxes (box TEXT PRIMARY KEY, policy TEXT NOT NULL);
"""
_LEAVE: Final = (
    "UPDATE items SET state = 4, text = '', route = '{}', bytes = 0, left_at = ? WHERE box = ? AND id = ? AND state < 4"
)
_COUNT: Final = (
    "SELECT coalesce(sum(state = 0), 0), coalesce(sum((state = 0) * bytes), 0),"
    " coalesce(sum(state = 0 AND origin = 'peer'), 0), coalesce(sum(state = 1), 0), coalesce(sum(state = 2), 0),"
    " min(iif(state = 0, created_at, NULL)) FROM items WHERE box = ? AND state < 4"
)
_DISPLACE: Final = (
    "UPDATE items SET state = 3 WHERE seq IN (SELECT seq FROM items WHERE box = ? AND state = 1 ORDER BY seq LIMIT ?)"
)
_PURGE_S: Final = 3600.0

R = TypeVar("R")


@attrs.define(eq=False)
class _Step:
    """One call that waits for its transaction."""

    run: Callable[[sqlite3.Connection], Any]
    is_done: bool = False
    result: Any = None
    error: Exception | None = None


@final
class SqliteInboxStore:
    """A store of boxes in a file. Made by `open_inbox_store`.

    Args:
        path: The file.
        blocking: Runs the calls of the disk.
        wall: Returns the date and time.
        is_power_safe: True if what was put survives a power cut too; False: the end of the process.
    """

    def __init__(
        self, path: Path, *, blocking: Blocking, wall: Callable[[], datetime], is_power_safe: bool = False
    ) -> None:
        self.path: Final = path
        self._blocking = blocking
        self._wall = wall
        self._is_power_safe = is_power_safe
        self._connection: sqlite3.Connection | None = None
        self._lock = trio.Lock()
        self._steps: list[_Step] = []
        self._cursors: dict[str, int] = {}
        """The number of the item of a box that was taken last."""
        self._news = BoxNews(lambda: self._read(lambda _: None, None))
        self._counts: dict[str, BoxStatistics] = {}
        """What is in each box, as long as only this process writes."""
        self._purged_at = -math.inf

    def __repr__(self) -> str:
        return f"<SqliteInboxStore {self.path.name}>"

    # --- the port --------------------------------------------------------------------------------------------------

    async def put(self, items: Sequence[StoredItem]) -> tuple[Place, ...]:
        """Put items and return their places; all of them are in, or none."""
        for item in items:
            check_item(item)
        places: tuple[Place, ...] = await self._do(lambda on: self._put(on, items))
        for box in {item.box for item in items}:
            self._news.note_put(box)
        return places

    async def take(self, box: str, limit: int = MAX_ITEMS) -> Taken:
        """Return what was not taken since `reopen`, in order; it never waits for more."""
        self._news.begin_take(box)
        return await self._read(lambda on: self._take(on, box, limit), Taken())

    async def reopen(self, box: str) -> None:
        """Give everything that was taken and not acknowledged again."""
        await trio.lowlevel.checkpoint()
        self._cursors.pop(box, None)
        self._news.note_put(box)

    async def begin(self, box: str, ids: Iterable[str]) -> None:
        """Count that a turn begins with these items."""
        rows = [(box, item_id) for item_id in ids]
        count = "UPDATE items SET attempts = attempts + 1 WHERE box = ? AND id = ? AND state = 0"
        await self._read(lambda on: on.executemany(count, rows), None)

    async def ack(self, box: str, ids: Iterable[str]) -> None:
        """Remove items that were read."""
        wanted = list(ids)
        await self._read(lambda on: self._leave(on, box, wanted), 0)

    async def release(self, box: str, ids: Iterable[str]) -> None:
        """Release held items: they are taken after everything that came in before."""
        wanted = list(ids)
        await self._read(lambda on: self._release(on, box, wanted), None)
        self._news.note_put(box)

    async def withdraw(self, box: str, item_id: str) -> bool:
        """Remove an item that waits, or is held; False if there is none."""
        return bool(await self._read(lambda on: self._leave(on, box, [item_id]), 0))

    async def held(self, box: str) -> tuple[StoredItem, ...]:
        """Return the held items that have not expired, in order."""
        now = self._wall().timestamp()
        query = SELECT + " AND state = 1 ORDER BY seq"
        rows: list[tuple[Any, ...]] = await self._read(lambda on: on.execute(query, (box,)).fetchall(), [])
        return tuple(item for item in map(item_of, rows) if now < item.expires_at)

    async def policy(self, box: str) -> LetterPolicy:
        """Return the treatment of letters."""
        query = "SELECT policy FROM boxes WHERE box = ?"
        row = await self._read(lambda on: on.execute(query, (box,)).fetchone(), None)
        return LetterPolicy.REFUSE if row is None else LetterPolicy(row[0])

    async def set_policy(self, box: str, policy: LetterPolicy) -> None:
        """Set the treatment of letters."""
        row = (box, LetterPolicy(policy).value)
        await self._do(lambda on: on.execute("INSERT OR REPLACE INTO boxes (box, policy) VALUES (?, ?)", row))

    async def wait_news(self, box: str) -> None:
        """Wait until something may be there to be taken; what other processes put is noticed within a second."""
        await self._news.wait(box)

    async def statistics(self, box: str) -> BoxStatistics:
        """Return what is in a box."""
        return await self._read(lambda on: self._count(on, box), BoxStatistics())

    async def boxes(self) -> tuple[str, ...]:
        """Return the names of the boxes that hold items."""
        query = "SELECT DISTINCT box FROM items WHERE state < 4 ORDER BY box"
        rows: list[tuple[str]] = await self._read(lambda on: on.execute(query).fetchall(), [])
        return tuple(name for (name,) in rows)

    async def aclose(self) -> None:
        """Close the file; what was put stays in it."""
        with trio.CancelScope(shield=True):  # one call of the disk
            async with self._lock:
                connection, self._connection = self._connection, None
                if connection is not None:
                    await self._blocking.run(connection.close)

    # --- transactions ----------------------------------------------------------------------------------------------

    async def _read(self, run: Callable[[sqlite3.Connection], R], missing: R) -> R:
        """Run a step that makes no file."""
        if self._connection is None and not await self._blocking.run(self.path.exists):
            return missing
        found: R = await self._do(run)
        return found

    async def _do(self, run: Callable[[sqlite3.Connection], Any]) -> Any:
        """Run a step in a transaction, with all steps that have come meanwhile."""
        step = _Step(run)
        self._steps.append(step)
        try:
            async with self._lock:
                if not step.is_done:
                    batch, self._steps = self._steps, []
                    try:
                        await self._blocking.run(self._transact, batch)
                    finally:  # cancelled before it began: the next one who waits runs the others
                        self._steps[:0] = [each for each in batch if not each.is_done and each is not step]
        finally:
            if step in self._steps:
                self._steps.remove(step)
        if step.error is not None:
            raise step.error
        return step.result

    def _transact(self, batch: Sequence[_Step]) -> None:
        """Run steps in one transaction. It blocks."""
        results: list[tuple[Any, Exception | None]] = []
        try:
            on = self._connection = self._connection or _connect(self.path, is_power_safe=self._is_power_safe)
            on.execute("BEGIN IMMEDIATE")
            try:
                self._look(on)
                for step in batch:
                    try:
                        results.append((step.run(on), None))
                    except GreenroomError as error:
                        results.append((None, error))
                on.execute("COMMIT")
            except BaseException:
                self._counts.clear()
                with suppress(sqlite3.Error):
                    on.execute("ROLLBACK")
                raise
        except (sqlite3.Error, OSError, JournalError) as error:
            results = [(None, refusal_of(self.path, error))] * len(batch)
        for step, (result, problem) in zip(batch, results, strict=True):
            step.result, step.error, step.is_done = result, problem, True

    def _look(self, on: sqlite3.Connection) -> None:
        """Forget what was counted if another process has written; forget ids that are too old."""
        version = int(on.execute("PRAGMA data_version").fetchone()[0])
        if self._news.note_version(version):
            self._counts.clear()
        now = self._wall().timestamp()
        if now - self._purged_at >= _PURGE_S:
            on.execute("DELETE FROM items WHERE state = 4 AND left_at < ?", (now - KNOWN_S,))
            self._purged_at = now

    def _put(self, on: sqlite3.Connection, items: Sequence[StoredItem]) -> tuple[Place, ...]:
        if len(items) > 1:  # look at all of them, then write
            room: dict[str, BoxStatistics] = {}
            for item in items:
                there = room.get(item.box) or self._count(on, item.box)
                if self._known(on, item) is None:
                    check_room(item, there)
                    there = _counted(there, item)
                room[item.box] = there
        return tuple([self._put_one(on, item) for item in items])

    def _put_one(self, on: sqlite3.Connection, item: StoredItem) -> Place:
        there = self._counts.get(item.box) or self._count(on, item.box)
        try:
            check_room(item, there)
        except GreenroomError:
            known = self._known(on, item)
            if known is None:
                raise
            return known
        cursor = on.execute(INSERT, row_of(item))
        if not cursor.rowcount:
            known = self._known(on, item)
            assert known is not None
            return known
        seq = cursor.lastrowid
        assert seq is not None
        self._counts[item.box] = _counted(there, item)
        if there.held >= MAX_HELD and item.is_held:
            on.execute(_DISPLACE, (item.box, there.held + 1 - MAX_HELD))
            self._counts.pop(item.box)
        return Place(seq, is_new=True)

    def _known(self, on: sqlite3.Connection, item: StoredItem) -> Place | None:
        row = on.execute("SELECT seq FROM items WHERE box = ? AND id = ?", (item.box, item.id)).fetchone()
        return None if row is None else Place(row[0], is_new=False)

    def _take(self, on: sqlite3.Connection, box: str, limit: int) -> Taken:
        now = self._wall().timestamp()
        self._news.note_taken(box)
        after = self._cursors.get(box, 0)
        query = (
            SELECT + " AND state < 4 AND state != 2"
            " AND (seq > ? AND state = 0 OR state = 3 OR state = 1 AND expires_at <= ?) ORDER BY seq"
        )
        items: list[StoredItem] = []
        others: dict[str, list[StoredItem]] = {"expired": [], "refused": [], "poisoned": []}
        for row in on.execute(query, (box, after, now)):
            item = item_of(row)
            if row[-1] == REFUSED:
                others["refused"].append(item)
            elif now >= item.expires_at:
                others["expired"].append(item)
            elif item.attempts >= MAX_ATTEMPTS:
                others["poisoned"].append(item)
            elif len(items) < limit:
                items.append(item)
        self._leave(on, box, [item.id for item in (*others["expired"], *others["refused"])])
        on.executemany("UPDATE items SET state = 2 WHERE seq = ?", [(item.seq,) for item in others["poisoned"]])
        if others["poisoned"]:
            self._counts.pop(box, None)
        if items:
            self._cursors[box] = items[-1].seq
        return Taken(items=tuple(items), **{name: tuple(found) for name, found in others.items()})

    def _release(self, on: sqlite3.Connection, box: str, ids: Sequence[str]) -> None:
        for item_id in ids:
            query = SELECT + " AND id = ? AND state = 1"
            row = on.execute(query, (box, item_id)).fetchone()
            if row is not None:
                on.execute("DELETE FROM items WHERE box = ? AND id = ?", (box, item_id))
                on.execute(INSERT, row_of(attrs.evolve(item_of(row), is_held=False)))
        self._counts.pop(box, None)

    def _leave(self, on: sqlite3.Connection, box: str, ids: Sequence[str]) -> int:
        now = self._wall().timestamp()
        removed = on.executemany(_LEAVE, [(now, box, item_id) for item_id in ids]).rowcount if ids else 0
        if removed:
            self._counts.pop(box, None)
        return removed

    def _count(self, on: sqlite3.Connection, box: str) -> BoxStatistics:
        waiting, size, letters, held, poisoned, oldest = on.execute(_COUNT, (box,)).fetchone()
        found = BoxStatistics(
            waiting=waiting, waiting_bytes=size, letters=letters, held=held, poisoned=poisoned, oldest_at=oldest
        )
        self._counts[box] = found
        return found


async def open_inbox_store(
    path: Path, *, blocking: Blocking, wall: Callable[[], datetime], is_power_safe: bool = False
) -> SqliteInboxStore:
    """Return the store of a file, which need not be there yet; one that cannot be used is refused now.

    Raises:
        JournalError: The file is damaged, cannot be read, or was written by a newer version.
    """
    store = SqliteInboxStore(path, blocking=blocking, wall=wall, is_power_safe=is_power_safe)
    await store.statistics("")
    return store


def store_items(path: Path, items: Iterable[StoredItem]) -> None:
    """Write items into the store of a file, which need not be there yet. It blocks.

    Raises:
        JournalError: The file cannot be written.
    """
    try:
        with closing(_connect(path, is_power_safe=False)) as on:
            on.executemany(INSERT, map(row_of, items))
    except (OSError, sqlite3.Error) as error:
        raise refusal_of(path, error) from error


def _connect(path: Path, *, is_power_safe: bool) -> sqlite3.Connection:
    """Open the file, made for its user alone if it is not there. It blocks."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_NOFOLLOW, 0o600))
    on = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
    try:
        version = int(on.execute("PRAGMA user_version").fetchone()[0])
        if version > VERSION:
            raise JournalError(
                str(path), f"a newer greenroom wrote it (version {version}; this one reads {VERSION}): use that one"
            )
        on.execute("PRAGMA journal_mode = WAL")
        on.execute(f"PRAGMA synchronous = {'FULL' if is_power_safe else 'NORMAL'}")
        on.execute("BEGIN IMMEDIATE")
        if int(on.execute("PRAGMA user_version").fetchone()[0]) == 0:  # another process may just have made them
            for statement in _TABLES.split(";"):
                on.execute(statement)
            on.execute(f"PRAGMA user_version = {VERSION}")
        on.execute("COMMIT")
    except BaseException:
        on.close()
        raise
    return on


def _counted(there: BoxStatistics, item: StoredItem) -> BoxStatistics:
    """Return the statistics of a box with one more item."""
    if item.is_held:
        return attrs.evolve(there, held=there.held + 1)
    return BoxStatistics(
        waiting=there.waiting + 1,
        waiting_bytes=there.waiting_bytes + item.size_bytes,
        letters=there.letters + item.is_letter,
        held=there.held,
        poisoned=there.poisoned,
        oldest_at=item.created_at if there.oldest_at is None else min(there.oldest_at, item.created_at),
    )
