"""Search strategies over schedules: in order, at random, by priorities, by holding a task at a point, exhaustively, by
replay, or several of these in turn.

A search is a generator: it yields the chooser of the next run and is sent the trail of that run; when it returns, it is
exhausted. The same seed gives the same choosers; randomness comes from the search's own generator. Choices at fault
points are made by the same chooser, so one list of choices repeats everything.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Generator, Sequence
from typing import Final, Protocol, final

import attrs

from greenroom.core import UsageError
from greenroom.testing._scheduler import Chooser, Picks, first_in, replayed

FORMS: Final = "mixed, fifo, random, pct(DEPTH), freezing, dfs(BOUND) or replay(CHOICES)"
SEED_BITS: Final = 64
HOLD: Final = 1
"""The first alternative at a point: the task is held there until no other can run."""


@final
@attrs.frozen
class Trail:
    """The choices of a run."""

    choices: tuple[int, ...]
    widths: tuple[int, ...]
    """The number of alternatives of each choice."""
    points: int = 0
    """The number of choices made at fault points."""


class Search(Protocol):
    """A strategy for schedules; its `str()` is shown with a failure."""

    def choosers(self, seed: int) -> Generator[Chooser, Trail, None]:
        """Yield the chooser of each run in turn; the trail of that run is sent back."""
        ...


@final
class Random:
    """A random chooser. At a fault point every second choice is none, so that the code under test makes progress."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def task(self, runnable: Sequence[object]) -> int:
        """Choose any task."""
        return self._chance.randrange(len(runnable))

    def fault(self, alternatives: int) -> int:
        """Choose no fault, or any."""
        return self._chance.randrange(alternatives) if self._chance.random() < 0.5 else 0


@final
class Priorities:
    """A chooser by random priorities, lowered at a few random steps (PCT, Burckhardt et al., ASPLOS 2010)."""

    def __init__(self, chance: random.Random, depth: int, steps: int) -> None:
        self._faults = Random(chance)
        self._chance = chance
        # Priorities are drawn from [0, 1); the lowered ones are below all of those, each at a level of its own.
        self._lowered = {chance.randrange(steps): float(-level) for level in range(1, depth)}
        self._priority: dict[object, float] = {}
        self._step = 0

    def task(self, runnable: Sequence[object]) -> int:
        """Choose the task of the highest priority."""
        for task in runnable:
            if task not in self._priority:
                self._priority[task] = self._chance.random()
        lowered = self._lowered.get(self._step)
        self._step += 1
        if lowered is not None:
            self._priority[runnable[self._first(runnable)]] = lowered
        return self._first(runnable)

    def fault(self, alternatives: int) -> int:
        """Choose no fault, or any."""
        return self._faults.fault(alternatives)

    def _first(self, runnable: Sequence[object]) -> int:
        return max(range(len(runnable)), key=lambda index: self._priority[runnable[index]])


@final
class Freezing:
    """A chooser that holds tasks at some points of a run and lets them pass all others; tasks run in order or randomly.

    A race needs one task to stand still between two of its steps while another runs on, however far. A task that only
    yields a few times at a point is overtaken by a few steps.
    """

    def __init__(self, chance: random.Random, held: Collection[int]) -> None:
        self._held = held
        self._tasks: Random | Picks = Random(chance) if chance.random() < 0.5 else Picks(first_in())
        self._passed = 0

    def task(self, runnable: Sequence[object]) -> int:
        """Choose the first task, or any: consistently for the whole run."""
        return self._tasks.task(runnable)

    def fault(self, alternatives: int) -> int:
        """Hold the task at the given points, and choose no fault at others."""
        place, self._passed = self._passed, self._passed + 1
        return HOLD if place in self._held else 0


@final
@attrs.frozen
class FifoSearch:
    """One run, first in, first out."""

    def __str__(self) -> str:
        return "fifo"

    def choosers(self, seed: int) -> Generator[Chooser, Trail, None]:
        """Yield one chooser."""
        yield Picks(first_in())


@final
@attrs.frozen
class RandomSearch:
    """Random runs, the first one in order."""

    def __str__(self) -> str:
        return "random"

    def choosers(self, seed: int) -> Generator[Chooser, Trail, None]:
        """Yield choosers endlessly."""
        chance = random.Random(seed)
        yield Picks(first_in())
        while True:
            yield Random(random.Random(chance.getrandbits(SEED_BITS)))


@final
@attrs.frozen
class PctSearch:
    """Runs by random priorities, the first one in order."""

    depth: int = attrs.field()

    @depth.validator
    def _at_least_one(self, _: object, value: int) -> None:
        if value < 1:
            raise UsageError(f"depth must be at least 1, got {value!r}; 2 finds an order of two steps")

    def __str__(self) -> str:
        return f"pct({self.depth})"

    def choosers(self, seed: int) -> Generator[Chooser, Trail, None]:
        """Yield choosers endlessly; the steps that lower priorities follow the longest run so far."""
        chance = random.Random(seed)
        trail = yield Picks(first_in())
        longest = 1
        while True:
            longest = max(longest, len(trail.choices))
            trail = yield Priorities(random.Random(chance.getrandbits(SEED_BITS)), self.depth, longest)


@final
@attrs.frozen
class FreezingSearch:
    """Runs that hold tasks at points: the first at none, then at each point alone, alternating with a few at once."""

    def __str__(self) -> str:
        return "freezing"

    def choosers(self, seed: int) -> Generator[Chooser, Trail, None]:
        """Yield choosers endlessly; the points are drawn from the maximum number passed by any run so far."""
        chance = random.Random(seed)
        trail = yield Picks(first_in())
        points, known, alone = 1, 0, list[int]()
        while True:
            points = max(points, trail.points)
            alone = [*range(known, points), *alone] or list(range(points))
            known = points
            held = {alone.pop(chance.randrange(len(alone)))}
            trail = yield Freezing(random.Random(chance.getrandbits(SEED_BITS)), held)
            some = {chance.randrange(points) for _ in range(chance.randint(2, max(2, points // 2)))}
            trail = yield Freezing(random.Random(chance.getrandbits(SEED_BITS)), some)


@final
@attrs.frozen
class MixedSearch:
    """Half of the runs hold tasks at points, the others are random or by priorities: each finds what the others miss."""

    def __str__(self) -> str:
        return "mixed"

    def choosers(self, seed: int) -> Generator[Chooser, Trail, None]:
        """Yield choosers endlessly, the first one in order; every search learns from the run before its own."""
        freezing, by_chance, by_priority = (
            search.choosers(seed) for search in (FreezingSearch(), RandomSearch(), PctSearch(3))
        )
        plain, _, _ = next(freezing), next(by_chance), next(by_priority)
        trail = yield plain
        while True:
            for search in (freezing, by_chance, freezing, by_priority):
                trail = yield search.send(trail)


@final
@attrs.frozen
class DfsSearch:
    """Every list of choices, within its first `bound` positions."""

    bound: int = attrs.field()

    @bound.validator
    def _at_least_one(self, _: object, value: int) -> None:
        if value < 1:
            raise UsageError(f"bound must be at least 1, got {value!r}")

    def __str__(self) -> str:
        return f"dfs({self.bound})"

    def choosers(self, seed: int) -> Generator[Chooser, Trail, None]:
        """Yield choosers until the last position has tried its alternatives, then the one before it, and so on."""
        choices: list[int] = []
        while True:
            trail = yield Picks(replayed(choices))
            choices = list(trail.choices[: self.bound])
            while choices and choices[-1] + 1 >= trail.widths[len(choices) - 1]:
                choices.pop()
            if not choices:
                return
            choices[-1] += 1


@final
@attrs.frozen
class ReplaySearch:
    """One run with the given choices, then first in, first out."""

    choices: tuple[int, ...]

    def __str__(self) -> str:
        return f"replay({list(self.choices)})"

    def choosers(self, seed: int) -> Generator[Chooser, Trail, None]:
        """Yield one chooser."""
        yield Picks(replayed(self.choices))


def pct(depth: int) -> PctSearch:
    """Return a search by random priorities that are lowered at `depth - 1` random steps.

    A run finds a bug that needs `depth` steps in a certain order with a probability of at least 1 / (n k^(depth - 1)),
    for n tasks and k choices; purely random runs may be far below that for large n.
    """
    return PctSearch(depth)


def dfs(bound: int) -> DfsSearch:
    """Return a search of every list of choices, with the first `bound` of them free and the others 0; for small
    scenarios.
    """
    return DfsSearch(bound)


def replay(choices: Sequence[int]) -> ReplaySearch:
    """Return a search that repeats one list of choices, such as the one shown by a failure."""
    return ReplaySearch(tuple(choices))


def search_of(strategy: Search | str) -> Search:
    """Return the search of a strategy.

    `"mixed"`, `"fifo"`, `"random"`, `"pct(3)"`, `"freezing"`, `"dfs(20)"` or `"replay(0,3,1)"`.

    Raises:
        UsageError: The strategy is unknown.
    """
    if not isinstance(strategy, str):
        return strategy
    name, _, rest = strategy.strip().removesuffix(")").partition("(")
    numbers: list[int] = []
    try:
        numbers += [int(number) for number in rest.strip("[] ").split(",") if number.strip()]
    except ValueError:
        name = ""
    match name, numbers:
        case "mixed", []:
            return MixedSearch()
        case "fifo", []:
            return FifoSearch()
        case "random", []:
            return RandomSearch()
        case "pct", [depth]:
            return PctSearch(depth)
        case "freezing", []:
            return FreezingSearch()
        case "dfs", [bound]:
            return DfsSearch(bound)
        case "replay", choices:
            return ReplaySearch(tuple(choices))
    raise UsageError(f"unknown strategy {strategy!r}; expected {FORMS}")
