"""The actors of keepers: one for each session key that has something to do, each below a supervisor of its own.

Rule 1: a keeper that crashes is started again, at most three times in a minute; then it is broken, and no other one notices. Rule 2: no
more sessions are open than may be: the one that was idle longest is closed for another.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, final

import attrs
import trio

from greenroom.actors import Behavior, Context, Down, State, describe
from greenroom.core import GreenroomError, JournalError
from greenroom.gateway._gateway_errors import Conflict, NotFound
from greenroom.gateway.keepers._keeper import SessionKeeper
from greenroom.gateway.keepers._keeper_parts import KeeperParts
from greenroom.gateway.keepers._left_items import settle_taken
from greenroom.gateway.keepers._turn_reporter import Aside
from greenroom.gateway.keepers._turn_requests import compact
from greenroom.gateway.record._gateway_journal import RETRY_S
from greenroom.gateway.record._machines import SessionState
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.supervisor import Backoff, ChildSpec, Restart, Runtime, Supervisor, SupervisorSpec

KEEPER: Final = SupervisorSpec(intensity=3, period_s=60.0, backoff=Backoff(first_s=1.0, cap_s=20.0))
_CHILD: Final = ChildSpec(restart=Restart.TRANSIENT, grace_s=40.0, kill_grace_s=35.0)


def is_refusal(error: BaseException | None) -> bool:
    """True if an error says that the disk refuses, and nothing else."""
    if isinstance(error, BaseExceptionGroup):
        return all(is_refusal(each) for each in error.exceptions)
    return isinstance(error, JournalError)


@final
@attrs.frozen
class Serve:
    """Serve the session until it needs nothing."""


@final
class KeeperActor(Behavior[Serve]):
    """The actor of one session key, for as long as there is something to do.

    Args:
        keeper: Its state, which outlives each incarnation.
        served: Set when it has nothing to do any more.
    """

    def __init__(self, keeper: SessionKeeper, served: trio.Event) -> None:
        self._keeper = keeper
        self._served = served

    async def on_start(self, ctx: Context) -> None:
        """Begin to serve: each incarnation does, however often one before has failed."""
        ctx.ref.tell(Serve())

    async def on_message(self, message: Serve, ctx: Context) -> None:
        """Serve the session."""
        await self._keeper.serve()
        self._served.set()


@final
@attrs.define(eq=False)
class _KeeperRun:
    """The actor of a key while it runs."""

    supervisor: Supervisor | None = None
    """None before it has been started."""
    ended: trio.Event = attrs.field(factory=trio.Event)


@final
@attrs.define(eq=False)
class Compaction:
    """A compaction of a conversation."""

    error: str = ""
    """Why it was not possible; empty if it was, and before its end."""
    ended: trio.Event = attrs.field(factory=trio.Event)


@final
class KeeperActors:
    """The actors of all keepers.

    Args:
        parts: What all keepers share.
        runtime: Runs them.
        nursery: Waits for them.

    Attributes:
        keepers: The keepers that have something to remember, by key.
        running: Those that have an actor.
        open: The keepers whose session is open, or is about to be.
        broken: The reason by key.
        is_stopping: True once no actor is started any more.
    """

    def __init__(self, parts: KeeperParts, runtime: Runtime, nursery: trio.Nursery) -> None:
        self._parts = parts
        self.runtime = runtime
        self._nursery = nursery
        self._room_changed = trio.Event()
        self.keepers: dict[str, SessionKeeper] = {}
        self.running: dict[str, _KeeperRun] = {}
        self.open: dict[SessionKeeper, None] = {}
        self.broken: dict[str, str] = {}
        self.is_stopping = False

    def __repr__(self) -> str:
        return f"<KeeperActors: {len(self.open)} open, {len(self.keepers)} known, {len(self.broken)} broken>"

    def reopen_soon(self, keeper: SessionKeeper) -> None:
        """Close the session of a keeper whose `pauses` count this, and open it again for what waits then."""
        self._nursery.start_soon(self._reopen, keeper)

    def compact_soon(self, keeper: SessionKeeper) -> Compaction:
        """Compact the conversation of a keeper's session once no turn of it runs."""
        compaction = Compaction()
        aside = Aside("", 0)
        keeper.asides.append(aside)
        self.wake(keeper)

        async def carry_out() -> None:
            compaction.error = await compact(keeper, aside)
            compaction.ended.set()

        self._nursery.start_soon(carry_out)
        return compaction

    async def _reopen(self, keeper: SessionKeeper) -> None:
        async with self.at_rest(keeper.name):
            keeper.items.pauses -= 1

    def keeper(self, key: SessionKey) -> SessionKeeper:
        """Return the keeper of a key; it is made for the first one who asks."""
        keeper = self.keepers.get(str(key))
        if keeper is None:
            keeper = self.keepers[str(key)] = SessionKeeper(
                key=key,
                parts=self._parts,
                has_room=self._has_room,
                room_changed=lambda: self._room_changed,
                leave_room=self._leave_room,
                settle_taken=settle_taken,
            )
        return keeper

    def known(self, key: str) -> SessionKeeper:
        """Return the keeper of a session.

        Raises:
            NotFound: There is no such session.
        """
        if key not in self._parts.record.registry.sessions:
            raise NotFound(f"unknown session {key!r}")
        return self.keeper(SessionKey.parse(key))

    def wake(self, keeper: SessionKeeper) -> None:
        """Wake a keeper, and start its actor if it has none."""
        keeper.wake()
        if keeper.name in self.running or keeper.name in self.broken or self.is_stopping or keeper.is_paused:
            return
        self.running[keeper.name] = _KeeperRun()
        self._nursery.start_soon(self._keep, keeper, name=f"keeper of {keeper.name}")

    async def _keep(self, keeper: SessionKeeper) -> None:
        """Run the actor of a key until it has nothing to do, or is broken."""
        running, served = self.running[keeper.name], trio.Event()
        why, was_killed = "", False
        try:
            down = await self._supervise(keeper, running, served)
            was_killed = down.state is State.KILLED and not served.is_set()
            if down.state is State.FAILED and not is_refusal(down.error):
                why = describe(down.error) or "its keeper failed"
            elif down.state is State.FAILED:
                await self._wait_for_room(keeper)
        except JournalError:
            await self._wait_for_room(keeper)
        except GreenroomError as error:
            why = str(error)
        finally:
            del self.running[keeper.name]
            running.ended.set()
        if why:
            self._break(keeper, why)
        elif was_killed and self.is_stopping:
            keeper.end_asides()
        elif was_killed or keeper.is_woken or keeper.has_work:  # only the next one knows what a killed one has left
            self.wake(keeper)
        elif keeper.is_empty:
            self.keepers.pop(keeper.name, None)

    async def _wait_for_room(self, keeper: SessionKeeper) -> None:
        """Wait a while, because nothing can be recorded now; then the keeper begins again."""
        await trio.sleep(RETRY_S)
        keeper.wake()

    def _break(self, keeper: SessionKeeper, why: str) -> None:
        self.broken[keeper.name] = why
        keeper.end_asides()
        if self._parts.on_broken is not None:
            self._parts.on_broken(keeper.name, why)

    async def _supervise(self, keeper: SessionKeeper, running: _KeeperRun, served: trio.Event) -> Down:
        name = keeper.name.replace("/", "%2F")
        running.supervisor = supervisor = await self.runtime.spawn_supervisor(name, KEEPER, escalates=False)
        await supervisor.spawn(KeeperActor, keeper, served, name="keeper", spec=_CHILD)
        async with trio.open_nursery() as nursery:

            async def stop_when_served() -> None:
                await served.wait()
                supervisor.ref.stop(why="there is nothing to do")

            nursery.start_soon(stop_when_served)
            down = await supervisor.join()
            nursery.cancel_scope.cancel("the keeper has ended")
        return down

    def _has_room(self, keeper: SessionKeeper) -> bool:
        """Reserve room for an open session; where there is none, close the one that was idle longest, and return False."""
        if keeper in self.open or len(self.open) < self._parts.config().limits.open_sessions:
            self.open[keeper] = None
            return True
        if not any(each.is_closing for each in self.open):
            idle = [each for each in self.open if each.session is not None and each.is_idle]
            if idle:
                min(idle, key=lambda each: each.last_s).close()
        return False

    def _leave_room(self, keeper: SessionKeeper) -> None:
        self.open.pop(keeper, None)
        changed, self._room_changed = self._room_changed, trio.Event()
        changed.set()

    @asynccontextmanager
    async def at_rest(self, key: str) -> AsyncIterator[SessionKeeper]:
        """Keep a session closed for the length of the block: the turn that runs ends first, and what is put meanwhile waits.

        Raises:
            NotFound: There is no such session.
            Conflict: It is archived.
        """
        keeper = self.known(key)
        if keeper.row.state is SessionState.ARCHIVED:
            raise Conflict(f"session {key!r} is archived")
        keeper.items.pauses += 1
        try:
            while (running := self.running.get(key)) is not None:
                keeper.close()
                await running.ended.wait()
            async with keeper.lock:
                yield keeper
        finally:
            keeper.items.pauses -= 1
            self.wake(keeper)

    # --- stopping -----------------------------------------------------------------------------------------------------

    async def drain(self) -> None:
        """Begin no turn any more, and wait until those that run have ended and the sessions are closed."""
        self.is_stopping = True
        for keeper in self.keepers.values():
            keeper.items.pauses += 1
            keeper.close()
        while self.running:
            await next(iter(self.running.values())).ended.wait()

    def kill(self, key: str, why: str = "killed") -> bool:
        """Kill the keeper of a session, and its session with it; False if it has none. The next keeper resumes its turn."""
        keeper, running = self.keepers.get(key), self.running.get(key)
        if keeper is None or running is None or running.supervisor is None:
            return False
        keeper.cut(why)
        running.supervisor.ref.kill(why)
        return True

    def cut_all(self, why: str) -> None:
        """End all sessions now, and begin none any more; their turns are left to be resumed."""
        self.is_stopping = True
        for key in list(self.running):
            self.kill(key, why)
