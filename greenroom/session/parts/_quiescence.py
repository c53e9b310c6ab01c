"""Waiting until the actors of a session are at rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import trio

from greenroom.actors import Ref
from greenroom.core import Recorder


def are_at_rest(refs: Iterable[Ref[Any]]) -> bool:
    """Return True if none of these actors works or has mail."""
    for ref in refs:
        statistics = ref.statistics()
        if ref.is_busy or statistics.now or statistics.next or statistics.later:
            return False
    return True


async def wait_until(recorder: Recorder, holds: Callable[[], bool]) -> None:
    """Wait until something holds that changes only with what is recorded."""
    changed = trio.Event()
    stop_listening = recorder.listen(lambda _: changed.set())
    try:
        await trio.lowlevel.checkpoint()
        while not holds():
            await changed.wait()
            # All that was recorded in this tick is one change.
            await trio.lowlevel.checkpoint()
            changed = trio.Event()
    finally:
        stop_listening()
