"""The stages in which a gateway stops.

Rule 1: the stages come in one order, and each has its time: intake is closed, turns end or are aborted, deliveries that are due are tried,
sessions close. Rule 2: whatever is cut is on record and resumed at the next start, so no stage waits for the world longer than its time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Final, final

import attrs
import trio

DELIVERY_S: Final = 5.0
"""Seconds that deliveries which are due have when a gateway stops."""
ABORT_S: Final = 10.0
"""Seconds that aborted turns have to end."""
CLOSE_S: Final = 30.0
"""Seconds that sessions have to close; what is still open then is cut."""
_LOOK_S: Final = 0.25


class Stage(StrEnum):
    """A stage of the stop."""

    INTAKE = "intake closed"
    TURNS = "turns end"
    ABORTED = "turns aborted"
    DELIVERIES = "deliveries tried"
    SESSIONS = "sessions closed"


@final
@attrs.frozen(kw_only=True)
class StopPlan:
    """What each stage does, and how long it may take."""

    close_intake: Callable[[], Awaitable[object]]
    """Channels stop reading, and clients are told that the gateway stops."""
    turns: Callable[[], int]
    """Returns the number of turns that run or wait."""
    abort_turns: Callable[[], Awaitable[object]]
    due: Callable[[], int]
    """Returns the number of deliveries that can be tried now."""
    close_sessions: Callable[[], Awaitable[object]]
    drain_s: float
    """Seconds that turns have to end by themselves."""
    on_stage: Callable[[Stage], object]
    """Called when a stage begins."""


async def stop_in_stages(plan: StopPlan) -> None:
    """Carry a plan out. Cancelled, it stops where it is."""
    plan.on_stage(Stage.INTAKE)
    with trio.move_on_after(DELIVERY_S):
        await plan.close_intake()
    plan.on_stage(Stage.TURNS)
    await _wait_for_none(plan.turns, plan.drain_s)
    if plan.turns():
        plan.on_stage(Stage.ABORTED)
        with trio.move_on_after(ABORT_S):
            await plan.abort_turns()
            await _wait_for_none(plan.turns, ABORT_S)
    plan.on_stage(Stage.DELIVERIES)
    await _wait_for_none(plan.due, DELIVERY_S)
    plan.on_stage(Stage.SESSIONS)
    with trio.move_on_after(CLOSE_S):
        await plan.close_sessions()


async def _wait_for_none(count: Callable[[], int], limit_s: float) -> None:
    with trio.move_on_after(limit_s):
        while count():  # noqa: ASYNC110 - the numbers are others', who tell nobody
            await trio.sleep(_LOOK_S)
