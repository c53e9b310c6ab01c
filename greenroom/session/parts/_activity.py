"""Activity of a session: a snapshot of what runs, and waiting until its actors are at rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, final

import attrs
import trio

from greenroom.actors import Ref
from greenroom.agents.subagents import SubagentPool
from greenroom.core import Recorder
from greenroom.session.parts._session_inbox import SessionInbox
from greenroom.session.parts._session_teams import SessionTeams
from greenroom.tasks import AGENTS, COMMANDS, MCP_CALL


@final
@attrs.frozen(kw_only=True)
class Activity:
    """A snapshot of what runs in a session."""

    is_busy: bool
    """True if the main agent takes a turn, or if a message or a notice is on its way to it."""
    agents: int
    """Number of sub-agents that run, here and on hosts, and of teammates that work."""
    calls: int
    """Number of calls of MCP servers that run as tasks."""
    commands: int
    """Number of commands that run as tasks, monitors included."""


def observe(main: Ref[Any], inbox: SessionInbox, pool: SubagentPool, teams: SessionTeams) -> Activity:
    """Return what runs at this moment."""
    kinds = [task.info.kind for task in pool.tasks.running()]
    is_reporting = any(member.task.is_finished and not member.task.is_settled for member in pool.subagents.values())
    return Activity(
        is_busy=is_reporting or not are_at_rest((main, inbox.ref)),
        agents=sum(kind in AGENTS for kind in kinds) + teams.working,
        calls=kinds.count(MCP_CALL),
        commands=sum(kind in COMMANDS for kind in kinds),
    )


def are_at_rest(refs: Iterable[Ref[Any]]) -> bool:
    """Return True if none of these actors works or has mail that it may take: a suspended one may not."""
    for ref in refs:
        statistics = ref.statistics()
        has_mail = bool(statistics.now or statistics.next or statistics.later)
        if ref.is_busy or (has_mail and not ref.is_suspended):
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
