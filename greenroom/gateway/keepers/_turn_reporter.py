"""The reports of one open session: its events to those who look, its turns to the watcher, its items to the registry.

Rule 1: what is reported is awaited, and the next turn begins only behind it. Rule 2: an item is settled behind the report of the end of
its turn, so that a crash between the two reports that end again. Rule 3: a turn that the end of its session cuts has not ended.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, final

import attrs
import trio

from greenroom.actors import State, TurnEnded
from greenroom.gateway.keepers._keeper_parts import KeeperParts
from greenroom.gateway.keepers._kept_session import LIVE, KeptSession
from greenroom.gateway.keepers._seams import TurnEnd
from greenroom.gateway.keepers._turn_fold import (
    POISONED,
    ItemGone,
    ItemsTaken,
    TurnAsks,
    TurnFact,
    TurnFold,
    TurnOutcome,
)
from greenroom.gateway.keepers._waiting_items import WaitingItems
from greenroom.gateway.record._gateway_journal import persist
from greenroom.gateway.record._machines import EndCause
from greenroom.gateway.record._run_events import InboundSettled, InboundTaken
from greenroom.inbox import InboxAccepted, InboxTaken, InboxWithdrawn
from greenroom.session import AnswerPiece, EventStream
from greenroom.tasks import TaskState

ANSWERED: Final = "answered"
STATES: Final = {
    State.COMPLETED: TaskState.COMPLETED,
    State.FAILED: TaskState.FAILED,
    State.KILLED: TaskState.KILLED,
}


@final
@attrs.frozen
class TurnStop:
    """A request to end the turn that runs."""

    cause: EndCause
    who: str
    why: str


@final
@attrs.define(eq=False)
class Aside:
    """A turn that is run beside the others, and reported to nobody but the one who asked."""

    text: str
    """The message that it begins with; empty for a compaction, which begins without one."""
    max_requests: int
    item: str = ""
    """Id of its message; empty until that is sent."""
    over: TurnOutcome | None = None
    """Its end; None before that, and if its session ended first."""
    began: trio.Event = attrs.field(factory=trio.Event)
    ended: trio.Event = attrs.field(factory=trio.Event)

    @property
    def is_compaction(self) -> bool:
        """True if it replaces the conversation by a summary."""
        return not self.text

    def end(self, over: TurnOutcome | None = None) -> None:
        """Tell the one who waits that it has ended."""
        self.over = over
        self.began.set()
        self.ended.set()


@final
@attrs.define(eq=False, kw_only=True)
class TurnReporter:
    """The reports of one open session.

    Attributes:
        stop: Why the turn that runs is being ended, if somebody asked for that.
        withdrawn: Why items are being withdrawn, by id.
        ends: Number of turns that have ended and were reported.
        reads: Number of turns that have ended and had the conversation in a request, and with it what was cut before.
        is_cutting: True if the session is being ended in the middle of its turn.
    """

    key: str
    session_id: str
    session: KeptSession
    items: WaitingItems
    parts: KeeperParts
    on_change: Callable[[], None]
    """Called when a turn has ended, or an item has."""
    wait_told: Callable[[str], Awaitable[object]]
    """Waits until an item is in the registry."""
    stop: TurnStop | None = None
    withdrawn: dict[str, TurnStop] = attrs.field(factory=dict)
    ends: int = 0
    reads: int = 0
    is_cutting: bool = False
    aside: Aside | None = None
    resumed: tuple[str, ...] | None = None
    """Items of the turn that was cut, until the turn that resumes it has begun."""
    _fold: TurnFold = attrs.field(init=False)
    _stream: EventStream = attrs.field(init=False)
    _facts: deque[TurnFact] = attrs.field(factory=deque, init=False)
    _moved: trio.Event = attrs.field(factory=trio.Event, init=False)
    _is_reporting: bool = attrs.field(default=False, init=False)
    _began: list[str] = attrs.field(factory=list, init=False)
    """Items whose turn was reported to have begun."""
    _accepted: dict[str, None] = attrs.field(factory=dict, init=False)
    """Items that the session has, and that are not settled."""
    _is_begun: bool = attrs.field(default=False, init=False)
    _is_aside: bool = attrs.field(default=False, init=False)
    _is_hidden: bool = attrs.field(default=False, init=False)
    """True from the beginning of a turn whose words are for the gateway only, to its end."""
    _is_over: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._fold = TurnFold(self.session.main_id)
        self._stream = self.session.events()

    @property
    def is_open(self) -> bool:
        """True if a turn runs or waits for a place, or its end is not reported."""
        return self._fold.is_open or bool(self._facts) or self._is_reporting or self._stream.waiting > 0

    @property
    def has_turn(self) -> bool:
        """True if a turn runs or waits for a place."""
        return self._fold.is_open

    async def wait_caught_up(self) -> None:
        """Wait until everything that has happened so far is reported, or nothing will be any more."""
        while not self._is_over and (self._stream.waiting or self._facts or self._is_reporting):
            await self._moved.wait()

    async def wait_seen(self) -> None:
        """Wait until all events so far have been looked at; their reports may be on their way."""
        while not self._is_over and self._stream.waiting:
            await self._moved.wait()

    async def wait_accepted(self, item: str) -> None:
        """Wait until the session has an item, or had it."""
        while item in self.items.unread and item not in self._accepted and not self._is_over:
            await self._moved.wait()
        await self.wait_seen()

    async def wait_end(self, ends: int) -> bool:
        """Wait until more turns than so many have ended; False if the session ends first."""
        while self.ends == ends and not self._is_over:
            await self._moved.wait()
        return self.ends != ends

    async def wait_settled(self, item: str) -> bool:
        """Wait until an item is settled; False if the session ends first."""
        while item in self.items.handed and not self._is_over:
            await self._moved.wait()
        return item not in self.items.handed

    def begin_compaction(self, aside: Aside) -> None:
        """Note that the next turn is a compaction."""
        self.aside, self._is_aside, self._is_hidden = aside, True, True
        aside.began.set()

    def drop_compaction(self) -> None:
        """Note that no compaction began."""
        self.aside, self._is_aside, self._is_hidden = None, False, False

    async def refuses_tools(self) -> bool:
        """Return True if the turn that runs may use no tools."""
        await self.wait_caught_up()
        return self._is_aside

    def finish(self) -> None:
        """Note that the session has ended, and wake those who wait."""
        self._is_over = True
        if self.aside is not None:
            self.aside.end()
        self._move()

    async def run(self) -> None:
        """Report, until it is cancelled or the session ends."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._pump)
            nursery.start_soon(self._report)

    async def _pump(self) -> None:
        with self._stream:
            while await self._stream.wait_next():
                while (found := self._stream.next_nowait()) is not None:
                    event = found[2]
                    is_ours = event.actor == self.session.main_id or not isinstance(event, LIVE)
                    if is_ours and not (self._is_hidden and isinstance(event, AnswerPiece)):
                        self.parts.on_event(self.key, event)
                    if isinstance(event, InboxTaken) and self.aside is not None and event.item == self.aside.item:
                        self._is_hidden = True
                    elif isinstance(event, TurnEnded) and event.actor == self.session.main_id:
                        self._is_hidden = False
                    if isinstance(event, InboxAccepted) and event.item in self.items.handed:
                        self._accepted[event.item] = None
                    if isinstance(event, InboxWithdrawn) and event.item in self.withdrawn:
                        self._facts.append(ItemGone(event.item, event.why))
                        continue
                    fact = self._fold.take(event)
                    if fact is not None:
                        self._facts.append(fact)
                self._move()
                if not self.is_open:
                    self.on_change()  # events without a turn are read: what waits for none may begin

    def _move(self) -> None:
        self._moved.set()
        self._moved = trio.Event()

    async def _report(self) -> None:
        handlers: dict[type, Callable[[Any], Awaitable[None]]] = {
            ItemsTaken: self._taken,
            TurnAsks: self._asks,
            ItemGone: self._gone,
            TurnOutcome: self._over,
        }
        while True:
            had_facts = bool(self._facts)
            while self._facts:
                fact = self._facts.popleft()
                self._is_reporting = True
                await handlers[type(fact)](fact)
                self._is_reporting = False
            if had_facts:
                self.on_change()  # only now nothing of a turn is open any more
            self._move()
            moved = self._moved
            if not self._facts:
                await moved.wait()

    # --- what is reported ---------------------------------------------------------------------------------------------

    async def _taken(self, fact: ItemsTaken) -> None:
        taken = [fact.item]
        while self._facts and isinstance(self._facts[0], ItemsTaken):
            following = self._facts.popleft()
            assert isinstance(following, ItemsTaken)
            taken.append(following.item)
        if self.aside is not None and self.aside.item in taken:
            self._is_aside = True
            self.aside.began.set()
        known = []
        for item in taken:
            if item in self.items.handed:
                await self.wait_told(item)
                known.append(item)
                self.items.mark_taken(item)
                self._emit(InboundTaken, item)
        if known:
            await self._report_began(tuple(known))

    async def _asks(self, fact: TurnAsks) -> None:
        if self._is_aside:
            assert self.aside is not None
            if not self.aside.is_compaction and fact.number > self.aside.max_requests:
                self.session.interrupt("it has used the requests that it may make")
        elif not self._is_begun:
            resumed, self.resumed = self.resumed or (), None
            await self._report_began(resumed)

    async def _report_began(self, items: tuple[str, ...]) -> None:
        self._is_begun = True
        self._began += items
        await self.parts.watcher.turn_began(self.key, items)

    async def _over(self, fact: TurnOutcome) -> None:
        stop, self.stop = self.stop, None
        is_aside, self._is_aside = self._is_aside, False
        is_begun, self._is_begun = self._is_begun, False
        began, self._began = tuple(self._began), []
        aside = self.aside
        if aside is not None and (is_aside or aside.item in fact.dropped):
            self.aside = None
            await persist(self.session.wait_recorded)
            aside.end(fact)
        elif not (self.is_cutting and fact.state is State.KILLED):
            dropped = tuple(item for item in fact.dropped if item in self.items.handed)
            if is_begun or dropped:
                await persist(self.session.wait_recorded)
                await self._report_end(end_of(self.key, self.session_id, fact, (*began, *dropped), stop), ANSWERED)
            self.reads += is_begun or fact.has_read
        self.ends += 1
        self.on_change()

    async def _gone(self, fact: ItemGone) -> None:
        if fact.item not in self.items.handed:
            return
        await self.wait_told(fact.item)
        if not fact.why:  # its turn was one of an earlier process
            self.items.mark_taken(fact.item)
            self._emit(InboundTaken, fact.item)
        else:
            stop = self.withdrawn.pop(fact.item, None)
            why = fact.why if stop is None else stop.why
            make = lost_end if why == POISONED else partial(unread_end, stop=stop)
            await self._report_end(make(self.key, self.session_id, (fact.item,), why), why)
        self.on_change()

    async def _report_end(self, end: TurnEnd, why: str) -> None:
        await self.parts.watcher.turn_ended(end)
        if end.state is not TaskState.COMPLETED:  # it may have ended before the transcript had them
            await persist(partial(self.parts.store.ack, self.key, end.items))
        for item in end.items:
            self._emit(partial(InboundSettled, why=why), item)
            self.items.remove(item)
            self._accepted.pop(item, None)

    def _emit(self, event: Callable[..., InboundTaken | InboundSettled], item: str) -> None:
        if item in self.parts.record.registry.inbound:
            self.parts.record.emit(event(at_s=self.parts.now(), item=item))


def end_of(
    key: str, session_id: str, over: TurnOutcome, items: tuple[str, ...], stop: TurnStop | None = None
) -> TurnEnd:
    """Return the end of a turn as its watcher is told.

    Args:
        key: The session key.
        session_id: The session.
        over: The end, as the session's events tell it.
        items: The items that are told to have ended with it.
        stop: The request that ended it, if there was one.
    """
    state, cause, who, error = STATES[over.state], EndCause.ITSELF, "", over.error
    if state is TaskState.KILLED:
        cause, who = (EndCause.STOP, over.who) if stop is None else (stop.cause, stop.who)
        error = error if stop is None else stop.why
    is_whole = state is TaskState.COMPLETED
    return TurnEnd(
        session=key,
        session_id=session_id,
        items=items,
        line=over.line,
        state=state,
        cause=cause,
        who=who,
        error="" if is_whole else error,
        reply=over.said if is_whole else "",
        said="" if is_whole else over.said,
        requests=over.requests,
    )


def unread_end(key: str, session_id: str, items: tuple[str, ...], why: str, stop: TurnStop | None = None) -> TurnEnd:
    """Return the end of items that no turn reads any more: none has begun with them, or it was cut and is not resumed."""
    return TurnEnd(
        session=key,
        session_id=session_id,
        items=items,
        line="",
        state=TaskState.KILLED,
        cause=EndCause.STOP if stop is None else stop.cause,
        who="" if stop is None else stop.who,
        error=why,
    )


def failed_end(key: str, session_id: str, items: tuple[str, ...], error: str) -> TurnEnd:
    """Return the end of items whose session could not be opened."""
    return TurnEnd(
        session=key,
        session_id=session_id,
        items=items,
        line="",
        state=TaskState.FAILED,
        cause=EndCause.ITSELF,
        error=error,
    )


def lost_end(key: str, session_id: str, items: tuple[str, ...], error: str) -> TurnEnd:
    """Return the end of items whose turn was cut and is not resumed."""
    return attrs.evolve(failed_end(key, session_id, items, error), cause=EndCause.LOST)
