"""The kits that others run over their own: ours pass, and what is broken does not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from greenroom.core import RuntimeFailed
from greenroom.mailbox import DeadReason, Delivery, Envelope, Lane, Mailbox, MailboxPolicy
from greenroom.supervisor import ChildSpec, Restart, Strategy, SupervisorSpec
from greenroom.testing import ExplorationFailed, MailboxConformance, OpenedSupervisor, Sim, SupervisorConformance

if TYPE_CHECKING:
    from greenroom.actors import Ref
    from greenroom.supervisor import Runtime

    Bury = Callable[[Envelope[int], DeadReason], None]

# --- mailboxes --------------------------------------------------------------------------------------------------------


class Wrapped:
    """A mailbox of somebody else's: ours, with one thing done differently."""

    def __init__(self, policy: MailboxPolicy, on_dead: Bury) -> None:
        self.inner: Mailbox[int] = Mailbox("owner", policy=policy, on_dead=on_dead)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class PutsNowIntoNext(Wrapped):
    """Knows no control lane."""

    def put_nowait(self, message: int, lane: Lane = Lane.NEXT, **rest: Any) -> Delivery:
        return self.inner.put_nowait(message, Lane.NEXT if lane is Lane.NOW else lane, **rest)


class SaysFullInsteadOfClosed(Wrapped):
    """Leaves its senders in hope."""

    def put_nowait(self, message: int, lane: Lane = Lane.NEXT, **rest: Any) -> Delivery:
        delivery = self.inner.put_nowait(message, lane, **rest)
        return Delivery.FULL if delivery is Delivery.CLOSED else delivery


class AcksWhatItHandsOut(Wrapped):
    """At most once, instead of a lease."""

    def drain_nowait(self, limit: int, **rest: Any) -> Any:
        lease = self.inner.drain_nowait(limit, **rest)
        for envelope in lease.envelopes:
            self.inner.ack(envelope)
        return lease

    async def drain(self, limit: int, **rest: Any) -> Any:
        lease = await self.inner.drain(limit, **rest)
        for envelope in lease.envelopes:
            self.inner.ack(envelope)
        return lease


class HasOnePlaceMore(Wrapped):
    """Off by one."""

    def __init__(self, policy: MailboxPolicy, on_dead: Bury) -> None:
        super().__init__(attrs.evolve(policy, capacity=policy.capacity + 1), on_dead)


@pytest.mark.parametrize("kind", [PutsNowIntoNext, SaysFullInsteadOfClosed, AcksWhatItHandsOut, HasOnePlaceMore])
def test_a_mailbox_that_does_otherwise_is_found(kind: type[Wrapped]) -> None:
    class Machine(MailboxConformance):
        def make_mailbox(self, policy: MailboxPolicy, on_dead: Bury) -> Any:
            return kind(policy, on_dead)

    quickly = settings(max_examples=400, phases=[Phase.generate], derandomize=True, database=None, deadline=None)
    with pytest.raises((AssertionError, LookupError, ValueError)):
        run_state_machine_as_test(Machine, settings=quickly)


def test_a_mailbox_that_does_the_same_passes() -> None:
    class Machine(MailboxConformance):
        def make_mailbox(self, policy: MailboxPolicy, on_dead: Bury) -> Any:
            return Wrapped(policy, on_dead)

    run_state_machine_as_test(Machine, settings=settings(max_examples=10, deadline=None, database=None))


# --- supervisors ------------------------------------------------------------------------------------------------------


@pytest.mark.promise("I-36", "I-37", "I-38", "I-39")
class TestTheRoot(SupervisorConformance):
    """Ours, at the top."""

    def open(self, sim: Sim, spec: SupervisorSpec) -> AbstractAsyncContextManager[OpenedSupervisor]:
        return sim.open_runtime(spec)


@pytest.mark.promise("I-36", "I-37", "I-38", "I-39")
class TestASupervisorBelow(SupervisorConformance):
    """Ours, one level down: when it gives up, so does the runtime."""

    def open(self, sim: Sim, spec: SupervisorSpec) -> AbstractAsyncContextManager[OpenedSupervisor]:
        return open_below(sim, spec)


@asynccontextmanager
async def open_below(sim: Sim, spec: SupervisorSpec) -> AsyncIterator[OpenedSupervisor]:
    async with sim.open_runtime() as runtime:
        yield await runtime.spawn_supervisor("team", spec)


class Different:
    """A supervisor of somebody else's: ours, with children or specs that it gets wrong."""

    def __init__(self, runtime: Runtime, restart: Restart | None) -> None:
        self.runtime = runtime
        self.restart = restart

    async def spawn(self, factory: Any, *args: Any, name: str | None = None, spec: ChildSpec | None = None) -> Ref[Any]:
        spec = spec or ChildSpec()
        return await self.runtime.spawn(
            factory, *args, name=name, spec=attrs.evolve(spec, restart=self.restart or spec.restart)
        )


def failing_tests(kit: SupervisorConformance) -> set[str]:
    failed: set[str] = set()
    for name in dir(kit):
        if name.startswith("test_"):
            try:
                getattr(kit, name)()
            except ExplorationFailed:
                failed.add(name.removeprefix("test_"))
    return failed


@pytest.mark.parametrize(
    ("change", "restart", "test"),
    [
        ({}, Restart.TEMPORARY, "after_a_crash_come_back_those_whose_restart_says_so"),
        ({}, Restart.PERMANENT, "after_a_crash_come_back_those_whose_restart_says_so"),
        ({"strategy": Strategy.ONE_FOR_ONE}, None, "a_strategy_stops_its_set_in_reverse_and_starts_it_in_order"),
        ({"stop_order": "together"}, None, "leaving_ends_the_latest_child_first"),
        ({"intensity": 1_000}, None, "one_restart_too_many_in_the_window_is_the_end_of_all"),
        ({"period_s": 10_000.0}, None, "restarts_that_are_far_enough_apart_do_not_add_up"),
    ],
)
def test_a_supervisor_that_does_otherwise_is_found(change: dict[str, Any], restart: Restart | None, test: str) -> None:
    class Kit(SupervisorConformance):
        schedules = 3

        @asynccontextmanager
        async def open(self, sim: Sim, spec: SupervisorSpec) -> AsyncIterator[OpenedSupervisor]:
            async with sim.open_runtime(attrs.evolve(spec, **change)) as runtime:
                yield Different(runtime, restart)

    assert test in failing_tests(Kit())


def test_a_supervisor_that_leaves_its_children_alone_is_found() -> None:
    class Kit(SupervisorConformance):
        schedules = 1

        @asynccontextmanager
        async def open(self, sim: Sim, spec: SupervisorSpec) -> AsyncIterator[OpenedSupervisor]:
            try:
                async with sim.open_runtime(spec) as runtime:
                    yield runtime
            except RuntimeFailed:
                return

    assert failing_tests(Kit()) == {"one_restart_too_many_in_the_window_is_the_end_of_all"}
