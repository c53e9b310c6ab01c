"""The time that a headless run waits for its background tasks after the answer.

Agents in the background are waited for, up to a ceiling, and calls of MCP servers too, as somebody waits for their results;
when none runs any more, commands get a few seconds. The ceiling never cuts a turn of the main agent, and what keeps
starting itself anew does not move it. What is given up at the ceiling is named.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Final, final

import attrs
import trio

from greenroom.core import UsageError
from greenroom.session import Session
from greenroom.tasks import AGENTS, MCP_CALL

CEILING_VARIABLE: Final = "GREENROOM_PRINT_BG_WAIT_CEILING_MS"
AWAITED: Final = frozenset((*AGENTS, MCP_CALL))
"""Kinds of tasks that are waited for after the answer."""
SHELL_GRACE_S: Final = 5.0
"""Seconds that commands may keep running in the background after the answer."""
CEILING_S: Final = 600.0
"""Seconds that agents in the background are waited for."""
END_S: Final = 10.0
"""Seconds that abandoned work has to end."""


@final
@attrs.frozen(kw_only=True)
class Moment:
    """A snapshot after the answer."""

    now_s: float
    is_busy: bool = False
    """True if the main agent takes a turn, or something is on its way to it."""
    agents: int = 0
    """Number of agents that run; calls of MCP servers in the background are counted as agents."""
    shells: int = 0
    """Number of commands that run in the background."""


def latest_s(moment: Moment, *, answered_s: float, alone_s: float, ceiling_s: float) -> float | None:
    """Return until when to wait at the latest for something to change; None: nothing is waited for any more.

    Args:
        moment: How things stand.
        answered_s: When the answer was there.
        alone_s: When the last agent had ended.
        ceiling_s: How long agents are waited for.
    """
    if moment.is_busy:
        return math.inf
    ceiling = answered_s + ceiling_s
    if moment.agents:
        latest = ceiling
    elif moment.shells:
        latest = min(alone_s, ceiling) + SHELL_GRACE_S
    else:
        return None
    return latest if moment.now_s < latest else None


def read_ceiling(environ: Mapping[str, str] | None = None) -> float:
    """Return for how many seconds agents in the background are waited for; `inf` for as long as it takes.

    Raises:
        UsageError: The variable holds no number of milliseconds.
    """
    text = (os.environ if environ is None else environ).get(CEILING_VARIABLE, "").strip()
    if not text:
        return CEILING_S
    if not (text.isascii() and text.isdigit()):
        raise UsageError(f"{CEILING_VARIABLE} must be a number of milliseconds, 0 for no limit, got {text!r}")
    return int(text) / 1000 or math.inf


async def wait_background(session: Session, *, ceiling_s: float) -> None:
    """Wait until what runs in the background has ended and was reported, for as long as it is awaited.

    If cancelled, everything keeps running.
    """
    answered_s = alone_s = trio.current_time()
    with session.events() as changes:
        await trio.lowlevel.checkpoint()
        while True:
            changes.discard()
            moment = look(session)
            if moment.agents:
                alone_s = moment.now_s
            until = latest_s(moment, answered_s=answered_s, alone_s=alone_s, ceiling_s=ceiling_s)
            if until is None:
                return
            with trio.move_on_at(until):
                await changes.wait_next()
            await trio.lowlevel.checkpoint()  # all events of this tick are one change


async def wait_turns(session: Session) -> None:
    """Wait until the main agent takes no turn, and nothing is on its way to it."""
    with session.events() as changes:
        await trio.lowlevel.checkpoint()
        while session.activity().is_busy:
            await changes.wait_next()
            await trio.lowlevel.checkpoint()  # all events of this tick are one change
            changes.discard()


def look(session: Session) -> Moment:
    """Return what runs now."""
    activity = session.activity()
    return Moment(
        now_s=trio.current_time(),
        is_busy=activity.is_busy,
        agents=activity.agents + activity.calls,
        shells=activity.commands,
    )
