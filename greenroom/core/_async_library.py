"""Whether the code that runs is Trio's, for functions that can run nowhere else."""

from __future__ import annotations

import sys

import trio

from greenroom.core._errors import UsageError


def require_trio(name: str) -> None:
    """Return if Trio runs the calling code.

    Args:
        name: The function that needs it, for the error.

    Raises:
        UsageError: It does not; the text says what to do, under asyncio too.
    """
    if trio.lowlevel.in_trio_run():
        return
    asyncio = sys.modules.get("asyncio")  # not imported here: where it runs, somebody has done so
    if asyncio is None or asyncio._get_running_loop() is None:
        raise UsageError(f"{name} runs on Trio, which does not run here; start it with trio.run(main)")
    raise UsageError(
        f"{name} runs on Trio, and asyncio runs here; call trio.run(main) in a thread (asyncio.to_thread), or run Trio as the "
        "guest of the loop (trio.lowlevel.start_guest_run)"
    )
