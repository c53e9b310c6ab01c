"""The root of everything: a runtime with its root supervisor, directory, recorder and the two services of the kernel.

Rule 1: the body of `open_runtime` is the nursery's body, so the root supervisor is a child in it, and the last guard
stands in the `finally` inside the nursery block. Rule 2: no nursery shows: what the body raised leaves bare, and a
runtime that failed leaves as one `RuntimeFailed`. Rule 3: the stop is shielded and bounded.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar, final

import attrs
import trio

from greenroom.actors import (
    GONE,
    Behavior,
    Cell,
    DeadLetters,
    Directory,
    Dispatcher,
    Outcome,
    Ref,
    State,
    Surroundings,
    Verdict,
    run_cell,
)
from greenroom.core import (
    Cause,
    Ports,
    Recorder,
    RecorderStatistics,
    RuntimeFailed,
    actor_id,
    is_cancelled,
    require_trio,
)
from greenroom.mailbox import MailboxStatistics
from greenroom.supervisor._behavior import SupervisorBehavior
from greenroom.supervisor._house import House, always_open
from greenroom.supervisor._spec import ChildSpec, SupervisorSpec
from greenroom.supervisor._supervisor import Supervisor
from greenroom.waiting import Timers

M = TypeVar("M")


@final
@attrs.frozen(kw_only=True)
class TreeNode:
    """One actor as it is now."""

    id: str
    path: str
    behavior: str
    state: State
    is_busy: bool
    incarnation: int
    turn: int
    mailbox: MailboxStatistics
    is_suspended: bool = False
    is_draining: bool = False
    waits_for: tuple[str, ...] = ()
    """Paths of the actors that its current turn waits for: asks, links, ends."""
    children: tuple[TreeNode, ...] = ()


@final
@attrs.frozen(kw_only=True)
class RuntimeStatistics:
    """The counters of a runtime."""

    recorder: RecorderStatistics
    open_timers: int
    dead_letters: int
    ready_plain: int = 0
    """Actors without a task that wait for the dispatcher."""
    refused_cycles: int = 0
    """Asks that would have waited for ever."""
    swallowed_cancels: int = 0
    """Turns that were seen to catch their own end and to return all the same."""
    masked_errors: int = 0
    """Turns that were being ended and whose exception hides another one."""


@final
class Runtime:
    """A running tree of actors. Made by `open_runtime`."""

    def __init__(self, ports: Ports, recorder: Recorder, spec: SupervisorSpec, check_open: Callable[[], None]) -> None:
        self.ports = ports
        self.recorder = recorder
        self._directory = Directory(recorder)
        self._timers = Timers(recorder.now)
        self._dispatcher = Dispatcher()
        shared = Surroundings(recorder=recorder, directory=self._directory, timers=self._timers)
        self._house = House(ports=ports, shared=shared, dispatcher=self._dispatcher, check_open=check_open)
        self._body_scope = trio.CancelScope()
        self._services_scope = trio.CancelScope(shield=True)
        self._failure: BaseException | None = None
        self._is_started = False
        self.root: Supervisor = _make_root(self._house, spec, self)
        """The root supervisor."""

    def __repr__(self) -> str:
        return f"<Runtime {len(self.root.children())} actors below the root>"

    @property
    def id(self) -> str:
        """Nobody supervises the root."""
        return ""

    async def spawn(
        self, factory: Callable[..., Behavior[M]], *args: Any, name: str | None = None, spec: ChildSpec | None = None
    ) -> Ref[M]:
        """Start an actor below the root and wait until it is ready; see `Supervisor.spawn`."""
        return await self.root.spawn(factory, *args, name=name, spec=spec)

    async def spawn_supervisor(
        self, name: str, spec: SupervisorSpec | None = None, *, escalates: bool = True
    ) -> Supervisor:
        """Start a supervisor below the root and wait until it is ready; see `Supervisor.spawn_supervisor`."""
        return await self.root.spawn_supervisor(name, spec, escalates=escalates)

    def find(self, path: str) -> Ref[Any] | None:
        """Return the living actor at a path such as `team/reviewer`, or None."""
        cell = self._directory.find(path)
        return Ref(cell) if cell is not None else None

    @property
    def dead_letters(self) -> DeadLetters:
        """The messages that nobody processed to their end."""
        return self._directory.dead_letters

    def tree(self) -> TreeNode:
        """Return the whole tree as it is now; read in the caller's step, so a busy actor answers too."""
        return _node(self.root.cell, self.root)

    def statistics(self) -> RuntimeStatistics:
        """Return the counters as of now."""
        return RuntimeStatistics(
            recorder=self.recorder.statistics(),
            open_timers=len(self._timers),
            dead_letters=sum(self.dead_letters.counts.values()),
            ready_plain=len(self._dispatcher),
            **attrs.asdict(self._house.shared.incidents),
        )

    # --- owner of the root -----------------------------------------------------------------------------------------

    def child_ready(self, cell: Cell[Any]) -> None:
        """Hear that the root is ready."""

    def child_exited(self, cell: Cell[Any], outcome: Outcome) -> Verdict:
        """Hear that the root has ended; if nobody asked for it, the runtime has failed."""
        if outcome.error is not None:
            self.fail(outcome.error)
        return GONE

    def let_go(self, cell: Cell[Any]) -> None:
        """Nothing: the root is never held."""

    def drain_child(self, cell: Cell[Any], grace_s: float, cause: Cause) -> None:
        """Stop the root: it takes no messages."""
        self.stop_child(cell, grace_s, cause)

    def stop_child(self, cell: Cell[Any], grace_s: float | None, cause: Cause) -> None:
        """Stop the root: the body goes on, and finds that nothing can be spawned."""
        cell.request_stop(cause, grace_s or 0.0)

    def fail(self, error: BaseException) -> None:
        """Give up: the body is cancelled, and `open_runtime` raises `RuntimeFailed` from this error."""
        if self._failure is None:
            self._failure = error
            self._body_scope.cancel("the runtime has failed")

    # --- life ------------------------------------------------------------------------------------------------------

    @property
    def failure(self) -> BaseException | None:
        """What made the runtime give up, if anything."""
        return self._failure

    @property
    def leaving(self) -> BaseException | None:
        """The KeyboardInterrupt or SystemExit that an actor raised, if one did: it leaves bare."""
        found: BaseException | None = self._failure
        while isinstance(found, BaseExceptionGroup):
            group = found.subgroup((KeyboardInterrupt, SystemExit))
            found = group.exceptions[0] if group is not None else None
        return found if isinstance(found, KeyboardInterrupt | SystemExit) else None

    @property
    def body_scope(self) -> trio.CancelScope:
        """Around the user's code: cancelled when the runtime fails."""
        return self._body_scope

    async def run_services(self) -> None:
        """Run timers and dispatcher, shielded until the actors are gone."""
        with self._services_scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._timers.run, name="greenroom timers")
                nursery.start_soon(self._dispatcher.run, name="greenroom dispatcher")

    async def start_root(self, nursery: trio.Nursery) -> None:
        """Start the root supervisor and wait until it can spawn."""
        self._is_started = True
        nursery.start_soon(run_cell, self.root.cell, name="greenroom root")
        await self.root.cell.wait_ready()

    async def stop_root(self) -> None:
        """Stop everything in order, shielded, within the root's stop budget and one kill grace more."""
        cause = Cause("host", "the runtime is closing")
        if not self._is_started:
            self.root.cell.exit(Outcome(state=State.KILLED, by="own", cause=cause))
            return
        budget_s = self.root.spec.stop_budget_s
        with trio.move_on_after(budget_s + budget_s / 5, shield=True):
            self.root.cell.request_stop(cause, budget_s)
            if self.root.cell.is_busy:  # whatever it decided has been overtaken
                self.root.cell.request_abort(cause)
            await self.root.cell.wait_gone()

    def end_everything(self) -> None:
        """Kill what still lives and end the services, in one step."""
        self.root.cell.request_kill(Cause("host", "the runtime has closed"))
        self.root.end_children()
        self._services_scope.cancel("the runtime has closed")


def _make_root(house: House, spec: SupervisorSpec, owner: Runtime) -> Supervisor:
    """Make the root supervisor of a runtime, which is its owner."""
    root = Supervisor(house, spec)
    cell: Cell[Any] = Cell(
        id=actor_id(house.ports.ids),
        path="",
        is_named=False,
        factory=functools.partial(SupervisorBehavior, root),
        behavior_class=SupervisorBehavior,
        owner=owner,
        shared=house.shared,
        kill_grace_s=spec.stop_budget_s,
        start_timeout_s=spec.stop_budget_s,
    )
    root.attach(cell)
    return root


def _node(cell: Cell[Any], supervisor: Supervisor | None) -> TreeNode:
    children: list[TreeNode] = []
    if supervisor is not None:
        children = [_node(child, supervisor.supervisor_below(child.id)) for child in supervisor.child_cells()]
    return TreeNode(
        id=cell.id,
        path=cell.path,
        behavior=cell.behavior_name,
        state=cell.state,
        is_busy=cell.is_busy,
        incarnation=cell.incarnation,
        turn=cell.turn,
        mailbox=cell.mailbox.statistics(),
        is_suspended=cell.is_suspended,
        is_draining=cell.mailbox.is_draining,
        waits_for=tuple(dict.fromkeys(one.path for wait, one in (cell.waits or {}).items() if wait.is_waiting)),
        children=tuple(children),
    )


@asynccontextmanager
async def open_runtime(
    *,
    ports: Ports | None = None,
    recorder: Recorder | None = None,
    spec: SupervisorSpec | None = None,
    check_open: Callable[[], None] | None = None,
) -> AsyncIterator[Runtime]:
    """Open a tree of actors; leaving the block stops them in order, shielded and within `spec.stop_budget_s`.

    After that budget and one kill grace whoever still lives is killed together. Trio cannot abandon a task: for a handler
    that blocks, or waits in a shield of its own, the block waits as long as it takes.

    Args:
        ports: Time, ids, chance, disk and threads of the run; by default the machine's.
        recorder: Where events go; by default one of its own.
        spec: What the root supervisor does; by default restarts one for one, 3 in 60 s.
        check_open: Raises when nothing may be spawned, such as `journal.check_open` (DESIGN 12.21).

    Raises:
        UsageError: Trio does not run here.
        RuntimeFailed: An actor failed more often than it may be restarted; the body was cancelled. An error that the
            body raised itself leaves instead, with a note about this one.
    """
    require_trio("open_runtime")
    ports = ports or Ports()
    recorder = recorder or Recorder(ports.clock.bind())
    runtime = Runtime(ports, recorder, spec or SupervisorSpec(), check_open or always_open)
    body_error: BaseException | None = None
    try:
        async with trio.open_nursery() as nursery:
            try:
                # Not `start`: a cancel would make it wait for the services, and they are shielded.
                nursery.start_soon(runtime.run_services)
                await runtime.start_root(nursery)
                with runtime.body_scope:
                    yield runtime
            except BaseException as error:  # noqa: BLE001, ASYNC103 - raised again below, outside the nursery, so that it is bare
                body_error = error
            finally:
                try:
                    await runtime.stop_root()  # noqa: ASYNC102 - shielded and bounded inside
                finally:
                    runtime.end_everything()
    except BaseExceptionGroup as group:
        runtime.fail(group)
    if (leaving := runtime.leaving) is not None:
        raise leaving
    if body_error is not None and not is_cancelled(body_error):
        if runtime.failure is not None:
            body_error.add_note(f"the runtime failed as well: {runtime.failure!r}")
            if body_error.__context__ is None:
                body_error.__context__ = runtime.failure
        raise body_error
    if runtime.failure is not None:
        raise RuntimeFailed(f"the runtime failed: {runtime.failure}") from runtime.failure
    if body_error is not None:
        raise body_error
