"""Sessions that stand in for real ones: they take from the box, hold a place for each turn, and tell what real ones tell."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import attrs
import trio

from greenroom.actors import State, TurnBegan, TurnEnded
from greenroom.agents import Appended
from greenroom.agents.events import ModelBegan, ModelEnded
from greenroom.core import Cause, Event
from greenroom.gateway.keepers._kept_session import KeptSession, OpenOrder, RefusesTools
from greenroom.gateway.keepers._turn_fold import TurnOutcome
from greenroom.gateway.keepers._turn_lookup import ItemFate
from greenroom.inbox import InboxAccepted, InboxTaken, InboxWithdrawn, StoredItem
from greenroom.models import Message, ModelResponse, TextBlock, Usage
from greenroom.session import EventStream, MessageAppended

AGENT = "main-agent"


@attrs.define
class Conversations:
    """The disk of the stand-ins: what each session has read, and its turn that is open."""

    read: dict[str, list[str]] = attrs.field(factory=dict)
    cut: dict[str, list[str]] = attrs.field(factory=dict)
    open_now: dict[str, int] = attrs.field(factory=dict)
    turns_now: dict[str, int] = attrs.field(factory=dict)
    most_open: int = 0
    turn_s: float = 3.0
    open_s: float = 0.5
    sessions: dict[str, StandIn] = attrs.field(factory=dict)
    on_open: Callable[[str], None] = lambda _: None

    def fate(self, folder: Path, item: str) -> ItemFate:
        """Return what became of an item."""
        sid = folder.name
        if item not in self.read.get(sid, ()):
            return ItemFate()
        if item in self.cut.get(sid, ()):
            return ItemFate(is_read=True)
        return ItemFate(is_read=True, over=TurnOutcome(state=State.COMPLETED))

    @asynccontextmanager
    async def open(self, order: OpenOrder) -> AsyncIterator[KeptSession]:
        """Open a stand-in."""
        self.on_open(order.key)
        await trio.sleep(self.open_s)
        assert not self.open_now.get(order.key), "a session is open twice"
        session = StandIn(order, self)
        self.open_now[order.key] = 1
        self.most_open = max(self.most_open, len(self.open_now))
        self.sessions[order.key] = session
        try:
            async with trio.open_nursery() as nursery:
                session.nursery = nursery
                await order.store.reopen(order.key)
                nursery.start_soon(session.follow)
                nursery.start_soon(session.work)
                yield session
                nursery.cancel_scope.cancel()
        finally:
            del self.open_now[order.key], self.sessions[order.key]
            session.close()


@attrs.define(eq=False)
class StandIn:
    """One open session."""

    order: OpenOrder
    disk: Conversations
    streams: list[EventStream] = attrs.field(factory=list)
    early: list[Event] = attrs.field(factory=list)
    waiting: list[StoredItem] = attrs.field(factory=list)
    nursery: trio.Nursery | None = None
    scope: trio.CancelScope | None = None
    why: str = ""
    resumes: list[trio.Event] = attrs.field(factory=list)
    news: trio.Event = attrs.field(factory=trio.Event)
    was_cut: bool = False
    main_id: str = AGENT
    questions: Any = None
    is_killed: bool = False

    def __attrs_post_init__(self) -> None:
        self.was_cut = self.order.session_id in self.disk.cut

    # --- the port -----------------------------------------------------------------------------------------------------

    @property
    def is_busy(self) -> bool:
        return self.scope is not None or bool(self.waiting) or bool(self.resumes)

    @property
    def is_at_rest(self) -> bool:
        return not self.is_busy

    def events(self) -> EventStream:
        stream = EventStream(None)
        self.streams.append(stream)
        for event in self.early:
            self._put(stream, event)
        return stream

    def interrupt(self, why: str) -> bool:
        if self.scope is None:
            return False
        self.why = why
        self.scope.cancel()
        return True

    def withdraw(self, item: str) -> bool:
        found = next((each for each in self.waiting if each.id == item), None)
        if found is None:
            return False
        self.waiting.remove(found)
        self.emit(InboxWithdrawn(item=item, why="it was withdrawn"))
        self.acks.append(item)
        return True

    acks: list[str] = attrs.field(factory=list)

    def kill(self, why: str) -> None:
        self.is_killed = True
        assert self.nursery is not None
        self.nursery.cancel_scope.cancel()

    def crash(self) -> None:
        async def fail() -> None:
            raise RuntimeError("the session has crashed")

        assert self.nursery is not None
        with suppress(RuntimeError):  # it has ended already
            self.nursery.start_soon(fail)

    def release(self) -> None:
        pass

    async def resume_turn(self) -> None:
        event = trio.Event()
        self.resumes.append(event)
        self.news.set()
        await event.wait()

    def send_aside(self, text: str, refuses_tools: RefusesTools) -> str:
        raise NotImplementedError

    async def compact(self) -> str:
        raise AssertionError("nobody compacts it")

    async def wait_handed(self) -> None:
        await trio.lowlevel.checkpoint()

    async def wait_recorded(self) -> None:
        await trio.lowlevel.checkpoint()

    async def set_permission_mode(self, mode: str) -> None:
        await trio.lowlevel.checkpoint()

    # --- its life -----------------------------------------------------------------------------------------------------

    def emit(self, event: Event) -> None:
        if not self.streams:
            self.early.append(event)
        for stream in self.streams:
            self._put(stream, event)

    def _put(self, stream: EventStream, event: Event) -> None:
        values = [getattr(event, field.name) for field in attrs.fields(type(event))]
        stream.put((1, trio.current_time(), type(event), *values))

    def close(self) -> None:
        for stream in self.streams:
            stream.close()

    async def follow(self) -> None:
        store, box = self.order.store, self.order.key
        while True:
            for item in (await store.take(box)).items:
                if item.id in self.disk.read.get(self.order.session_id, ()):
                    await store.ack(box, [item.id])
                    continue
                self.emit(InboxAccepted(item=item.id, origin="human", lane="next", entry="prompt", chars=1))
                self.waiting.append(item)
                self.news.set()
            await store.wait_news(box)

    async def work(self) -> None:
        while True:
            while self.waiting or self.resumes:
                await self.turn()
                if self.acks:
                    acks, self.acks = self.acks, []
                    await self.order.store.ack(self.order.key, acks)
            self.news = trio.Event()
            await self.news.wait()

    async def turn(self) -> None:
        disk, sid, key = self.disk, self.order.session_id, self.order.key
        first = self.waiting.pop(0) if self.waiting else None
        resumed = self.resumes.pop(0) if first is None else None
        self.emit(TurnBegan(actor=AGENT, turn=1, msg=1))
        taken: list[StoredItem] = []
        state = "completed"
        with trio.CancelScope() as scope:
            self.scope = scope
            try:
                async with self.order.turn_place():
                    disk.turns_now[key] = disk.turns_now.get(key, 0) + 1
                    assert disk.turns_now[key] == 1, "two turns of one session at once"
                    try:
                        taken = [first] if first is not None else []
                        taken += self.waiting
                        self.waiting = []
                        disk.cut.setdefault(sid, [])
                        for item in taken:
                            disk.read.setdefault(sid, []).append(item.id)
                            disk.cut[sid].append(item.id)
                            self.emit(InboxTaken(item=item.id))
                            self.acks.append(item.id)
                        self.emit(ModelBegan(actor=AGENT, turn=1, round=1, messages=1))
                        await trio.sleep(disk.turn_s)
                    finally:
                        disk.turns_now[key] -= 1
            finally:
                if scope.cancel_called and not self.is_killed:
                    state = "killed"
                self.scope = None
        if first is not None and not taken:
            self.emit(InboxWithdrawn(item=first.id, why="the turn that began with it was ended"))
            self.acks.append(first.id)
        disk.cut.pop(sid, None)
        if state == "completed":
            self._speak()
        cause = None if state == "completed" else Cause("host", self.why)
        self.emit(ended(state, cause))
        if resumed is not None:
            resumed.set()

    def _speak(self) -> None:
        usage = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        self.emit(
            ModelEnded(
                actor=AGENT, turn=1, round=1, state="completed", stop_reason="end_turn",
                input_tokens=1, output_tokens=1, error="", **usage,
            )
        )  # fmt: skip
        response = ModelResponse((), None, Usage(), "")
        message = Message(role="assistant", content=(TextBlock("done"),))
        appended = Appended(agent=AGENT, message=message, uuid="line", is_hidden=False, response=response)
        self.emit(MessageAppended(actor=AGENT, appended=appended))


def ended(state: str, cause: Cause | None) -> TurnEnded:
    return TurnEnded(
        actor=AGENT, turn=1, msg=1, state=state, by="", cause=cause, error="",
        late_cancel=False, during_kill=False, cleanup_cut=False,
    )  # fmt: skip
