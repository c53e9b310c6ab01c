"""A coordinated shutdown: steps in phases, each with a budget, all within one total budget (as in Akka).

Rule 1: it runs once; further callers wait for the same end. Rule 2: a step that fails, or exceeds its budget, is
recorded and does not affect the others; a step that begins after the budget is spent runs to its first wait. Rule 3: it
is shielded and bounded, so cancelling its caller leaves nothing half done. Rule 4: process signals belong to the
application.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias, final

import attrs
import trio

from greenroom.actors import Ref
from greenroom.core import Recorder, UsageError
from greenroom.patterns._events import PhaseEnded, ShutdownBegan, ShutdownEnded
from greenroom.supervisor import Supervisor

PHASES: Final = ("close_intake", "drain", "stop_teams", "stop_services", "flush")
"""In order: intake closes, turns finish, teams stop, services stop, remaining output is written."""
IN_REVERSE: Final = frozenset({"stop_teams", "stop_services"})
"""Phases whose steps run one by one, the latest first; those of the others run side by side."""
BUDGET_S: Final = 30.0

Step: TypeAlias = Callable[[], Awaitable[object]]


@final
@attrs.frozen(kw_only=True)
class PhaseReport:
    """Report on one phase."""

    phase: str
    seconds: float
    cut: tuple[str, ...] = ()
    """Names of the steps that the budget cut short."""
    failed: Mapping[str, Exception] = attrs.field(factory=dict)
    """Errors of steps, by name."""


@final
@attrs.frozen(kw_only=True)
class ShutdownReport:
    """Report on a shutdown."""

    reason: str
    phases: tuple[PhaseReport, ...]

    @property
    def is_clean(self) -> bool:
        """True if every step ran to its end."""
        return not any(phase.cut or phase.failed for phase in self.phases)


@final
class Shutdown:
    """Ends a program in order.

        shutdown = Shutdown(runtime.recorder)
        shutdown.add("close_intake", queue.close)
        shutdown.add("drain", functools.partial(drain, workers))
        report = await shutdown.run("SIGTERM")

    Args:
        recorder: Receives `shutdown.begin`, `phase.ended` and `shutdown.end`.
        budget_s: Seconds for all phases together.
        phases: Names in place of `PHASES`, in order.
        budgets_s: Seconds for single phases; the others get the rest.
    """

    def __init__(
        self,
        recorder: Recorder,
        *,
        budget_s: float = BUDGET_S,
        phases: tuple[str, ...] = PHASES,
        budgets_s: Mapping[str, float] | None = None,
    ) -> None:
        for what, value in {"budget_s": budget_s, **(budgets_s or {})}.items():
            if not 0 <= value < math.inf:
                raise UsageError(f"{what} must be a finite number of seconds, 0 or more, got {value!r}")
        self._recorder = recorder
        self._budget_s = budget_s
        self._steps: dict[str, list[tuple[str, Step]]] = {phase: [] for phase in phases}
        self._budgets_s = {self._known(phase): budget for phase, budget in (budgets_s or {}).items()}
        self._over: trio.Event | None = None
        self._report = ShutdownReport(reason="", phases=())

    def __repr__(self) -> str:
        return f"<Shutdown of {sum(map(len, self._steps.values()))} steps>"

    @property
    def has_begun(self) -> bool:
        """True if `run` was called."""
        return self._over is not None

    def add(self, phase: str, step: Step, *, name: str = "") -> None:
        """Add a step to a phase.

        Args:
            phase: One of the phases.
            step: An async function without arguments; it should return soon after it is cancelled.
            name: Its name in reports; by default the function's.

        Raises:
            UsageError: The phase is unknown, or the shutdown has begun.
        """
        steps = self._steps[self._known(phase)]
        if self.has_begun:
            raise UsageError("cannot add a step: the shutdown has begun")
        inner = step.func if isinstance(step, functools.partial) else step
        steps.append((name or getattr(inner, "__qualname__", repr(inner)), step))

    def _known(self, phase: str) -> str:
        if phase not in self._steps:
            raise UsageError(f"unknown phase {phase!r}; expected one of {', '.join(self._steps)}")
        return phase

    async def run(self, reason: str) -> ShutdownReport:
        """Run the phases and return the report; a second call waits for the same end.

        The first caller is shielded until the end, within the budget plus the time that a step takes to react to its
        cancel; cancelling a later caller changes nothing.
        """
        if self._over is None:
            self._over = trio.Event()
            began = self._recorder.emit(ShutdownBegan(reason=reason))
            try:
                with trio.CancelScope(shield=True):
                    await self._run(reason, began)
            finally:
                self._over.set()
        await self._over.wait()
        return self._report

    async def _run(self, reason: str, began: int) -> None:
        deadline = trio.current_time() + self._budget_s
        self._report = ShutdownReport(reason=reason, phases=())
        for phase in self._steps:
            last = await self._run_phase(phase, deadline)
            self._report = attrs.evolve(self._report, phases=(*self._report.phases, last))
            failed = tuple(f"{name}: {error!r}" for name, error in last.failed.items())
            self._recorder.emit(
                PhaseEnded(parent=began, phase=phase, seconds=last.seconds, cut=last.cut, failed=failed)
            )
        self._recorder.emit(ShutdownEnded(parent=began, is_clean=self._report.is_clean))

    async def _run_phase(self, phase: str, deadline: float) -> PhaseReport:
        began = trio.current_time()
        ends = min(deadline, began + self._budgets_s.get(phase, math.inf))
        left = dict.fromkeys(range(len(self._steps[phase])))
        failed: dict[str, Exception] = {}

        async def run_step(number: int) -> None:
            name, step = self._steps[phase][number]
            scope = trio.CancelScope(deadline=ends)
            try:
                with scope:
                    await step()
            except Exception as error:  # noqa: BLE001 - it does not affect the others, and is in the report
                failed[name] = error
            if not scope.cancelled_caught:
                del left[number]

        if phase in IN_REVERSE:
            for number in reversed(list(left)):
                await run_step(number)
        else:
            async with trio.open_nursery() as nursery:
                for number in list(left):
                    nursery.start_soon(run_step, number)
        cut = tuple(self._steps[phase][number][0] for number in left)
        return PhaseReport(phase=phase, seconds=trio.current_time() - began, cut=cut, failed=failed)


async def drain(supervisor: Supervisor, *, grace_s: float = BUDGET_S) -> None:
    """Drain all actors below a supervisor side by side, children of nested supervisors first, and wait for their end.

    Args:
        supervisor: Its children end; it keeps running.
        grace_s: Seconds for all of it; actors that have not finished by then are stopped.
    """
    async with trio.open_nursery() as nursery:
        for ref in supervisor.children():
            nursery.start_soon(_drain_child, ref, supervisor.supervisor_below(ref.id), grace_s)


async def _drain_child(ref: Ref[Any], below: Supervisor | None, grace_s: float) -> None:
    if below is None:
        ref.drain(grace_s=grace_s)
    else:
        await drain(below, grace_s=grace_s)
        ref.stop(why="drained")
    await ref.wait_ended()
