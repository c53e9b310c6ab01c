"""How long a headless run stays for its background tasks after the answer, and what it gives up when it leaves.

Rule 1 (agents 6.70, 19.9): agents in the background are waited for, up to a ceiling, and calls of MCP servers too, as somebody
waits for their results; when none runs any more, commands get a few seconds. Rule 2: the ceiling never cuts a turn of the main agent, and what keeps starting itself anew does not move it.
Rule 3 (RC-36): what is given up at the ceiling is named.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Final, final

import attrs
import trio

from greenroom.core import Cause, Record, UsageError
from greenroom.session import Session
from greenroom.tasks import AGENT, MCP_CALL, SHELL, Task

CEILING_VARIABLE: Final = "GREENROOM_PRINT_BG_WAIT_CEILING_MS"
AWAITED: Final = frozenset((AGENT, MCP_CALL))
"""Kinds of tasks that are waited for after the answer."""
SHELL_GRACE_S: Final = 5.0
"""So long commands may go on in the background after the answer."""
CEILING_S: Final = 600.0
"""So long agents in the background are waited for."""
END_S: Final = 10.0
"""So long the end of what is given up is waited for."""


@final
@attrs.frozen(kw_only=True)
class Moment:
    """How things stand after the answer."""

    now_s: float
    is_busy: bool = False
    """Whether the main agent takes a turn, or something is on its way to it."""
    agents: int = 0
    """How many run; calls of MCP servers in the background count as such."""
    shells: int = 0
    """How many commands run in the background."""


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
        raise UsageError(f"{CEILING_VARIABLE} has to be a number of milliseconds, 0 for no limit, not {text!r}")
    return int(text) / 1000 or math.inf


async def wait_background(session: Session, *, ceiling_s: float) -> None:
    """Wait for what runs in the background to end and to be heard, as long as it is waited for.

    Cancelled, everything goes on.
    """
    answered_s = alone_s = trio.current_time()
    changed = trio.Event()

    def note(_: Record) -> None:
        changed.set()

    stop_listening = session.runtime.recorder.listen(note)
    try:
        await trio.lowlevel.checkpoint()
        while True:
            moment = look(session)
            if moment.agents:
                alone_s = moment.now_s
            until = latest_s(moment, answered_s=answered_s, alone_s=alone_s, ceiling_s=ceiling_s)
            if until is None:
                return
            with trio.move_on_at(until):
                await changed.wait()
            # Whatever was recorded in this tick is one change.
            await trio.lowlevel.checkpoint()
            changed = trio.Event()
    finally:
        stop_listening()


def look(session: Session) -> Moment:
    """Return how things stand."""
    crew, running = session.delegation.crew, session.delegation.tasks.running()
    waiting = [one.statistics() for one in (session.main, session.inbox.ref)]
    has_mail = any(one.now or one.next or one.later for one in waiting)
    is_told = all(one.task.is_settled or not one.task.is_finished for one in crew.members.values())
    agents = sum(one.info.kind in AWAITED for one in running) + session.teams.working
    return Moment(
        now_s=trio.current_time(),
        is_busy=has_mail or session.main.is_busy or session.inbox.ref.is_busy or not is_told,
        agents=agents,
        shells=sum(one.info.kind == SHELL for one in running),
    )


async def give_up(tasks: tuple[Task, ...]) -> None:
    """End tasks without a word to the main agent, and return when they have ended, or after some seconds."""
    for one in tasks:
        one.is_silent = True
    for one in tasks:
        one.kill(Cause("host", "the run came to its end"))
    with trio.move_on_after(END_S):
        for one in tasks:
            await one.wait_settled()
