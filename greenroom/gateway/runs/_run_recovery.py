"""The start after a crash: the plan of the record, carried out step by step."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar, Final, TypeAlias, final

import attrs

from greenroom.core import GreenroomError, JournalError
from greenroom.core.ports import Clock
from greenroom.gateway.announce._retry_plan import part_key
from greenroom.gateway.channels._channel import WasSent
from greenroom.gateway.keepers._seams import NewInput
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
from greenroom.gateway.routing._messages import Route
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.gateway.runs._deliveries import Deliveries, FindChannel, ask_channel, found_out
from greenroom.gateway.runs._run_keepers import RunKeepers, run_item
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
    """What the steps of a start need."""

    record: GatewayRecord
    keepers: RunKeepers
    deliveries: Deliveries
    find_channel: FindChannel
    clock: Clock
    end_events: EndEvents

    async def carry_out(self, plan: Sequence[RecoveryStep]) -> tuple[RecoveryStep, ...]:
        """Carry out the steps of a start in order, and return those that are about neither runs nor deliveries.

        Completions are only left open here: they are taken up afterwards, each on its own.
        """
        left = []
        for step in plan:
            do = self._STEPS.get(type(step))
            if do is None:
                left.append(step)
            else:
                await do(self, step)
        return tuple(left)

    async def _end(self, step: EndRun) -> None:
        run = self.record.registry.runs.get(step.run)
        if run is None or run.is_ended:
            return
        await self.record.write(*self.end_events(run, step.state, step.cause, step.who, step.why))
        try:
            await self.keepers.stop_turn(run.session, who=step.who, cause=EndCause.STOP, item=run_item(run.id))
        except JournalError:
            raise
        except GreenroomError:
            return  # its session is gone, and with it what waited there

    async def _resume(self, step: QueueRun | ResumeRun) -> None:
        """Hand the item of a run in again: a new one begins it, and a known one wakes its session."""
        run = self.record.registry.runs.get(step.run)
        if run is None or run.is_ended:
            return
        key = SessionKey.parse(run.session)
        route = None if key.is_child else Route.from_json(run.route)
        new = NewInput(id=run_item(run.id), text=run.task, origin=COORDINATOR, route=route, run=run.id)
        try:
            await self.keepers.put(key, new)
        except JournalError:
            raise
        except GreenroomError as error:
            await self.record.write(
                *self.end_events(run, TaskState.FAILED, EndCause.LOST, "gateway", f"it cannot be resumed: {error}")
            )

    async def _note(self, step: NoteUnknown | AskChannel) -> None:
        row = self.record.registry.delivery(step.delivery)
        if row is None or row.is_settled:
            return
        result, why = SendResult.UNKNOWN, step.why if isinstance(step, AskChannel) else "the gateway ended meanwhile"
        if isinstance(step, AskChannel):
            channel = self.find_channel(str(row.route.get("channel", "")), str(row.route.get("account") or "default"))
            key = part_key(row.id, step.part)
            answer = WasSent.CANNOT_SAY if channel is None else await ask_channel(channel, key)
            result = found_out(answer).result
        if row.trying:
            await self.record.write(
                DeliveryEnded(at_s=self._now(), delivery=row.id, part=row.trying, result=str(result), why=why)
            )
        if isinstance(step, AskChannel) and result is SendResult.UNKNOWN:
            await self.record.write(DeliveryBlocked(at_s=self._now(), delivery=row.id, why=why))

    async def _tell(self, step: TellPerson) -> None:
        row = self.record.registry.inbound.get(step.item)
        route = None if row is None else Route.from_json(row.route)
        if route is not None:
            await self.deliveries.reply(step.session, step.item, route, NOT_RESUMED)
        try:
            await self.keepers.stop_turn(step.session, who="gateway", cause=EndCause.STOP, item=step.item)
        except JournalError:
            raise
        except GreenroomError:
            return  # nothing is left that could be resumed

    def _now(self) -> float:
        return self.clock.wall().timestamp()

    _STEPS: ClassVar[Mapping[type, Callable[[RunRecovery, Any], Awaitable[None]]]] = {
        EndRun: _end,
        QueueRun: _resume,
        ResumeRun: _resume,
        NoteUnknown: _note,
        AskChannel: _note,
        TellPerson: _tell,
    }
