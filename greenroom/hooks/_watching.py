"""What becomes of each run of a handler while it lasts, for whoever watches (agents 13.17).

Rule 1: each run has one beginning and one end, with the same id; in between it is told what a command has printed so far, when that
is more than before. Rule 2: whoever watches decides nothing and holds nothing up.
Must not know: how handlers are run, what their answers mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final, TypeAlias, final
from uuid import UUID

import attrs

from greenroom.core import Ids
from greenroom.hooks._catalog import HookEvent
from greenroom.hooks._events import COMPLETED, KILLED, TIMED_OUT


class HookStage(StrEnum):
    """How far a run of a handler has come."""

    STARTED = "started"
    PROGRESS = "progress"
    RESPONSE = "response"


class HookResult(StrEnum):
    """How a run of a handler ended."""

    SUCCESS = "success"
    ERROR = "error"
    """It failed, or its exit code is not 0, which may be how it blocks."""
    CANCELLED = "cancelled"
    """Its time was up, or whoever waited for it was ended."""


@final
@attrs.frozen(kw_only=True)
class HookNews:
    """What has become of one run of a handler."""

    id: str
    """A UUID, of this run."""
    stage: HookStage
    event: HookEvent
    subject: str
    """What its matcher was compared with, such as a tool's name; empty where there is none."""
    stdout: str = ""
    """What a command has printed so far."""
    stderr: str = ""
    output: str = ""
    """Both of them; of other handlers the reply. Of one that failed without a word, why."""
    exit_code: int | None = None
    """Of a command that has ended by itself."""
    result: HookResult | None = None
    """There in the end."""


OnHook: TypeAlias = Callable[[HookNews], object]
"""Called with what becomes of handlers in the step in which it happens: it may only store and wake."""

_RESULTS: Final[Mapping[str, HookResult]] = {KILLED: HookResult.CANCELLED, TIMED_OUT: HookResult.CANCELLED}


@final
class WatchedRun:
    """One run of a handler; made where it begins.

    Args:
        on_hook: Told of it.
        event: The moment.
        subject: What the matcher was compared with.
        ids: Where its id comes from.
    """

    def __init__(self, on_hook: OnHook, event: HookEvent, subject: str, ids: Ids) -> None:
        self._on_hook = on_hook
        self._news = HookNews(
            id=str(UUID(int=ids.bits(128), version=4)), stage=HookStage.STARTED, event=event, subject=subject
        )
        on_hook(self._news)

    def printed(self, stdout: str, stderr: str, *, is_last: bool) -> None:
        """Take what a command has printed so far; what comes last is told with the end."""
        before = self._news
        self._news = attrs.evolve(before, stdout=stdout, stderr=stderr, output=stdout + stderr)
        if not is_last and (stdout, stderr) != (before.stdout, before.stderr):
            self._on_hook(attrs.evolve(self._news, stage=HookStage.PROGRESS))

    def replied(self, text: str) -> None:
        """Take what a handler said that is no command."""
        self._news = attrs.evolve(self._news, stdout=text, output=text)

    def exited(self, exit_code: int) -> None:
        """Take the exit code of a command."""
        self._news = attrs.evolve(self._news, exit_code=exit_code)

    def ended(self, state: str, error: str) -> None:
        """Tell how it ended; `state` and `error` are those of `HookRan`."""
        news = self._news
        is_well = state == COMPLETED and not news.exit_code
        result = HookResult.SUCCESS if is_well else _RESULTS.get(state, HookResult.ERROR)
        output = news.output or error
        self._on_hook(attrs.evolve(news, stage=HookStage.RESPONSE, output=output, result=result))
