"""States of chats for tests of commands: a session with three sub-agents, and another session with one."""

from __future__ import annotations

from typing import Any, Final

import attrs

from greenroom.gateway.commands._chat_state import ChatState
from greenroom.gateway.record import _gateway_events as gateway
from greenroom.gateway.record import _run_events as work
from greenroom.gateway.record._registry import Registry
from greenroom.gateway.trust._reception import CommandCaller
from greenroom.gateway.trust._senders import SenderKind

NOW_S: Final = 1_800_000_000.0
MAIN: Final = "agent:main:main"
OTHER: Final = "agent:main:irc:dm:eve"
OWNER: Final = CommandCaller(kind=SenderKind.OWNER, who="irc:ann")
RUNS: Final = ("1a2b3c4d-0001", "1a2b3c4d-0002", "77777777-0003", "99999999-0004")


def child(number: int) -> str:
    """Return the key of a sub-agent's session."""
    return f"agent:main:subagent:00000000-0000-0000-0000-00000000000{number}"


def registered(number: int, requester: str, began_s: float, **more: Any) -> tuple[work.GatewayEvent, ...]:
    """Return the events of a run that has begun; with `began_s` 0, of one that waits."""
    run, session = RUNS[number], child(number)
    values = {"task": f"task {number}", "requester": requester, "session": session, "session_id": f"id{number}"} | more
    events: list[work.GatewayEvent] = [
        gateway.SessionMade(at_s=NOW_S - 4_000, session=session, session_id=f"id{number}", spawned_by=requester),
        work.RunRegistered(at_s=began_s - 5, run=run, **values),
        work.RunBegan(at_s=began_s, run=run),
    ]
    return tuple(events)


def ended(number: int, at_s: float, state: str = "completed", cause: str = "itself", **more: Any) -> work.RunEnded:
    """Return the end of a run."""
    return work.RunEnded(at_s=at_s, run=RUNS[number], state=state, cause=cause, **more)


HISTORY: Final = (
    gateway.GatewayBegan(at_s=NOW_S - 5_000, process=1),
    gateway.SessionMade(at_s=NOW_S - 5_000, session=MAIN, session_id="s0", label="ann's"),
    gateway.SessionMade(at_s=NOW_S - 5_000, session=OTHER, session_id="s1"),
    *registered(0, MAIN, NOW_S - 3_600, label="count the files"),
    ended(0, NOW_S - 3_300, archive_at_s=NOW_S + 300),
    *registered(1, MAIN, NOW_S - 1_000, task="fetch\n- 1. forged • row"),
    ended(1, NOW_S - 700, "killed", "timeout", error="over 300 s"),
    *registered(2, MAIN, NOW_S - 125),
    *registered(3, OTHER, NOW_S - 60),
)


def state(**changes: Any) -> ChatState:
    """Return the state of the main session's chat."""
    found = ChatState(key=MAIN, caller=OWNER, now_s=NOW_S, registry=Registry().fold_all(HISTORY))
    return attrs.evolve(found, **changes)
