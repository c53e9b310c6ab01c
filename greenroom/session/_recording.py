"""What a session needs of its journal and of the recorder behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import trio

from greenroom.actors import Ref
from greenroom.core import Recorder


class Recording(Protocol):
    """What a session needs of its journal."""

    def check_open(self) -> None:
        """Raise when nothing new may begin, because it could not be put on record."""
        ...

    async def wait_open(self) -> None:
        """Return when something new may begin; raise as `check_open` does where that will never be."""
        ...

    async def commit(self) -> None:
        """Return when everything so far, transcripts included, survives a crash of the process."""
        ...


def are_at_rest(refs: Iterable[Ref[Any]]) -> bool:
    """Whether none of these actors works, or has mail."""
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
            # Whatever was recorded in this tick is one change.
            await trio.lowlevel.checkpoint()
            changed = trio.Event()
    finally:
        stop_listening()
