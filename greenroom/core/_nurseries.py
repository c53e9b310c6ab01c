"""Nurseries whose body's error leaves bare, and errors that leave nurseries as groups.

Rule 1: a nursery may raise a group even where all of its tasks were only cancelled, so `except trio.Cancelled` misses the end of
anything that has more than one task below. Rule 2: whoever has to tell a cancel from a failure asks here.
"""

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
        if body_error is None or is_cancelled(body_error):
            raise
        body_error.add_note(f"tasks beside it failed as well: {group!r}")
    if body_error is not None:
        raise body_error


def split_cancelled(error: BaseException) -> tuple[BaseException | None, BaseException | None]:
    """Return the `Cancelled` part of an error and the rest of it; a rest that is a group of one becomes that one."""
    if isinstance(error, trio.Cancelled):
        return error, None
    if not isinstance(error, BaseExceptionGroup):
        return None, error
    cancelled, rest = error.split(trio.Cancelled)
    while isinstance(rest, BaseExceptionGroup) and len(rest.exceptions) == 1:
        rest = rest.exceptions[0]
    return cancelled, rest


def is_cancelled(error: BaseException) -> bool:
    """Return True if an error is `Cancelled`, or a group that holds nothing else."""
    return split_cancelled(error)[1] is None
