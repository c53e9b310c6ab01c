"""Updates about each run of a handler while it lasts, for observers.

Each run has one start and one end, with the same id; in between, an update is sent whenever a command has printed more.
Observers decide nothing and delay nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final, TypeAlias, final
from uuid import UUID

import attrs

from greenroom.core.ports import Ids
from greenroom.hooks._event_table import HookEvent
from greenroom.hooks._events import COMPLETED, KILLED, TIMED_OUT


class HookStage(StrEnum):
    """The stages of a handler run."""

    STARTED = "started"
    PROGRESS = "progress"
    RESPONSE = "response"


class HookResult(StrEnum):
    """The results of a handler run."""

    SUCCESS = "success"
    ERROR = "error"
    """It failed, or its exit code is not 0 (which may be how it blocks)."""
    CANCELLED = "cancelled"
    """It timed out, or the waiting task was cancelled."""


@final
@attrs.frozen(kw_only=True)
class HookUpdate:
    """An update about one run of a handler."""

    id: str
    """A UUID of this run."""
    stage: HookStage
    event: HookEvent
    subject: str
    """The subject that its matcher was compared with, such as a tool's name; empty if the event has none."""
    stdout: str = ""
    """The output of a command so far."""
    stderr: str = ""
    output: str = ""
    """Both of them; for other handlers the reply. For one that failed without output, the error."""
    exit_code: int | None = None
    """Exit code of a command that ended by itself."""
    result: HookResult | None = None
    """Set at the end."""


OnHook: TypeAlias = Callable[[HookUpdate], object]
"""Called with each update in the step in which it happens: it may only store and wake."""

_RESULTS: Final[Mapping[str, HookResult]] = {KILLED: HookResult.CANCELLED, TIMED_OUT: HookResult.CANCELLED}


@final
class WatchedRun:
    """Observer of one run of a handler, made when the run starts.

    Args:
        on_hook: Called with each update.
        event: The event.
        subject: The subject that the matcher was compared with.
        ids: Source of its id.
    """

    def __init__(self, on_hook: OnHook, event: HookEvent, subject: str, ids: Ids) -> None:
        self._on_hook = on_hook
        self._last = HookUpdate(
            id=str(UUID(int=ids.bits(128), version=4)), stage=HookStage.STARTED, event=event, subject=subject
        )
        on_hook(self._last)

    def printed(self, stdout: str, stderr: str, *, is_last: bool) -> None:
        """Record the output of a command so far; the last output is part of the final update."""
        before = self._last
        self._last = attrs.evolve(before, stdout=stdout, stderr=stderr, output=stdout + stderr)
        if not is_last and (stdout, stderr) != (before.stdout, before.stderr):
            self._on_hook(attrs.evolve(self._last, stage=HookStage.PROGRESS))

    def replied(self, text: str) -> None:
        """Record the reply of a handler that is not a command."""
        self._last = attrs.evolve(self._last, stdout=text, output=text)

    def exited(self, exit_code: int) -> None:
        """Record the exit code of a command."""
        self._last = attrs.evolve(self._last, exit_code=exit_code)

    def ended(self, state: str, error: str) -> None:
        """Send the final update; `state` and `error` are those of `HookRan`."""
        last = self._last
        is_well = state == COMPLETED and not last.exit_code
        result = HookResult.SUCCESS if is_well else _RESULTS.get(state, HookResult.ERROR)
        output = last.output or error
        self._on_hook(attrs.evolve(last, stage=HookStage.RESPONSE, output=output, result=result))
