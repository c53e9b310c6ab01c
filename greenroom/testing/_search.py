"""How the schedules of a scenario are searched: in order, at random, by priorities, exhaustively, or one of them again.

A search is a generator: it yields the chooser of the next run and is sent the trail which that run left; when it returns,
there is nothing left to try. Rule 1: the same seed gives the same choosers; chance comes from a generator of the search's
own. Rule 2: what is chosen at fault points is chosen by the same chooser, so one list of choices repeats everything.
Must not know: Trio, scenarios.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Sequence
from typing import Final, Protocol, final

import attrs

from greenroom.core import UsageError
from greenroom.testing._scheduler import Chooser, Picks, first_in, replayed

FORMS: Final = "fifo, random, pct(DEPTH), dfs(BOUND) or replay(CHOICES)"
SEED_BITS: Final = 64


@final
@attrs.frozen
class Trail:
    """What was chosen in a run."""

    choices: tuple[int, ...]
    widths: tuple[int, ...]
    """Of how many alternatives each choice was one."""


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
    """Return the search that a strategy stands for: `"fifo"`, `"random"`, `"pct(3)"`, `"dfs(20)"`, `"replay(0,3,1)"`.

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
        case "fifo", []:
            return FifoSearch()
        case "random", []:
            return RandomSearch()
        case "pct", [depth]:
            return PctSearch(depth)
        case "dfs", [bound]:
            return DfsSearch(bound)
        case "replay", choices:
            return ReplaySearch(tuple(choices))
    raise UsageError(f"there is no strategy {strategy!r}; it is {FORMS}")
