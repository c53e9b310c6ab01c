"""How the schedules of a scenario are searched: in order, at random, by priorities, by holding a task at a point,
exhaustively, one of them again, or by several of these in turn.

A search is a generator: it yields the chooser of the next run and is sent the trail which that run left; when it returns,
there is nothing left to try. Rule 1: the same seed gives the same choosers; chance comes from a generator of the search's
own. Rule 2: what is chosen at fault points is chosen by the same chooser, so one list of choices repeats everything.
Must not know: Trio, scenarios.
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
"""The first alternative at a point: the task is held there until the others cannot run any more."""


@final
@attrs.frozen
class Trail:
    """What was chosen in a run."""

    choices: tuple[int, ...]
    widths: tuple[int, ...]
    """Of how many alternatives each choice was one."""
    points: int = 0
    """Choices that were made at fault points."""


class Search(Protocol):
    """A way to go through schedules; `str()` of it is shown with a failure."""

    def choosers(self, seed: int) -> Generator[Chooser, Trail, None]:
        """Yield the chooser of each run in turn; sent back is the trail of that run."""
        ...


@final
class Random:
    """A chooser by chance. At a fault point every second choice is nothing, so that what is under test gets somewhere."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def task(self, runnable: Sequence[object]) -> int:
        """Choose any."""
        return self._chance.randrange(len(runnable))

    def fault(self, alternatives: int) -> int:
        """Choose nothing, or any."""
        return self._chance.randrange(alternatives) if self._chance.random() < 0.5 else 0


@final
class Priorities:
    """A chooser by priorities drawn at random, lowered at a few random steps (PCT, Burckhardt et al., ASPLOS 2010)."""

    def __init__(self, chance: random.Random, depth: int, steps: int) -> None:
        self._faults = Random(chance)
        self._chance = chance
        # Priorities are drawn from [0, 1); the lowered ones are below all of those, each at a level of its own.
        self._lowered = {chance.randrange(steps): float(-level) for level in range(1, depth)}
        self._priority: dict[object, float] = {}
        self._step = 0

    def task(self, runnable: Sequence[object]) -> int:
        """Choose the one of the highest priority."""
        for task in runnable:
            if task not in self._priority:
                self._priority[task] = self._chance.random()
        lowered = self._lowered.get(self._step)
        self._step += 1
        if lowered is not None:
            self._priority[runnable[self._first(runnable)]] = lowered
        return self._first(runnable)

    def fault(self, alternatives: int) -> int:
        """Choose nothing, or any."""
        return self._faults.fault(alternatives)

    def _first(self, runnable: Sequence[object]) -> int:
        return max(range(len(runnable)), key=lambda index: self._priority[runnable[index]])


@final
class Freezing:
    """A chooser that holds tasks at some points of a run and lets them pass all others; tasks run in order or by chance.

    A race needs one task to stand still between two of its steps while another runs on, however far. A task that yields
    a few times at a point is overtaken by a few steps only.
    """

    def __init__(self, chance: random.Random, held: Collection[int]) -> None:
        self._held = held
        self._tasks: Random | Picks = Random(chance) if chance.random() < 0.5 else Picks(first_in())
        self._passed = 0

    def task(self, runnable: Sequence[object]) -> int:
        """Choose the first one, or any: one of both for the whole run."""
        return self._tasks.task(runnable)

    def fault(self, alternatives: int) -> int:
        """Choose to hold the task at the points that were given, and nothing at others."""
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
    """Each run by chance, the first one in order."""

    def __str__(self) -> str:
        return "random"

    def choosers(self, seed: int) -> Generator[Chooser, Trail, None]:
        """Yield choosers without end."""
        chance = random.Random(seed)
        yield Picks(first_in())
        while True:
            yield Random(random.Random(chance.getrandbits(SEED_BITS)))


@final
@attrs.frozen
class PctSearch:
    """Each run by random priorities, the first one in order."""

    depth: int = attrs.field()

    @depth.validator
    def _at_least_one(self, _: object, value: int) -> None:
        if value < 1:
            raise UsageError(f"pct({value!r}): the depth of a bug is at least 1; 2 is an order of two steps")

    def __str__(self) -> str:
        return f"pct({self.depth})"

    def choosers(self, seed: int) -> Generator[Chooser, Trail, None]:
        """Yield choosers without end; where priorities fall follows the longest run so far."""
        chance = random.Random(seed)
        trail = yield Picks(first_in())
        longest = 1
        while True:
            longest = max(longest, len(trail.choices))
            trail = yield Priorities(random.Random(chance.getrandbits(SEED_BITS)), self.depth, longest)


@final
@attrs.frozen
class FreezingSearch:
    """Each run holds tasks at points, the first one at none; then at each point alone, and in turn at a few at once."""

    def __str__(self) -> str:
        return "freezing"

    def choosers(self, seed: int) -> Generator[Chooser, Trail, None]:
        """Yield choosers without end; the points are drawn from as many as any run so far has passed."""
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
    """Half of the runs hold tasks at points, the others go by chance and by priorities: each reaches what the others miss."""

    def __str__(self) -> str:
        return "mixed"

    def choosers(self, seed: int) -> Generator[Chooser, Trail, None]:
        """Yield choosers without end, the first one in order; every search learns from the run before its own."""
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
    """Every list of choices, as far as its first `bound` places go."""

    bound: int = attrs.field()

    @bound.validator
    def _at_least_one(self, _: object, value: int) -> None:
        if value < 1:
            raise UsageError(f"dfs({value!r}): at least 1 choice has to be free")

    def __str__(self) -> str:
        return f"dfs({self.bound})"

    def choosers(self, seed: int) -> Generator[Chooser, Trail, None]:
        """Yield choosers until the last place has gone through its alternatives, then the one before it, and so on."""
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
    """One run with the choices that are given, then first in, first out."""

    choices: tuple[int, ...]

    def __str__(self) -> str:
        return f"replay({list(self.choices)})"

    def choosers(self, seed: int) -> Generator[Chooser, Trail, None]:
        """Yield one chooser."""
        yield Picks(replayed(self.choices))


def pct(depth: int) -> PctSearch:
    """Search by random priorities that fall at `depth - 1` random steps.

    A run finds a bug that needs `depth` steps in a certain order with a probability of at least 1 / (n k^(depth - 1)),
    for n tasks and k choices; plain chance may be far below that when n is large.
    """
    return PctSearch(depth)


def dfs(bound: int) -> DfsSearch:
    """Search every list of choices, with the first `bound` of them free and the others 0; for small scenarios."""
    return DfsSearch(bound)


def replay(choices: Sequence[int]) -> ReplaySearch:
    """Run one list of choices again, such as the one that a failure shows."""
    return ReplaySearch(tuple(choices))


def search_of(strategy: Search | str) -> Search:
    """Return the search that a strategy stands for.

    `"mixed"`, `"fifo"`, `"random"`, `"pct(3)"`, `"freezing"`, `"dfs(20)"` or `"replay(0,3,1)"`.

    Raises:
        UsageError: It is none of these.
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
    raise UsageError(f"there is no strategy {strategy!r}; it is {FORMS}")
