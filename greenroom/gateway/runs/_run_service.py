"""Runs: what sessions are given to do, each with one end and one completion.

    runs = Runs(config, record, deliveries, ports, state)
    async with open_keepers(..., watcher=runs) as keepers, runs.serve(keepers):
        answer = await runs.spawn(main_key("main"), SpawnRequest(task="count the files"), route)
        run = await runs.wait(answer.run, timeout_s=30)

Rule 1: a run is on record before anything of it starts. Rule 2: its end is written once, from the report of its session's keeper; waits
only look. Rule 3: a limit of time counts work only. Rule 4: a run counts as stopped when its end is on record, not when it was asked to.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final, final

import attrs
import trio

from greenroom.core import GreenroomError, JournalError
from greenroom.core.ports import Ports
from greenroom.gateway._gateway_errors import Conflict, NotFound
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.keepers._seams import Keepers, NewInput, PastTurn, TurnEnd
from greenroom.gateway.keepers._session_models import TurnWish
from greenroom.gateway.record._gateway_events import SessionMade
from greenroom.gateway.record._gateway_journal import GatewayRecord
from greenroom.gateway.record._machines import EndCause, SessionState
from greenroom.gateway.record._recovery_plan import Recovery, RecoveryStep, plan_recovery
from greenroom.gateway.record._registry import Registry
from greenroom.gateway.record._rows import COMPLETION, Run
from greenroom.gateway.record._run_events import (
    DeliveryDue,
    GatewayEvent,
    InboundSettled,
    RunBegan,
    RunQueued,
    RunRegistered,
)
from greenroom.gateway.routing._chat_messages import ChatRoute
from greenroom.gateway.routing._session_key import SessionKey, child_key
from greenroom.gateway.runs._archive_clock import SWEEP_S, ArchiveClock
from greenroom.gateway.runs._completions import Completions, RunReplies, is_open
from greenroom.gateway.runs._deliveries import Deliveries
from greenroom.gateway.runs._end_events import end_events, revoking_events
from greenroom.gateway.runs._run_ids import new_id, run_item
from greenroom.gateway.runs._run_recovery import RunRecovery
from greenroom.gateway.runs._run_stops import LIMIT_WHO, RunLimits, Stopped, end_turn_of, stop_tree
from greenroom.gateway.runs._spawn_plan import SpawnAnswer, SpawnRefusal, SpawnRequest, plan_spawn
from greenroom.inbox import COORDINATOR, Origin
from greenroom.tasks import TaskState

SPAWN_S: Final = 10.0
"""Longest wait of a spawn for the record, in seconds."""
_NOTHING: Final = PastTurn()


@final
class Runs:
    """The runs of a gateway; the watcher of all turns.

    Args:
        config: Returns the configuration in force.
        record: The gateway's journal.
        deliveries: Where texts for chats go.
        ports: Time and ids.
        state: The state folder, for the paths that announcements name.
    """

    def __init__(
        self,
        config: Callable[[], GatewayConfig],
        record: GatewayRecord,
        deliveries: Deliveries,
        ports: Ports,
        state: Path,
    ) -> None:
        self._config = config
        self._record = record
        self._deliveries = deliveries
        self._ports = ports
        self._completions = Completions(config, record, deliveries, ports.clock, state)
        self._keepers: Keepers | None = None
        self._nursery: trio.Nursery | None = None
        self._archive: ArchiveClock | None = None
        self._by_item: dict[str, str] = {}
        """Runs that have not ended, by the items that begin them."""
        self._ends: dict[str, trio.Event] = {}
        """Set at the end of a run that somebody waits for."""
        self._limits = RunLimits()
        self._replies = RunReplies(record.registry)

    def __repr__(self) -> str:
        return f"<Runs, {len(self._by_item)} that have not ended>"

    @property
    def keepers(self) -> Keepers:
        """The sessions."""
        assert self._keepers is not None, "runs are served inside `serve`"
        return self._keepers

    @asynccontextmanager
    async def serve(self, keepers: Keepers) -> AsyncIterator[None]:
        """Work with these keepers. Leaving the block ends announcements and clocks; what remains is on record.

        Call `recover` once channels, keepers and this are up.
        """
        async with trio.open_nursery() as nursery:
            self._keepers, self._nursery = keepers, nursery
            self._by_item = {run_item(run.id): run.id for run in self._registry.runs.values() if not run.is_ended}
            self._completions.remember()
            state = self._completions.state
            self._archive = ArchiveClock(self._record, keepers, self._ports, self._config, state, self.stop)
            self._deliveries.on_settled = self._on_settled
            nursery.start_soon(self._tick)
            try:
                yield
            finally:
                self._nursery = None  # what ends from here on is on record, and told at the next start
            nursery.cancel_scope.cancel()

    # --- beginning ---------------------------------------------------------------------------------------------------

    async def spawn(self, requester: SessionKey, request: SpawnRequest, route: ChatRoute | None = None) -> SpawnAnswer:
        """Start a sub-agent, and answer as soon as it is on record.

        Args:
            requester: Key of the calling session.
            request: What it is to do.
            route: Where its result goes: the route of the message that led to it.
        """
        plan = plan_spawn(self._config(), self._registry, requester, request)
        if isinstance(plan, SpawnRefusal):
            return SpawnAnswer(status=plan.status, error=plan.error)
        key, run = child_key(plan.agent, new_id(self._ports.ids)), new_id(self._ports.ids)
        try:
            self._record.journal.check_open()
            made = self.keepers.events_for_new(key, spawned_by=str(requester), label=plan.label, settings=plan.settings)
        except GreenroomError as error:
            why = f"cannot start the sub-agent: {error}"
            return SpawnAnswer(status="error", error=why, run=run, session=str(key))
        registered = self._registered(
            key,
            run,
            made=made,
            requester=str(requester),
            route=route.to_json() if route is not None else {},
            **plan.terms,
        )
        new = NewInput(id=run_item(run), text=plan.task, origin=COORDINATOR, run=run)
        answer = SpawnAnswer(status="accepted", run=run, session=str(key), plan=plan)
        try:
            with trio.fail_after(SPAWN_S):
                await self._begin(key, new, (*made, registered))
        except (GreenroomError, trio.TooSlowError) as error:
            self._revoke(str(key), run)
            why = str(error) or f"the record did not answer within {SPAWN_S:g} s"
            return attrs.evolve(answer, status="error", error=f"cannot start the sub-agent: {why}")
        return answer

    async def begin(
        self,
        key: SessionKey,
        text: str,
        origin: Origin,
        route: ChatRoute | None = None,
        run: str = "",
        *,
        announce: str = "none",
        requester: str = "",
        limit_s: float = 0.0,
        label: str = "",
        is_command: bool = False,
        queue: str = "",
        wish: TurnWish | None = None,
    ) -> str:
        """Begin a run on a session, which is made if it is new, and return the run's id; then it is durable.

        Args:
            key: The session.
            text: What it is to do.
            origin: Who says it.
            route: Where the reply goes.
            run: Id of the run, a UUID; empty for a new one. A run that is known is not begun again.
            announce: How its end is told; `none` if the caller waits, or its reply goes to the route.
            requester: Key of the session that asks; empty for a person or the clock.
            limit_s: Limit of its working time, in seconds; 0 for none.
            label: Its label.
            is_command, queue, wish: As in `NewInput`.

        Raises:
            NotFound, Conflict, BoxFull, JournalError: As for `Keepers.put`.
        """
        run = run or new_id(self._ports.ids)
        if self._registry.run(run) is not None:
            return run
        row = self._registry.sessions.get(str(key))
        if row is not None and row.state is SessionState.ARCHIVED:
            raise Conflict(f"session {str(key)!r} is archived; it takes no messages")
        self._record.journal.check_open()
        made = self.keepers.events_for_new(key) if row is None else ()
        registered = self._registered(
            key,
            run,
            made=made,
            requester=requester,
            route=route.to_json() if route is not None else {},
            task=text,
            label=label,
            announce=announce,
            limit_s=limit_s,
        )
        new = NewInput(id=run_item(run), text=text, origin=origin, route=route, run=run)
        new = attrs.evolve(new, is_command=is_command, queue=queue, wish=wish)
        try:
            await self._begin(key, new, (*made, registered))
        except GreenroomError:
            self._revoke("", run)
            raise
        return run

    async def _begin(self, key: SessionKey, new: NewInput, events: tuple[GatewayEvent, ...]) -> None:
        self._by_item[new.id] = new.run
        await self._record.write(*events)
        await self.keepers.put(key, new)

    def _registered(self, key: SessionKey, run: str, *, made: Sequence[GatewayEvent], **values: Any) -> RunRegistered:
        row = self._registry.sessions.get(str(key))
        ids = [event.session_id for event in made if isinstance(event, SessionMade)]
        session_id = row.session_id if row is not None else ids[0]
        return RunRegistered(at_s=self._now(), run=run, session=str(key), session_id=session_id, **values)

    def _revoke(self, session: str, run: str) -> None:
        """Take back a run that could not be put on record, as far as it is: nobody hears of it, and its session is gone."""
        self._by_item.pop(run_item(run), None)
        row = self._registry.runs.get(run)
        for event in revoking_events(row, session, self._now()) if row is not None else ():
            self._record.emit(event)

    # --- looking -----------------------------------------------------------------------------------------------------

    def list_for(self, requester: str) -> list[Run]:
        """Return the sub-agents' runs that a session asked for, the newest first."""
        return [run for run in self._registry.runs_of(requester) if run.announce != "none"]

    def info(self, run: str) -> Run:
        """Return a run.

        Raises:
            NotFound: It is unknown, or was forgotten.
        """
        found = self._registry.run(run)
        if found is None:
            raise NotFound(f"unknown run {run!r}")
        return found

    async def reply_of(self, run: str) -> str:
        """Return what a run that completed has said last; empty for any other one, and for one that was forgotten."""
        return await self._replies.of(run, self.keepers)

    async def wait(self, run: str, timeout_s: float) -> Run:
        """Return a run when it has ended, or after `timeout_s` seconds as it is then. The run goes on whatever the wait does.

        Raises:
            NotFound: It is unknown, or was forgotten.
        """
        if not self.info(run).is_ended:
            ended = self._ends.setdefault(run, trio.Event())
            with trio.move_on_after(timeout_s):
                await ended.wait()
        return self.info(run)

    # --- stopping ----------------------------------------------------------------------------------------------------

    async def stop(self, target: str | Sequence[str], who: str) -> Stopped:
        """Stop runs side by side, or all that a session asked for; return when each has ended or has been given up on.

        What a run has started in turn is stopped with it.

        Args:
            target: Id of a run, or ids of several, or the key of a session.
            who: Who asks, for the record.

        Raises:
            NotFound: A run is unknown; then none is stopped.
        """
        first, sessions = list[Run](), [target] if isinstance(target, str) else []
        if not isinstance(target, str) or target not in self._registry.sessions:
            first = [self.info(run) for run in ([target] if isinstance(target, str) else target)]
            sessions = [run.session for run in first if SessionKey.parse(run.session).is_child]
        return await stop_tree(self._record, self.keepers, first, sessions, who, self._end_withdrawn)

    async def _end_withdrawn(self, run: Run, cause: EndCause, who: str) -> None:
        """Record the end of a run of which no turn is left that could report it."""
        await self._record.write(*self._end_events(run, TaskState.KILLED, cause, who))
        self._after_end(run.id)

    async def archive(self, key: str, *, why: str, who: str, is_forced: bool = False) -> str:
        """Archive a session, as `ArchiveClock.archive`."""
        assert self._archive is not None
        return await self._archive.archive(key, why=why, who=who, is_forced=is_forced)

    # --- the watcher of turns ----------------------------------------------------------------------------------------

    async def turn_queued(self, session: str, items: tuple[str, ...], lane: str) -> None:
        """Record that runs wait for a place."""
        runs = [run for run in self._runs_of(items) if run.state is TaskState.PENDING or run.is_cut]
        if runs:
            await self._record.report(*(RunQueued(at_s=self._now(), run=run.id, lane=lane) for run in runs))

    async def turn_began(self, session: str, items: tuple[str, ...]) -> None:
        """Record that runs work, and start their limits."""
        runs = [run for run in self._runs_of(items) if run.state is TaskState.PENDING or run.is_cut]
        if runs:
            await self._record.report(*(RunBegan(at_s=self._now(), run=run.id) for run in runs))
        for run in runs:
            if run.limit_s:
                self._start(self._limits.watch, run.id, max(0.0, run.limit_s - run.spent_s), self._time_out)
        for told in self._completions.told_by(items):
            if told.announce == "turn":
                self._start(self._completions.give_up_turn, told.id, self._completions.turn_timeout_s())

    async def turn_ended(self, end: TurnEnd) -> None:
        """Record the ends of runs, and the reply that goes to chats; announcements follow on their own."""
        runs = self._runs_of(end.items)
        events = [each for run in runs for each in self._end_events(run, end.state, end.cause, end.who, end.error)]
        told = self._completions.events_of_turn(end)
        replies = self._completions.reply_events(end)
        # With them, for a crash behind this: then the keeper reports the end again, and it means nothing any more.
        settled = [
            InboundSettled(at_s=self._now(), item=item, why=end.state.value)
            for item in end.items
            if item in self._registry.inbound
        ]
        if events or told or replies or settled:
            # Replies before what says that they were given: a kill in between has the keeper report this end again.
            await self._record.report(*events, *replies, *told, *settled)
        for due in (*told, *replies):
            if isinstance(due, DeliveryDue):
                self._deliveries.take_up(due.delivery)
                self._on_settled(due.delivery)
        for run in runs:
            if end.state is TaskState.COMPLETED:
                self._replies.note(run.id, end.reply)
            self._after_end(run.id, PastTurn(end.said, end.requests))

    def _runs_of(self, items: Iterable[str]) -> list[Run]:
        """Return the runs that items begin and that have not ended."""
        registry, found = self._registry, []
        for item in items:
            row = registry.inbound.get(item)
            run = registry.runs.get((row.run if row is not None else "") or self._by_item.get(item, ""))
            if run is not None and not run.is_ended:
                found.append(run)
        return found

    def _end_events(
        self, run: Run, state: TaskState, cause: EndCause, who: str = "", error: str = ""
    ) -> list[GatewayEvent]:
        minutes = self._config().agents.defaults.subagents.archive_after_minutes
        return end_events(
            run, state=state, cause=cause, who=who, error=error, archive_minutes=minutes, now_s=self._now()
        )

    def _after_end(self, run_id: str, past: PastTurn = _NOTHING) -> None:
        """Wake what waits for the end of a run, and begin its announcement."""
        self._by_item.pop(run_item(run_id), None)
        ended = self._ends.pop(run_id, None)
        if ended is not None:
            ended.set()
        self._limits.end(run_id)
        row = self._registry.completions.get(run_id)
        if row is not None and is_open(row):
            self._start(self._complete, run_id, past)
        else:
            self._on_settled(COMPLETION + run_id)

    async def _complete(self, run_id: str, past: PastTurn | None = None) -> None:
        await self._completions.complete(self.keepers, run_id, past=past)
        self._on_settled(COMPLETION + run_id)

    async def _time_out(self, run_id: str) -> None:
        run = self._registry.runs.get(run_id)
        if run is not None and not run.is_ended:
            await end_turn_of(self._record, self.keepers, run, EndCause.TIMEOUT, LIMIT_WHO, self._end_withdrawn)

    # --- clocks ------------------------------------------------------------------------------------------------------

    async def _tick(self) -> None:
        """Sweep: archive what is due, give up what was blocked for long, and take up what nobody works on."""
        assert self._archive is not None
        while True:
            await trio.sleep(SWEEP_S)
            with suppress(JournalError):
                await self._archive.sweep()
                await self._deliveries.sweep()
            self._deliveries.look()
            self._completions.remember()
            for run_id in self._completions.waiting():
                self._start(self._complete, run_id)

    def _on_settled(self, delivery: str) -> None:
        row = self._registry.delivery(delivery)
        if delivery.startswith(COMPLETION) and self._archive is not None and (row is None or row.is_settled):
            self._start(self._archive.clean, delivery)

    # --- the start ---------------------------------------------------------------------------------------------------

    async def recover(self, recovery: Recovery) -> tuple[RecoveryStep, ...]:
        """Carry out the plan of a start, and return the steps that are about neither runs nor deliveries.

        Announcements that are open go on in the background when this returns, and what is due is sent.

        Args:
            recovery: What the start may assume.

        Raises:
            JournalError: A step cannot be put on record; the next start plans again.
        """
        steps = RunRecovery(
            record=self._record,
            keepers=self.keepers,
            deliveries=self._deliveries,
            clock=self._ports.clock,
            end_events=self._end_events,
            is_told=self._completions.is_told,
        )
        cut = await self.keepers.recover()
        left = await steps.carry_out(plan_recovery(self._registry, self._now(), recovery), cut)
        self._deliveries.look()
        for run_id in self._completions.waiting():
            self._start(self._complete, run_id)
        return left

    # --- pieces ------------------------------------------------------------------------------------------------------

    @property
    def _registry(self) -> Registry:
        return self._record.registry

    def _start(self, work: Callable[..., Awaitable[object]], *values: Any) -> None:
        if self._nursery is not None:
            self._nursery.start_soon(work, *values)

    def _now(self) -> float:
        return self._ports.clock.wall().timestamp()
