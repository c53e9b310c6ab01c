"""The table of what hands something in for a session (agents 9.4): what it is, how urgent, whose."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, final

import attrs

from greenroom.inbox._item import Kind
from greenroom.inbox._origin import AUTO_CONTINUATION, HUMAN, SCHEDULE, TASK_NOTIFICATION, Origin, OriginKind
from greenroom.mailbox import Lane


class Source(StrEnum):
    """What hands something in."""

    USER = "user"
    USER_BASH = "user bash entry"
    SHELL = "background shell"
    MONITOR = "monitor"
    AGENT = "background agent"
    REMOTE = "remote work"
    STOP_HOOK = "stop hook"
    SCHEDULE = "schedule"
    CHANNEL = "channel"
    MCP = "MCP server"
    FORKED_COMMAND = "forked command"
    LATE_PERMISSION = "late permission answer"


@final
@attrs.frozen
class Route:
    """How what a source hands in is treated."""

    kind: Kind
    lane: Lane
    origin: Origin


_CHANNEL: Final = Origin(OriginKind.CHANNEL)
ROUTES: Final = {
    Source.USER: Route(Kind.PROMPT, Lane.NEXT, HUMAN),
    Source.USER_BASH: Route(Kind.BASH, Lane.NEXT, HUMAN),
    Source.SHELL: Route(Kind.TASK_NOTIFICATION, Lane.LATER, TASK_NOTIFICATION),
    Source.MONITOR: Route(Kind.TASK_NOTIFICATION, Lane.LATER, TASK_NOTIFICATION),
    Source.AGENT: Route(Kind.TASK_NOTIFICATION, Lane.LATER, TASK_NOTIFICATION),
    Source.REMOTE: Route(Kind.TASK_NOTIFICATION, Lane.LATER, TASK_NOTIFICATION),
    Source.STOP_HOOK: Route(Kind.TASK_NOTIFICATION, Lane.LATER, Origin(OriginKind.TASK_NOTIFICATION, subkind="hook")),
    Source.SCHEDULE: Route(Kind.PROMPT, Lane.LATER, SCHEDULE),
    Source.CHANNEL: Route(Kind.PROMPT, Lane.LATER, _CHANNEL),
    Source.MCP: Route(Kind.PROMPT, Lane.LATER, _CHANNEL),
    Source.FORKED_COMMAND: Route(Kind.PROMPT, Lane.LATER, AUTO_CONTINUATION),
    Source.LATE_PERMISSION: Route(Kind.ORPHANED_PERMISSION, Lane.NEXT, HUMAN),
}
"""Whose name a channel bears is added by who knows it: `channel(server)`."""
