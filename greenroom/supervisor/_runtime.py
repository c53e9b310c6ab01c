"""The runtime: root supervisor, directory, recorder, timers and dispatcher.

Rule 1: the body of `open_runtime` is the body of the nursery, so the root supervisor is a child task in it, and the last
guard is in the `finally` inside the nursery block. Rule 2: the nursery does not show: an exception of the body leaves
unwrapped, and a failure of the runtime leaves as one `RuntimeFailed`. Rule 3: the stop is shielded and bounded.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, final

import attrs
import trio

from greenroom.actors import (
    GONE,
    Behavior,
    Cell,
    DeadLetters,
    Directory,
    Dispatcher,
    LifeSpec,
    Outcome,
    Owner,
    Ref,
    State,
    Verdict,
    run_cell,
    traits_of,
)
from greenroom.core import Cause, Recorder, RecorderStatistics, RuntimeFailed, actor_id, is_cancelled, require_trio
from greenroom.core.ports import Ports
from greenroom.mailbox import Mailbox, MailboxStatistics
from greenroom.supervisor._behavior import SupervisorBehavior
from greenroom.supervisor._runtime_context import RuntimeContext, always_open
from greenroom.supervisor._spec import ChildSpec, SupervisorSpec
from greenroom.supervisor._supervisor import M, Supervisor, Ts
from greenroom.waiting import Timers


@final
@attrs.frozen(kw_only=True)
class TreeNode:
    """A snapshot of one actor and its children."""

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
    """Paths of the actors that its current turn waits for (asks, links, ends)."""
    children: tuple[TreeNode, ...] = ()


@final
@attrs.frozen(kw_only=True)
class RuntimeStatistics:
    """Counters of a runtime."""

    recorder: RecorderStatistics
    open_timers: int
    dead_letters: int
    ready_plain: int = 0
    """Number of plain actors waiting for the dispatcher."""
    refused_cycles: int = 0
    """Number of asks refused because they would deadlock."""
    swallowed_cancels: int = 0
    """Number of turns that were observed to swallow their cancellation."""
    masked_errors: int = 0
    """Number of cancelled turns whose exception hides another one."""


@final
@attrs.frozen(eq=False, repr=False)
class RootOwner(Owner):
    """The owner of the root supervisor: its failure is that of the runtime."""

    _fail: Callable[[BaseException], None]

    def child_exited(self, cell: Cell[Any], outcome: Outcome) -> Verdict:
        """Terminate the root; an error of it fails the runtime."""
        if outcome.error is not None:
            self._fail(outcome.error)
        return GONE


@final
class Runtime:
    """A running tree of actors. Created by `open_runtime`."""

    def __init__(
        self,
        ports: Ports,
        recorder: Recorder,
        spec: SupervisorSpec,
        check_open: Callable[[], None],
        make_mailbox: Callable[..., Mailbox[Any]] = Mailbox,
    ) -> None:
        self.ports = ports
        self.recorder = recorder
        self._context = RuntimeContext(
            ports=ports,
            recorder=recorder,
            directory=Directory(),
            timers=Timers(recorder.now),
            dispatcher=Dispatcher(),
            check_open=check_open,
            make_mailbox=make_mailbox,
        )
        self.body_scope = trio.CancelScope()
        """The scope around the user's code; cancelled when the runtime fails."""
        self._services_scope = trio.CancelScope(shield=True)
        self.failure: BaseException | None = None
        """The error that made the runtime fail, if any."""
        self._is_started = False
        make_cell = functools.partial(
            Cell,
            id=actor_id(ports.ids),
            path="",
            is_named=False,
            traits=traits_of(SupervisorBehavior),
            owner=RootOwner(self.fail),
            shared=self._context,
            spec=LifeSpec(kill_grace_s=spec.stop_budget_s, start_timeout_s=spec.stop_budget_s),
        )
        self.root = Supervisor(self._context, spec, make_cell)
        """The root supervisor."""

    def __repr__(self) -> str:
        return f"<Runtime {len(self.root.children())} actors below the root>"

    async def spawn(
        self, factory: Callable[[*Ts], Behavior[M]], *args: *Ts, name: str | None = None, spec: ChildSpec | None = None
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
        cell = self._context.directory.find(path)
        return Ref(cell) if cell is not None else None

    @property
    def dead_letters(self) -> DeadLetters:
        """The runtime's dead letters."""
        return self._context.directory.dead_letters

    def tree(self) -> TreeNode:
        """Return a snapshot of the whole tree, taken in the caller's step; busy actors are included."""
        return _node(self.root.cell, self.root)

    def statistics(self) -> RuntimeStatistics:
        """Return the current counters."""
        return RuntimeStatistics(
            recorder=self.recorder.statistics(),
            open_timers=len(self._context.timers),
            dead_letters=sum(self.dead_letters.counts.values()),
            ready_plain=len(self._context.dispatcher),
            **attrs.asdict(self._context.incidents),
        )

    def fail(self, error: BaseException) -> None:
        """Fail the runtime: cancel the body; `open_runtime` raises `RuntimeFailed` from this error."""
        if self.failure is None:
            self.failure = error
            self.body_scope.cancel("the runtime has failed")

    # --- life ------------------------------------------------------------------------------------------------------

    @property
    def leaving(self) -> BaseException | None:
        """The KeyboardInterrupt or SystemExit that an actor raised, if any: it leaves unwrapped."""
        found: BaseException | None = self.failure
        while isinstance(found, BaseExceptionGroup):
            group = found.subgroup((KeyboardInterrupt, SystemExit))
            found = group.exceptions[0] if group is not None else None
        return found if isinstance(found, KeyboardInterrupt | SystemExit) else None

    async def run_services(self) -> None:
        """Run timers and dispatcher, shielded until all actors have ended."""
        with self._services_scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._context.timers.run, name="greenroom timers")
                nursery.start_soon(self._context.dispatcher.run, name="greenroom dispatcher")

    async def start_root(self, nursery: trio.Nursery) -> None:
        """Start the root supervisor and wait until it is ready."""
        self._is_started = True
        nursery.start_soon(run_cell, self.root.cell, name="greenroom root")
        await self.root.cell.wait_ready()

    async def stop_root(self) -> None:
        """Stop all actors in order, shielded, within the root's stop budget plus one kill grace."""
        cause = Cause("host", "the runtime is closing")
        if not self._is_started:
            self.root.cell.exit(Outcome(state=State.KILLED, by="own", cause=cause))
            return
        budget_s = self.root.spec.stop_budget_s
        with trio.move_on_after(budget_s + budget_s / 5, shield=True):
            self.root.cell.request_stop(cause, budget_s)
            self.root.cell.turn.request_abort(cause)  # its pending decisions no longer matter
            await self.root.cell.wait_gone()

    def end_everything(self) -> None:
        """Kill the remaining actors and cancel the services, in one step."""
        self.root.cell.request_kill(Cause("host", "the runtime has closed"))
        self.root.end_children()
        self._services_scope.cancel("the runtime has closed")


def _node(cell: Cell[Any], supervisor: Supervisor | None) -> TreeNode:
    children: list[TreeNode] = []
    if supervisor is not None:
        children = [_node(child.cell, supervisor.supervisor_below(child.id)) for child in supervisor.children()]
    return TreeNode(
        id=cell.id,
        path=cell.path,
        behavior=cell.behavior_name,
        state=cell.state,
        is_busy=cell.turn.envelope is not None,
        incarnation=cell.incarnation,
        turn=cell.turn.number,
        mailbox=cell.mailbox.statistics(),
        is_suspended=cell.life.is_suspended,
        is_draining=cell.mailbox.is_draining,
        waits_for=tuple(
            dict.fromkeys(target.path for wait, target in (cell.turn.waits or {}).items() if wait.is_waiting)
        ),
        children=tuple(children),
    )


@asynccontextmanager
async def open_runtime(
    *,
    ports: Ports | None = None,
    recorder: Recorder | None = None,
    spec: SupervisorSpec | None = None,
    check_open: Callable[[], None] | None = None,
    make_mailbox: Callable[..., Mailbox[Any]] = Mailbox,
) -> AsyncIterator[Runtime]:
    """Open a runtime; leaving the block stops its actors in order, shielded and within `spec.stop_budget_s`.

    After that budget and one kill grace, the remaining actors are killed together. Trio cannot abandon a task: the block
    waits for a handler that blocks, or waits in a shield of its own, as long as it takes.

    Args:
        ports: Clock, ids, random numbers, disk and threads; by default those of the machine.
        recorder: The event recorder; by default a new one.
        spec: The spec of the root supervisor; by default one-for-one, 3 restarts in 60 s.
        check_open: Raises if nothing may be spawned; for instance `journal.check_open`.
        make_mailbox: Makes the mailbox of an actor, from the arguments of `Mailbox`.

    Raises:
        UsageError: Trio is not running.
        RuntimeFailed: An actor exceeded its restart budget; the body was cancelled. If the body itself raised an error,
            that error leaves instead, with a note about this one.
    """
    require_trio("open_runtime")
    ports = ports or Ports()
    recorder = recorder or Recorder(ports.clock.bind())
    runtime = Runtime(ports, recorder, spec or SupervisorSpec(), check_open or always_open, make_mailbox)
    body_error: BaseException | None = None
    try:
        async with trio.open_nursery() as nursery:
            try:
                # Not `start`: if cancelled, it would wait for the services, which are shielded.
                nursery.start_soon(runtime.run_services)
                await runtime.start_root(nursery)
                with runtime.body_scope:
                    yield runtime
            except BaseException as error:  # noqa: BLE001, ASYNC103 - raised again below, outside the nursery, unwrapped
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
