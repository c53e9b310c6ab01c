"""The exhaustive sweep: one run for every scheduler step, with a cancel, an abort or a kill just before that step.

No luck is involved: a scenario of 80 steps is run 81 times, and the caller checks each result (I-30).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from itertools import combinations
from typing import Generic, TypeAlias, TypeVar, final

import attrs
import outcome
import trio

from greenroom.testing._scheduler import Choices
from greenroom.testing._virtual import run_virtual

T = TypeVar("T")

Strike: TypeAlias = Callable[[], object]


@final
class CancelAt(trio.abc.Instrument):
    """Counts scheduler steps, and strikes just before some of them.

    Attributes:
        count: Number of steps so far.
        struck: The steps at which there was something to strike.
    """

    def __init__(self, steps: Iterable[int] = ()) -> None:
        self.count = 0
        self.struck: list[int] = []
        self._steps = frozenset(steps)
        self._strike: Strike | None = None
        self._error: BaseException | None = None

    def aim(self, strike: Strike) -> None:
        """Set the strike of the chosen steps from now on: `scope.cancel`, `ref.abort_turn`, `ref.kill`."""
        self._strike = strike

    def rest(self) -> None:
        """Remove the strike."""
        self._strike = None

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Count a step, and strike if chosen; called by Trio before each step of each task."""
        step, self.count = self.count, self.count + 1
        if step in self._steps and self._strike is not None and self._error is None:
            self.struck.append(step)
            # Trio would log a strike's error and drop the instrument; `check` raises it after the run.
            result = outcome.capture(self._strike)
            if isinstance(result, outcome.Error):
                self._error = result.error

    def check(self) -> None:
        """Raise the error of a strike. Call it after the run: within it, Trio would only drop the instrument."""
        if self._error is not None:
            raise self._error


@final
@attrs.frozen
class SweepRun(Generic[T]):
    """One run of a sweep."""

    steps: tuple[int, ...]
    """The steps before which there was a strike; empty for the run without any."""
    result: T


def cancel_sweep(
    scenario: Callable[[CancelAt], Awaitable[T]], *, pairs: bool = False, choices: Choices = None
) -> list[SweepRun[T]]:
    """Run a scenario once undisturbed, then once for each scheduler step with a strike just before it.

    What a run raises leaves as it is, with a note that says which steps were struck.

    Args:
        scenario: Gets the instrument and says with `aim` what a strike is, for instance `at.aim(scope.cancel)`; steps
            before that are not struck. It is called many times, so it must create all of its objects itself.
        pairs: Strike at every pair of steps too, for small scenarios.
        choices: How each run is scheduled, as for `run_virtual`.

    Returns:
        Every run in which a strike hit something, the undisturbed one first.
    """
    runs: list[SweepRun[T]] = []
    quiet, count = _run_struck(scenario, (), choices)
    runs.append(quiet)
    plans: list[tuple[int, ...]] = [(step,) for step in range(count)]
    if pairs:
        plans += combinations(range(count), 2)
    for plan in plans:
        run, _ = _run_struck(scenario, plan, choices)
        if len(run.steps) == len(plan):
            runs.append(run)
    return runs


def _run_struck(
    scenario: Callable[[CancelAt], Awaitable[T]], steps: tuple[int, ...], choices: Choices
) -> tuple[SweepRun[T], int]:
    instrument = CancelAt(steps)
    try:
        run = run_virtual(scenario, instrument, choices=choices, instruments=[instrument])
        instrument.check()
    except BaseException as error:
        error.add_note(f"struck before the steps {steps}")
        raise
    return SweepRun(tuple(instrument.struck), run.result), instrument.count
