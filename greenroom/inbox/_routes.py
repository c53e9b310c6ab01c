"""The table of sources that hand something in for a session: treatment, urgency, origin."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, final

import attrs

from greenroom.inbox._inbox_items import EntryKind
from greenroom.inbox._origin import AUTO_CONTINUATION, HUMAN, MONITOR, SCHEDULE, TASK_NOTIFICATION, Origin, OriginKind
from greenroom.mailbox import Lane


class InboxSource(StrEnum):
    """Source of an entry."""

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
    """Treatment of a source's entries."""

    kind: EntryKind
    lane: Lane
    origin: Origin


_CHANNEL: Final = Origin(OriginKind.CHANNEL)
ROUTES: Final = {
    InboxSource.USER: Route(EntryKind.PROMPT, Lane.NEXT, HUMAN),
    InboxSource.USER_BASH: Route(EntryKind.BASH, Lane.NEXT, HUMAN),
    InboxSource.SHELL: Route(EntryKind.TASK_NOTIFICATION, Lane.LATER, TASK_NOTIFICATION),
    InboxSource.MONITOR: Route(EntryKind.TASK_NOTIFICATION, Lane.LATER, MONITOR),
    InboxSource.AGENT: Route(EntryKind.TASK_NOTIFICATION, Lane.LATER, TASK_NOTIFICATION),
    InboxSource.REMOTE: Route(EntryKind.TASK_NOTIFICATION, Lane.LATER, TASK_NOTIFICATION),
    InboxSource.STOP_HOOK: Route(
        EntryKind.TASK_NOTIFICATION, Lane.LATER, Origin(OriginKind.TASK_NOTIFICATION, subkind="hook")
    ),
    InboxSource.SCHEDULE: Route(EntryKind.PROMPT, Lane.LATER, SCHEDULE),
    InboxSource.CHANNEL: Route(EntryKind.PROMPT, Lane.LATER, _CHANNEL),
    InboxSource.MCP: Route(EntryKind.PROMPT, Lane.LATER, _CHANNEL),
    InboxSource.FORKED_COMMAND: Route(EntryKind.PROMPT, Lane.LATER, AUTO_CONTINUATION),
    InboxSource.LATE_PERMISSION: Route(EntryKind.ORPHANED_PERMISSION, Lane.NEXT, HUMAN),
}
"""The name of a channel is added by its server: `channel(server)`."""
