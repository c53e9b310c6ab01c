"""Strategies: which children are restarted together, and in which order."""

from __future__ import annotations

import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Context, Ref, State
from greenroom.supervisor import ChildRestarted, ChildSpec, Restart, Runtime, Strategy, SupervisorSpec
from tests.actors.situations import AT_ONCE, Doer, Gate, Oops, events, fail, runtime
from tests.otp.scenario import PRINCIPLES, SOURCE, SUPERVISOR, Logged, Patient, differs, finish, same


def told(strategy: Strategy) -> SupervisorSpec:
    """Return a spec that restarts at once."""
    return SupervisorSpec(strategy=strategy, backoff=AT_ONCE)


async def four(opened: Runtime, log: list[str]) -> list[Ref[object]]:
    """Spawn a, b, c and d."""
    actors: list[Ref[object]] = [await opened.spawn(Logged, log, name) for name in "abcd"]
    log.clear()
    return actors


async def life_after_a_failure(strategy: Strategy, number: int) -> list[str]:
    """Return who ended and who started when one of four children failed."""
    log: list[str] = []
    async with runtime(told(strategy)) as opened:
        actors = await four(opened, log)
        actors[number].tell(fail)
        await wait_all_tasks_blocked()
        return list(log)
    raise AssertionError


@same("OTP-39", f"{SUPERVISOR}: Restart Strategies", "one_for_one: only the child that ended is restarted.")
async def one_for_one_restarts_the_one_that_failed() -> None:
    assert await life_after_a_failure(Strategy.ONE_FOR_ONE, 1) == ["-b", "+b"]


@same("OTP-40", f"{SUPERVISOR}: Restart Strategies", "one_for_one is the default.")
async def one_for_one_is_the_default_strategy() -> None:
    log: list[str] = []
    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actors = await four(opened, log)
        actors[1].tell(fail)
        await wait_all_tasks_blocked()

        assert log == ["-b", "+b"]


@same(
    "OTP-41",
    f"{SUPERVISOR}: Restart Strategies",
    "one_for_all: all other children are terminated, in reverse order, then all are started, in order.",
)
async def one_for_all_ends_all_in_reverse_and_starts_all_in_order() -> None:
    for number, failed in enumerate("abcd"):
        ends = [f"-{name}" for name in "dcba" if name != failed]
        expected = [f"-{failed}", *ends, "+a", "+b", "+c", "+d"]
        assert await life_after_a_failure(Strategy.ONE_FOR_ALL, number) == expected


@same(
    "OTP-42",
    f"{SUPERVISOR}: Restart Strategies",
    "rest_for_one: the children after the one that ended are terminated, then it and they are started again.",
)
async def rest_for_one_restarts_those_that_were_started_later() -> None:
    assert await life_after_a_failure(Strategy.REST_FOR_ONE, 1) == ["-b", "-d", "-c", "+b", "+c", "+d"]


@same(
    "OTP-43",
    f"{SUPERVISOR}: Restart Strategies",
    "rest_for_one: the end of the first child restarts all children, the end of the last child only itself.",
)
async def rest_for_one_restarts_all_after_the_first_and_none_after_the_last() -> None:
    first = await life_after_a_failure(Strategy.REST_FOR_ONE, 0)
    last = await life_after_a_failure(Strategy.REST_FOR_ONE, 3)

    assert first == ["-a", "-d", "-c", "-b", "+a", "+b", "+c", "+d"]
    assert last == ["-d", "+d"]


@same(
    "OTP-44",
    f"{SUPERVISOR}: Child specification, restart",
    "A temporary child that was terminated because of a sibling is not started again.",
)
async def a_temporary_sibling_is_ended_with_the_others_and_stays_ended() -> None:
    for strategy in (Strategy.ONE_FOR_ALL, Strategy.REST_FOR_ONE):
        async with runtime(told(strategy)) as opened:
            failing = await opened.spawn(Doer)
            temporary = await opened.spawn(Doer, spec=ChildSpec(restart=Restart.TEMPORARY))
            transient = await opened.spawn(Doer)
            failing.tell(fail)
            await wait_all_tasks_blocked()

            assert temporary.is_gone
            assert opened.root.children() == [failing, transient]


@same(
    "OTP-45",
    f"{PRINCIPLES}: Restart Strategy, one_for_all",
    "A transient child that was terminated because of a sibling is started again, although it did not crash.",
)
async def a_transient_sibling_is_restarted_although_it_was_stopped_in_order() -> None:
    async with runtime(told(Strategy.ONE_FOR_ALL)) as opened:
        neighbour = await opened.spawn(Doer, spec=ChildSpec(restart=Restart.TRANSIENT))
        failing = await opened.spawn(Doer)
        failing.tell(fail)
        await wait_all_tasks_blocked()

        assert neighbour.state is State.RUNNING
        assert [node.incarnation for node in opened.tree().children] == [2, 2]


@differs(
    "OTP-46",
    f"{PRINCIPLES}: Restart Strategy, one_for_all",
    "A permanent or transient child that ended earlier still has its specification, and is started with the others.",
    "A child that has ended permanently is forgotten: a finished agent must not start again because a sibling failed.",
)
async def a_child_that_has_finished_is_not_started_with_the_others() -> None:
    async with runtime(told(Strategy.ONE_FOR_ALL)) as opened:
        finished, failing = await opened.spawn(Doer), await opened.spawn(Doer)
        finished.tell(finish)
        await finished.wait_ended()
        failing.tell(fail)
        await wait_all_tasks_blocked()

        assert opened.root.children() == [failing]


@same(
    "OTP-47",
    f"{SOURCE}: restart/2, add_restart",
    "Restarting several children together counts as one restart.",
)
async def a_batch_counts_as_one_restart() -> None:
    log: list[str] = []
    async with runtime(SupervisorSpec(strategy=Strategy.ONE_FOR_ALL, intensity=2, backoff=AT_ONCE)) as opened:
        actors = await four(opened, log)
        for _ in range(2):
            actors[1].tell(fail)
            await wait_all_tasks_blocked()

        assert [event.restarts for event in events(opened, ChildRestarted)] == [1, 2]
        assert len(log) == 2 * 8


@same(
    "OTP-48",
    f"{SUPERVISOR}: Child specification, shutdown",
    "A sibling that is terminated for a restart gets the time in its own shutdown specification.",
)
async def a_busy_sibling_gets_its_own_grace_before_it_is_restarted() -> None:
    async with runtime(told(Strategy.ONE_FOR_ALL)) as opened:
        neighbour = await opened.spawn(Doer, spec=ChildSpec(grace_s=3))
        failing = await opened.spawn(Doer)
        neighbour.tell(Patient())
        await wait_all_tasks_blocked()
        failing.tell(fail)
        await trio.sleep(2.9)
        assert [node.incarnation for node in opened.tree().children] == [1, 1]
        await trio.sleep(0.2)
        assert [node.incarnation for node in opened.tree().children] == [2, 2]


@same(
    "OTP-49",
    f"{SUPERVISOR}: Restart Strategies",
    "While children are restarted together, each is started when the one before it has been.",
)
async def each_child_of_a_batch_is_ready_before_the_next_one_is_started() -> None:
    log: list[str] = []
    async with runtime(told(Strategy.ONE_FOR_ALL)) as opened:
        actors = [await opened.spawn(Logged, log, name, 2.0) for name in "abc"]
        began = trio.current_time()
        log.clear()
        actors[0].tell(fail)
        await trio.sleep(3.9)
        assert log == ["-a", "-c", "-b", "+a"]
        await trio.sleep(10)
        assert log[3:] == ["+a", "+b", "+c"]
        assert began == 6


@same(
    "OTP-50",
    f"{SOURCE}: restart/2, try_again_restart",
    "If one of many fails to start again, all of them are tried again until the intensity is used up.",
)
async def a_batch_in_which_one_fails_to_start_is_tried_again() -> None:
    tries = 0

    class Fragile(Doer):
        async def on_start(self, ctx: Context) -> None:
            nonlocal tries
            tries += 1
            if tries in {2, 3}:
                raise Oops

    for strategy in (Strategy.ONE_FOR_ALL, Strategy.REST_FOR_ONE):
        tries = 0
        async with runtime(told(strategy)) as opened:
            first = await opened.spawn(Doer)
            await opened.spawn(Fragile)
            await opened.spawn(Doer)
            first.tell(fail)
            await wait_all_tasks_blocked()

            assert [node.state for node in opened.tree().children] == [State.RUNNING] * 3
            assert tries == 4


@differs(
    "OTP-51",
    f"{PRINCIPLES}: Simplified one_for_one Supervisors",
    "The supervisor carries out restarts one at a time, and all other requests wait.",
    "With one_for_one, a restart concerns only the child itself, so other children need not wait for it.",
)
async def children_are_restarted_side_by_side() -> None:
    log: list[str] = []
    async with runtime(told(Strategy.ONE_FOR_ONE)) as opened:
        actors = [await opened.spawn(Logged, log, name, 5.0) for name in "ab"]
        began = trio.current_time()
        for actor in actors:
            actor.tell(fail)
        await trio.sleep(5.1)

        assert [actor.state for actor in actors] == [State.RUNNING] * 2
        assert log[:2] == ["+a", "+b"]
        assert sorted(log[2:]) == ["+a", "+b", "-a", "-b"]
        assert trio.current_time() == began + 5.1


@same(
    "OTP-52",
    f"{PRINCIPLES}: Restart Strategy, one_for_all",
    "A sibling that crashes while all are being terminated needs no restart of its own.",
)
async def siblings_that_fail_together_are_restarted_once() -> None:
    gate = Gate()

    async def fail_late(ctx: Context) -> None:
        await gate(ctx)
        raise Oops

    async with runtime(told(Strategy.ONE_FOR_ALL)) as opened:
        neighbour, failing = await opened.spawn(Doer), await opened.spawn(Doer)
        neighbour.tell(fail_late)
        await wait_all_tasks_blocked()
        failing.tell(fail)
        await trio.sleep(1)
        gate.opened.set()
        await wait_all_tasks_blocked()

        assert len(events(opened, ChildRestarted)) == 1
        assert [node.incarnation for node in opened.tree().children] == [2, 2]


@same(
    "OTP-53",
    f"{SOURCE}: handle_info/2, EXIT",
    "A child that crashes while others are being restarted is dealt with afterwards, and in the end all of them run.",
)
async def a_child_that_fails_during_a_batch_is_restarted_with_its_own_batch_after_it() -> None:
    log: list[str] = []
    async with runtime(told(Strategy.REST_FOR_ONE)) as opened:
        first, second = await opened.spawn(Logged, log, "a"), await opened.spawn(Logged, log, "b")
        third = await opened.spawn(Logged, log, "c", 0.0, 1.0)
        log.clear()
        second.tell(fail)
        await wait_all_tasks_blocked()
        first.tell(fail)
        await trio.sleep(10)

        assert opened.root.children() == [first, second, third]
        assert log == ["-b", "-a", "-c", "+b", "+c", "-c", "-b", "+a", "+b", "+c"]
