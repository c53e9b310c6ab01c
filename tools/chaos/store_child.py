"""A process that puts items into a store, or takes them: `python -m tools.chaos.store_child ROLE FILE LOG`.

A writer logs each id once its put was acknowledged. A taker logs each item before it acknowledges it, as a session writes the
line of a transcript first, and skips what its log has already.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import trio

from greenroom.core.ports import Ports
from greenroom.inbox import BoxFull, InboxStore, StoredItem, peer
from greenroom.store import SqliteInboxStore, open_inbox_store

BOX = "main"


def log(file: int, ids: list[str]) -> None:
    os.write(file, "".join(f"{item}\n" for item in ids).encode())


def logged(path: Path) -> list[str]:
    """Return the whole lines of a log."""
    text = path.read_text(encoding="ascii") if path.exists() else ""
    return text.splitlines() if text.endswith("\n") or not text else text.splitlines()[:-1]


async def write(store: InboxStore, file: int, name: str, refused: tuple[type[Exception], ...] = (BoxFull,)) -> None:
    """Put items without end; what was refused is put again."""
    number = 0
    while True:
        number += 1
        ids = [f"{name}-{number}-{place}" for place in range(1 + number % 3)]
        items = [StoredItem(id=item, box=BOX, text="x" * 100, origin=peer(name)) for item in ids]
        while True:
            try:
                await store.put(items)
                break
            except refused:
                await trio.sleep(0.005)
        log(file, ids)


async def take(store: SqliteInboxStore, file: int, path: Path) -> None:
    known = set(logged(path))
    await store.reopen(BOX)
    while True:
        taken = [item.id for item in (await store.take(BOX)).items]
        log(file, [item for item in taken if item not in known])
        known.update(taken)
        await store.ack(BOX, taken)
        if not taken:
            with trio.move_on_after(0.01):
                await store.wait_news(BOX)


async def run(role: str, path: Path, log_path: Path) -> None:
    ports = Ports()
    store = await open_inbox_store(path, blocking=ports.blocking, wall=lambda: datetime.now(UTC))
    file = os.open(log_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    if role == "take":
        await take(store, file, log_path)
    else:
        await write(store, file, f"{role}-{os.getpid()}")


if __name__ == "__main__":
    trio.run(run, sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
