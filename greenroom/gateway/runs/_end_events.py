"""The events that follow from the end of a turn: the ends of its runs, and the replies that go to chats.

Rule 1: a run has one end; the first one on record counts. Rule 2: a reply goes where the messages of its turn came from, once to each chat.
Must not know: Trio, disk.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from greenroom.gateway.announce._announcement import is_no_reply
from greenroom.gateway.announce._quotes import one_line
from greenroom.gateway.keepers._seams import TurnEnd
from greenroom.gateway.record._gateway_events import SessionArchived
from greenroom.gateway.record._machines import EndCause
from greenroom.gateway.record._rows import InboundRow, Run
from greenroom.gateway.record._run_events import CompletionComposed, GatewayEvent, RunBegan, RunEnded
from greenroom.gateway.routing._chat_messages import ChatRoute
from greenroom.gateway.routing._session_key import CronSession, SessionKey
from greenroom.gateway.runs._deliveries import route_name
from greenroom.tasks import TaskState

MAX_REASON: Final = 300
"""Characters of an error that a chat is shown."""


def end_events(
    run: Run, *, state: TaskState, cause: EndCause, who: str = "", error: str = "", archive_minutes: int, now_s: float
) -> list[GatewayEvent]:
    """Return the events of the end of a run; none if it has ended.

    Args:
        run: The run.
        state: How it ended.
        cause: Why; a cause that does not fit the state is replaced by the one that does.
        who: Who ended it.
        error: The error, or the reason.
        archive_minutes: Minutes until its session is archived, if that is one for a single purpose; 0 for never.
        now_s: The wall clock.
    """
    if run.is_ended:
        return []
    if state is TaskState.KILLED:
        cause = cause if cause is EndCause.TIMEOUT else EndCause.STOP
    elif state is TaskState.COMPLETED or cause is not EndCause.LOST:
        cause = EndCause.ITSELF
    found: list[GatewayEvent] = []
    if run.state is TaskState.PENDING and state is not TaskState.KILLED:
        found.append(RunBegan(at_s=now_s, run=run.id))
    has_time = archive_minutes > 0 and is_temporary(SessionKey.parse(run.session))
    ended = RunEnded(
        at_s=now_s,
        run=run.id,
        state=state.value,
        cause=cause.value,
        who=who if state is TaskState.KILLED else "",
        error="" if state is TaskState.COMPLETED else error,
        archive_at_s=now_s + archive_minutes * 60 if has_time else 0.0,
    )
    return [*found, ended]


def revoking_events(run: Run, session: str, now_s: float) -> list[GatewayEvent]:
    """Return the events that take a run back that was not accepted, and its new session, if `session` names one."""
    if run.is_ended:
        return []
    why, cause = "not accepted", EndCause.STOP
    found: list[GatewayEvent] = [
        RunEnded(at_s=now_s, run=run.id, state=TaskState.KILLED.value, cause=cause.value, who="gateway", error=why)
    ]
    if run.announce != "none":
        found.append(CompletionComposed(at_s=now_s, run=run.id, text="", is_skipped=True, why=why))
    if session:
        found.append(SessionArchived(at_s=now_s, session=session, why=why))
    return found


def is_temporary(key: SessionKey) -> bool:
    """True for the session of a sub-agent, or of one isolated run of a job: it is archived after a while."""
    return key.is_child or (isinstance(key.rest, CronSession) and bool(key.rest.run))


def reply_text(end: TurnEnd) -> str:
    """Return what the chats of a turn are shown at its end; empty for nothing."""
    if end.state is TaskState.COMPLETED:
        return "" if is_no_reply(end.reply) else end.reply.strip()
    if end.state is TaskState.KILLED and end.cause is EndCause.STOP:
        return ""  # the answer to the stop has told
    if end.state is TaskState.KILLED:
        return "This turn ran out of time."
    return f"This turn failed: {one_line(end.error or 'no reason is known', MAX_REASON)}"


def reply_routes(rows: Iterable[InboundRow]) -> list[ChatRoute]:
    """Return where the reply of a turn goes: each chat once, in the order of its messages, to the newest message there."""
    found: dict[tuple[str, ...], ChatRoute] = {}
    for row in rows:
        route = ChatRoute.from_json(row.route)
        if route is not None:
            found[route_name(row.route)] = route
    return list(found.values())
