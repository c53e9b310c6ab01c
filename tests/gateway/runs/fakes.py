"""Fakes for tests of runs: keepers whose turns are functions, channels with planned results, and a gateway of both.

What outlives a process is in `World`: the disk with the journal, the store of inputs, and what the chats have received.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, final

import attrs
import trio

from greenroom.core.ports import Ports
from greenroom.gateway._gateway_errors import Conflict
from greenroom.gateway.announce._announcement import SpentRequest
from greenroom.gateway.channels._channel import ChannelHost, ChannelTraits, WasSent
from greenroom.gateway.config._agents import AgentsConfig, DefaultAgent, DefaultSubagents
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.keepers._seams import AsideReply, NewInput, PastTurn, TurnEnd
from greenroom.gateway.lanes._lanes import TurnLanes
from greenroom.gateway.lanes._places import TurnClaim
from greenroom.gateway.record import _gateway_events as gateway
from greenroom.gateway.record import _run_events as work
from greenroom.gateway.record._gateway_events import EVENTS
from greenroom.gateway.record._gateway_journal import GatewayRecord, open_gateway_journal
from greenroom.gateway.record._machines import EndCause, SendResult, SessionState
from greenroom.gateway.record._recovery_plan import OnUnknown, Recovery, Resume
from greenroom.gateway.record._registry import Registry
from greenroom.gateway.record._run_events import GatewayEvent
from greenroom.gateway.routing._chat_messages import ChatRoute, Outbound, SendReceipt
from greenroom.gateway.routing._session_key import SessionKey, main_key
from greenroom.gateway.runs._deliveries import Deliveries, open_deliveries
from greenroom.gateway.runs._run_service import Runs
from greenroom.gateway.runs._spawn_plan import SpawnRequest
from greenroom.tasks import TaskState
from greenroom.testing import virtual_ports
from greenroom.trace import JOURNAL, read_journal
from tests.trace.disks import MemoryDisk
from tests.trace.scenarios import FOLDER, unlocked

STATE: Final = Path("/state")
CHAT: Final = ChatRoute(channel="irc", peer="ada", answers="m1")
MAIN: Final = main_key("main")


class TurnDies(Exception):
    """A turn fails."""


Turn = Callable[[str, str], Awaitable[str]]
"""Does a turn: called with the session and the texts that it took up, it returns the reply."""


async def echo(session: str, text: str) -> str:
    """Reply with the text; say nothing about the end of a sub-agent."""
    return "NO_REPLY" if text.startswith("A sub-agent") else f"done: {text}"


@final
@attrs.define(eq=False)
class Store:
    """The inputs of all sessions; it outlives a process."""

    waiting: dict[str, list[NewInput]] = attrs.field(factory=dict)
    known: set[str] = attrs.field(factory=set)
    texts: dict[str, list[str]] = attrs.field(factory=dict)
    """The texts that each session was given, in order."""
    ended: dict[str, TurnEnd] = attrs.field(factory=dict)
    """Ends of turns, as the sessions' own journals hold them, until they were reported."""

    def copy(self) -> Store:
        """Return what is left if the process is killed now."""
        return Store(
            waiting={key: list(items) for key, items in self.waiting.items()},
            known=set(self.known),
            texts={key: list(texts) for key, texts in self.texts.items()},
            ended=dict(self.ended),
        )


@final
class FakeKeepers:
    """Sessions whose turns are functions."""

    def __init__(
        self,
        record: GatewayRecord,
        ports: Ports,
        store: Store,
        watcher: Runs,
        nursery: trio.Nursery,
        *,
        lanes: TurnLanes,
    ) -> None:
        self.record, self.ports, self.store, self.watcher, self.nursery = record, ports, store, watcher, nursery
        self.lanes = lanes
        self.turn: Turn = echo
        self.aside: Turn = echo
        self.asked: list[tuple[str, str]] = []
        self.archived: list[str] = []
        self.stubborn: set[str] = set()
        """Sessions whose turns ignore stops."""
        self.busy: dict[str, trio.CancelScope] = {}
        self.taken: dict[str, tuple[str, ...]] = {}
        self.stops: dict[str, tuple[EndCause, str]] = {}
        self.running = 0
        self.most_running = 0
        self.claims: dict[str, TurnClaim] = {}
        self.began: list[str] = []
        self.requests: tuple[SpentRequest, ...] = ()

    def now(self) -> float:
        return self.ports.clock.wall().timestamp()

    def events_for_new(
        self, key: SessionKey, *, spawned_by: str = "", label: str = "", settings: Mapping[str, Any] | None = None
    ) -> tuple[work.GatewayEvent, ...]:
        if str(key) in self.record.registry.sessions:
            return ()
        made = gateway.SessionMade(
            at_s=self.now(),
            session=str(key),
            session_id=f"id-{self.ports.ids.bits(32):08x}",
            spawned_by=spawned_by,
            label=label,
            settings=settings or {},
        )
        return (made,)

    async def put(self, key: SessionKey, new: NewInput) -> bool:
        name = str(key)
        row = self.record.registry.sessions.get(name)
        if row is not None and row.state is SessionState.ARCHIVED:
            raise Conflict(name)
        is_new = new.id not in self.store.known
        if is_new:
            self.store.known.add(new.id)
            self.store.waiting.setdefault(name, []).append(new)
            self.store.texts.setdefault(name, []).append(new.text)
            accepted = work.InboundAccepted(
                at_s=self.now(),
                item=new.id,
                session=name,
                route=new.route.to_json() if new.route is not None else {},
                run=new.run,
            )
            await self.record.write(*self.events_for_new(key), accepted)
        if any(each.begins_turn for each in self.store.waiting.get(name, [])):
            self.wake(name)
        return is_new

    async def recover(self) -> tuple[str, ...]:
        """Tell what the gateway's journal lacks: ends of turns, and items."""
        for session, items in list(self.store.waiting.items()):
            await self._report(session)
            for new in items:
                if new in self.store.waiting[session] and new.id not in self.record.registry.inbound:
                    route = new.route.to_json() if new.route is not None else {}
                    await self.record.write(
                        work.InboundAccepted(at_s=self.now(), item=new.id, session=session, route=route, run=new.run)
                    )

        inbound = self.record.registry.inbound
        cut = []
        for session, items in list(self.store.waiting.items()):
            if any(each.id in inbound and inbound[each.id].is_taken for each in items):
                cut.append(session)
            else:
                self.wake(session)
        return tuple(cut)

    def resume_cut(self, key: str) -> None:
        self.wake(key)

    def drop_cut(self, key: str, why: str) -> tuple[str, ...]:
        inbound = self.record.registry.inbound
        gone = tuple(each.id for each in self.store.waiting[key] if each.id in inbound and inbound[each.id].is_taken)
        self.store.waiting[key] = [each for each in self.store.waiting[key] if each.id not in gone]
        for each in gone:
            self.record.emit(work.InboundSettled(at_s=self.now(), item=each, why=why))
        self.wake(key)
        return gone

    def claim_of(self, key: str) -> TurnClaim | None:
        return self.claims.get(key)

    async def _report(self, session: str) -> None:
        end = self.store.ended.get(session)
        if end is not None:
            await self.watcher.turn_ended(end)
            del self.store.ended[session]
            self.store.waiting[session] = [each for each in self.store.waiting[session] if each.id not in end.items]
            for each in end.items:
                if each in self.record.registry.inbound:
                    await self.record.write(work.InboundSettled(at_s=self.now(), item=each, why="answered"))

    def wake(self, session: str) -> None:
        if session not in self.busy and self.store.waiting.get(session):
            self.busy[session] = trio.CancelScope()
            self.nursery.start_soon(self._work, session)

    async def _work(self, session: str) -> None:
        try:
            while any(each.begins_turn for each in self.store.waiting.get(session, [])):
                self.busy[session] = trio.CancelScope()
                await self._take_turn(session)
        finally:
            self.busy.pop(session, None)

    async def _take_turn(self, session: str) -> None:
        key = SessionKey.parse(session)
        lane = "subagent" if key.is_child else "main"
        first = [each.id for each in self.store.waiting[session]]
        await self.watcher.turn_queued(session, tuple(first), lane)
        state, reply, error, is_begun = TaskState.KILLED, "", "", False
        with self.busy[session] as scope:
            async with self.lanes.place(session, lane) as self.claims[session]:
                items = tuple(self.store.waiting.get(session, ()))
                self.taken[session] = ids = tuple(each.id for each in items)
                if not items:
                    return
                self.running += 1
                self.began.append(session)
                self.most_running = max(self.most_running, self.running)
                is_begun = True
                try:
                    with trio.CancelScope(shield=True):
                        for each in ids:
                            if not self.record.registry.inbound[each].is_taken:
                                await self.record.write(work.InboundTaken(at_s=self.now(), item=each))
                        await self.watcher.turn_began(session, ids)
                    with trio.CancelScope(shield=session in self.stubborn):
                        reply = await self.turn(session, "\n".join(each.text for each in items))
                    state = TaskState.COMPLETED
                except TurnDies as failure:
                    state, error = TaskState.FAILED, str(failure)
                finally:
                    self.running -= 1
        if scope.cancelled_caught and session not in self.stops:
            raise AssertionError("cancelled by nobody")
        cause, who = self.stops.pop(session, (EndCause.ITSELF, ""))
        if not is_begun and not self.store.waiting.get(session):
            return
        ids = self.taken.pop(session, tuple(first))
        end = TurnEnd(
            session=session,
            session_id=self.record.registry.sessions[session].session_id,
            items=ids,
            line=f"line-{self.ports.ids.bits(64):016x}" if state is TaskState.COMPLETED else "",
            state=state,
            cause=cause if state is TaskState.KILLED else EndCause.ITSELF,
            who=who,
            error=error,
            reply=reply,
            said="" if state is TaskState.COMPLETED else "half a sentence",
            requests=self.requests,
        )
        self.store.ended[session] = end
        await self._report(session)

    async def stop_turn(self, key: str, *, who: str, cause: EndCause = EndCause.STOP, item: str = "") -> bool:
        waiting = self.store.waiting.get(key, [])
        if item and item not in self.taken.get(key, ()):
            self.store.waiting[key] = [each for each in waiting if each.id != item]
            is_there = len(self.store.waiting[key]) < len(waiting)
            if item in self.record.registry.inbound:
                await self.record.write(work.InboundSettled(at_s=self.now(), item=item, why="withdrawn"))
            return is_there
        if key not in self.busy:
            return False
        self.stops.setdefault(key, (cause, who))
        self.busy[key].cancel()
        with trio.move_on_after(30):
            while key in self.stops:  # noqa: ASYNC110 - virtual time
                await trio.sleep(0.01)
        return key not in self.stops

    async def ask_aside(
        self, key: str, text: str, *, within_s: float, max_requests: int, is_again: bool = False
    ) -> AsideReply:
        self.asked.append((key, text))
        with trio.move_on_after(within_s):
            return AsideReply(await self.aside(key, text))
        return AsideReply()

    async def find_turn(self, session: str, session_id: str, item: str) -> PastTurn:
        end = self.store.ended.get(session)
        return PastTurn("" if end is None else end.reply or end.said, self.requests)

    async def reset(self, key: str, *, who: str) -> str:
        raise NotImplementedError

    async def patch(self, key: str, settings: Mapping[str, object], *, label: str | None = None) -> None:
        await self.record.write(gateway.SessionPatched(at_s=self.now(), session=key, settings=settings, label=label))

    async def archive(self, key: str, *, why: str, is_forced: bool = False, transcript: str = "") -> str:
        name = transcript or "main.jsonl.deleted.now"
        await self.record.write(gateway.SessionArchived(at_s=self.now(), session=key, transcript=name, why=why))
        self.archived.append(key)
        return name

    def is_busy(self, key: str) -> bool:
        return key in self.busy


@final
@attrs.define(eq=False)
class FakeChannel:
    """A channel that answers as planned, then takes everything."""

    plan: list[SendResult | Exception] = attrs.field(factory=list)
    traits: ChannelTraits = attrs.field(factory=lambda: ChannelTraits(limit=4_000))
    knows: WasSent = WasSent.CANNOT_SAY
    tried: list[Outbound] = attrs.field(factory=list)
    chat: list[Outbound] = attrs.field(factory=list)
    """The parts that arrived; with keys, each key once."""
    delay_s: float = 0.0
    arrives_unknown: bool = True
    """True if a part whose result is unknown arrived all the same."""
    watch: Callable[[Outbound], None] = lambda _: None
    """Called with each part that is tried, before anything comes of it."""

    async def run(self, host: ChannelHost) -> None:
        await trio.sleep_forever()

    async def send(self, part: Outbound) -> SendReceipt:
        self.watch(part)
        self.tried.append(part)
        await trio.sleep(self.delay_s)
        result = self.plan.pop(0) if self.plan else SendResult.TAKEN
        if isinstance(result, Exception):
            raise result
        arrives = result is SendResult.TAKEN or (result is SendResult.UNKNOWN and self.arrives_unknown)
        if arrives and not (self.traits.takes_keys and part.key in {each.key for each in self.chat}):
            self.chat.append(part)
        return SendReceipt(result=result, why="" if result is SendResult.TAKEN else str(result))

    async def was_sent(self, key: str) -> WasSent:
        return self.knows

    async def show_typing(self, route: ChatRoute, *, is_typing: bool) -> None:
        pass

    @property
    def texts(self) -> list[str]:
        return [part.text for part in self.chat]


@final
class CountedDisk(MemoryDisk):
    """A disk in memory whose writes a test can come before and behind."""

    def __init__(self) -> None:
        super().__init__()
        self.around_append: Callable[[Callable[[], None]], None] | None = None

    def append(self, path: Path, content: bytes) -> None:
        """Append, inside `around_append` if there is one."""
        plain = partial(super().append, path, content)
        if self.around_append is None:
            plain()
        else:
            self.around_append(plain)


@final
@attrs.define(eq=False)
class World:
    """The things that outlive a process."""

    disk: CountedDisk = attrs.field(factory=CountedDisk)
    store: Store = attrs.field(factory=Store)
    channel: FakeChannel = attrs.field(factory=FakeChannel)
    seed: int = 0

    def copy(self) -> World:
        """Return what is left if the process is killed now."""
        disk = CountedDisk()
        disk.files = dict(self.disk.files)
        channel = attrs.evolve(self.channel, plan=list(self.channel.plan), chat=list(self.channel.chat), tried=[])
        return World(disk=disk, store=self.store.copy(), channel=channel, seed=self.seed)

    def events(self) -> list[GatewayEvent]:
        """Return what is on record."""
        found = [entry.event for entry in read_journal(FOLDER / JOURNAL, EVENTS, disk=self.disk).entries]
        return [event for event in found if isinstance(event, GatewayEvent)]


@final
@attrs.frozen
class FakeGateway:
    """Runs over fake keepers and a fake channel."""

    config: GatewayConfig
    record: GatewayRecord
    runs: Runs
    keepers: FakeKeepers
    deliveries: Deliveries
    channel: FakeChannel
    lanes: TurnLanes

    @property
    def registry(self) -> Registry:
        return self.record.registry

    async def spawn(self, task: str = "count the files", *, requester: SessionKey = MAIN, **more: Any) -> str:
        """Start a sub-agent that is accepted, and return its run."""
        route = more.pop("route", CHAT)
        answer = await self.runs.spawn(requester, SpawnRequest(task=task, **more), route)
        assert answer.status == "accepted", answer
        return answer.run

    def shown(self) -> list[tuple[str, str]]:
        """Return the first two lines of each text in the chat: the label, and the status."""
        return [(text.splitlines()[0].strip('"'), text.splitlines()[1]) for text in self.channel.texts if "\n" in text]


def configured(**subagents: Any) -> GatewayConfig:
    """Return a configuration of sub-agents."""
    return GatewayConfig(agents=AgentsConfig(defaults=DefaultAgent(subagents=DefaultSubagents(**subagents))))


@asynccontextmanager
async def open_fake_gateway(
    world: World | None = None,
    config: GatewayConfig | None = None,
    *,
    turn: Turn = echo,
    aside: Turn | None = None,
    width: int = 8,
    recovery: Resume = Resume.ALL,
    takes_keys: bool = False,
) -> AsyncIterator[FakeGateway]:
    """Open a gateway on what earlier ones left, and carry out the plan of its start."""
    world, config = world or World(), config or GatewayConfig()
    world.seed += 1
    ports = attrs.evolve(virtual_ports(world.seed), disk=world.disk)
    lanes = TurnLanes({"main": 4, "subagent": width})
    async with (
        open_gateway_journal(FOLDER, ports=ports, lock=unlocked) as record,
        open_deliveries(lambda: config, record, lambda *_: world.channel, ports.clock) as deliveries,
        trio.open_nursery() as nursery,
    ):
        await record.write(gateway.GatewayBegan(at_s=ports.clock.wall().timestamp(), process=world.seed))
        runs = Runs(lambda: config, record, deliveries, ports, STATE)
        keepers = FakeKeepers(record, ports, world.store, runs, nursery, lanes=lanes)
        keepers.turn = turn
        keepers.aside = aside or keepers.aside
        if str(MAIN) not in record.registry.sessions:
            await record.write(*keepers.events_for_new(MAIN))
        async with runs.serve(keepers):
            await runs.recover(Recovery(takes_keys=lambda _: takes_keys, resume=recovery, on_unknown=OnUnknown.BLOCK))
            yield FakeGateway(config, record, runs, keepers, deliveries, world.channel, lanes)
        nursery.cancel_scope.cancel()


async def settle(gateway: FakeGateway, *runs: str, within_s: float = 7200.0) -> None:
    """Wait until runs have ended and their completions are settled or blocked."""
    with trio.fail_after(within_s):
        step_s = 0.1
        while any(is_unsettled(gateway.registry, run) for run in runs):
            await trio.sleep(step_s)
            step_s = min(step_s * 1.2, 60)
    await trio.sleep(0.1)


def is_unsettled(registry: Registry, run: str) -> bool:
    row = registry.run(run)
    if row is None or not row.is_ended:
        return True
    completion = registry.completions.get(run)
    return completion is not None and completion.delivery.state in {"none", "composing", "due"}
