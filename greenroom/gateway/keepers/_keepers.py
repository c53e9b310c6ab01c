"""The sessions of a gateway by key: what is put into them, what is asked of them, and the actors that keep them.

    async with open_keepers(...) as keepers:
        await keepers.put(key, NewInput(...))       # durable when it returns; the turn is reported to the watcher

Rule 1: an input is in the store, then in the journal, then accepted. Rule 2: a session is opened only by its keeper. Rule 3: a keeper that
crashes too often is broken, and no other one notices.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, final

import attrs
import trio

from greenroom.actors import Behavior, Context, State, Unfinished
from greenroom.core.ports import Ports
from greenroom.gateway._errors import Conflict, NotFound
from greenroom.gateway.announce._queue_plan import Overflow
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.keepers._agent_setup import OpenModel, ToolsFor
from greenroom.gateway.keepers._box_items import route_of, run_of, stored_item, waiting_item
from greenroom.gateway.keepers._keeper import KeeperParts, SessionKeeper
from greenroom.gateway.keepers._kept_session import Opener, open_kept
from greenroom.gateway.keepers._left_items import LeftItems, adopt, read_left, settle_left
from greenroom.gateway.keepers._seams import NewInput, OnSessionEvent, TurnWatcher
from greenroom.gateway.keepers._turn_reporter import Aside, StopOrder
from greenroom.gateway.lanes._lanes import TurnLanes
from greenroom.gateway.lanes._places import TurnClaim
from greenroom.gateway.record._gateway_events import SessionMade
from greenroom.gateway.record._gateway_journal import GatewayRecord
from greenroom.gateway.record._machines import EndCause, SessionState
from greenroom.gateway.record._run_events import GatewayEvent, InboundAccepted
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.inbox import BoxFull, InboxStore, StoredItem
from greenroom.store import new_uuid
from greenroom.supervisor import Backoff, ChildSpec, Restart, Runtime, Supervisor, SupervisorSpec, open_runtime

MAX_HELD: Final = 90
"""Items of one session that are kept back; more are refused. The store itself would drop the oldest ones from 100 on."""
KEEPER: Final = SupervisorSpec(intensity=3, period_s=60.0, backoff=Backoff(first_s=1.0, cap_s=20.0))
_CHILD: Final = ChildSpec(restart=Restart.TRANSIENT, grace_s=40.0, kill_grace_s=35.0)


@final
@attrs.frozen
class Serve:
    """Serve the session until it needs nothing."""


@final
class Keeper(Behavior[Serve]):
    """The actor of one session key, for as long as there is something to do.

    Args:
        keeper: Its state, which outlives each incarnation.
        served: Set when it has nothing to do any more.
    """

    unfinished = Unfinished.REQUEUE

    def __init__(self, keeper: SessionKeeper, served: trio.Event) -> None:
        self._keeper = keeper
        self._served = served

    async def on_message(self, message: Serve, ctx: Context) -> None:
        """Serve the session."""
        await self._keeper.serve()
        self._served.set()


@final
class KeeperSet:
    """The sessions of a gateway. Made by `open_keepers`.

    Attributes:
        broken: The sessions that cannot be kept, each with the reason; `reset` makes one usable again.
    """

    def __init__(self, parts: KeeperParts, runtime: Runtime, nursery: trio.Nursery) -> None:
        self._parts = parts
        self._runtime = runtime
        self._nursery = nursery
        self._keepers: dict[str, SessionKeeper] = {}
        self._running: dict[str, Supervisor | None] = {}
        self._open: dict[SessionKeeper, None] = {}
        self._room_changed = trio.Event()
        self._is_stopping = False
        self._left: dict[str, LeftItems] = {}
        self.broken: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"<KeeperSet: {len(self._open)} open, {len(self._keepers)} known, {len(self.broken)} broken>"

    @property
    def runtime(self) -> Runtime:
        """The runtime of the gateway, for the actors beside keepers."""
        return self._runtime

    # --- looking ------------------------------------------------------------------------------------------------------

    def is_busy(self, key: str) -> bool:
        """True if a turn of it runs or waits for a place."""
        keeper = self._keepers.get(key)
        return keeper is not None and keeper.is_busy

    def claim_of(self, key: str) -> TurnClaim | None:
        """Return the place of the turn of a session that runs, for `TurnLanes.lend`; None if none runs."""
        keeper = self._keepers.get(key)
        return None if keeper is None else keeper.claim

    @property
    def open_count(self) -> int:
        """Number of sessions in memory."""
        return len(self._open)

    # --- what comes in ------------------------------------------------------------------------------------------------

    def events_for_new(
        self,
        key: SessionKey,
        *,
        spawned_by: str = "",
        label: str = "",
        settings: Mapping[str, Any] | None = None,
    ) -> tuple[GatewayEvent, ...]:
        """Return the events that make a session known; none if it is known. They may be written with others.

        Raises:
            Conflict: The agent has too many sessions.
        """
        registry = self._parts.record.registry
        if str(key) in registry.sessions:
            return ()
        limit = self._parts.config().limits.known_sessions
        if sum(SessionKey.parse(each).agent == key.agent for each in registry.sessions) >= limit:
            raise Conflict(f"agent {key.agent!r} has {limit} sessions; archive some, or raise limits.knownSessions")
        made = SessionMade(
            at_s=self._parts.now(),
            session=str(key),
            session_id=new_uuid(self._parts.ports.ids),
            spawned_by=spawned_by,
            label=label,
            settings=dict(settings or {}),
        )
        return (made,)

    async def make(
        self,
        key: SessionKey,
        *,
        spawned_by: str = "",
        label: str = "",
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Make a session known, and return when that is durable; nothing is opened.

        Raises:
            Conflict: The agent has too many sessions.
            JournalError: It could not be recorded.
        """
        events = self.events_for_new(key, spawned_by=spawned_by, label=label, settings=settings)
        if events:
            await self._parts.record.write(*events)

    async def put(self, key: SessionKey, new: NewInput) -> bool:
        """Put an input on record and into the store, and wake the keeper; False if it was there before. Then it is durable.

        Cancelled, it was put whole or not at all.

        Raises:
            Conflict: The session is archived.
            BoxFull: Too many inputs wait.
            UsageError: The text is blank or too long.
            JournalError: The disk refuses.
        """
        self._parts.record.journal.check_open()
        await self.make(key)
        keeper = self._keeper(key)
        if keeper.row.state is SessionState.ARCHIVED:
            raise Conflict(f"session {keeper.name!r} is archived; it takes no messages")
        if new.id in keeper.items.handed or new.id in keeper.items.held:
            await keeper.wait_told(new.id)
            return False
        self._check_room(keeper, new)
        mode = keeper.queue_mode(new.queue)
        item = stored_item(keeper.name, new, mode, is_held=False, now_s=self._parts.now())
        item = attrs.evolve(item, is_held=keeper.items.add(waiting_item(item)))
        keeper.untold[new.id] = told = trio.Event()
        with trio.CancelScope(shield=True):
            try:
                is_new = await self._store(keeper, item)
            except BaseException:
                keeper.items.remove(new.id)
                raise
            finally:
                keeper.untold.pop(new.id, None)
                told.set()
        if not is_new:
            keeper.items.remove(new.id)
        self._wake(keeper)
        return is_new

    def _check_room(self, keeper: SessionKeeper, new: NewInput) -> None:
        queue, held = self._parts.config().messages.queue, len(keeper.items.held)
        if held >= MAX_HELD or (held >= queue.cap and new.begins_turn and Overflow(queue.drop) is Overflow.NEW):
            raise BoxFull(keeper.name, f"{held} messages wait for the end of the turn")

    async def _store(self, keeper: SessionKeeper, item: StoredItem) -> bool:
        (place,) = await self._parts.store.put([item])
        if not place.is_new:
            return False
        accepted = InboundAccepted(
            at_s=self._parts.now(),
            item=item.id,
            session=keeper.name,
            route=route_of(item),
            run=run_of(item.route),
        )
        await self._parts.record.write(accepted)
        return True

    # --- turns --------------------------------------------------------------------------------------------------------

    async def stop_turn(self, key: str, *, who: str, cause: EndCause = EndCause.STOP, item: str = "") -> bool:
        """End the turn that runs or waits, or withdraw one item; return True when it has ended, False if there was none.

        Args:
            key: The session.
            who: Who asks.
            cause: The kind of cause that is reported.
            item: The item to withdraw; if a turn has taken it up, that ends. Empty for whatever turn runs or waits.
        """
        keeper = self._keepers.get(key)
        why = "its limit of time has passed" if cause is EndCause.TIMEOUT else f"stopped by {who}" if who else "stopped"
        return keeper is not None and await keeper.stop_turn(StopOrder(cause, who, why), item)

    async def ask_aside(self, key: str, text: str, *, within_s: float, max_requests: int) -> str:
        """Run one further turn whose tools are all refused, such as the announce step, and return its text; empty if there is none.

        It waits until no other turn of the session runs or waits, and for a place. Nobody else is told about it.

        Args:
            key: The session.
            text: What the agent is told.
            within_s: The limit of its time, from when it has its place, in seconds.
            max_requests: The model requests that it may make.

        Raises:
            NotFound: There is no such session.
        """
        keeper = self._known(key)
        if keeper.row.state is SessionState.ARCHIVED or key in self.broken or self._is_stopping:
            return ""
        aside = Aside(text, max_requests)
        keeper.asides.append(aside)
        self._wake(keeper)
        return await keeper.ask_aside(aside, within_s=within_s)

    def resume_cut(self, key: str) -> None:
        """Resume the turn of a session that an earlier process did not finish, behind what people have said since.

        Raises:
            NotFound: There is no such session.
        """
        keeper = self._known(key)
        keeper.resumes = True
        self._wake(keeper)

    def drop_cut(self, key: str, why: str) -> tuple[str, ...]:
        """Settle the items of a turn that an earlier process did not finish and that is not resumed, and return them.

        Raises:
            NotFound: There is no such session.
        """
        keeper = self._known(key)
        items = () if keeper.session is not None else tuple(keeper.items.taken)
        for item in items:
            keeper.settle(item, why)
        self._wake(keeper)
        return items

    # --- keepers ------------------------------------------------------------------------------------------------------

    def _keeper(self, key: SessionKey) -> SessionKeeper:
        keeper = self._keepers.get(str(key))
        if keeper is None:
            keeper = self._keepers[str(key)] = SessionKeeper(
                key=key,
                parts=self._parts,
                has_room=self._has_room,
                room_changed=lambda: self._room_changed,
                leave_room=self._leave_room,
            )
        return keeper

    def _known(self, key: str) -> SessionKeeper:
        if key not in self._parts.record.registry.sessions:
            raise NotFound(f"unknown session {key!r}")
        return self._keeper(SessionKey.parse(key))

    def _wake(self, keeper: SessionKeeper) -> None:
        keeper.wake()
        if keeper.name in self._running or keeper.name in self.broken or self._is_stopping:
            return
        if keeper.has_work or keeper.items.held:
            self._running[keeper.name] = None
            self._nursery.start_soon(self._keep, keeper, name=f"keeper of {keeper.name}")

    async def _keep(self, keeper: SessionKeeper) -> None:
        """Run the actor of a key until it has nothing to do, or is broken."""
        served = trio.Event()
        name = keeper.name.replace("/", "%2F")
        supervisor = await self._runtime.spawn_supervisor(name, KEEPER, escalates=False)
        self._running[keeper.name] = supervisor
        ref = await supervisor.spawn(Keeper, keeper, served, name="keeper", spec=_CHILD)
        ref.tell(Serve())
        async with trio.open_nursery() as nursery:

            async def stop_when_served() -> None:
                await served.wait()
                supervisor.ref.stop(why="there is nothing to do")

            nursery.start_soon(stop_when_served)
            down = await supervisor.join()
            nursery.cancel_scope.cancel("the keeper has ended")
        del self._running[keeper.name]
        if down.state is State.FAILED:
            self.broken[keeper.name] = str(down.error)
        elif served.is_set() and not self._is_stopping:
            self._forget_or_wake(keeper)

    def _forget_or_wake(self, keeper: SessionKeeper) -> None:
        items = keeper.items
        if items.handed or items.held or keeper.untold or keeper.asides or keeper.is_paused:
            self._wake(keeper)
        else:
            self._keepers.pop(keeper.name, None)

    def _has_room(self, keeper: SessionKeeper) -> bool:
        """Reserve room for an open session; where there is none, close the one that was idle longest, and return False."""
        if keeper in self._open or len(self._open) < self._parts.config().limits.open_sessions:
            self._open[keeper] = None
            return True
        if not any(each.is_closing for each in self._open):
            idle = [each for each in self._open if each.session is not None and each.is_idle]
            if idle:
                min(idle, key=lambda each: each.last_s).close()
        return False

    def _leave_room(self, keeper: SessionKeeper) -> None:
        self._open.pop(keeper, None)
        changed, self._room_changed = self._room_changed, trio.Event()
        changed.set()

    # --- after a start ------------------------------------------------------------------------------------------------

    async def recover(self) -> tuple[str, ...]:
        """Report what an earlier process did not report, begin what waits, and return the keys whose turn was cut.

        Called once, when the watcher is ready. For each of the keys the caller says what follows: `resume_cut` or `drop_cut`.

        Raises:
            JournalError: The store cannot be read, or nothing can be recorded.
        """
        rows: dict[str, dict[str, bool]] = {}
        for row in self._parts.record.registry.inbound.values():
            left = self._left.get(row.session, LeftItems())
            stored = {item.id for item in (*left.ready, *left.held)}
            rows.setdefault(row.session, {})[row.item] = row.item in stored
        self._left = {}
        cut = []
        for key, items in rows.items():
            if key in self._running:
                continue
            keeper = self._keeper(SessionKey.parse(key))
            await settle_left(keeper, items)
            if keeper.items.taken:
                cut.append(key)
            self._wake(keeper)
        return tuple(cut)

    def adopt(self, left: Mapping[str, LeftItems]) -> None:
        """Take over what the store holds from an earlier process; called once, before anything is put."""
        self._left = dict(left)
        for key, items in left.items():
            adopt(self._keeper(SessionKey.parse(key)), items)

    # --- stopping -----------------------------------------------------------------------------------------------------

    async def drain(self) -> None:
        """Begin no turn any more, and wait until those that run have ended and the sessions are closed."""
        self._is_stopping = True
        for keeper in self._keepers.values():
            keeper.is_paused = True
            keeper.close()
            keeper.wake()
        while self._running:
            await self._room_changed_or_ended()

    async def _room_changed_or_ended(self) -> None:
        for supervisor in list(self._running.values()):
            if supervisor is not None:
                await supervisor.join()
        await trio.lowlevel.checkpoint()

    def kill(self, key: str, why: str = "killed") -> bool:
        """Kill the keeper of a session, and its session with it, in the middle of its turn; False if it has none."""
        keeper, supervisor = self._keepers.get(key), self._running.get(key)
        if keeper is None or supervisor is None:
            return False
        keeper.cut(why)
        supervisor.ref.kill(why)
        return True

    def cut_all(self, why: str) -> None:
        """End all sessions now; their turns are left to be resumed."""
        for key in list(self._running):
            self.kill(key, why)


@asynccontextmanager
async def open_keepers(
    *,
    config: Callable[[], GatewayConfig],
    record: GatewayRecord,
    store: InboxStore,
    lanes: TurnLanes,
    watcher: TurnWatcher,
    on_event: OnSessionEvent,
    open_model: OpenModel,
    tools_for: ToolsFor,
    ports: Ports,
    state_folder: Path,
    base: Path | None = None,
    opener: Opener = open_kept,
) -> AsyncIterator[KeeperSet]:
    """Open the sessions of a gateway; leaving the block ends what runs, and leaves turns to be resumed.

    Args:
        config: Returns the configuration that is in force.
        record: The gateway's journal and registry.
        store: The gateway's store of inputs; nobody else puts into it.
        lanes: The places of turns.
        watcher: Hears about turns.
        on_event: Called with each event of a session; it may only store values and wake tasks.
        open_model: Returns the model for an agent id and a reference.
        tools_for: Returns the tools that there are for a session; the policy takes some away.
        ports: Time, ids, disk and threads.
        state_folder: Has the run folders.
        base: The folder on which relative paths of the configuration stand; by default the state folder's parent.
        opener: Opens a session; for tests.
    """
    parts = KeeperParts(
        config=config,
        record=record,
        store=store,
        lanes=lanes,
        watcher=watcher,
        on_event=on_event,
        open_model=open_model,
        tools_for=tools_for,
        ports=ports,
        state_folder=state_folder,
        base=base or state_folder.parent,
        opener=opener,
    )
    async with (
        open_runtime(ports=ports, recorder=record.journal.recorder, check_open=record.journal.check_open) as runtime,
        trio.open_nursery() as nursery,
    ):
        keepers = KeeperSet(parts, runtime, nursery)
        keepers.adopt(await read_left(parts))
        try:
            yield keepers
        finally:
            keepers.cut_all("the gateway stops")
        nursery.cancel_scope.cancel("the gateway stops")
