"""A nursery that does not show: what its body raises leaves bare (DESIGN 12.13)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio


@asynccontextmanager
async def open_bare_nursery() -> AsyncIterator[trio.Nursery]:
    """Open a nursery whose body's error leaves as it is; leaving waits for the tasks, which the caller ends before.

    For tasks that keep their errors to themselves: what one raises all the same cancels the body and leaves as a group.
    """
    body_error: BaseException | None = None
    try:
        async with trio.open_nursery() as nursery:
            try:
                yield nursery
            except BaseException as error:  # noqa: BLE001, ASYNC103 - raised again below, outside the nursery
                body_error = error
    except BaseExceptionGroup as group:
        if body_error is None or isinstance(body_error, trio.Cancelled):
            raise
        body_error.add_note(f"tasks beside it failed as well: {group!r}")
    if body_error is not None:
        raise body_error
