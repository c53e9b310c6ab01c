"""The registry: what the events of the gateway's journal add up to.

Rule 1: `fold` is the only way in: an event that the tables do not allow raises, and changes nothing. Rule 2: each run has one terminal
event and one completion. Rule 3: what has ended leaves: an item when it is settled, a reply when it is delivered, a run with the archive
of its session. Rule 4: a snapshot is a plain JSON value, and the rest of the events on top of it gives the same as all of them.
Must not know: clock, disk, Trio.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, ClassVar, Final, TypeAlias, final

import attrs
import cattrs

from greenroom.core import Event, IllegalTransition
from greenroom.gateway.record import _gateway_events as gateway
from greenroom.gateway.record import _run_events as work
from greenroom.gateway.record._machines import (
    DeliveryState,
    DeliveryStep,
    EndCause,
    SendResult,
    SessionState,
    SessionStep,
    step_delivery,
    step_session,
    words_for,
)
from greenroom.gateway.record._rows import Completion, Delivery, InboundRow, Run, SessionRow, completion_delivery
from greenroom.gateway.record._service_state import ServiceState, found_row
from greenroom.tasks import Edge, TaskState, step
from greenroom.trace import UnknownEvent

MAX_RECENT: Final = 1_000
"""Ended runs that are remembered although nobody needs them, for callers that wait for them."""
MAX_UNKNOWN: Final = 1_000
"""Unknown events that a snapshot keeps, the newest ones."""
Sending: TypeAlias = work.DeliveryBegan | work.DeliveryEnded | work.DeliveryBlocked | work.DeliveryDismissed
_EDGES: Final[Mapping[str, Edge]] = {
    TaskState.COMPLETED: Edge.COMPLETE,
    TaskState.FAILED: Edge.FAIL,
    TaskState.KILLED: Edge.KILL,
}


@final
@attrs.define
class Registry:
    """Everything that the gateway knows between its sessions and the world."""

    is_up: bool = False
    """True if the last process has begun and not ended in order."""
    last_s: float = 0.0
    """The latest time of an event: a clock that is set back does not lower it."""
    config: str = ""
    """Digest of the configuration that was last in force."""
    sessions: dict[str, SessionRow] = attrs.field(factory=dict)
    """By key."""
    runs: dict[str, Run] = attrs.field(factory=dict)
    recent: dict[str, Run] = attrs.field(factory=dict)
    """Runs that have ended and need nothing any more: the newest ones."""
    completions: dict[str, Completion] = attrs.field(factory=dict)
    """By the id of the run."""
    replies: dict[str, Delivery] = attrs.field(factory=dict)
    """Deliveries other than those of completions, until they are settled."""
    inbound: dict[str, InboundRow] = attrs.field(factory=dict)
    refused: int = 0
    """Number of messages that were not accepted."""
    services: ServiceState = attrs.field(factory=ServiceState)
    """Channels, pairings, questions, jobs and calls from outside."""
    unknown: list[dict[str, Any]] = attrs.field(factory=list)
    """Events of a newer version, which this one keeps for it."""

    # --- reading -----------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """Return it as a plain JSON value."""
        value: dict[str, Any] = _converter().unstructure(self)
        return value

    @staticmethod
    def from_snapshot(state: Mapping[str, Any]) -> Registry:
        """Return the registry that a snapshot was made of.

        Raises:
            ValueError: The value is not a snapshot.
        """
        try:
            return _converter().structure(state, Registry)
        except Exception as error:  # noqa: BLE001 - whatever a converter raises, the value is at fault
            raise ValueError(f"not a snapshot of a registry: {error}") from None

    def run(self, id_: str) -> Run | None:
        """Return a run by its id; None if it is unknown, or has ended and was forgotten."""
        return self.runs.get(id_) or self.recent.get(id_)

    def delivery(self, id_: str) -> Delivery | None:
        """Return a delivery by its id; None if it is unknown or was settled."""
        completion = self.completions.get(id_.removeprefix(completion_delivery("")))
        if completion is not None and completion.delivery.id == id_:
            return completion.delivery
        return self.replies.get(id_)

    def deliveries(self) -> Iterator[Delivery]:
        """Yield all deliveries, in the order in which they came to be."""
        for completion in self.completions.values():
            yield completion.delivery
        yield from self.replies.values()

    def runs_of(self, requester: str) -> list[Run]:
        """Return the runs that a session asked for, the newest first."""
        found = [run for run in self.runs.values() if run.requester == requester]
        return sorted(found, key=lambda run: run.began_s or run.created_s, reverse=True)

    # --- folding -----------------------------------------------------------------------------------------------------

    def fold(self, event: Event) -> None:
        """Take an event into account. Events of others are ignored, unknown ones kept.

        Raises:
            IllegalTransition: The event is not possible now; nothing has changed.
        """
        if isinstance(event, UnknownEvent):
            self.unknown = [*self.unknown[1 - MAX_UNKNOWN :], {"name": event.name, **event.fields}]
            return
        handler = self._FOLDS.get(type(event))
        if handler is None:
            self.services.fold(event)
        else:
            handler(self, event)
        if isinstance(event, work.GatewayEvent) and type(event) is not gateway.GatewaySnapshot:  # nobody worked then
            self.last_s = max(self.last_s, event.at_s)

    def fold_all(self, events: Iterable[Event]) -> Registry:
        """Take events into account, in order, and return it."""
        for event in events:
            self.fold(event)
        return self

    def _begin(self, event: gateway.GatewayBegan) -> None:
        is_crash, self.is_up = self.is_up, True
        working = {each.session for each in self.runs.values()}
        for key, row in list(self.sessions.items()):
            if row.spawned_by and key not in working and row.state is not SessionState.ARCHIVED:
                del self.sessions[key]  # the process ended before the run was on record for which it was made
            elif row.state is SessionState.OPEN:
                self.sessions[key] = attrs.evolve(row, state=step_session(row.state, SessionStep.CLOSE))
        for id_, each in self.runs.items():
            if each.state is TaskState.RUNNING and not each.is_cut:
                spent_s = each.worked_s(self.last_s)
                self.runs[id_] = attrs.evolve(
                    each, spent_s=spent_s, is_cut=True, cut_s=self.last_s, cuts=each.cuts + is_crash
                )

    def _end(self, event: gateway.GatewayEnded) -> None:
        self.is_up = False

    def _load(self, event: gateway.GatewaySnapshot) -> None:
        state = Registry.from_snapshot(event.state)
        for field in attrs.fields(Registry):
            setattr(self, field.name, getattr(state, field.name))

    def _configure(self, event: gateway.ConfigLoaded) -> None:
        self.config = event.digest

    # --- sessions

    def _make(self, event: gateway.SessionMade) -> None:
        if event.session in self.sessions:
            raise IllegalTransition(state=self.sessions[event.session].state, event=event.kind)
        self.sessions[event.session] = SessionRow(
            key=event.session,
            session_id=event.session_id,
            made_s=event.at_s,
            used_s=event.at_s,
            spawned_by=event.spawned_by,
            label=event.label,
            settings=dict(event.settings),
        )

    def _step_session(self, event: gateway.SessionOpened | gateway.SessionClosed, edge: SessionStep) -> SessionRow:
        row = found_row(self.sessions, event.session, event)
        return attrs.evolve(row, state=step_session(row.state, edge))

    def _open(self, event: gateway.SessionOpened) -> None:
        self.sessions[event.session] = self._step_session(event, SessionStep.OPEN)

    def _close(self, event: gateway.SessionClosed) -> None:
        self.sessions[event.session] = self._step_session(event, SessionStep.CLOSE)

    def _reset(self, event: gateway.SessionReset) -> None:
        row = self._living(event.session, event)
        self.sessions[event.session] = row.with_folder(event.session_id, event.transcript, event.at_s)

    def _patch(self, event: gateway.SessionPatched) -> None:
        row = self._living(event.session, event)
        settings = {name: value for name, value in {**row.settings, **event.settings}.items() if value is not None}
        label = row.label if event.label is None else event.label
        self.sessions[event.session] = attrs.evolve(row, settings=settings, label=label)

    def _archive(self, event: gateway.SessionArchived) -> None:
        row = found_row(self.sessions, event.session, event)
        state = step_session(row.state, SessionStep.ARCHIVE)
        mine = [each for each in self.runs.values() if each.session == event.session]
        if any(not each.is_ended for each in mine):
            raise IllegalTransition(state="running", event=event.kind)
        self.sessions[event.session] = attrs.evolve(
            row, state=state, archived_s=event.at_s, transcript=event.transcript
        )
        for each in mine:
            self._forget(each)

    def _remove(self, event: gateway.SessionRemoved) -> None:
        row = found_row(self.sessions, event.session, event)
        if row.state is not SessionState.ARCHIVED:
            raise IllegalTransition(state=row.state, event=event.kind)
        if any(each.session == event.session for each in self.runs.values()):
            raise IllegalTransition(state="undelivered", event=event.kind)
        del self.sessions[event.session]

    def _living(self, key: str, event: Event) -> SessionRow:
        row = found_row(self.sessions, key, event)
        if row.state is SessionState.ARCHIVED:
            raise IllegalTransition(state=row.state, event=event.kind)
        return row

    def _use(self, key: str, at_s: float) -> None:
        row = self.sessions.get(key)
        if row is not None:
            self.sessions[key] = attrs.evolve(row, used_s=max(row.used_s, at_s))

    # --- what comes in

    def _accept(self, event: work.InboundAccepted) -> None:
        self._living(event.session, event)
        if event.item in self.inbound:
            raise IllegalTransition(state="accepted", event=event.kind)
        self.inbound[event.item] = InboundRow(
            item=event.item, session=event.session, route=event.route, run=event.run, accepted_s=event.at_s
        )
        self._use(event.session, event.at_s)

    def _take(self, event: work.InboundTaken) -> None:
        row = found_row(self.inbound, event.item, event)
        self.inbound[event.item] = attrs.evolve(row, is_taken=True)

    def _settle(self, event: work.InboundSettled) -> None:
        found_row(self.inbound, event.item, event)
        del self.inbound[event.item]

    def _refuse(self, event: work.InboundRefused) -> None:
        self.refused += 1

    # --- runs

    def _register(self, event: work.RunRegistered) -> None:
        known = self.run(event.run)
        if known is not None:
            raise IllegalTransition(state=known.state, event=event.kind)
        self._living(event.session, event)
        self.runs[event.run] = Run(
            id=event.run,
            session=event.session,
            session_id=event.session_id,
            requester=event.requester,
            route=event.route,
            task=event.task,
            label=event.label,
            cleanup=event.cleanup,
            announce=event.announce,
            limit_s=event.limit_s,
            created_s=event.at_s,
        )

    def _queue(self, event: work.RunQueued) -> None:
        row = found_row(self.runs, event.run, event)
        if row.is_ended:
            raise IllegalTransition(state=row.state, event=event.kind)
        self.runs[event.run] = attrs.evolve(row, lane=event.lane)

    def _begin_run(self, event: work.RunBegan) -> None:
        row = found_row(self.runs, event.run, event)
        state = row.state if row.is_cut else step(row.state, Edge.BEGIN)
        if state is not TaskState.RUNNING:
            raise IllegalTransition(state=state, event=event.kind)
        began_s = row.began_s or event.at_s
        self.runs[event.run] = attrs.evolve(row, state=state, began_s=began_s, resumed_s=event.at_s, is_cut=False)
        self._use(row.session, event.at_s)

    def _end_run(self, event: work.RunEnded) -> None:
        row = found_row(self.runs, event.run, event)
        state = step(row.state, _EDGES[event.state])
        cause = EndCause(event.cause)
        words_for(state, cause)
        self.runs[event.run] = attrs.evolve(
            row,
            state=state,
            spent_s=row.worked_s(event.at_s),
            resumed_s=0.0,
            is_cut=False,
            cause=cause,
            who=event.who,
            error=event.error,
            ended_s=event.at_s,
        )
        session = self.sessions[row.session]
        self.sessions[row.session] = attrs.evolve(session, archive_at_s=event.archive_at_s)
        delivery = Delivery(id=completion_delivery(row.id), session=row.session, route=row.route)
        if row.announce == "none":
            delivery = attrs.evolve(delivery, state=step_delivery(delivery.state, DeliveryStep.SKIP))
        self._put(Completion(run=row.id, ended_s=event.at_s, is_composed=delivery.is_settled, delivery=delivery))
        self._use(row.session, event.at_s)

    def _forget(self, row: Run) -> None:
        """Drop a run that nobody lists any more, if its completion is settled."""
        session = self.sessions[row.session]
        is_listed = row.announce != "none" and session.state is not SessionState.ARCHIVED
        if not is_listed and self.completions[row.id].delivery.is_settled:
            del self.completions[row.id]
            self.recent[row.id] = self.runs.pop(row.id)
            if len(self.recent) > MAX_RECENT:
                del self.recent[next(iter(self.recent))]

    # --- what goes out

    def _compose(self, event: work.CompletionBegan) -> None:
        row = found_row(self.completions, event.run, event)
        if row.is_composed:
            raise IllegalTransition(state="composed", event=event.kind)
        self._complete(row, state=step_delivery(row.delivery.state, DeliveryStep.COMPOSE))

    def _composed(self, event: work.CompletionComposed) -> None:
        row = found_row(self.completions, event.run, event)
        if row.is_composed or row.delivery.state not in {DeliveryState.NONE, DeliveryState.COMPOSING}:
            raise IllegalTransition(state="composed", event=event.kind)
        state = step_delivery(row.delivery.state, DeliveryStep.SKIP) if event.is_skipped else row.delivery.state
        self._complete(attrs.evolve(row, is_composed=True), state=state, text=event.text, why=event.why)

    def _complete(self, row: Completion, **changes: Any) -> None:
        self._put(attrs.evolve(row, delivery=attrs.evolve(row.delivery, **changes)))

    def _put(self, row: Completion) -> None:
        self.completions[row.run] = row
        if row.delivery.is_settled:
            self._forget(self.runs[row.run])

    def _due(self, event: work.DeliveryDue) -> None:
        row = self.delivery(event.delivery)
        if row is None:
            if event.delivery.startswith(completion_delivery("")):
                raise IllegalTransition(state="absent", event=event.kind)
            row = Delivery(id=event.delivery, session=event.session, route=event.route, text=event.text)
        elif row.state is not DeliveryState.BLOCKED and not self._is_composed(event.delivery):
            raise IllegalTransition(state=row.state, event=event.kind)
        edge = DeliveryStep.RETRY if row.state is DeliveryState.BLOCKED else DeliveryStep.READY
        state = step_delivery(row.state, edge)
        self._store(attrs.evolve(row, state=state, due_s=event.at_s, tries=0, wait_s=0.0, result=None, why=""))
        if event.call:
            self.services.note_answered(event.call, event.at_s)

    def _is_composed(self, delivery: str) -> bool:
        row = self.completions.get(delivery.removeprefix(completion_delivery("")))
        return row is not None and row.is_composed

    def _try(self, event: work.DeliveryBegan) -> None:
        row = self._sought(event)
        is_next = event.part == len(row.taken) + 1 and event.parts >= event.part and row.parts in {0, event.parts}
        if row.state is not DeliveryState.DUE or row.trying or not is_next:
            raise IllegalTransition(state=row.state, event=event.kind)
        self._store(attrs.evolve(row, parts=event.parts, trying=event.part))

    def _tried(self, event: work.DeliveryEnded) -> None:
        row = self._sought(event)
        result = SendResult(event.result)
        if not event.part and result is SendResult.TAKEN and self._is_composed(row.id) and row.is_unsent:
            self._store(row.told(event.why))
            return
        if row.state is not DeliveryState.DUE or row.trying != event.part or not event.part:
            raise IllegalTransition(state=row.state, event=event.kind)
        row = attrs.evolve(row, trying=0, tried_s=event.at_s, wait_s=event.wait_s, why=event.why)
        if result is SendResult.TAKEN:
            row = attrs.evolve(row, taken=(*row.taken, event.part), tries=0, result=None)
            if len(row.taken) == row.parts:
                row = attrs.evolve(row, state=step_delivery(row.state, DeliveryStep.DELIVER))
        else:
            row = attrs.evolve(row, tries=row.tries + 1, result=result)
        self._store(row)

    def _block(self, event: work.DeliveryBlocked) -> None:
        row = self._sought(event)
        state = step_delivery(row.state, DeliveryStep.BLOCK)
        self._store(attrs.evolve(row, state=state, trying=0, blocked_s=event.at_s, why=event.why))

    def _dismiss(self, event: work.DeliveryDismissed) -> None:
        row = self._sought(event)
        self._store(attrs.evolve(row, state=step_delivery(row.state, DeliveryStep.DISMISS), why=event.who))

    def _sought(self, event: Sending) -> Delivery:
        row = self.delivery(event.delivery)
        if row is None:
            raise IllegalTransition(state="absent", event=event.kind)
        return row

    def _store(self, row: Delivery) -> None:
        completion = self.completions.get(row.id.removeprefix(completion_delivery("")))
        if completion is not None and completion.delivery.id == row.id:
            self._put(attrs.evolve(completion, delivery=row))
        elif row.is_settled:
            self.replies.pop(row.id, None)
        else:
            self.replies[row.id] = row

    _FOLDS: ClassVar[Mapping[type[Event], Callable[[Registry, Any], None]]] = {
        gateway.GatewayBegan: _begin,
        gateway.GatewayEnded: _end,
        gateway.GatewaySnapshot: _load,
        gateway.ConfigLoaded: _configure,
        gateway.SessionMade: _make,
        gateway.SessionOpened: _open,
        gateway.SessionClosed: _close,
        gateway.SessionReset: _reset,
        gateway.SessionPatched: _patch,
        gateway.SessionArchived: _archive,
        gateway.SessionRemoved: _remove,
        work.InboundAccepted: _accept,
        work.InboundTaken: _take,
        work.InboundSettled: _settle,
        work.InboundRefused: _refuse,
        work.RunRegistered: _register,
        work.RunQueued: _queue,
        work.RunBegan: _begin_run,
        work.RunEnded: _end_run,
        work.CompletionBegan: _compose,
        work.CompletionComposed: _composed,
        work.DeliveryDue: _due,
        work.DeliveryBegan: _try,
        work.DeliveryEnded: _tried,
        work.DeliveryBlocked: _block,
        work.DeliveryDismissed: _dismiss,
    }


@cache
def _converter() -> cattrs.Converter:
    return cattrs.Converter(detailed_validation=False, omit_if_default=True)
