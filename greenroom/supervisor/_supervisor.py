"""The supervisor: an actor that starts, stops and restarts children.

Plans come from `_strategy`. One that involves only the child itself is carried out in its last step, the others one by one.
Children are shielded from all outer scopes, so `end_children` must reach them at every end of the supervisor.
"""

from __future__ import annotations

import functools
import math
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context as ContextVars
from typing import Any, Final, TypeVar, TypeVarTuple, cast, final

import trio

from greenroom.actors import GONE, Behavior, Cell, Down, Outcome, Owner, Ref, State, Verdict, run_cell, traits_of
from greenroom.core import Cause, Stopping, SupervisorFailed, UsageError, actor_id
from greenroom.mailbox import BUDGET, Lane
from greenroom.supervisor._behavior import Escalation, RestartChild, SupervisorBehavior
from greenroom.supervisor._events import (
    ChildRestarted,
    DependencyDeclared,
    StopOrder,
    SupervisorEscalated,
    SupervisorFinished,
    SupervisorOpened,
)
from greenroom.supervisor._ladder import end_child
from greenroom.supervisor._runtime_context import (
    RuntimeContext,
    behavior_class_of,
    check_free,
    log_failure,
    wait_started,
)
from greenroom.supervisor._spec import ChildSpec, Restart, SupervisorSpec
from greenroom.supervisor._strategy import (
    Batch,
    ForgetChild,
    GiveUp,
    Plans,
    RestartBudget,
    StartChild,
    Step,
    StopChild,
    ends_supervisor,
    plan_exit,
    plan_restart,
    restart_scope,
)

M = TypeVar("M")
Ts = TypeVarTuple("Ts")

HELD: Final = Verdict(is_gone=False)
DEFAULT_SPEC: Final = ChildSpec()
CAUSES_KEPT: Final = 5
"""Maximum number of recent errors attached to an escalation."""


@final
class Supervisor(Owner):
    """Starts, stops and restarts children. Created by `spawn_supervisor`."""

    def __init__(
        self,
        context: RuntimeContext,
        spec: SupervisorSpec,
        make_cell: Callable[..., Cell[Any]],
        *,
        escalates: bool = True,
    ) -> None:
        self._context = context
        self.spec = spec
        self.escalates = escalates
        self._nursery: trio.Nursery | None = None
        self._children: dict[str, Cell[Any]] = {}
        self._specs: dict[str, ChildSpec] = {}
        self._supervisors: dict[str, Supervisor] = {}
        self._depends_on: dict[str, tuple[str, ...]] = {}
        self._plans = Plans()
        self._budget = RestartBudget(spec.intensity, spec.period_s)
        self._errors: deque[BaseException] = deque(maxlen=CAUSES_KEPT)
        self._is_closed = False
        self._gave_up: SupervisorFailed | None = None
        self.cell: Final = make_cell(factory=functools.partial(SupervisorBehavior, self))
        """Its record as an actor."""

    def __repr__(self) -> str:
        return f"<Supervisor {self.path!r}: {len(self._children)} children>"

    @property
    def id(self) -> str:
        """The supervisor's own id."""
        return self.cell.id

    @property
    def path(self) -> str:
        """Its path in the tree; empty for the root."""
        return self.cell.path

    @property
    def ref(self) -> Ref[Any]:
        """Its reference."""
        return Ref(self.cell)

    def children(self) -> list[Ref[Any]]:
        """Return the living children, in start order."""
        return [Ref(cell) for cell in self._children.values()]

    def _child(self, child: Ref[Any] | str) -> Cell[Any]:
        """Return a child by reference, name or id."""
        name = child.id if isinstance(child, Ref) else child
        cell = self._children.get(name)
        if cell is None:
            cell = self._context.directory.find(f"{self.path}/{name}".removeprefix("/"))
        if cell is None or cell.owner is not self:
            names = ", ".join(repr(child.path.rpartition("/")[2]) for child in self._children.values()) or "none"
            raise UsageError(f"{self.path or 'the root'} has no child {name!r}; its children: {names}")
        return cell

    async def stop(self, child: Ref[Any] | str, *, grace_s: float | None = None, why: str = "stopped") -> Down:
        """Stop a child as `ref.stop()` does, wait until it has terminated, and return how it ended.

        If cancelled, the child still ends.

        Args:
            child: Its reference, name or id; `UsageError` if there is no such child.
            grace_s: Seconds for its current turn; by default from its spec.
            why: The recorded reason.
        """
        ref = Ref[Any](self._child(child))
        ref.stop(grace_s=grace_s, why=why)
        return await ref.wait_ended()

    async def restart(self, child: Ref[Any] | str) -> None:
        """Restart a child, and wait until it is ready, or has terminated because it did not start.

        It is stopped in order with the children tied to it by strategy or `depends_on`, which are restarted as after a crash,
        and keeps its mail. It does not count against the intensity. If cancelled, the restart continues.

        Args:
            child: Its reference, name or id.

        Raises:
            UsageError: There is no such child, or it is a supervisor, whose children could not be restarted.
            ActorEnded: The supervisor ended instead.
            AskCycle: The caller is an actor that the supervisor waits for.
        """
        cell = self._child(child)
        if cell.id in self._supervisors:
            raise UsageError(f"cannot restart {cell.path!r}: it is a supervisor; restart its children instead")
        await self.ref.ask(RestartChild(cell.id), timeout_s=math.inf, lane=Lane.NOW)

    async def join(self) -> Down:
        """Wait until the supervisor has terminated and return how it ended."""
        return await self.ref.wait_ended()

    def supervisor_below(self, child_id: str) -> Supervisor | None:
        """Return a child as a supervisor, if it is one."""
        return self._supervisors.get(child_id)

    # --- starting --------------------------------------------------------------------------------------------------

    async def spawn(
        self, factory: Callable[[*Ts], Behavior[M]], *args: *Ts, name: str | None = None, spec: ChildSpec | None = None
    ) -> Ref[M]:
        """Start an actor below this supervisor and wait until it is ready.

        Record, life scope and task are created in one step, before the first await. If the caller is cancelled while it
        waits, the child is killed.

        Args:
            factory: Called with `args` for each incarnation; a class, so that its class attributes are known.
            args: Arguments of the factory.
            name: Its name among the children; by default its id.
            spec: Restart policy, grace and timeouts; by default `ChildSpec()`.

        Raises:
            Stopping: The supervisor is ending.
            NameTaken: A living child has that name.
            JournalError: The journal can no longer be written, so nothing may start.
            StartFailed: The factory or `on_start` raised, or took too long; the error is the `__cause__`.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        cell = self.start(factory, *args, name=name, spec=spec)
        await wait_started(cell)
        return Ref(cell)

    def start(
        self, factory: Callable[[*Ts], Behavior[M]], *args: *Ts, name: str | None = None, spec: ChildSpec | None = None
    ) -> Cell[M]:
        """Start an actor in this step, without waiting until it is ready."""
        behavior_class = behavior_class_of(factory)
        cell = self._make_cell(functools.partial(factory, *args), behavior_class, name, spec or DEFAULT_SPEC)
        self._launch(cell)
        return cell

    async def spawn_supervisor(
        self, name: str, spec: SupervisorSpec | None = None, *, escalates: bool = True
    ) -> Supervisor:
        """Start a supervisor below this one and wait until it is ready; raises as `spawn` does.

        It is temporary, because its children could not be restarted. If it fails (a requested stop or kill is not a failure), its
        children are ended, and this supervisor fails in turn, up to `RuntimeFailed`.

        Args:
            name: Its name among the children.
            spec: Its restart and stop options; by default `SupervisorSpec()`.
            escalates: False if its failure concerns only its watchers.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        spec = spec or SupervisorSpec()
        child_spec = ChildSpec(restart=Restart.TEMPORARY, grace_s=spec.stop_budget_s)
        make_cell = functools.partial(self._make_cell, behavior_class=SupervisorBehavior, name=name, spec=child_spec)
        supervisor = Supervisor(self._context, spec, make_cell, escalates=escalates)
        self._supervisors[supervisor.id] = supervisor
        self._launch(supervisor.cell)
        await wait_started(supervisor.cell)
        return supervisor

    def open(self) -> None:
        """Open for children, in the nursery of the incarnation that starts."""
        self._nursery = self.cell.life.nursery
        self._is_closed, self._gave_up = False, None
        spec = self.spec
        stops = (spec.stop_order.value, spec.stop_budget_s, spec.ends_with.value)
        self.cell.record(SupervisorOpened, spec.strategy.value, spec.intensity, spec.period_s, *stops)

    # Any for the class: mypy takes those with parameters for unhashable.
    def _make_cell(
        self, factory: Callable[[], Behavior[Any]], behavior_class: Any, name: str | None, spec: ChildSpec
    ) -> Cell[Any]:
        if self._nursery is None or self._is_stopping():
            raise Stopping(self.path or "root")
        self._context.check_open()
        if name is not None and (not name or "/" in name):
            raise UsageError(f"name must be a non-empty string without '/', got {name!r}")
        child_id = spec.as_id or actor_id(self._context.ports.ids)
        path = f"{self.path}/{name or child_id}".removeprefix("/")
        check_free(self._context.directory, path, spec.as_id)
        depends_on = tuple(self._child(dependency).id for dependency in spec.depends_on)
        cell: Cell[Any] = Cell(
            id=child_id,
            path=path,
            is_named=name is not None,
            factory=factory,
            traits=traits_of(behavior_class),
            owner=self,
            shared=self._context,
            spec=spec,
        )
        self._children[child_id], self._specs[child_id] = cell, spec
        if depends_on:
            self._depends_on[child_id] = depends_on
            self.cell.record(DependencyDeclared, child_id, depends_on, parent=cell.seq)
        return cell

    def _launch(self, cell: Cell[Any]) -> None:
        """Start a pending cell in the nursery, or on the dispatcher."""
        assert self._nursery is not None
        if cell.traits.is_plain:
            self._context.dispatcher.start(cell)
        else:
            # Fresh context variables: an actor must not inherit those of the turn that happened to spawn it.
            ContextVars().run(functools.partial(self._nursery.start_soon, run_cell, cell, name=cell.path))

    # --- exits -----------------------------------------------------------------------------------------------------

    def child_exited(self, cell: Cell[Any], outcome: Outcome) -> Verdict:
        """Decide what becomes of a child whose incarnation ended."""
        if self._plans.restarts(cell.id) and not cell.is_unwanted:
            return HELD
        if outcome.error is not None:
            self._errors.append(cell.end_error)
            log_failure(cell, outcome.error)
        was_asked = cell.life.is_asked_to_end
        if self._is_stopping() or not cell.was_ready:
            return self._forget(cell)
        below = self._supervisors.get(cell.id)
        if below is not None and below.escalates and outcome.state is State.FAILED and not was_asked:
            self._escalate(cell, self._budget.used(self._context.now()))
            return self._forget(cell)
        steps = plan_exit(
            cell.id,
            outcome.state,
            was_asked=was_asked,
            strategy=self.spec.strategy,
            specs=self._specs,
            budget=self._budget,
            backoff=self.spec.backoff,
            now_s=self._context.now(),
            chance=self._context.ports.chance.random(),
            depends_on=self._depends_on,
        )
        self._note_restart(cell, steps, cell.exit_seq)
        match steps:
            case [ForgetChild()]:
                self._finish_with(cell)
                return self._forget(cell)
            case [GiveUp(restarts=restarts)]:
                self._escalate(cell, restarts)
                return self._forget(cell)
            case [StartChild(child=child, delay_s=delay_s)] if child == cell.id:
                return Verdict(is_gone=False, delay_s=delay_s)
        batch = Batch(tuple(steps), cell.id)
        self._plans.add(batch)
        self.cell.mailbox.put_nowait(batch, Lane.NOW, is_system=True)
        return HELD

    def _note_restart(self, cell: Cell[Any], steps: Sequence[Step], parent: int, *, is_requested: bool = False) -> None:
        starts = [step for step in steps if isinstance(step, StartChild)]
        if starts:
            together = tuple(step.child for step in starts)
            used = self._budget.used(self._context.now())
            self.cell.record(ChildRestarted, cell.id, together, starts[0].delay_s, used, is_requested, parent=parent)

    def _forget(self, cell: Cell[Any]) -> Verdict:
        for table in (self._children, self._specs, self._supervisors, self._depends_on):
            cast("dict[str, Any]", table).pop(cell.id, None)
        self._plans.forget(cell.id)
        return GONE

    def _finish_with(self, cell: Cell[Any]) -> None:
        """Stop the supervisor if the own end of this child ends it (`ends_with`)."""
        asked = cell.life.kill_cause or cell.life.stop_cause
        if (asked is None or asked.who == cell.id) and ends_supervisor(self.spec.ends_with, cell.id, self._specs):
            self.cell.record(SupervisorFinished, cell.id, parent=cell.exit_seq)
            self.cell.owner.stop_child(self.cell, None, Cause(self.id, f"its child {cell.path} has ended"))

    def _escalate(self, cell: Cell[Any], restarts: int) -> None:
        self.cell.record(SupervisorEscalated, cell.id, self.spec.intensity, parent=cell.exit_seq)
        error = SupervisorFailed(self.path or "root", cell.path, restarts)
        if self._errors:  # a permanent child may end without an error
            error.__cause__ = BaseExceptionGroup("the last errors below this supervisor", list(self._errors))
        self._gave_up = error
        self.cell.mailbox.put_nowait(Escalation(error), Lane.NOW, is_system=True)

    def discard(self, cell: Cell[Any]) -> None:
        """Terminate a stopped child that was kept for a restart."""
        self._forget(cell)
        cell.terminate()

    async def restart_now(self, child: str) -> None:
        """Restart a running child with the children tied to it; return when it is ready or has terminated."""
        cell = self._children.get(child)
        if cell is None or cell.is_unwanted or self._is_stopping():
            return
        steps = plan_restart(child, strategy=self.spec.strategy, specs=self._specs, depends_on=self._depends_on)
        self._note_restart(cell, steps, self.cell.seq, is_requested=True)
        batch = Batch(tuple(steps), child)
        self._plans.add(batch)
        await self.carry_out(batch, "restarted on request")

    async def carry_out(self, batch: Batch, why: str = "restarted together with a sibling") -> None:
        """Carry out a plan that involves several children, unless another one has superseded it."""
        cause = Cause(self.id, why)
        rest = deque(batch.steps if self._plans.begin(batch) else ())
        try:
            while rest:
                if await self._take_step(rest[0], cause):
                    rest.popleft()
                else:  # another pending plan handles it and the children tied to it
                    start_order, child = list(self._specs), rest[0].child
                    others = restart_scope(self.spec.strategy, start_order, child, self._depends_on)
                    rest = deque(step for step in rest if step.child not in others)
        except trio.Cancelled:
            self.resume_decision(Batch(tuple(rest)))
            raise

    def resume_decision(self, decision: Batch | Escalation) -> None:
        """Resume a decision, or the rest of it, after this turn, which was aborted."""
        if not self.cell.life.is_asked_to_end:
            self.cell.mailbox.put_nowait(decision, Lane.NOW, is_system=True)

    async def _take_step(self, step: Step, cause: Cause) -> bool:
        """Take one step of a plan; return False if a started child has failed, so that another plan handles it."""
        cell = self._children.get(step.child)
        if cell is None or self._is_stopping():
            return True
        if isinstance(step, StopChild):
            if cell.state in {State.PENDING, State.RUNNING}:
                await end_child(cell, self._specs[cell.id].grace_s, cause)
            self._plans.note_stopped(cell.id)
        elif isinstance(step, StartChild):
            if cell.life.is_held:
                cell.renew(step.delay_s)
                self._launch(cell)
            await cell.wait_ready(or_held=True)
            return not cell.life.is_held
        return True

    # --- stopping --------------------------------------------------------------------------------------------------

    def _is_stopping(self) -> bool:
        return self._is_closed or self.cell.life.is_asked_to_end

    def stop_child(self, cell: Cell[Any], grace_s: float | None, cause: Cause) -> None:
        """Stop a child by the ladder, in a task of the supervisor."""
        if self._nursery is not None and not cell.is_gone:
            grace = (self._specs.get(cell.id) or DEFAULT_SPEC).grace_s if grace_s is None else grace_s
            cell.request_stop(cause, grace)
            if not cell.is_gone:
                self._nursery.start_soon(end_child, cell, grace, cause)

    def drain_child(self, cell: Cell[Any], grace_s: float, cause: Cause) -> None:
        """Drain a child; stop it after `grace_s`."""
        if self._nursery is not None and not cell.is_gone:
            cell.drain(cause)
            late = self._context.timers.after(grace_s, functools.partial(self._end_late, cell, cause))
            cell.watch(lambda _: late.cancel())

    def _end_late(self, cell: Cell[Any], cause: Cause) -> None:
        cell.cancel_restart()
        self.stop_child(cell, None, cause)

    async def stop_children(self) -> None:
        """Stop all children in order, within the stop budget; then kill the rest together."""
        self._is_closed = True
        self._plans.clear()
        cause = Cause(self.id, "its supervisor is stopping")
        with trio.move_on_after(self.spec.stop_budget_s):
            if self.spec.stop_order is StopOrder.TOGETHER:
                for is_last in (False, True):  # the others use the permanent ones until they have ended
                    async with trio.open_nursery() as nursery:
                        for child in [
                            c for c in self._children if (self._specs[c].restart is Restart.PERMANENT) is is_last
                        ]:
                            nursery.start_soon(end_child, self._children[child], self._specs[child].grace_s, cause)
            else:
                for number, child in enumerate(reversed(list(self._children))):  # nothing outlives what it needs
                    if number % BUDGET == BUDGET - 1:  # stopping an idle child never waits
                        await trio.lowlevel.checkpoint()
                    if child in self._children:
                        await end_child(self._children[child], self._specs[child].grace_s, cause)
        if self._gave_up is not None:
            raise self._gave_up  # the stop came before its last decision, and must not hide it

    def end_children(self) -> None:
        """Kill all remaining children, in one step."""
        self._is_closed = True
        cause = Cause(self.id, "its supervisor has ended")
        for cell in list(self._children.values()):
            self._plans.forget(cell.id)
            if cell.state in {State.PENDING, State.RUNNING}:
                cell.request_kill(cause)
            elif not cell.is_gone:  # kept for a restart that will not happen
                self.discard(cell)
