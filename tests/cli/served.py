"""A Messages server in a thread of its own, for commands that run in this process and open their own event loop."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import trio

from greenroom.testing import MessagesServer, open_messages_server
from greenroom.testing._messages_script import Script


@contextmanager
def served(script: Script) -> Iterator[MessagesServer]:
    """Serve a script until the block is left; then every reply has to have been asked for."""
    started: queue.SimpleQueue[tuple[MessagesServer, trio.Event, trio.lowlevel.TrioToken]] = queue.SimpleQueue()
    failures: list[Exception] = []

    async def serve() -> None:
        async with open_messages_server(script) as server:
            left = trio.Event()
            started.put((server, left, trio.lowlevel.current_trio_token()))
            await left.wait()

    def run() -> None:
        try:
            trio.run(serve)
        except Exception as failure:  # noqa: BLE001 - raised where the block is left
            failures.append(failure)

    thread = Thread(target=run, name="messages server", daemon=True)
    thread.start()
    server, left, token = started.get(timeout=30)
    try:
        yield server
    finally:
        token.run_sync_soon(left.set)
        thread.join(timeout=30)
    if failures:
        raise failures[0]
