"""One simulated run: its ports, its record, its fault points and monitors, and its execution.

Rule 1: the order of tasks and the faults at fault points are choices of one list. Rule 2: every run gets its own new
`Sim`, whose randomness and ids are always the same: only the choices distinguish two runs. Rule 3: a run ends: after
too many steps, or too much virtual time, it is cancelled and has failed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Final, TypeAlias, final

import attrs
import trio
import trio.testing

from greenroom.core import Record, Recorder, UsageError, arm_points, event_of
from greenroom.core.ports import Ports
from greenroom.supervisor import Runtime, SupervisorSpec, open_runtime
from greenroom.testing._cancel_sweep import Strike
from greenroom.testing._monitors import Hot, Monitor, NotQuiescent, Read
from greenroom.testing._scheduler import ChoiceRNG, Chooser, installed
from greenroom.testing._search import Trail
from greenroom.testing._virtual import record_lines
from greenroom.testing._virtual_ports import virtual_ports

if TYPE_CHECKING:
    from greenroom.remote import LinkPace, MessageCodec
    from greenroom.testing._sim_network import Program, SimNetwork

RING: Final = 100_000
"""Number of records that a run keeps."""
FOR_EVER_S: Final = 100_000.0
"""Virtual seconds after which a run is waiting for something that never comes."""
MAX_STEPS: Final = 100_000
HELD_STEPS: Final = 500
"""Number of other tasks' steps after which a held task resumes, because they may be waiting for it in a loop."""

Scenario: TypeAlias = "Callable[[Sim], Awaitable[object]]"
Action: TypeAlias = Callable[[], Awaitable[object]]


@final
@attrs.frozen(kw_only=True)
class Faults:
    """Possible faults at fault points; no fault is always possible."""

    checkpoints: int = attrs.field(default=3)
    """A point may let other tasks run, up to this number of times. Unless this is 0, it may also hold the task until no
    other can run before time passes.
    """
    sleeps_s: tuple[float, ...] = ()
    """Virtual seconds that a point may sleep."""
    errors: Mapping[str, Callable[[], Exception]] = attrs.field(factory=dict)
    """Factories of errors that may be raised, by the name of a point, such as `OSError`."""
    most: int = attrs.field(default=3)
    """Maximum number of errors and strikes in one run; delays are not counted."""

    @checkpoints.validator
    @most.validator
    def _not_negative(self, attribute: attrs.Attribute[int], value: int) -> None:
        if value < 0:
            raise UsageError(f"{attribute.name} of Faults must be 0 or more, got {value!r}")


@attrs.frozen(kw_only=True)
class Rules:
    """Rules for every run of an exploration."""

    faults: Faults
    quiet_after: int | None = None
    """Faults stop at this step."""
    max_steps: int = MAX_STEPS
    """The run must be over before this step."""


@final
class Sim:
    """One simulated run, passed to the scenario. Made by `explore`.

    Attributes:
        ports: Virtual time, and the same ids and randomness in every run.
        recorder: Receives the run's events; its content is the run's journal.
    """

    def __init__(self, rules: Rules, fault: Callable[[int], int]) -> None:
        self.ports: Final[Ports] = virtual_ports()
        self.recorder: Final[Recorder] = Recorder(trio.current_time, capacity=RING)
        self._rules = rules
        self._fault = fault
        self._clock = _StepClock(rules.max_steps)
        self._strikes: dict[str | None, list[Strike]] = {}
        self._struck = 0
        self._held: list[object] = []
        self._monitors: list[Monitor] = []
        self._followed: list[Recorder] = [self.recorder]
        self._passed: Counter[str] = Counter()

    def __repr__(self) -> str:
        return f"<Sim at step {self.steps}>"

    @property
    def steps(self) -> int:
        """Number of scheduler steps so far."""
        return self._clock.count

    @property
    def clock(self) -> _StepClock:
        """The instrument that counts steps."""
        return self._clock

    @property
    def is_quiet(self) -> bool:
        """True if faults have stopped."""
        return self._rules.quiet_after is not None and self.steps >= self._rules.quiet_after

    @property
    def passed(self) -> Mapping[str, int]:
        """Number of times that each fault point was passed."""
        return self._passed

    def open_runtime(self, spec: SupervisorSpec | None = None) -> AbstractAsyncContextManager[Runtime]:
        """Open a runtime on the ports and the recorder of this run."""
        return open_runtime(ports=self.ports, recorder=self.recorder, spec=spec)

    def aim(self, strike: Strike, *, at: str | None = None) -> None:
        """Add a strike to the possible faults: `scope.cancel`, `ref.abort_turn`, `ref.kill`.

        Args:
            strike: Called in the step that passes the point, which yields once afterwards.
            at: The name of the point; by default any.
        """
        self._strikes.setdefault(at, []).append(strike)

    def choose(self, alternatives: int) -> int:
        """Return a number below `alternatives` from the run's choices; 0 if there is only one, or faults have stopped."""
        return 0 if self.is_quiet or alternatives < 2 else self._fault(alternatives)

    def network(
        self, programs: Mapping[str, Program], *, codec: MessageCodec | None = None, pace: LinkPace | None = None
    ) -> AbstractAsyncContextManager[SimNetwork]:
        """Run simulated nodes that are linked by connections in memory, with faults from the run's choices.

        Args:
            programs: Runs at each start of a node, by the node's name.
            codec: Reads and writes messages; by default plain JSON values only.
            pace: Times of links.

        Raises:
            NodesUnsound: At the end, the journals of the processes break an invariant.
        """
        from greenroom.testing._sim_network import SimNetwork

        return SimNetwork(self, programs, codec=codec, pace=pace).running()

    async def point(self, name: str) -> None:
        """Pass a fault point; the same as `greenroom.core.point` in the code under test."""
        self._passed[name] += 1
        if self.is_quiet:
            return
        actions = self._actions(name)
        chosen = self._fault(len(actions) + 1) if actions else 0
        if chosen:
            await actions[chosen - 1]()

    def monitor(self, name: str, read: Read | None = None) -> Monitor:
        """Return a new monitor; obligations that are hot at the end of the run fail it.

        Args:
            name: Its name in violations.
            read: Called with each journal event, to call `hot` and `cold`.
        """
        monitor = Monitor(name, self._now, read)
        self._monitors.append(monitor)
        for recorder in self._followed:
            _let_read(monitor, recorder)
        return monitor

    def follow(self, recorder: Recorder) -> None:
        """Add another recorder's records to the journal, and let monitors read its later events.

        For code with its own recorder: `sim.follow(session.runtime.recorder)`.
        """
        self._followed.append(recorder)
        for monitor in self._monitors:
            _let_read(monitor, recorder)

    def records(self) -> tuple[Record, ...]:
        """Return all records, one recorder after the other."""
        return tuple(record for recorder in self._followed for record in recorder.latest())

    def hot(self) -> tuple[Hot, ...]:
        """Return the hot obligations of all monitors."""
        return tuple(hot for monitor in self._monitors for hot in monitor.waiting())

    def _now(self) -> tuple[int, float] | None:
        now = trio.current_time()
        return None if self._clock.is_over or now >= FOR_EVER_S else (self.steps, now)

    def _actions(self, name: str) -> list[Action]:
        """Return the possible faults at a point: holding the task comes first (see `HOLD`), then the mildest first."""
        faults = self._rules.faults
        actions: list[Action] = [self._hold] if faults.checkpoints else []
        actions += [_yielding(times) for times in range(1, faults.checkpoints + 1)]
        actions += [_sleeping(seconds) for seconds in faults.sleeps_s]
        if self._struck < faults.most:
            if name in faults.errors:
                actions.append(self._raising(faults.errors[name]))
            strikes = [*self._strikes.get(None, ()), *self._strikes.get(name, ())]
            actions += [self._striking(strike) for strike in strikes]
        return actions

    async def _hold(self) -> None:
        with trio.CancelScope() as scope:
            self._clock.cancel_at(scope, min(self.steps + HELD_STEPS, self._rules.quiet_after or MAX_STEPS))
            await self._outlast_others()

    async def _outlast_others(self) -> None:
        """Wait until all others are blocked or were held before: of several held tasks, the latest resumes first."""
        held = object()
        self._held.append(held)
        try:
            was_latest = False
            while not (was_latest and self._held[-1] is held):
                was_latest = self._held[-1] is held
                await trio.testing.wait_all_tasks_blocked()
        finally:
            self._held.remove(held)

    def _raising(self, make: Callable[[], Exception]) -> Action:
        async def act() -> None:
            self._struck += 1
            raise make()

        return act

    def _striking(self, strike: Strike) -> Action:
        async def act() -> None:
            self._struck += 1
            strike()
            await trio.lowlevel.checkpoint()

        return act


def _let_read(monitor: Monitor, recorder: Recorder) -> None:
    if monitor.reads:
        recorder.listen(lambda record: monitor.read(event_of(record)))


def _yielding(times: int) -> Action:
    async def act() -> None:
        for _ in range(times):
            await trio.lowlevel.checkpoint()

    return act


def _sleeping(seconds: float) -> Action:
    async def act() -> None:
        await trio.sleep(seconds)

    return act


@final
class _StepClock(trio.abc.Instrument):
    """Counts scheduler steps, and cancels the run after too many."""

    def __init__(self, max_steps: int) -> None:
        self.count = 0
        self.scope = trio.CancelScope()
        self._max_steps = max_steps
        self._cancels = {max_steps: self.scope}

    @property
    def is_over(self) -> bool:
        return self.count >= self._max_steps

    def cancel_at(self, scope: trio.CancelScope, step: int) -> None:
        """Cancel a scope before a step, or before the next free one."""
        while step in self._cancels:
            step += 1
        self._cancels[step] = scope

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.count += 1
        scope = self._cancels.pop(self.count, None)
        if scope is not None:
            scope.cancel("too many steps")


@final
@attrs.frozen(eq=False)
class SimRun:
    """The result of a run."""

    trail: Trail
    steps: int
    records: tuple[Record, ...]
    passed: Mapping[str, int]
    error: BaseException | None
    """Its error."""

    def journal(self) -> str:
        """Return all records as text: equal text means equal runs."""
        return "\n".join(record_lines(self.records))


def run_sim(scenario: Scenario, chooser: Chooser, rules: Rules) -> SimRun:
    """Execute one run. Any exception is in the result."""
    generator = ChoiceRNG(chooser)
    generator.is_asking = False  # the order of Trio's own tasks around the scenario is not a choice
    sim = Sim(rules, generator.fault)
    error: BaseException | None = None
    clock = trio.testing.MockClock(autojump_threshold=0)
    with installed(generator), arm_points(sim.point):
        try:
            trio.run(_limited, scenario, sim, generator, clock=clock, instruments=[sim.clock])
        except BaseException as raised:  # noqa: BLE001, ASYNC103 - the caller decides what is a failure, outside Trio
            error = raised
    trail = Trail(tuple(generator.log), tuple(generator.widths), generator.points)
    return SimRun(trail, sim.steps, sim.records(), dict(sim.passed), error)


async def _limited(scenario: Scenario, sim: Sim, generator: ChoiceRNG) -> None:
    scope = sim.clock.scope
    scope.deadline = FOR_EVER_S
    generator.is_asking = True
    try:
        with scope:
            await scenario(sim)
    finally:
        generator.is_asking = False
    hot = sim.hot()
    if scope.cancelled_caught:
        raise NotQuiescent(_say_limit(sim), hot)
    if hot:
        raise NotQuiescent("the run has ended", hot)


def _say_limit(sim: Sim) -> str:
    if not sim.clock.is_over:
        return f"the run is still waiting after {FOR_EVER_S:,.0f} virtual seconds"
    return f"the run is still active at step {sim.steps}" + (", long after the faults have stopped" * sim.is_quiet)
