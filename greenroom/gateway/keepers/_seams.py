"""The seam between keepers, which run turns, and what uses them: runs, deliveries, and clients.

Rule 1: a keeper knows sessions and turns, and neither runs nor chats. Rule 2: what it reports is awaited before it goes on: then it is
on record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, final

import attrs

from greenroom.core import Event
from greenroom.gateway.announce._announcement import SpentRequest
from greenroom.gateway.lanes._places import TurnClaim
from greenroom.gateway.record._machines import EndCause
from greenroom.gateway.record._run_events import GatewayEvent
from greenroom.gateway.routing._chat_messages import ChatRoute
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.inbox import Origin
from greenroom.tasks import TaskState


@final
@attrs.frozen(kw_only=True)
class NewInput:
    """A text for a session."""

    id: str
    """Id of the item, a UUID made from the ids outside: a second input with it changes nothing."""
    text: str
    origin: Origin
    route: ChatRoute | None = None
    """Where the answer goes; None for nowhere."""
    run: str = ""
    """The run that it begins; empty for none."""
    begins_turn: bool = True
    """False if it waits for the next turn of an idle session."""
    is_command: bool = False
    """True if `/name` and `!` at its start count as for a text of the user's own terminal."""
    queue: str = ""
    """Queue mode; empty for that of the session."""
    reason: str = ""
    """The reason for which its sender may write, for the record."""


@final
@attrs.frozen(kw_only=True)
class TurnEnd:
    """The end of a turn."""

    session: str
    """Key of the session."""
    session_id: str
    items: tuple[str, ...]
    """Ids of the items that it took up, in order."""
    line: str
    """Id of the transcript's line of the final message; empty for none."""
    state: TaskState
    cause: EndCause
    who: str = ""
    error: str = ""
    reply: str = ""
    """The text of the final message of a turn that completed."""
    said: str = ""
    """The last text of a turn that did not complete."""
    requests: tuple[SpentRequest, ...] = ()
    """All requests of the turn, with those of what it started inside its session."""


@final
@attrs.frozen
class AsideReply:
    """The result of a turn that was run beside the others."""

    text: str = ""
    """Empty if it has none."""
    requests: tuple[SpentRequest, ...] = ()


@final
@attrs.frozen
class PastTurn:
    """A turn as the files of its session tell it."""

    said: str = ""
    """Its last text."""
    requests: tuple[SpentRequest, ...] = ()
    """All requests of its session so far."""


class TurnWatcher(Protocol):
    """The listener for the turns of all sessions."""

    async def turn_queued(self, session: str, items: tuple[str, ...], lane: str) -> None:
        """A turn waits for its place."""

    async def turn_began(self, session: str, items: tuple[str, ...]) -> None:
        """A turn has its place and begins; again after a restart that had cut it."""

    async def turn_ended(self, end: TurnEnd) -> None:
        """A turn has ended; when this returns, the end is on record. The session's events hold it already."""


OnSessionEvent = Callable[[str, Event], object]
"""Called with a session key and each event of its stream (live ones included); it may only store values and wake tasks."""


class Keepers(Protocol):
    """The sessions of a gateway, by key."""

    async def put(self, key: SessionKey, new: NewInput) -> bool:
        """Put an input on record and into the store, and wake the keeper; False if it was there before. Then it is durable.

        Raises:
            NotFound, Conflict, BoxFull, JournalError: The session is archived, it is full, or the disk refuses.
        """

    async def stop_turn(self, key: str, *, who: str, cause: EndCause = EndCause.STOP, item: str = "") -> bool:
        """End the turn that runs or waits, or withdraw one item; return True when it has ended, False if there was none."""

    async def ask_aside(
        self, key: str, text: str, *, within_s: float, max_requests: int, is_again: bool = False
    ) -> AsideReply:
        """Run one further turn whose tools are all refused, such as the announce step, and return its reply.

        With `is_again`, an earlier process may have asked: an answer that is in the transcript is returned without asking.
        """

    async def find_turn(self, session: str, session_id: str, item: str) -> PastTurn:
        """Return what the files of a session tell of the turn that took up an item; nothing is opened."""

    async def reset(self, key: str, *, who: str) -> str:
        """Give a key a new, empty session, archive the former one, and return the new session id. Never in the middle of a turn."""

    async def patch(self, key: str, settings: Mapping[str, object], *, label: str | None = None) -> None:
        """Change settings of a session; they count from its next turn, and survive restarts."""

    async def archive(self, key: str, *, why: str, is_forced: bool = False, transcript: str = "") -> str:
        """Close a session for good, rename its transcript, to `transcript` if somebody was told that name, and return the new name."""

    def is_busy(self, key: str) -> bool:
        """True if a turn of it runs or waits for a place."""

    def events_for_new(
        self, key: SessionKey, *, spawned_by: str = "", label: str = "", settings: Mapping[str, Any] | None = None
    ) -> tuple[GatewayEvent, ...]:
        """Return the events that make a session, so that it is recorded together with its run; none if it is known."""

    def claim_of(self, key: str) -> TurnClaim | None:
        """Return the place of the turn of a session that runs, for `TurnLanes.lend`; None if none runs."""

    async def recover(self) -> tuple[str, ...]:
        """Report what an earlier process did not report, begin what waits, and return the keys whose turn was cut."""

    def resume_cut(self, key: str) -> None:
        """Resume the cut turn of a session, behind what people have said since."""

    def drop_cut(self, key: str, why: str) -> tuple[str, ...]:
        """Settle the items of the cut turn of a session, which is not resumed, and return them."""
