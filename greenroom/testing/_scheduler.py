"""Which Trio task runs next, decided by a test: recorded, replayed, seeded or first in, first out.

Trio runs its tasks in batches, and shuffles each batch with a generator of its own. A stand-in for that generator, with
Trio's deterministic mode on, makes every order inside a batch reachable and repeatable (kernel 4.3, 13).

Rule 1: Trio's private names appear in this module and nowhere else. Rule 2: a picker never raises, because it is called
in the middle of Trio's loop; lists of choices are made before the run. Rule 3: after the last recorded choice the order
is first in, first out, so that a shrinking list moves towards the plain schedule.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol, TypeAlias, final

import outcome
import trio
from trio._core import _run

from greenroom.core import InternalError

Picker: TypeAlias = Callable[[int], int]
"""Called with the number of tasks that can run; returns the index of the one that runs first."""

Choices: TypeAlias = "int | Sequence[int] | None"
"""How a run is scheduled: None for first in, first out; a seed; or a list of choices, such as a recorded one."""

RANDOM: Final = "_r"
DETERMINISTIC: Final = "_ALLOW_DETERMINISTIC_SCHEDULING"
WAKES_WITH: Final = "_next_send"


class Chooser(Protocol):
    """Makes the choices of one run. It must not raise: it is called in the middle of Trio's loop."""

    def task(self, runnable: Sequence[object]) -> int:
        """Return the index of the task that runs first, of those that can run, the oldest first."""
        ...

    def fault(self, alternatives: int) -> int:
        """Return which of so many things happens at a fault point; 0 is nothing.

        1 holds the task there, unless the faults of the exploration allow no checkpoints.
        """
        ...


@final
class Picks:
    """A chooser that knows no more than how many alternatives there are."""

    def __init__(self, pick: Picker) -> None:
        self.fault = pick

    def task(self, runnable: Sequence[object]) -> int:
        """Pick one of so many."""
        return self.fault(len(runnable))


def first_in() -> Picker:
    """Return a picker that lets tasks run in the order in which they were started."""
    return lambda _: 0


def seeded(seed: int) -> Picker:
    """Return a picker whose choices are random, and the same for the same seed."""
    return random.Random(seed).randrange


def replayed(choices: Sequence[int]) -> Picker:
    """Return a picker that takes each choice in turn, modulo the number of tasks, and 0 when they are used up."""
    rest = iter(tuple(choices))
    return lambda runnable: next(rest, 0) % runnable


def picker_of(choices: Choices) -> Picker:
    """Return the picker that a description of a schedule stands for."""
    if choices is None:
        return first_in()
    return seeded(choices) if isinstance(choices, int) else replayed(choices)


@final
class ChoiceRNG(random.Random):
    """Stands in for Trio's generator: asks for the order of each batch, and writes down what was said.

    Attributes:
        log: The choices so far.
        widths: Of how many alternatives each of them was one.
        points: How many of them were made at fault points.
        is_asking: Whether it asks at all; else tasks run first in, first out, and nothing is written down.
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
        """Put a batch into the order that the picker says. Trio takes from the end."""
        pool, order = list(x), []
        while self.is_asking and len(pool) > 1:
            index = self._chooser.task(pool)
            self.log.append(index)
            self.widths.append(len(pool))
            order.append(pool.pop(index))
        x[:] = (order + pool)[::-1]

    def fault(self, alternatives: int) -> int:
        """Choose what happens at a fault point, in the same log as the order of tasks."""
        index = self._chooser.fault(alternatives)
        self.points += 1
        self.log.append(index)
        self.widths.append(alternatives)
        return index


def is_being_cancelled(task: trio.lowlevel.Task) -> bool:
    """Whether the next step of a task, which is about to begin, raises `Cancelled` in it.

    Raises:
        InternalError: This Trio keeps what a task wakes with somewhere else.
    """
    wakes_with = getattr(task, WAKES_WITH, task)
    if wakes_with is task:
        raise InternalError(f"this Trio has no {WAKES_WITH!r}; greenroom.testing cannot see cancels arrive")
    return isinstance(wakes_with, outcome.Error) and isinstance(wakes_with.error, trio.Cancelled)


@contextmanager
def scheduled(choices: Choices = None) -> Iterator[list[int]]:
    """Decide the order of every Trio run inside the block; yields the log of the choices, which grows as they are made.

    The log is itself a list of choices: given back as `choices`, it repeats the run.

    Raises:
        InternalError: This Trio keeps its scheduler's generator somewhere else.
    """
    generator = ChoiceRNG(picker_of(choices))
    with installed(generator):
        yield generator.log


@contextmanager
def installed(generator: ChoiceRNG) -> Iterator[None]:
    """Let a generator decide the order of every Trio run inside the block.

    Raises:
        InternalError: This Trio keeps its scheduler's generator somewhere else.
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
