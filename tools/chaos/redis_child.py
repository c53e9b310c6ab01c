"""A process that puts items into a box on a redis server, or takes them: `python -m tools.chaos.redis_child ROLE URL FOLDER`.

A writer logs each id once its put was acknowledged. A taker has the role `take-NODE`. Its transcript, the file of its role, gets a
line for each item before that is acknowledged, and lacks those of which the transcript of another node has a line. Another file,
`ROLE.said`, has a line for each item whose acknowledgement was accepted or refused.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import trio

from greenroom.core import JournalError
from greenroom.inbox import BoxFull, InboxStore
from greenroom.remote.redis import open_redis_inbox
from tools.chaos.store_child import BOX, log, logged, write

LEASE_S: Final = 0.6
"""Duration of the leases, in seconds."""
TAKEN: Final = 20
"""Number of items that are taken at once."""


def opened(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def lines_of_all(folder: Path) -> set[str]:
    """Return the items of which any transcript has a line."""
    return {item for path in folder.glob("take-?") for item in logged(path)}


async def take(store: InboxStore, folder: Path, role: str) -> None:
    transcript, said = opened(folder / role), opened(folder / f"{role}.said")
    while True:
        in_hand: list[str] = []
        try:
            await store.reopen(BOX)
            known = lines_of_all(folder)
            while True:
                in_hand = [item.id for item in (await store.take(BOX, TAKEN)).items]
                await store.begin(BOX, in_hand)
                log(transcript, [item for item in in_hand if item not in known])
                known.update(in_hand)
                await trio.sleep(0.02)  # a kill finds it here
                await store.ack(BOX, in_hand)
                log(said, [f"accepted {item}" for item in in_hand])
                if not in_hand:
                    with trio.move_on_after(0.01):
                        await store.wait_news(BOX)
        except JournalError as error:
            word = "refused" if "belongs to" in str(error) else "unknown"
            log(said, [f"{word} {item}" for item in in_hand or ["-"]])
            await trio.sleep(0.05)


async def run(role: str, url: str, folder: Path) -> None:
    async with open_redis_inbox(url, node=role, lease_s=LEASE_S) as store:
        if role.startswith("take"):
            await take(store, folder, role)
        else:
            await write(store, opened(folder / role), f"{role}-{os.getpid()}", (BoxFull, JournalError))


if __name__ == "__main__":
    trio.run(run, sys.argv[1], sys.argv[2], Path(sys.argv[3]))
