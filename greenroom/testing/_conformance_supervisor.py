"""Conformance kit for supervisors, as a class of tests: restarts, their order and number, and giving up.

    class TestOurSupervisor(SupervisorConformance):
        def open(self, sim, spec):
            return sim.open_runtime(spec)

A supervisor is used through `OpenedSupervisor` and refs alone; its children note what happens. Each test explores several
schedules in virtual time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, ClassVar, Final, Protocol, TypeAlias

import trio

from greenroom.actors import Behavior, Context, Ref
from greenroom.core import RuntimeFailed, StartFailed
from greenroom.supervisor import Backoff, ChildSpec, Restart, Strategy, SupervisorSpec
from greenroom.testing._explore import explore
from greenroom.testing._sim import Sim

Log: TypeAlias = list[tuple[str, str]]
"""Notes of the children: (event, child)."""
AT_ONCE: Final = Backoff(first_s=0, jitter=0)
LONG_S: Final = 1_000.0
"""Virtual seconds after which everything has settled."""
CRASH: Final = "crash"
"""On this message a child raises `Crash`; it notes any other."""
NAMES: Final = ("one", "two", "three")
TOGETHER: Final = {
    Strategy.ONE_FOR_ONE: ("two",),
    Strategy.ONE_FOR_ALL: ("one", "two", "three"),
    Strategy.REST_FOR_ONE: ("two", "three"),
}
"""Restarted children when the second of three crashes."""


class Crash(Exception):
    """Raised by a child on request."""


class Child(Behavior[str]):
    """Notes its starts, its stops and its messages."""

    def __init__(self, name: str, log: Log) -> None:
        self._name = name
        self._log = log

    async def on_start(self, ctx: Context) -> None:
        """Note the start, and take a moment."""
        self._log.append(("start", self._name))
        await trio.lowlevel.checkpoint()

    async def on_message(self, message: str, ctx: Context) -> None:
        """Note the message, or crash."""
        await trio.lowlevel.checkpoint()
        if message == CRASH:
            raise Crash(self._name)
        self._log.append((message, self._name))

    async def on_stop(self, ctx: Context) -> None:
        """Note the stop."""
        self._log.append(("stop", self._name))


class NeverReady(Child):
    """Cannot start."""

    async def on_start(self, ctx: Context) -> None:
        """Raise."""
        raise Crash(self._name)


class OpenedSupervisor(Protocol):
    """The interface of an open supervisor."""

    async def spawn(
        self, factory: Callable[..., Behavior[Any]], *args: Any, name: str | None = None, spec: ChildSpec | None = None
    ) -> Ref[Any]:
        """Start a child and wait until it is ready; raise `StartFailed` if it cannot start."""
        ...


class SupervisorConformance:
    """Subclass it with a name that the test runner collects, and implement `open`."""

    schedules: ClassVar[int] = 15
    """Number of schedules for each test."""

    def open(self, sim: Sim, spec: SupervisorSpec) -> AbstractAsyncContextManager[OpenedSupervisor]:
        """Open a supervisor on the ports and the recorder of a run; leaving the block ends its children in order.

        If it gives up, the block is cancelled and raises `RuntimeFailed`.
        """
        raise NotImplementedError

    def _explore(self, scenario: Callable[[Sim, Log], Any]) -> None:
        async def with_log(sim: Sim) -> None:
            await scenario(sim, [])

        explore(with_log, schedules=self.schedules)

    def test_after_a_crash_come_back_those_whose_restart_says_so(self) -> None:
        """Permanent and transient children come back after a crash, temporary ones do not."""
        for restart in Restart:

            async def scenario(sim: Sim, log: Log, restart: Restart = restart) -> None:
                async with self.open(sim, SupervisorSpec(backoff=AT_ONCE)) as opened:
                    child = await opened.spawn(Child, "it", log, spec=ChildSpec(restart=restart))
                    child.tell(CRASH)
                    await trio.sleep(LONG_S)
                    starts = log.count(("start", "it"))
                    assert starts == (1 if restart is Restart.TEMPORARY else 2), f"{restart}: {log}"
                    assert child.is_gone == (restart is Restart.TEMPORARY), restart

            self._explore(scenario)

    def test_who_was_asked_to_end_never_comes_back(self) -> None:
        """Neither a stop nor a kill leads to a restart, whatever the child's spec says."""
        for restart in Restart:
            for kills in (False, True):

                async def scenario(sim: Sim, log: Log, restart: Restart = restart, kills: bool = kills) -> None:  # noqa: FBT001
                    async with self.open(sim, SupervisorSpec(backoff=AT_ONCE)) as opened:
                        child = await opened.spawn(Child, "it", log, spec=ChildSpec(restart=restart))
                        (child.kill if kills else child.stop)()
                        await trio.sleep(LONG_S)
                        assert child.is_gone
                        assert log == [("start", "it"), ("stop", "it")], f"{restart}, kill={kills}"

                self._explore(scenario)

    def test_a_strategy_stops_its_set_in_reverse_and_starts_it_in_order(self) -> None:
        """When the second of three crashes."""
        for strategy, together in TOGETHER.items():

            async def scenario(
                sim: Sim, log: Log, strategy: Strategy = strategy, together: tuple[str, ...] = together
            ) -> None:
                async with self.open(sim, SupervisorSpec(strategy=strategy, backoff=AT_ONCE)) as opened:
                    children = {name: await opened.spawn(Child, name, log) for name in NAMES}
                    log.clear()
                    children["two"].tell(CRASH)
                    await trio.sleep(LONG_S)
                    stopped = [name for what, name in log if what == "stop" and name != "two"]
                    assert stopped == [name for name in reversed(together) if name != "two"], f"{strategy}: {log}"
                    assert [name for what, name in log if what == "start"] == list(together), f"{strategy}: {log}"
                    first_start = log.index(("start", together[0]))
                    assert all(what != "stop" for what, _ in log[first_start:]), f"{strategy}: {log}"

            self._explore(scenario)

    def test_leaving_ends_the_latest_child_first(self) -> None:
        """Nothing outlives what it was started on top of."""

        async def scenario(sim: Sim, log: Log) -> None:
            async with self.open(sim, SupervisorSpec()) as opened:
                for name in NAMES:
                    await opened.spawn(Child, name, log)
            assert log == [*(("start", name) for name in NAMES), *(("stop", name) for name in reversed(NAMES))]

        self._explore(scenario)

    def test_one_restart_too_many_in_the_window_is_the_end_of_all(self) -> None:
        """After the allowed restarts everything is ended, and the block raises `RuntimeFailed`."""

        async def scenario(sim: Sim, log: Log) -> None:
            is_failed, children = False, list[Ref[Any]]()
            try:
                async with self.open(sim, SupervisorSpec(intensity=2, period_s=60, backoff=AT_ONCE)) as opened:
                    children += [await opened.spawn(Child, name, log) for name in ("one", "two")]
                    for _ in range(5):
                        children[0].tell(CRASH)
                        await trio.sleep(1)
                    await trio.sleep(LONG_S)
            except RuntimeFailed:
                is_failed = True
            assert is_failed, f"three crashes within the window, but it continues: {log}"
            assert log.count(("start", "one")) == 3, log
            assert all(child.is_gone for child in children)
            assert log[-1] == ("stop", "two"), log

        self._explore(scenario)

    def test_restarts_that_are_far_enough_apart_do_not_add_up(self) -> None:
        """The window slides."""

        async def scenario(sim: Sim, log: Log) -> None:
            async with self.open(sim, SupervisorSpec(intensity=1, period_s=10, backoff=AT_ONCE)) as opened:
                child = await opened.spawn(Child, "it", log)
                for _ in range(4):
                    child.tell(CRASH)
                    await trio.sleep(11)
                assert log.count(("start", "it")) == 5, log

        self._explore(scenario)

    def test_a_restart_keeps_the_mail_that_waits(self) -> None:
        """The message that crashed is gone, those behind it are handled by the next incarnation, in order."""

        async def scenario(sim: Sim, log: Log) -> None:
            async with self.open(sim, SupervisorSpec(backoff=Backoff(first_s=5, jitter=0))) as opened:
                child = await opened.spawn(Child, "it", log)
                for message in ("before", CRASH, "after", "last"):
                    child.tell(message)
                await trio.sleep(LONG_S)
                told = [what for what, _ in log if what not in {"start", "stop"}]
                assert told == ["before", "after", "last"], log

        self._explore(scenario)

    def test_a_child_that_cannot_start_is_the_callers_affair(self) -> None:
        """`spawn` raises, nothing is left of the child, its name is free, and the others live."""

        async def scenario(sim: Sim, log: Log) -> None:
            async with self.open(sim, SupervisorSpec(backoff=AT_ONCE)) as opened:
                other = await opened.spawn(Child, "other", log)
                is_refused = False
                try:
                    await opened.spawn(NeverReady, "it", log, name="it")
                except StartFailed:
                    is_refused = True
                assert is_refused
                await opened.spawn(Child, "it", log, name="it")
                other.tell("still here")
                await trio.sleep(LONG_S)
                assert ("still here", "other") in log

        self._explore(scenario)

    def test_a_name_is_free_again_when_its_child_is_gone(self) -> None:
        """By the time that its end can be waited for."""

        async def scenario(sim: Sim, log: Log) -> None:
            async with self.open(sim, SupervisorSpec()) as opened:
                for _ in range(3):
                    child = await opened.spawn(Child, "it", log, name="it")
                    child.stop()
                    await child.wait_ended()

        self._explore(scenario)

    def test_however_the_block_is_left_nobody_lives_on(self) -> None:
        """Cancelled from outside, or by an error of the block."""
        for is_cancelled in (False, True):

            async def scenario(sim: Sim, log: Log, is_cancelled: bool = is_cancelled) -> None:  # noqa: FBT001
                children: list[Ref[Any]] = []
                with trio.CancelScope() as scope, suppress(Crash):
                    async with self.open(sim, SupervisorSpec()) as opened:
                        children += [await opened.spawn(Child, name, log) for name in NAMES]
                        if not is_cancelled:
                            raise Crash
                        scope.cancel()
                        await trio.sleep(LONG_S)
                assert all(child.is_gone for child in children)
                assert sorted(log) == sorted([(what, name) for what in ("start", "stop") for name in NAMES])

            self._explore(scenario)
