"""Exploration of a scenario under many schedules; the first failure is reduced to a short, repeatable list of choices.

The same seed gives the same runs. A failing list of choices is run again before it is reported, and simplified by runs
that fail with the same type of error. Other exceptions, such as Ctrl+C, leave at once.
"""

from __future__ import annotations

import gc
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, TypeAlias, final

import attrs
import trio

from greenroom.actors import Behavior, traits_of
from greenroom.core import Level, Record, UsageError
from greenroom.testing._scheduler import Choices, Picks, picker_of, replayed
from greenroom.testing._search import ReplaySearch, Search, Trail, search_of
from greenroom.testing._shrink import shrink, trimmed
from greenroom.testing._sim import MAX_STEPS, Faults, Rules, Scenario, SimRun, run_sim
from greenroom.testing._virtual import refuse_difference
from greenroom.trace import diff_runs, entries_of

SCHEDULES: Final = 200
QUIET_WITHIN: Final = 1_000
SHRINKS: Final = 500
COLLECT_AFTER: Final = 100_000
"""Size of the collector's youngest generation during an exploration."""

Failures: TypeAlias = tuple[type[BaseException], ...]
_Kind: TypeAlias = tuple[type[BaseException], frozenset[type[BaseException]]]


@final
@attrs.frozen(kw_only=True)
class Exploration:
    """Result of an exploration without a failure."""

    runs: int
    journals: int
    """Number of distinct journals: schedules with equal journals are indistinguishable."""
    most_choices: int
    """Maximum number of choices in one run."""
    is_exhaustive: bool
    """True if the search was exhausted."""
    passed: Mapping[str, int]
    """Number of times that each fault point was passed, over all runs."""

    def __str__(self) -> str:
        end = ", all there are" if self.is_exhaustive else ""
        return f"{self.runs:,} schedules{end}, {self.journals:,} distinct journals"


@final
class ExplorationFailed(AssertionError):
    """The scenario fails under a schedule; its error is the `__cause__`.

    Attributes:
        choices: The list of choices, simplified as far as possible.
        strategy: The search that found it.
        seed: The seed of its randomness.
        runs: Number of schedules, including the failing one.
        shrinks: Number of runs to simplify the list.
        is_repeatable: True if the same choices failed again. If not, something else affects the run.
        records: What the failing run recorded, mail of all actors included if it is repeatable.
    """

    def __init__(
        self,
        what: str,
        *,
        choices: tuple[int, ...],
        found: int,
        strategy: str,
        seed: int,
        runs: int,
        shrinks: int,
        is_repeatable: bool,
        records: tuple[Record, ...],
    ) -> None:
        lines = [f"{what} (run {runs} of strategy {strategy}, seed {seed})", f"choices: {list(choices)}"]
        if shrinks:
            lines[-1] += f", {len(choices)} left of {found} after {shrinks} more runs"
        lines.append(
            f"to repeat it: explore(..., strategy=replay({list(choices)})), with the same scenario and faults"
            if is_repeatable
            else "the same choices did not fail again: something else affects the run; assert_deterministic may show what"
        )
        super().__init__("\n".join(lines))
        self.choices = choices
        self.strategy = strategy
        self.seed = seed
        self.runs = runs
        self.shrinks = shrinks
        self.is_repeatable = is_repeatable
        self.records = records


def explore(
    scenario: Scenario,
    *,
    schedules: int = SCHEDULES,
    strategy: Search | str = "mixed",
    faults: Faults | None = None,
    seed: int = 0,
    quiet_after: int | None = None,
    quiet_within: int = QUIET_WITHIN,
    max_steps: int = MAX_STEPS,
    shrinks: int = SHRINKS,
    failures: Failures = (Exception,),
) -> Exploration:
    """Run a scenario in virtual time under many schedules, with faults at its fault points.

    Args:
        scenario: An async function of a `Sim`. It creates all of its objects itself, and raises if something is wrong.
        schedules: Maximum number of runs.
        strategy: `"mixed"` (holds tasks at points, chance and priorities in turn), `"fifo"`, `"random"`, `"freezing"`,
            `pct(depth)`, `dfs(bound)`, `replay(choices)`, the same as text, or a search of your own.
        faults: Possible faults at fault points; by default up to 3 checkpoints.
        seed: Seed of the strategy.
        quiet_after: Faults stop at this scheduler step, and the run must be over `quiet_within` steps later.
        quiet_within: See `quiet_after`.
        max_steps: A run that reaches this number of steps has failed, with or without faults.
        shrinks: Maximum number of runs to simplify a failing list of choices.
        failures: Exceptions that count as failures; any other leaves unchanged.

    Raises:
        ExplorationFailed: A run failed; the error is its cause, and the message shows how to repeat the run.
    """
    if schedules < 1:
        raise UsageError(f"schedules must be at least 1, got {schedules!r}")
    if trio.lowlevel.in_trio_run():
        raise UsageError("explore runs Trio itself; call it from a plain function, or mark the test explore instead")
    if quiet_after is not None:
        max_steps = min(max_steps, quiet_after + quiet_within)
    rules = Rules(faults=faults or Faults(), quiet_after=quiet_after, max_steps=max_steps)
    tries = _Tries(scenario, rules, failures, shrinks)
    with _rare_collections():
        return tries.go_through(search_of(strategy), seed=seed, schedules=schedules)


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Reduce garbage collections to one in a few runs, instead of dozens in each."""
    before = gc.get_threshold()
    if before[0]:  # otherwise it was turned off on purpose
        gc.set_threshold(max(before[0], COLLECT_AFTER), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@final
class _Tries:
    """Runs a search and counts."""

    def __init__(self, scenario: Scenario, rules: Rules, failures: Failures, shrinks: int) -> None:
        self._scenario = scenario
        self._rules = rules
        self._failures = failures
        self._shrinks = shrinks
        self._runs = 0
        self._most_choices = 0
        self._journals: set[bytes] = set()
        self._passed: Counter[str] = Counter()

    def go_through(self, search: Search, *, seed: int, schedules: int) -> Exploration:
        """Run until the search or the schedules are used up, or a run fails."""
        choosers = search.choosers(seed)
        chooser = next(choosers, None)
        while chooser is not None and self._runs < schedules:
            run = run_sim(self._scenario, chooser, self._rules)
            self._runs += 1
            if run.error is not None:
                _check_failure(run.error, self._failures)
                again = _Again(self._scenario, self._rules, self._failures, run, run.error)
                raise again.failed(run, search, seed=seed, runs=self._runs, most=self._shrinks) from again.error
            self._count(run)
            try:
                chooser = choosers.send(run.trail)
            except StopIteration:
                chooser = None
        return Exploration(
            runs=self._runs,
            journals=len(self._journals),
            most_choices=self._most_choices,
            is_exhaustive=chooser is None,
            passed=dict(self._passed),
        )

    def _count(self, run: SimRun) -> None:
        self._journals.add(hashlib.blake2b(run.journal().encode(), digest_size=16).digest())
        self._passed.update(run.passed)
        self._most_choices = max(self._most_choices, len(run.trail.choices))


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]


def _check_failure(error: BaseException, failures: Failures) -> None:
    """Raise exceptions that are not failures, such as a KeyboardInterrupt, unchanged."""
    if not all(isinstance(leaf, failures) for leaf in _leaves(error)):
        raise error


def _kind(error: BaseException) -> _Kind:
    """Return the features that two runs share if they fail in the same way."""
    return type(error), frozenset(type(leaf) for leaf in _leaves(error))


@final
class _Again:
    """Repeats a failing scenario with other choices."""

    def __init__(self, scenario: Scenario, rules: Rules, failures: Failures, run: SimRun, error: BaseException) -> None:
        self._scenario = scenario
        self._rules = rules
        self._failures = failures
        self._kind = _kind(error)
        self.error = error
        """Error of the latest run that failed in the same way."""
        self._records = run.records

    def fails(self, choices: Sequence[int]) -> bool:
        """Return True if the run with these choices fails in the same way."""
        run = run_sim(self._scenario, Picks(replayed(choices)), self._rules)
        if run.error is None:
            return False
        _check_failure(run.error, self._failures)
        if _kind(run.error) != self._kind:
            return False
        self.error = run.error
        return True

    def failed(self, run: SimRun, search: Search, *, seed: int, runs: int, most: int) -> ExplorationFailed:
        """Simplify the choices of a run, and return the error that shows them."""
        found, shrinks = trimmed(run.trail.choices), 0
        choices = found
        is_repeatable = self.fails(found)
        if is_repeatable and not isinstance(search, ReplaySearch):
            choices, shrinks = shrink(found, self.fails, most=most)
        if is_repeatable:
            self._record_whole(choices)
        name = getattr(self._scenario, "__qualname__", repr(self._scenario))
        return ExplorationFailed(
            f"{name} failed: {type(self.error).__name__}{str(self.error) and f': {self.error}'}",
            choices=choices,
            found=len(run.trail.choices),
            strategy=str(search),
            seed=seed,
            runs=runs,
            shrinks=shrinks,
            is_repeatable=is_repeatable,
            records=self._records,
        )

    def _record_whole(self, choices: Sequence[int]) -> None:
        """Run these choices once more with everything on record; how much is recorded changes neither outcome nor order."""
        with _recorded_whole():
            run = run_sim(self._scenario, Picks(replayed(choices)), self._rules)
        if run.error is not None and _kind(run.error) == self._kind:
            self._records = run.records


@contextmanager
def _recorded_whole() -> Iterator[None]:
    """Record the turns and the mail of all actors whose behavior names no level of its own."""
    before = Behavior.journal
    Behavior.journal = Level.FULL
    traits_of.cache_clear()
    try:
        yield
    finally:
        Behavior.journal = before
        traits_of.cache_clear()


def assert_deterministic(scenario: Scenario, *, choices: Choices = None, faults: Faults | None = None) -> Trail:
    """Run a scenario twice with the same choices; all records must be equal, byte for byte.

    Exceptions of the scenario leave unchanged.

    Args:
        scenario: As for `explore`.
        choices: As for `run_virtual`; a seed also decides faults.
        faults: As for `explore`.

    Returns:
        The choices.

    Raises:
        Diverged: The two runs differ: time, chance, or an uncontrolled order has leaked in. A note shows the first
            difference actor by actor, with its context.
    """
    rules = Rules(faults=faults or Faults())
    first, second = (run_sim(scenario, Picks(picker_of(choices)), rules) for _ in range(2))
    for run in (first, second):
        if run.error is not None:
            raise run.error
    try:
        refuse_difference(first.records, first.trail.choices, second.records, second.trail.choices)
    except AssertionError as error:
        _note_divergence(error, first, second)
        raise
    return first.trail


def _note_divergence(error: BaseException, first: SimRun, second: SimRun) -> None:
    """Add a note with the divergence of the journals, as in `greenroom replay --diff`: the actor and its context."""
    runs = [entries_of([record for record in run.records if record[0] > 0]) for run in (first, second)]
    found = diff_runs(runs[0], runs[1])
    if found is not None:
        before = "".join(f"\n    {line}" for line in found.context)
        error.add_note(f"in {found.actor}, event {found.place} of it:{before}\n  - {found.left}\n  + {found.right}")
