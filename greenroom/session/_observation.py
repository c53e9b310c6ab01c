"""The parts of a session that a program looks at without touching the runtime below it."""

from __future__ import annotations

from typing import Any, final

import attrs

from greenroom.actors import Ref
from greenroom.session._delegation import Delegation
from greenroom.session._queue import SessionInbox
from greenroom.session._recording import are_at_rest
from greenroom.session._stream import KEPT, EventStream, Streams
from greenroom.session._teams import SessionTeams
from greenroom.supervisor import Runtime, TreeNode
from greenroom.tasks import AGENT, MCP_CALL, SHELL


@final
@attrs.frozen(kw_only=True)
class Activity:
    """A snapshot of what runs in a session."""

    is_busy: bool
    """True if the main agent takes a turn, or if a message or a notice is on its way to it."""
    agents: int
    """Number of sub-agents that run, and of teammates that work."""
    calls: int
    """Number of calls of MCP servers that run as tasks."""
    commands: int
    """Number of commands that run as tasks."""


class Observation:
    """Events, actors, activity and the clock of a session."""

    runtime: Runtime
    delegation: Delegation
    teams: SessionTeams
    inbox: SessionInbox
    _streams: Streams
    _main: Ref[Any] | None

    def events(self, *, from_start: bool = False, capacity: int | None = KEPT) -> EventStream:
        """Return the events of the session from this call on; close the stream when it is not read to its end.

        The live events that the session was opened for are among them.

        Args:
            from_start: Begin with what the recorder still holds of the session so far, and with the live events from before
                the session was open.
            capacity: Number of events that wait for a slow reader before the oldest are dropped; None for no limit.
        """
        return self._streams.open(from_start=from_start, capacity=capacity)

    def now(self) -> float:
        """Return the reading of the clock that events have, in seconds."""
        return self.runtime.recorder.now()

    def tree(self) -> TreeNode:
        """Return all actors of the session as a tree."""
        return self.runtime.tree()

    def activity(self) -> Activity:
        """Return what runs at this moment."""
        assert self._main is not None
        kinds = [task.info.kind for task in self.delegation.tasks.running()]
        runs = self.delegation.crew.members.values()
        is_reporting = any(run.task.is_finished and not run.task.is_settled for run in runs)
        return Activity(
            is_busy=is_reporting or not are_at_rest((self._main, self.inbox.ref)),
            agents=kinds.count(AGENT) + self.teams.working,
            calls=kinds.count(MCP_CALL),
            commands=kinds.count(SHELL),
        )
