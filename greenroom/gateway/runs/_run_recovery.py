"""The start after a crash: the plan of the record, carried out step by step."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, TypeAlias, final

import attrs

from greenroom.core import GreenroomError, JournalError
from greenroom.core.ports import Clock
from greenroom.gateway.keepers._seams import Keepers, NewInput
from greenroom.gateway.record._gateway_journal import GatewayRecord
from greenroom.gateway.record._machines import EndCause, SendResult
from greenroom.gateway.record._recovery_plan import (
    AskChannel,
    EndRun,
    NoteUnknown,
    QueueRun,
    RecoveryStep,
    ResumeRun,
    TellPerson,
)
from greenroom.gateway.record._rows import Run
from greenroom.gateway.record._run_events import DeliveryBlocked, DeliveryEnded, GatewayEvent
from greenroom.gateway.routing._chat_messages import ChatRoute
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.gateway.runs._deliveries import Deliveries
from greenroom.gateway.runs._run_ids import run_item
from greenroom.inbox import COORDINATOR
from greenroom.tasks import TaskState

NOT_RESUMED: Final = (
    "Your message was being answered when the gateway stopped, and the answer is not resumed; please send it again."
)
EndEvents: TypeAlias = Callable[[Run, TaskState, EndCause, str, str], list[GatewayEvent]]
"""Returns the events of an end: run, state, cause, who, error."""


@final
@attrs.frozen(kw_only=True)
class RunRecovery:
    """The parts that the steps of a start need."""

    record: GatewayRecord
    keepers: Keepers
    deliveries: Deliveries
    clock: Clock
    end_events: EndEvents
    is_told: Callable[[str], bool]
    """True if an item tells a requester about the end of a run: nobody wrote it."""
    open_cuts: dict[str, None] = attrs.field(factory=dict)
    """Sessions whose turn was cut, until it is resumed or dropped."""

    async def carry_out(self, plan: Sequence[RecoveryStep], cut: Iterable[str]) -> tuple[RecoveryStep, ...]:
        """Carry out the steps of a start in order, and return those that are about neither runs nor deliveries.

        Completions are only left open here: they are taken up afterwards, each on its own.

        Args:
            plan: The steps.
            cut: Keys of the sessions whose turn an earlier process did not finish: it is resumed, unless a step ends it.
        """
        left = []
        self.open_cuts.update(dict.fromkeys(cut))
        for step in plan:
            do = self._STEPS.get(type(step))
            if do is None:
                left.append(step)
            else:
                await do(self, step)
        for session in list(self.open_cuts):
            self._resume_cut(session)
        return tuple(left)

    def _resume_cut(self, session: str) -> None:
        if session in self.open_cuts:
            del self.open_cuts[session]
            self.keepers.resume_cut(session)

    def _drop_cut(self, session: str, why: str) -> None:
        if session in self.open_cuts:
            del self.open_cuts[session]
            self.keepers.drop_cut(session, why)

    async def _end(self, step: EndRun) -> None:
        run = self.record.registry.runs.get(step.run)
        if run is None or run.is_ended:
            return
        await self.record.write(*self.end_events(run, step.state, step.cause, step.who, step.why))
        self._drop_cut(run.session, step.why)

    async def _queue(self, step: QueueRun | ResumeRun) -> None:
        """Hand the item of a run in again: a new one begins it, and a known one is waiting, or is the turn that was cut."""
        run = self.record.registry.runs.get(step.run)
        if run is None or run.is_ended:
            return
        if run.session in self.open_cuts:
            self._resume_cut(run.session)
            return
        key = SessionKey.parse(run.session)
        route = None if key.is_child else ChatRoute.from_json(run.route)
        new = NewInput(id=run_item(run.id), text=run.task, origin=COORDINATOR, route=route, run=run.id)
        why = "nothing of it is left"
        try:
            is_there = await self.keepers.put(key, new) or new.id in self.record.registry.inbound
        except JournalError:
            raise
        except GreenroomError as error:
            is_there, why = False, f"it cannot be resumed: {error}"
        run = self.record.registry.runs.get(step.run)
        if not is_there and run is not None and not run.is_ended:
            await self.record.write(*self.end_events(run, TaskState.FAILED, EndCause.LOST, "gateway", why))

    async def _note(self, step: NoteUnknown | AskChannel) -> None:
        """Record that the result of a try is unknown; once its channel is there, it is asked, tried again, or the delivery blocked."""
        row = self.record.registry.delivery(step.delivery)
        if row is None or row.is_settled:
            return
        why = step.why if isinstance(step, AskChannel) else "the gateway ended meanwhile"
        if row.trying:
            result = str(SendResult.UNKNOWN)
            await self.record.write(
                DeliveryEnded(at_s=self._now(), delivery=row.id, part=row.trying, result=result, why=why)
            )
        elif isinstance(step, AskChannel):  # lines of the journal are lost, and its try may have been in them
            await self.record.write(DeliveryBlocked(at_s=self._now(), delivery=row.id, why=why))

    async def _tell(self, step: TellPerson) -> None:
        row = self.record.registry.inbound.get(step.item)
        route = None if row is None or self.is_told(step.item) else ChatRoute.from_json(row.route)
        if route is not None:
            await self.deliveries.reply(step.session, step.item, route, NOT_RESUMED)
        self._drop_cut(step.session, "it is not resumed")

    def _now(self) -> float:
        return self.clock.wall().timestamp()

    _STEPS: ClassVar[Mapping[type, Callable[[RunRecovery, Any], Awaitable[None]]]] = {
        EndRun: _end,
        QueueRun: _queue,
        ResumeRun: _queue,
        NoteUnknown: _note,
        AskChannel: _note,
        TellPerson: _tell,
    }
