"""Stops of runs, by somebody or by their limits of time.

Rule 1: a run counts as stopped when its end is on record, and as failed if it does not end. Rule 2: what a run has started is stopped with
it, also what it starts meanwhile. Rule 3: a limit is watched only while its run works.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, TypeAlias, final

import attrs
import trio

from greenroom.core import GreenroomError, JournalError
from greenroom.gateway.keepers._seams import Keepers
from greenroom.gateway.record._gateway_journal import GatewayRecord
from greenroom.gateway.record._machines import EndCause
from greenroom.gateway.record._registry import Registry
from greenroom.gateway.record._rows import Run
from greenroom.gateway.runs._run_ids import run_item
from greenroom.tasks import TaskState

STOP_S: Final = 45.0
"""Seconds after which a run that does not end counts as failed: the graces of its session are over by then."""
LIMIT_WHO: Final = "its time limit"
"""The one who ends a run whose time is over, for the record."""
EndWithdrawn: TypeAlias = Callable[[Run, EndCause, str], Awaitable[None]]
"""Records the end of a run of which no turn is left."""


@final
@attrs.frozen(kw_only=True)
class Stopped:
    """The result of a stop."""

    stopped: tuple[str, ...] = ()
    """Runs whose end is on record."""
    failed: tuple[str, ...] = ()
    """Runs that have not ended: their places stay taken until they do."""
    ended_before: tuple[str, ...] = ()
    """Runs that had ended already."""


def runs_below(registry: Registry, asking: Iterable[str]) -> list[Run]:
    """Return the runs of sub-agents that sessions have asked for, and those that these have asked for; the nearest first."""
    found: list[Run] = []
    sessions = list(dict.fromkeys(asking))
    for key in sessions:
        runs = [run for run in registry.runs_of(key) if run.announce != "none"]
        found += runs
        sessions += dict.fromkeys(run.session for run in runs if run.session not in sessions)
    return found


async def stop_tree(
    record: GatewayRecord,
    keepers: Keepers,
    first: Sequence[Run],
    sessions: Sequence[str],
    who: str,
    end_withdrawn: EndWithdrawn,
) -> Stopped:
    """Stop runs, and all that sessions and their sub-agents have started, until nothing is left that was not tried.

    Args:
        record: The gateway's journal.
        keepers: The sessions.
        first: The runs.
        sessions: Keys of the sessions.
        who: Who asks, for the record.
        end_withdrawn: Records the end of a run of which no turn is left.
    """
    stopped: list[str] = []
    failed: list[str] = []
    tried = {run.id for run in first if run.is_ended}
    ended_before = tuple(tried)

    async def stop(run: Run) -> None:
        is_ended = await end_turn_of(record, keepers, run, EndCause.STOP, who, end_withdrawn)
        (stopped if is_ended else failed).append(run.id)

    while True:
        below = {run.id: run for run in (*first, *runs_below(record.registry, sessions))}
        runs = [run for run in below.values() if run.id not in tried and not run.is_ended]
        if not runs:
            return Stopped(stopped=tuple(stopped), failed=tuple(failed), ended_before=ended_before)
        tried |= {run.id for run in runs}
        # Those that wait come first, so that no freed place starts another one.
        for is_working in (False, True):
            async with trio.open_nursery() as nursery:
                for run in runs:
                    if (run.state is TaskState.RUNNING) is is_working:
                        nursery.start_soon(stop, run)


async def end_turn_of(
    record: GatewayRecord, keepers: Keepers, run: Run, cause: EndCause, who: str, end_withdrawn: EndWithdrawn
) -> bool:
    """End the turn of a run, or withdraw it; return True when its end is on record, and False if it does not end."""
    is_working = run.state is TaskState.RUNNING and not run.is_cut
    is_over = False
    try:
        with trio.move_on_after(STOP_S):
            item = "" if is_working else run_item(run.id)
            is_over = await keepers.stop_turn(run.session, who=who, cause=cause, item=item)
    except JournalError:
        raise
    except GreenroomError:
        pass  # a session that cannot be stopped is asked below whether it works
    now = record.registry.run(run.id)
    if now is None or now.is_ended:
        return True
    if not is_over and keepers.is_busy(run.session):
        return False
    await end_withdrawn(now, cause, who)
    return True


@final
class RunLimits:
    """The limits of the runs that work."""

    def __init__(self) -> None:
        self._scopes: dict[str, trio.CancelScope] = {}

    def __repr__(self) -> str:
        return f"<RunLimits of {len(self._scopes)} runs>"

    async def watch(self, run: str, left_s: float, time_out: Callable[[str], Awaitable[object]]) -> None:
        """Call `time_out` when a run has worked for `left_s` seconds more, unless `end` comes first."""
        with trio.CancelScope() as scope:
            self._scopes[run] = scope
            await trio.sleep(left_s)
        if self._scopes.get(run) is scope:
            del self._scopes[run]
            if not scope.cancelled_caught:
                await time_out(run)

    def end(self, run: str) -> None:
        """Forget a run that has ended."""
        scope = self._scopes.pop(run, None)
        if scope is not None:
            scope.cancel()
