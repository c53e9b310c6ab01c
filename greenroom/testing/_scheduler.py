"""Scheduling of Trio tasks by a test: recorded, replayed, seeded, or first in, first out.

Trio runs its tasks in batches, and shuffles each batch with a generator of its own. A replacement for that generator,
with Trio's deterministic mode on, makes every order within a batch reachable and repeatable.

Rule 1: Trio's private names appear in this module and nowhere else. Rule 2: a picker never raises, because it is called
in the middle of Trio's loop; lists of choices are validated before the run. Rule 3: after the last recorded choice the
order is first in, first out, so that a shrinking list moves towards the plain schedule.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol, TypeAlias, final

import outcome
import trio
from trio._core import _run

from greenroom.actors import CURRENT
from greenroom.core import InternalError

Picker: TypeAlias = Callable[[int], int]
"""Called with the number of runnable tasks; returns the index of the one that runs first."""

Choices: TypeAlias = "int | Sequence[int] | None"
"""A schedule: None for first in, first out; a seed; or a list of choices, such as a recorded one."""

RANDOM: Final = "_r"
DETERMINISTIC: Final = "_ALLOW_DETERMINISTIC_SCHEDULING"
WAKES_WITH: Final = "_next_send"


class Chooser(Protocol):
    """Makes the choices of one run. It must not raise: it is called in the middle of Trio's loop."""

    def task(self, runnable: Sequence[object]) -> int:
        """Return the index of the runnable task that runs first; the oldest task has index 0."""
        ...

    def fault(self, alternatives: int) -> int:
        """Return the index of the alternative at a fault point; 0 is none.

        1 holds the task there, unless the faults of the exploration allow no checkpoints.
        """
        ...


@final
class Picks:
    """A chooser that considers only the number of alternatives."""

    def __init__(self, pick: Picker) -> None:
        self.fault = pick

    def task(self, runnable: Sequence[object]) -> int:
        """Pick one of the tasks."""
        return self.fault(len(runnable))


def first_in() -> Picker:
    """Return a picker that runs tasks in the order in which they were started."""
    return lambda _: 0


def seeded(seed: int) -> Picker:
    """Return a picker with random choices, equal for equal seeds."""
    return random.Random(seed).randrange


def replayed(choices: Sequence[int]) -> Picker:
    """Return a picker that takes each choice in turn, modulo the number of tasks, then 0."""
    rest = iter(tuple(choices))
    return lambda runnable: next(rest, 0) % runnable


def picker_of(choices: Choices) -> Picker:
    """Return the picker of a schedule."""
    if choices is None:
        return first_in()
    return seeded(choices) if isinstance(choices, int) else replayed(choices)


@final
class ChoiceRNG(random.Random):
    """A replacement for Trio's generator: it asks for the order of each batch, and logs the choices.

    Attributes:
        log: The choices so far.
        widths: The number of alternatives of each choice.
        points: The number of choices made at fault points.
        is_asking: False to run tasks first in, first out, without logging.
    """

    def __init__(self, pick: Picker | Chooser) -> None:
        super().__init__(0)
        self._chooser: Chooser = Picks(pick) if callable(pick) else pick
        self.log: list[int] = []
        self.widths: list[int] = []
        self.points = 0
        self.is_asking = True

    def random(self) -> float:
        """Return a constant: nothing in Trio is left to chance."""
        return 0.25

    def uniform(self, a: float, b: float) -> float:
        """Return the lower bound; Trio draws the offset of its clock here."""
        return a

    def shuffle(self, x: Any) -> None:
        """Order a batch as the picker decides. Trio takes from the end."""
        pool, order = list(x), []
        while self.is_asking and len(pool) > 1:
            index = self._chooser.task(pool)
            self.log.append(index)
            self.widths.append(len(pool))
            order.append(pool.pop(index))
        x[:] = (order + pool)[::-1]

    def fault(self, alternatives: int) -> int:
        """Choose a fault at a fault point, in the same log as the order of tasks."""
        index = self._chooser.fault(alternatives)
        self.points += 1
        self.log.append(index)
        self.widths.append(alternatives)
        return index


def is_being_cancelled(task: trio.lowlevel.Task) -> bool:
    """Return True if the next step of a task, which is about to begin, raises `Cancelled` in it.

    Raises:
        InternalError: This Trio stores the value that a task wakes with elsewhere.
    """
    wakes_with = getattr(task, WAKES_WITH, task)
    if wakes_with is task:
        raise InternalError(f"this Trio has no {WAKES_WITH!r}; greenroom.testing cannot see cancels arrive")
    return isinstance(wakes_with, outcome.Error) and isinstance(wakes_with.error, trio.Cancelled)


@contextmanager
def scheduled(choices: Choices = None) -> Iterator[list[int]]:
    """Control the order of every Trio run within the block; yield the growing log of the choices.

    The log is itself a list of choices: passed as `choices`, it repeats the run.

    Raises:
        InternalError: This Trio stores its scheduler's generator elsewhere.
    """
    generator = ChoiceRNG(picker_of(choices))
    with installed(generator):
        yield generator.log


@contextmanager
def installed(generator: ChoiceRNG) -> Iterator[None]:
    """Use a generator for the order of every Trio run within the block.

    Raises:
        InternalError: This Trio stores its scheduler's generator elsewhere.
    """
    missing = [name for name in (RANDOM, DETERMINISTIC) if not hasattr(_run, name)]
    if missing:
        raise InternalError(f"this Trio has no {missing}; greenroom.testing cannot decide its order of tasks")
    before = {name: getattr(_run, name) for name in (RANDOM, DETERMINISTIC)}
    setattr(_run, RANDOM, generator)
    setattr(_run, DETERMINISTIC, True)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(_run, name, value)


@final
class SeesCancels(trio.abc.Instrument):
    """Marks turns that swallow their cancel as `swallowed`; for `run_virtual(..., instruments=[SeesCancels()])`."""

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Check a task; called by Trio before each step of each task."""
        cell = task.context.get(CURRENT)
        if cell is not None and cell.life.task is task and is_being_cancelled(task):
            cell.turn.note_cancelled()
