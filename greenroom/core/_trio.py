"""Helpers for Trio: a check that it runs, nurseries that raise bare errors, and the cancelled part of an error.

A nursery may raise a group even if all of its tasks were only cancelled, so `except trio.Cancelled` misses the end of code
with more than one task below it. Use these functions to distinguish a cancel from a failure.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from greenroom.core._errors import UsageError


def require_trio(name: str) -> None:
    """Return if the calling code runs in Trio.

    Args:
        name: Name of the calling function, for the error.

    Raises:
        UsageError: Trio is not running; the text says what to do, also under asyncio.
    """
    if trio.lowlevel.in_trio_run():
        return
    asyncio = sys.modules.get("asyncio")  # not imported here: if it is running, the program has imported it
    if asyncio is None or asyncio._get_running_loop() is None:
        raise UsageError(f"{name} requires Trio, which is not running here; start it with trio.run(main)")
    raise UsageError(
        f"{name} requires Trio, but asyncio is running here; call trio.run(main) in a thread (asyncio.to_thread), or run "
        "Trio as a guest of the loop (trio.lowlevel.start_guest_run)"
    )


@asynccontextmanager
async def open_bare_nursery() -> AsyncIterator[trio.Nursery]:
    """Open a nursery that raises its body's error unchanged; leaving it waits for the tasks, which the caller ends
    before. A cancel of its own scope ends here, as that of any nursery.

    For tasks that handle their own errors: if one raises all the same, the body is cancelled and the error leaves as a
    group.
    """
    body_error: BaseException | None = None
    cancelled: BaseException | None = None
    try:
        async with trio.open_nursery() as nursery:
            try:
                yield nursery
            except BaseException as error:  # noqa: ASYNC103 - raised again below, outside the nursery
                if is_cancelled(error):
                    cancelled = error
                    raise  # in here: the nursery's scope takes what is its own
                body_error = error
    except BaseExceptionGroup as group:
        if cancelled is not None and is_cancelled(group):
            raise cancelled from None
        if body_error is None:
            raise
        body_error.add_note(f"tasks beside it failed as well: {group!r}")
    if body_error is not None:
        raise body_error


def split_cancelled(error: BaseException) -> tuple[BaseException | None, BaseException | None]:
    """Return the `Cancelled` part of an error and the rest; a rest that is a group of one error becomes that error."""
    if isinstance(error, trio.Cancelled):
        return error, None
    if not isinstance(error, BaseExceptionGroup):
        return None, error
    cancelled, rest = error.split(trio.Cancelled)
    while isinstance(rest, BaseExceptionGroup) and len(rest.exceptions) == 1:
        rest = rest.exceptions[0]
    return cancelled, rest


def is_cancelled(error: BaseException) -> bool:
    """True if an error is `Cancelled`, or a group of nothing else."""
    return split_cancelled(error)[1] is None
