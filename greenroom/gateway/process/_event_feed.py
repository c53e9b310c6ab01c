"""The feed of clients: what the record says, once it is durable, and what sessions say while they work.

Rule 1: an event of the record is told when it is durable, in its order. Rule 2: feeding never waits for a client, and nobody waits for the
feed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, final

import trio

from greenroom.agents import Appended
from greenroom.core import CLASS, SEQ, Event, JournalError, Record, event_of
from greenroom.gateway.keepers._seams import TurnEnd
from greenroom.gateway.keepers._session_history import about_call
from greenroom.gateway.process._shown_rows import shown_delivery, shown_run, shown_session
from greenroom.gateway.record import _gateway_events as gateway
from greenroom.gateway.record import _run_events as work
from greenroom.gateway.record._gateway_journal import GatewayRecord
from greenroom.gateway.record._registry import Registry
from greenroom.gateway.record._run_events import GatewayEvent
from greenroom.gateway.rpc._hub import EventHub
from greenroom.gateway.runs._run_service import Runs
from greenroom.gateway.trust._approval_desk import ApprovalDesk
from greenroom.models import ToolUseBlock
from greenroom.session import AnswerPiece, MessageAppended
from greenroom.tasks import TaskState

_AGAIN_S: Final = 1.0
MAX_WAITING: Final = 10_000
"""Events that wait to be durable; beyond it the oldest are not told."""
BETWEEN_MESSAGES: Final = "\n\n"
"""Between the texts of two messages of one turn."""


@final
class EventFeed:
    """The feed. Events of the record are taken by `hear`, those of sessions by `hear_session`.

    Args:
        record: The gateway's journal and registry.
        hub: Where events are published.
        mask: Returns a text without secrets.
        desk: The questions about calls.
    """

    def __init__(self, record: GatewayRecord, hub: EventHub, mask: Callable[[str], str], desk: ApprovalDesk) -> None:
        self._record = record
        self._hub = hub
        self._mask = mask
        self._desk = desk
        self._waiting: deque[tuple[int, GatewayEvent]] = deque(maxlen=MAX_WAITING)
        self._wake = trio.Event()
        self._said: dict[str, int] = {}
        """Characters of the running answer of each session."""
        self._apart: set[str] = set()
        """Sessions whose next piece begins another message of the turn."""

    def hear(self, record: Record) -> None:
        """Take an event of the record; called by its recorder."""
        if record[CLASS] in self._TELL:
            event = event_of(record)
            assert isinstance(event, GatewayEvent)
            self._waiting.append((record[SEQ], event))
            self._wake.set()

    def hear_session(self, session: str, event: Event) -> None:
        """Take an event of a session's main agent: pieces of answers and calls of tools are told as they come."""
        if isinstance(event, MessageAppended):
            self._calls(session, event.appended)
            return
        piece = _text_of(event.piece) if isinstance(event, AnswerPiece) else ""
        if not piece:
            return
        at = self._said.get(session, 0)
        if session in self._apart:
            self._apart.remove(session)
            piece = BETWEEN_MESSAGES + piece
        self._said[session] = at + len(piece)
        payload = {"sessionKey": session, "state": "delta", "message": piece, "at": at}
        self._hub.publish("chat", session, payload, delta_of=session)

    def _calls(self, session: str, appended: Appended) -> None:
        if appended.response is not None and self._said.get(session):
            self._apart.add(session)
        for block in appended.message.content if appended.response is not None else ():
            if isinstance(block, ToolUseBlock):
                payload = {"sessionKey": session, "phase": "tool", "callId": block.id, "tool": block.name}
                self._hub.publish("agent", session, payload | {"summary": about_call(block.input, self._mask)})

    def end_of_turn(self, session: str, payload: Mapping[str, Any]) -> None:
        """Tell the end of a turn, which is on record."""
        self._said.pop(session, None)
        self._apart.discard(session)
        self._hub.publish("chat", session, {"sessionKey": session, **payload})

    async def run(self) -> None:
        """Tell events as they become durable, until cancelled."""
        stop = self._record.journal.recorder.listen(self.hear)
        try:
            while True:
                while not self._waiting:
                    self._wake = trio.Event()
                    await self._wake.wait()
                seq, event = self._waiting[0]
                try:
                    await self._record.journal.wait_durable(seq)
                except JournalError:
                    await trio.sleep(_AGAIN_S)
                    continue
                self._waiting.popleft()
                self.tell(event)
        finally:
            stop()

    def tell(self, event: GatewayEvent) -> None:
        """Tell an event of the record, which is durable."""
        self._TELL[type(event)](self, event)

    def _session(self, event: Any) -> None:
        row = self._record.registry.sessions.get(event.session)
        if row is not None:
            self._hub.publish("session", row.key, shown_session(row))

    def _run(self, event: Any) -> None:
        run = self._record.registry.run(event.run)
        if run is not None:
            payload = {"phase": _PHASES[type(event)], **shown_run(run)}
            self._hub.publish("agent", run.session, payload)

    def _delivery(self, event: Any) -> None:
        row = self._record.registry.delivery(event.delivery)
        if row is not None:
            self._hub.publish("delivery", row.session, shown_delivery(row))
        else:
            self._hub.publish("delivery", "", {"deliveryId": event.delivery, "state": "settled"})

    def _channel(self, event: Any) -> None:
        is_connected = isinstance(event, gateway.ChannelConnected)
        payload = {"channel": event.channel, "accountId": event.account, "connected": is_connected}
        self._hub.publish("channel", "", payload if is_connected else payload | {"error": event.why})

    def _pairing(self, event: Any) -> None:
        payload = {"channel": event.channel, "accountId": event.account, "sender": event.sender}
        self._hub.publish("pairing", "", payload | {"state": event.kind.partition(".")[2]})

    def _asked(self, event: gateway.ApprovalAsked) -> None:
        payload = {"approvalId": event.approval, "sessionKey": event.session, "tool": event.tool, "state": "asked"}
        question = next((each for each in self._desk.open_questions() if each.id == event.approval), None)
        about = {} if question is None else {"summary": self._mask(question.summary)}
        self._hub.publish("approval", event.session, payload | about | {"expiresMs": int(event.expires_s * 1000)})

    def _answered(self, event: gateway.ApprovalAnswered) -> None:
        payload = {"approvalId": event.approval, "decision": event.answer, "who": event.who, "state": "answered"}
        self._hub.publish("approval", "", payload)

    def _job(self, event: Any) -> None:
        payload: dict[str, Any] = {"jobId": event.job, "phase": event.kind.partition(".")[2]}
        if isinstance(event, gateway.CronDue):
            payload["run"] = event.run
        if isinstance(event, gateway.CronEnded):
            payload["outcome"] = event.outcome
        self._hub.publish("cron", "", payload)

    _TELL: ClassVar[Mapping[type[Event], Callable[[EventFeed, Any], None]]] = {
        **dict.fromkeys(
            (
                gateway.SessionMade,
                gateway.SessionOpened,
                gateway.SessionClosed,
                gateway.SessionReset,
                gateway.SessionPatched,
                gateway.SessionArchived,
            ),
            _session,
        ),
        **dict.fromkeys((work.RunRegistered, work.RunQueued, work.RunBegan, work.RunEnded), _run),
        **dict.fromkeys(
            (work.DeliveryDue, work.DeliveryEnded, work.DeliveryBlocked, work.DeliveryDismissed), _delivery
        ),
        **dict.fromkeys((gateway.ChannelConnected, gateway.ChannelLost), _channel),
        **dict.fromkeys((gateway.PairingAsked, gateway.PairingApproved, gateway.PairingRemoved), _pairing),
        gateway.ApprovalAsked: _asked,
        gateway.ApprovalAnswered: _answered,
        **dict.fromkeys(
            (gateway.CronAdded, gateway.CronChanged, gateway.CronRemoved, gateway.CronDue, gateway.CronEnded), _job
        ),
    }


def _text_of(piece: Mapping[str, Any]) -> str:
    """Return the text that an event of a provider's stream adds to an answer; empty for another event."""
    delta = piece.get("delta")
    return str(delta.get("text", "")) if isinstance(delta, Mapping) and delta.get("type") == "text_delta" else ""


_PHASES: Final[Mapping[type[Event], str]] = {
    work.RunRegistered: "accepted",
    work.RunQueued: "queued",
    work.RunBegan: "start",
    work.RunEnded: "end",
}


@final
class TurnWatch:
    """Tells runs, and then the feed.

    Args:
        runs: The runs.
        feed: The feed of clients.
        registry: The registry.
    """

    def __init__(self, runs: Runs, feed: EventFeed, registry: Registry) -> None:
        self._runs = runs
        self._feed = feed
        self._registry = registry

    async def turn_queued(self, session: str, items: tuple[str, ...], lane: str) -> None:
        """Pass it on."""
        await self._runs.turn_queued(session, items, lane)

    async def turn_began(self, session: str, items: tuple[str, ...]) -> None:
        """Pass it on."""
        await self._runs.turn_began(session, items)

    async def turn_ended(self, end: TurnEnd) -> None:
        """Have the end recorded, then tell clients."""
        known = [row for item in end.items if (row := self._registry.inbound.get(item)) is not None and row.run]
        await self._runs.turn_ended(end)
        states = {TaskState.COMPLETED: "final", TaskState.KILLED: "aborted"}
        payload: dict[str, object] = {"state": states.get(end.state, "error"), "message": end.reply or end.said}
        if known:
            payload["runId"] = known[-1].run
        if end.error:
            payload["error"] = end.error
        self._feed.end_of_turn(end.session, payload)
