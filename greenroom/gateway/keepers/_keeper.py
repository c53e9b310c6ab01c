"""The keeper of one session key: opens its session when there is something to do, hands in what waits, and closes it when it is idle.

Rule 1: a session holds nothing while it waits for a place: it asks before it is opened. Rule 2: a place belongs to a turn, and is given
back however that ends. Rule 3: leaving the block of the session ends it, so whatever ends the keeper ends its session.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final, final

import attrs
import trio

from greenroom.core import UsageError
from greenroom.gateway.announce._queue_plan import QueueMode
from greenroom.gateway.keepers._agent_setup import lane_of
from greenroom.gateway.keepers._box_items import mode_of, wish_of
from greenroom.gateway.keepers._keeper_parts import KeeperParts, open_order, put_summary, queue_settings, turn_rank
from greenroom.gateway.keepers._kept_session import KeptSession
from greenroom.gateway.keepers._session_models import TurnWish
from greenroom.gateway.keepers._turn_reporter import Aside, TurnReporter, TurnStop, failed_end, unread_end
from greenroom.gateway.keepers._waiting_items import HandIn, WaitingItems
from greenroom.gateway.lanes._places import TurnClaim
from greenroom.gateway.record._gateway_events import SessionClosed, SessionOpened
from greenroom.gateway.record._machines import EndCause, SessionState
from greenroom.gateway.record._rows import SessionRow
from greenroom.gateway.record._run_events import InboundSettled
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.inbox import StoredItem

PLACE_S: Final = 1.0
"""Seconds after which a place is given back that no turn of the opened session has taken."""
DROPPED: Final = "too many waited; a summary names it"


@final
@attrs.define(eq=False, kw_only=True)
class SessionKeeper:
    """The keeper of one session key, over all incarnations of its actor.

    Attributes:
        items: What waits for the session, or was not settled.
        resumes: True if the turn that an earlier process left is to be resumed.
    """

    key: SessionKey
    parts: KeeperParts
    has_room: Callable[[SessionKeeper], bool]
    """Returns True if one more session may be open; it makes room if it can."""
    room_changed: Callable[[], trio.Event]
    """Returns the event that is set when a session has been closed."""
    leave_room: Callable[[SessionKeeper], None]
    settle_taken: Callable[[SessionKeeper], Awaitable[None]]
    """Reports the turns that ended and were not reported."""
    items: WaitingItems = attrs.field(factory=WaitingItems)
    resumes: bool = False
    is_closing: bool = False
    last_s: float = 0.0
    """When it last had something to do, on the run's clock."""
    claim: TurnClaim | None = None
    """The place of the turn that runs."""
    reporter: TurnReporter | None = None
    session: KeptSession | None = None
    untold: dict[str, trio.Event] = attrs.field(factory=dict)
    """Items that are being put, until they are in the registry."""
    lock: trio.Lock = attrs.field(factory=trio.Lock)
    """Held by who changes the session while it is closed."""
    unrecorded: dict[str, StoredItem] = attrs.field(factory=dict)
    """Items that are in the store and that the journal did not take."""
    asides: list[Aside] = attrs.field(factory=list)
    _place: AsyncExitStack | None = None
    _wake: trio.Event = attrs.field(factory=trio.Event)
    _waiting: trio.CancelScope | None = None
    """The wait for a place or for room, before the session is open."""
    opening: trio.Event = attrs.field(factory=trio.Event)
    """Set unless the session is being opened: it may have read what waits already."""
    _look_s: float | None = None
    _was_cut: bool = False
    """True while an incarnation serves, and after one that ended in the middle."""
    _idle_wake: trio.Event = attrs.field(factory=trio.Event)
    _queued: set[str] = attrs.field(factory=set)
    """Unread items whose turn was reported to wait."""

    def __attrs_post_init__(self) -> None:
        self.opening.set()

    # --- looking ------------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The key as text."""
        return str(self.key)

    @property
    def row(self) -> SessionRow:
        """Its row of the registry."""
        return self.parts.record.registry.sessions[self.name]

    @property
    def is_paused(self) -> bool:
        """True while no turn of it may begin: it is being reset, archived or stopped."""
        return self.items.pauses > 0

    @property
    def is_busy(self) -> bool:
        """True if a turn runs or waits for a place."""
        return bool(self.items.handed) or (self.reporter is not None and self.reporter.is_open)

    @property
    def is_idle(self) -> bool:
        """True if the session may be closed."""
        if self.is_busy:
            return False
        if self.is_paused:
            return self.session is None or not self.session.is_busy
        waits = any(item.begins_turn for item in self.items.held.values())
        return not (waits or self.asides) and (self.session is None or self.session.is_at_rest)

    @property
    def has_work(self) -> bool:
        """True if the session has to be opened."""
        return not self.is_paused and bool(self.items.unread or self.resumes or self.asides)

    @property
    def is_woken(self) -> bool:
        """True if something has changed since it last looked."""
        return self._wake.is_set()

    @property
    def is_empty(self) -> bool:
        """True if nothing has to be remembered of it."""
        items = self.items
        return not (
            items.handed or items.held or items.pauses or self.untold or self.unrecorded or self.asides or self.resumes
        )

    def wake(self) -> None:
        """Look again at what waits."""
        self._wake.set()
        self._look_idle()
        if self._waiting is not None and not self.has_work:
            self._waiting.cancel("nothing waits any more")

    def close(self) -> None:
        """Close the session as soon as it is idle."""
        self.is_closing = True
        self._wake.set()
        self._idle_wake.set()

    def cut(self, why: str) -> None:
        """End the session now, in the middle of its turn, which is left to be resumed."""
        if self.reporter is not None:
            self.reporter.is_cutting = True
        if self.session is not None:
            self.session.kill(why)

    # --- its life -----------------------------------------------------------------------------------------------------

    async def serve(self) -> None:
        """Open the session whenever there is something to do, and return when there is nothing."""
        if self._was_cut:
            await self.settle_taken(self)
            self.resumes = self.resumes or bool(self.items.taken)
        self._was_cut = True
        while True:
            wake = self._wake = trio.Event()
            await self.hand_in()
            if self.has_work:
                await self._open()
            elif self._look_s is None or self.is_paused:
                break
            else:
                await self._wait(wake)
        self._was_cut = False

    async def _wait(self, wake: trio.Event) -> None:
        """Wait for something new, or until it is time to look again."""
        if self._look_s is None:
            await wake.wait()
            return
        with trio.move_on_after(max(0.0, self._look_s - self.parts.now())):
            await wake.wait()

    async def _open(self) -> None:
        self.is_closing = False
        try:
            order = await open_order(
                self.parts, self.key, self._turn_place, find_wish=self._find_wish, find_turn=self._find_turn
            )
            if not await self._get_place():
                return
            self.opening = trio.Event()
            async with self.parts.opener(order) as session:
                await self._keep(session)
        except UsageError as error:
            if self.session is not None:
                raise
            await self._fail(str(error))  # the configuration is at fault: the same again would fail again
        finally:
            self.opening.set()
            await self._give_place()  # noqa: ASYNC102 - it gives back a place, and waits for nothing
            self._finish()
            self._note_closed()
            self.parts.budgets.forget(self.name)
            self.leave_room(self)

    async def _keep(self, session: KeptSession) -> None:
        """Keep an open session until it is idle for long, or has to be closed."""
        self.parts.record.emit(SessionOpened(at_s=self.parts.now(), session=self.name))
        self.session, self.reporter = session, self._make_reporter(session)
        self.opening.set()
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.reporter.run)
                session.release()
                nursery.start_soon(self._watch_place, session)
                nursery.start_soon(self._hand_in_always, session, nursery)
                await self._until_idle()
                nursery.cancel_scope.cancel("the session is closed")
        except BaseException:
            self.cut("its keeper has ended")
            raise

    def _finish(self) -> None:
        """Wake every task that waits for a change of the session."""
        reporter, self.session, self.reporter = self.reporter, None, None
        self.items.is_shut = False
        if reporter is not None:
            reporter.finish()

    def _make_reporter(self, session: KeptSession) -> TurnReporter:
        return TurnReporter(
            key=self.name,
            session_id=self.row.session_id,
            session=session,
            items=self.items,
            parts=self.parts,
            on_change=self._changed,
            wait_told=self.wait_told,
        )

    def _changed(self) -> None:
        self._stir()
        self.wake()

    def _stir(self) -> None:
        self.last_s = trio.current_time()

    async def wait_told(self, item: str) -> None:
        """Wait until an item is in the registry."""
        event = self.untold.get(item)
        if event is not None:
            await event.wait()

    def _look_idle(self) -> None:
        if self.is_closing:  # else the time decides, and what happens meanwhile only moves it on
            self._idle_wake.set()

    async def _until_idle(self) -> None:
        self._stir()
        while True:
            wake = self._idle_wake = trio.Event()
            limit_s = self.parts.config().session.close_after_minutes * 60.0
            if self.is_closing or trio.current_time() >= self.last_s + limit_s:  # as the wait below ends
                if self.is_idle:
                    return
                if not self.is_closing:
                    self._stir()
            with trio.move_on_at(math.inf if self.is_closing else self.last_s + limit_s):
                await wake.wait()

    def _note_closed(self) -> None:
        if self.row.state is SessionState.OPEN:
            self.parts.record.emit(SessionClosed(at_s=self.parts.now(), session=self.name))

    async def _fail(self, error: str) -> None:
        """Report that the session cannot be opened to those who wait for it."""
        items = tuple(self.items.handed)
        self.resumes = False
        await self.parts.watcher.turn_ended(failed_end(self.name, self.row.session_id, items, error))
        await self.parts.store.ack(self.name, items)
        for item in items:
            self.settle(item, error)

    def settle(self, item: str, why: str) -> None:
        """Note that an item needs nothing any more."""
        if item in self.parts.record.registry.inbound:
            self.parts.record.emit(InboundSettled(at_s=self.parts.now(), item=item, why=why))
        self.items.remove(item)
        self._queued.discard(item)
        self.wake()  # a turn aside may have waited for it

    # --- places -------------------------------------------------------------------------------------------------------

    async def _get_place(self) -> bool:
        """Wait for a place, and for room for one more session; False if nothing waits any more."""
        while self.has_work:
            with trio.CancelScope() as scope:
                self._waiting = scope
                try:
                    self._place = await self._queue()
                    changed = self.room_changed()
                    if self.has_room(self):
                        return self.has_work
                    await self._give_place()  # else a session that is open could wait for it for good
                    await changed.wait()
                finally:
                    self._waiting = None
        return False

    async def _queue(self) -> AsyncExitStack:
        """Wait for a place of the lane, and return what gives it back."""
        waiting = tuple(item for item in self.items.unread if item not in self._queued)
        for item in waiting:
            await self.wait_told(item)
        self._queued.update(waiting)
        lane = lane_of(self.key)
        await self.parts.watcher.turn_queued(self.name, waiting, lane)
        aside = self.reporter.aside if self.reporter is not None else next(iter(self.asides), None)
        is_ending = not waiting and aside is not None and not aside.is_compaction
        rank = turn_rank(lane, is_resumed=self.resumes and not waiting, is_ending=is_ending)
        stack = AsyncExitStack()
        self.claim = await stack.enter_async_context(self.parts.lanes.place(self.name, lane, rank))
        return stack

    async def _give_place(self) -> None:
        place, self._place = self._place, None
        if place is not None:
            await place.aclose()
            self.claim = None

    @asynccontextmanager
    async def _turn_place(self) -> AsyncIterator[None]:
        """Hold a place for a turn: the one with which the session was opened, or another one."""
        if self.reporter is not None:
            await self.reporter.wait_caught_up()
        if self.session is not None:
            await self.session.wait_handed()
        if self._place is None:
            self._place = await self._queue()
        place, self._place = self._place, None
        try:
            yield
        finally:
            self.claim = None
            await place.aclose()  # noqa: ASYNC102 - it gives back a place, and waits for nothing

    async def _find_wish(self) -> TurnWish:
        """Return what the turn that runs asks for: its items say it."""
        if self.reporter is not None:
            await self.reporter.wait_caught_up()
        return wish_of(self.items.handed.get(item, "") for item in self.items.taken)

    def _find_turn(self) -> int:
        return 0 if self.reporter is None else self.reporter.ends

    async def _watch_place(self, session: KeptSession) -> None:
        """Give back the place with which the session was opened, if no turn takes it."""
        while self._place is not None:
            await trio.sleep(PLACE_S)
            if not session.is_busy:
                await self._give_place()

    # --- handing in ---------------------------------------------------------------------------------------------------

    async def _resume(self, session: KeptSession, nursery: trio.Nursery) -> None:
        """Resume the turn that was cut, if that is wanted; behind what was handed in before, unless a turn of that has ended it."""
        reporter = self.reporter
        assert reporter is not None
        if not self.resumes or self.items.unread or reporter.is_open:  # its end wakes the keeper
            return
        self.resumes = False
        if reporter.reads:  # what was cut stood in that conversation
            await self.settle_taken(self)
        elif session.was_cut and self.items.taken:
            reporter.resumed = tuple(self.items.taken)
            self.items.cut.clear()
            nursery.start_soon(session.resume_turn)

    async def _hand_in_always(self, session: KeptSession, nursery: trio.Nursery) -> None:
        while True:
            wake = self._wake = trio.Event()
            await self._resume(session, nursery)
            await self.hand_in()
            self._look_idle()
            await self._wait(wake)

    async def hand_in(self) -> None:
        """Carry out the plan of what waits."""
        self.items.is_shut = self.items.is_shut and bool(self.asides)  # before the plan: nothing wakes it again
        is_busy = self.reporter is not None and self.reporter.is_open
        plan = self.items.plan(queue_settings(self.parts, self.queue_mode()), is_busy=is_busy, now_s=self.parts.now())
        self._look_s = plan.look_s
        await self._drop(plan)
        if plan.interrupts:
            self.interrupt(TurnStop(EndCause.STOP, "queue", "a message interrupts it"))
        front = await put_summary(self.parts, self.name, plan) if plan.summary else ()
        if front or plan.release:
            self.items.release(plan.release)
            for item in plan.release:
                await self.wait_told(item)  # the store may not have it yet
            await self.parts.store.release(self.name, (*front, *plan.release))
        self._begin_aside()

    def _begin_aside(self) -> None:
        """Begin the first turn that is run beside the others, once none of these runs or waits."""
        reporter, session = self.reporter, self.session
        if not self.asides or session is None or reporter is None or reporter.aside is not None:
            return
        if self.is_busy:
            return
        self.items.is_shut = True
        aside = self.asides[0]
        if aside.is_compaction:
            reporter.begin_compaction(aside)
            return
        reporter.aside = aside
        aside.item = session.send_aside(aside.text, reporter.refuses_tools)

    def end_asides(self) -> None:
        """End the turns aside that have not begun, without a text."""
        for aside in self.asides:
            aside.end()

    def interrupt(self, stop: TurnStop) -> bool:
        """End the turn that runs; False if there is none."""
        if self.reporter is None or self.session is None:
            return False
        self.reporter.stop = stop
        is_any = self.session.interrupt(stop.why)
        if not is_any:
            self.reporter.stop = None
        return is_any

    async def _drop(self, plan: HandIn) -> None:
        for item in plan.dropped:
            await self.wait_told(item)
            await self.parts.store.withdraw(self.name, item)
            await self.parts.watcher.turn_ended(unread_end(self.name, self.row.session_id, (item,), DROPPED))
            self.settle(item, DROPPED)

    def queue_mode(self, said: str = "") -> QueueMode:
        """Return the mode of an input that names one, or none."""
        return mode_of(said or self.row.settings.get("queue"), QueueMode(self.parts.config().messages.queue.mode))
