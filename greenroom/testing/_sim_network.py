"""A simulated network: nodes with runtimes of their own, real links over connections in memory, and faults from the schedule.

    async def scenario(sim: Sim) -> None:
        async with sim.network({"shop": shop, "desk": desk}) as network:
            await network.disturb(5)
            await network.settle()

Rule 1: every fault is a choice of the run's list, so that a failing run is repeated and simplified like any other. Rule 2: a process that was
killed has no effect any more: its connections are gone in that step, and its journal ends there. Rule 3: at the end the journals of all
processes are checked together.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, cast, final

import attrs
import trio

from greenroom.core import Recorder, UsageError
from greenroom.core.ports import Ports
from greenroom.remote import LinkPace, LinkPeer, MessageCodec, Unreachable, open_node
from greenroom.remote.links import LinkPermit, NodeViolation, check_nodes
from greenroom.serving import ConnectionEnded, NotProven
from greenroom.supervisor import open_runtime
from greenroom.testing._memory_connection import MemoryConnection, connection_pair
from greenroom.testing._sim_process import SimClock, SimProcess, SimStorage
from greenroom.testing._virtual_ports import virtual_ports
from greenroom.trace import Entry

if TYPE_CHECKING:
    from greenroom.serving import Connection

DELAYS_S: Final = (0.2, 0.0, 1.0, 0.01)
"""Possible times of a message on its way, in seconds, one for each connection."""
PAUSES_S: Final = (0.1, 0.0, 0.01, 1.0, 6.0, 20.0)
"""Possible times between two faults, in seconds."""
_JUMPS_S: Final = (3_600.0, -3_600.0, 86_400.0)
_SHAKE_S: Final = 5.0
_SETTLE_S: Final = 60.0
_PERMIT: Final = LinkPermit(("tell", "ask", "watch", "abort", "stop"))
_POLICY: Final = 1008
_FAULTS: Final = ("none", "cut", "silence", "cut", "heal", "clock", "kill", "start")
_DEATHS: Final = 4
"""Number of choices at a point; with the last of them the process dies."""


class _Draws(Protocol):
    """The parts of a simulated run that a network needs."""

    def choose(self, alternatives: int) -> int:
        """Return a number below `alternatives`."""

    def follow(self, recorder: Recorder) -> None:
        """Add a recorder's records to the journal of the run."""


@final
class NodesUnsound(AssertionError):
    """The journals of the processes of a network break an invariant.

    Attributes:
        violations: What was found.
    """

    def __init__(self, violations: Sequence[NodeViolation]) -> None:
        super().__init__("\n".join(str(each) for each in violations[:10]))
        self.violations = tuple(violations)


Program: TypeAlias = Callable[[SimProcess], Awaitable[object]]
"""Runs at each start of a node, for instance to publish actors; the process goes on when it returns."""


@final
@attrs.define(eq=False)
class _Machine:
    """A node over all of its starts."""

    program: Program
    says: str
    token: bytes
    storage: SimStorage = attrs.field(factory=SimStorage)
    clock: SimClock = attrs.field(factory=SimClock)
    processes: list[SimProcess] = attrs.field(factory=list)


@final
@attrs.define(eq=False)
class _Wire:
    """A connection between two processes."""

    ends: tuple[SimProcess, SimProcess]
    connections: tuple[MemoryConnection, MemoryConnection]

    def of(self, name: str) -> MemoryConnection:
        """Return the end of a node."""
        return self.connections[self.ends[0].name != name]


@final
class SimNetwork:
    """Simulated nodes that can reach each other. Made by `Sim.network`."""

    def __init__(
        self, draws: _Draws, programs: Mapping[str, Program], *, codec: MessageCodec | None, pace: LinkPace | None
    ) -> None:
        if len(programs) < 2:
            raise UsageError(f"a network must have at least 2 nodes, got {len(programs)}")
        self._draws = draws
        self._codec = codec
        self.pace: Final = pace or LinkPace()
        self._machines = {
            name: _Machine(program, name, b"the secret of all nodes of a test.") for name, program in programs.items()
        }
        self._silent: set[tuple[str, str]] = set()
        self._healed = trio.Event()
        self._wires: list[_Wire] = []
        self._nursery: trio.Nursery
        self._is_settling = False
        self.faults: dict[str, int] = {}
        """Number of faults of each kind so far."""

    # --- processes ----------------------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the nodes."""
        return tuple(self._machines)

    def process(self, name: str) -> SimProcess:
        """Return the process of a node, or its last one."""
        return self._machines[name].processes[-1]

    def is_running(self, name: str) -> bool:
        """Return True if a node has a process that others reach."""
        processes = self._machines[name].processes
        return bool(processes) and processes[-1].is_running

    def impersonate(self, name: str, *, as_: str) -> None:
        """From its next start on, let a node claim the name of another one; it does not know the right token."""
        machine = self._machines[name]
        machine.says, machine.token = as_, b"a guess of somebody who has no token"

    async def start(self, name: str) -> SimProcess:
        """Start a node that is not running, with what is on its disk; return when others reach it."""
        machine = self._machines[name]
        if machine.processes and not (machine.processes[-1].is_dead or machine.processes[-1].ended.is_set()):
            raise UsageError(f"node {name!r} is running already")
        process = SimProcess(name, len(machine.processes) + 1, machine.storage, machine.clock, self._may_die)
        machine.processes.append(process)
        self._draws.follow(process.recorder)
        self._nursery.start_soon(self._run, machine, process)
        await process.started.wait()
        return process

    async def stop(self, name: str) -> None:
        """Stop a node in order, and wait until it has ended."""
        process = self.process(name)
        process.stopping.set()
        await process.ended.wait()

    def kill(self, name: str) -> None:
        """Kill the process of a node: it does nothing more, and writes that were not synced may be lost."""
        process = self.process(name)
        if process.is_dead or process.ended.is_set():
            return
        process.note_death()
        for wire in [wire for wire in self._wires if process in wire.ends]:
            self._cut(wire)
        process.storage.lose(self._draws.choose(process.storage.unsynced + 1))

    def _may_die(self, name: str) -> None:
        if not self._is_settling and self._draws.choose(_DEATHS) == _DEATHS - 1:
            self.faults["death"] = self.faults.get("death", 0) + 1
            self.kill(name)

    async def _run(self, machine: _Machine, process: SimProcess) -> None:
        seed = 1_000 * list(self._machines).index(process.name) + process.number
        ports: Ports = attrs.evolve(virtual_ports(seed), clock=process.clock)
        peers = {
            name: LinkPeer(token=machine.token, address="http://127.0.0.1:1", permit=_PERMIT)
            for name in self._machines
            if name != process.name
        }
        try:
            with process.scope:
                async with (
                    open_runtime(ports=ports, recorder=process.recorder) as runtime,
                    trio.open_nursery() as nursery,
                    open_node(
                        runtime,
                        name=machine.says,
                        codec=self._codec,
                        peers=peers,
                        pace=self.pace,
                        dial=partial(self._dialled, process),
                        records_frames=True,
                    ) as node,
                ):
                    process.runtime, process.node, process.nursery = runtime, node, nursery
                    await machine.program(process)
                    process.started.set()
                    await process.stopping.wait()
                    nursery.cancel_scope.cancel("the process stops")
            if not (process.is_dead or process.stopping.is_set()):
                raise NodesUnsound([NodeViolation("N-11", process.label, 0, "its process has ended by itself")])
        except Exception:
            if process.has_failed or not process.is_dead:
                raise
        finally:
            process.started.set()
            process.ended.set()

    # --- connections --------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _dialled(
        self, process: SimProcess, node: str, address: object, *, tls: ssl.SSLContext | None = None
    ) -> AsyncIterator[MemoryConnection]:
        """Connect to the present process of another node."""
        where = f"sim:{node}"
        await trio.lowlevel.checkpoint()
        with trio.move_on_after(_SHAKE_S):
            while self._is_silent(process.name, node):
                await self._healed.wait()
        if self._is_silent(process.name, node):
            raise Unreachable(node, where, "nobody answered")
        if process.is_dead or not self.is_running(node):
            raise Unreachable(node, where, "connection refused")
        target = self.process(node)
        here, there = connection_pair(delay_s=DELAYS_S[self._draws.choose(len(DELAYS_S))])
        wire = _Wire((process, target), (here, there))
        self._wires.append(wire)
        target.start_soon(self._serve, target, there)
        try:
            yield here
        finally:
            here.end()
            self._forget(wire)

    async def _serve(self, process: SimProcess, connection: MemoryConnection) -> None:
        code = 1001
        try:
            await process.node.serve(cast("Connection", connection))
        except NotProven:
            code = _POLICY
        except ConnectionEnded:
            pass
        finally:
            connection.end(code)

    def _is_silent(self, here: str, there: str) -> bool:
        return (here, there) in self._silent or (there, here) in self._silent

    def _forget(self, wire: _Wire) -> None:
        if wire in self._wires:
            self._wires.remove(wire)

    def _cut(self, wire: _Wire) -> None:
        here, there = wire.connections
        arrives = self._draws.choose(here.under_way + 1)
        here.cut(arrives=arrives, arrives_here=self._draws.choose(there.under_way + 1))
        for end, connection in zip(wire.ends, wire.connections, strict=True):
            if end.is_dead:
                connection.end()
        self._forget(wire)

    # --- faults -------------------------------------------------------------------------------------------------------

    def cut(self, here: str, there: str) -> None:
        """Cut the connections of two nodes; of what is under way, the schedule decides how much still arrives."""
        for wire in [wire for wire in self._wires if {end.name for end in wire.ends} == {here, there}]:
            self._cut(wire)

    def silence(self, here: str, there: str) -> None:
        """Hold back everything from one node to another, until `heal`; new connections do not come up."""
        self._silent.add((here, there))
        for wire in self._wires:
            if {end.name for end in wire.ends} == {here, there}:
                wire.of(here).silence()

    def heal(self) -> None:
        """End all silence."""
        self._silent.clear()
        for wire in self._wires:
            for connection in wire.connections:
                connection.speak()
        self._healed.set()
        self._healed = trio.Event()

    async def disturb(self, count: int, *, kills: bool = True) -> None:
        """Draw some faults from the schedule, with pauses between them: cuts, silence, deaths, restarts, set clocks.

        Args:
            count: Number of faults, including none.
            kills: False to let every process live.
        """
        for _ in range(count):
            await trio.sleep(PAUSES_S[self._draws.choose(len(PAUSES_S))])
            await self._draw_fault(kills=kills)

    async def _draw_fault(self, *, kills: bool) -> None:
        names = self.names
        kinds = _FAULTS if kills else _FAULTS[:-2]
        kind = kinds[self._draws.choose(len(kinds))]
        here = names[self._draws.choose(len(names))]
        others = [name for name in names if name != here]
        there = others[self._draws.choose(len(others))]
        self.faults[kind] = self.faults.get(kind, 0) + 1
        match kind:
            case "cut":
                self.cut(here, there)
            case "silence":
                self.silence(here, there)
            case "heal":
                self.heal()
            case "clock":
                self._machines[here].clock.jump(_JUMPS_S[self._draws.choose(len(_JUMPS_S))])
            case "kill":
                self.kill(here)
            case "start":
                await self._start_dead()

    async def _start_dead(self) -> None:
        for name in self.names:
            if self.process(name).is_dead:
                await self.start(name)

    async def settle(self, *, within_s: float | None = None) -> None:
        """Stop all faults, start the dead, wait, and check that everything has come to rest.

        Args:
            within_s: Time to come to rest, in seconds; by default a minute more than a link has to resume.

        Raises:
            NodesUnsound: An invariant is broken, or something is still under way.
        """
        self._is_settling = True
        self.heal()
        await self._start_dead()
        await trio.sleep(within_s if within_s is not None else self.pace.resume_s + _SETTLE_S)
        self.check(is_at_rest=True)

    # --- checks -------------------------------------------------------------------------------------------------------

    def journals(self) -> dict[str, list[Entry]]:
        """Return the journal of each process, by its label."""
        return {each.label: each.journal() for machine in self._machines.values() for each in machine.processes}

    def check(self, *, is_at_rest: bool = False) -> None:
        """Check the journals of all processes together.

        Raises:
            NodesUnsound: An invariant is broken.
        """
        alive = [self.process(name).label for name in self.names if self.is_running(name)]
        violations = check_nodes(self.journals(), is_at_rest=is_at_rest, alive=alive)
        if violations:
            raise NodesUnsound(violations)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[SimNetwork]:
        """Run all nodes; at the end stop them, and check the journals."""
        async with trio.open_nursery() as self._nursery:
            for name in self.names:
                await self.start(name)
            yield self
            self.heal()
            for name in self.names:
                if not self.process(name).is_dead:
                    await self.stop(name)
        self.check()
        if self._wires:
            raise NodesUnsound([NodeViolation("N-11", "", 0, f"{len(self._wires)} connections are left")])
