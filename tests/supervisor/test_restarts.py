"""Restarts: who comes back, how often, after how long, and together with whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import ActorCreated, Context, State
from greenroom.core import RuntimeFailed
from greenroom.mailbox import DeadReason, Delivery
from greenroom.supervisor import (
    Backoff,
    ChildRestarted,
    ChildSpec,
    Restart,
    Runtime,
    Strategy,
    SupervisorSpec,
    open_runtime,
)
from greenroom.testing import virtual_ports
from tests.actors.situations import (
    AT_ONCE,
    Deaf,
    Doer,
    Gate,
    Oops,
    PlainDoer,
    Stubborn,
    dead,
    events,
    fail,
    fail_plainly,
    runtime,
)
from tests.supervisor.lives import life_of

if TYPE_CHECKING:
    from typing import Any

    from greenroom.actors import Ref

pytestmark = pytest.mark.usefixtures("virtual_time")

KINDS = [(Doer, fail), (PlainDoer, fail_plainly)]
NO_JITTER = Backoff(first_s=1, jitter=0)


@pytest.mark.promise("I-17", "I-35")
@pytest.mark.parametrize(("behavior", "job"), KINDS)
async def test_a_restart_keeps_the_mailbox_and_the_ref_and_makes_a_new_behavior(behavior: Any, job: Any) -> None:
    made: list[Any] = []
    seen: list[Any] = []

    class Counted(behavior):  # type: ignore[misc] # either kind
        def __init__(self) -> None:
            super().__init__(seen)
            made.append(self)

    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor: Ref[Any] = await opened.spawn(Counted)
        for message in ("before", job, "after"):
            actor.tell(message)
        await wait_all_tasks_blocked()

        assert seen == ["before", "after"]
        assert len(made) == 2
        assert made[0] is not made[1]
        assert actor.tell("later") is Delivery.ACCEPTED

    assert [event.inc for event in events(opened, ActorCreated) if event.actor == actor.id] == [1, 2]


@pytest.mark.promise("I-17")
async def test_a_message_in_hand_comes_first_again_where_its_policy_says_so() -> None:
    seen: list[Any] = []
    tries: list[int] = []

    async def fail_once(ctx: Context) -> None:
        tries.append(ctx.incarnation)
        if len(tries) == 1:
            raise Oops
        seen.append("again")

    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(Stubborn, seen)
        actor.tell(fail_once)
        actor.tell("behind")
        await wait_all_tasks_blocked()

    assert tries == [1, 2]
    assert seen == ["again", "behind"]


@pytest.mark.promise("I-36")
@pytest.mark.parametrize("restart", list(Restart))
@pytest.mark.parametrize("end", ["fail", "stop", "kill"])
@pytest.mark.parametrize(("behavior", "job"), KINDS)
async def test_who_comes_back(restart: Restart, end: str, behavior: Any, job: Any) -> None:
    """Whoever was asked to end never does. CL-19."""
    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(behavior, spec=ChildSpec(restart=restart))
        match end:
            case "fail":
                actor.tell(job)
            case "stop":
                actor.stop()
            case "kill":
                actor.kill()
        await wait_all_tasks_blocked()

        comes_back = end == "fail" and restart is not Restart.TEMPORARY
        assert actor.is_gone is not comes_back


@pytest.mark.promise("I-51")
async def test_back_off_doubles_within_the_window_and_is_capped() -> None:
    spec = SupervisorSpec(intensity=9, period_s=1_000, backoff=Backoff(first_s=1, cap_s=6, jitter=0))
    async with runtime(spec) as opened:
        actor = await opened.spawn(Doer)
        for _ in range(5):
            actor.tell(fail)
        await trio.sleep(100)

    assert [event.delay_s for event in events(opened, ChildRestarted)] == [1, 2, 4, 6, 6]


@pytest.mark.promise("I-51")
async def test_jitter_comes_from_the_runs_own_chance() -> None:
    delays = []
    for _ in range(2):
        async with open_runtime(ports=virtual_ports(7), spec=SupervisorSpec(intensity=5)) as opened:
            actor = await opened.spawn(Doer)
            for _ in range(4):
                actor.tell(fail)
            await trio.sleep(50)
        delays.append([event.delay_s for event in events(opened, ChildRestarted)])

    assert delays[0] == delays[1]
    assert all(0.1 * 2**n <= delay <= 0.12 * 2**n for n, delay in enumerate(delays[0]))
    assert delays[0][0] != 0.1


@pytest.mark.parametrize(("behavior", "job"), KINDS)
async def test_mail_waits_during_a_back_off_and_a_kill_ends_it_at_once(behavior: Any, job: Any) -> None:
    async with runtime(SupervisorSpec(backoff=Backoff(first_s=20, jitter=0))) as opened:
        actor = await opened.spawn(behavior)
        actor.tell(job)
        await wait_all_tasks_blocked()
        assert actor.state is State.PENDING
        actor.tell("waits")
        actor.kill()
        await actor.wait_ended()

        assert trio.current_time() == 0
        assert dead(opened) == {DeadReason.FAILED: 1, DeadReason.ENDED: 1}
        assert opened.statistics().open_timers == 0


# --- how often --------------------------------------------------------------------------------------------------------


@pytest.mark.promise("I-37")
async def test_restarts_that_are_far_enough_apart_never_use_up_the_budget() -> None:
    async with runtime(SupervisorSpec(intensity=2, period_s=10, backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(Doer)
        for _ in range(8):
            actor.tell(fail)
            await trio.sleep(5.1)

        assert opened.tree().children[0].incarnation == 9


@pytest.mark.promise("I-37")
async def test_one_restart_too_many_in_the_window_makes_the_supervisor_give_up() -> None:
    with pytest.raises(RuntimeFailed):
        spec = SupervisorSpec(intensity=2, period_s=10, backoff=AT_ONCE)
        async with open_runtime(ports=virtual_ports(), spec=spec) as opened:
            actor = await opened.spawn(Doer)
            for _ in range(3):
                actor.tell(fail)
                await trio.sleep(4.9)
            await trio.sleep_forever()

    assert trio.current_time() == 2 * 4.9
    assert len(events(opened, ChildRestarted)) == 2


@pytest.mark.slow
async def test_very_many_restarts_are_no_mistake() -> None:
    spec = SupervisorSpec(intensity=5_000, backoff=AT_ONCE)
    async with open_runtime(ports=virtual_ports(), spec=spec) as opened:
        actor = await opened.spawn(PlainDoer)
        for _ in range(900):
            actor.tell(fail_plainly)
        await wait_all_tasks_blocked()
        for _ in range(300):
            actor.tell(fail_plainly)
        await wait_all_tasks_blocked()

        assert opened.tree().children[0].incarnation == 1_201


async def test_a_restart_that_fails_to_start_counts_as_one() -> None:
    starts: list[float] = []

    class Fragile(Doer):
        async def on_start(self, ctx: Context) -> None:
            starts.append(trio.current_time())
            if len(starts) in {2, 3}:
                raise Oops

    async with runtime(SupervisorSpec(backoff=NO_JITTER)) as opened:
        actor = await opened.spawn(Fragile)
        actor.tell(fail)
        await trio.sleep(20)

        assert actor.state is State.RUNNING
        assert starts == [0, 1, 3, 7]


# --- together with whom -----------------------------------------------------------------------------------------------


async def team_of(opened: Runtime, behaviors: list[Any], log: list[str] | None = None) -> list[Ref[Any]]:
    """Spawn one of each, named a, b, c..."""
    return [await opened.spawn(behavior, name="abcdef"[number]) for number, behavior in enumerate(behaviors)]


@pytest.mark.promise("I-38", "I-40")
@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        (Strategy.ONE_FOR_ONE, ["-b", "+b"]),
        (Strategy.REST_FOR_ONE, ["-b", "-d", "-c", "+b", "+c", "+d"]),
        (Strategy.ONE_FOR_ALL, ["-b", "-d", "-c", "-a", "+a", "+b", "+c", "+d"]),
    ],
)
@pytest.mark.parametrize("behaviors", [[Doer] * 4, [PlainDoer] * 4, [Doer, PlainDoer, Doer, PlainDoer]])
async def test_a_strategy_stops_its_set_in_reverse_and_starts_it_in_order(
    strategy: Strategy, expected: list[str], behaviors: list[Any]
) -> None:
    async with runtime(SupervisorSpec(strategy=strategy, backoff=AT_ONCE)) as opened:
        actors = await team_of(opened, behaviors)
        actors[1].tell(fail_plainly if behaviors[1] is PlainDoer else fail)
        await wait_all_tasks_blocked()
        log = life_of(opened)

        assert log == expected
        assert all(actor.state is State.RUNNING for actor in actors)
        assert len(events(opened, ChildRestarted)) == 1


@pytest.mark.promise("I-17")
async def test_a_neighbour_that_is_restarted_too_keeps_its_mail() -> None:
    seen: list[Any] = []
    deaf = Deaf(1)
    async with runtime(SupervisorSpec(strategy=Strategy.ONE_FOR_ALL, backoff=AT_ONCE)) as opened:
        neighbour = await opened.spawn(Doer, seen)
        fragile = await opened.spawn(Doer)
        neighbour.tell(deaf)
        neighbour.tell("waits")
        await deaf.entered.wait()
        fragile.tell(fail)
        await trio.sleep(3)

        assert seen == ["waits"]
        assert [node.incarnation for node in opened.tree().children] == [2, 2]


@pytest.mark.promise("I-37")
async def test_a_batch_counts_as_one_restart() -> None:
    spec = SupervisorSpec(strategy=Strategy.ONE_FOR_ALL, intensity=3, backoff=AT_ONCE)
    async with runtime(spec) as opened:
        actors = await team_of(opened, [Doer] * 4)
        for _ in range(3):
            actors[2].tell(fail)
            await wait_all_tasks_blocked()

        assert [node.incarnation for node in opened.tree().children] == [4] * 4


async def test_two_crashes_at_once_are_one_decision_after_the_other() -> None:
    spec = SupervisorSpec(strategy=Strategy.ONE_FOR_ALL, backoff=AT_ONCE)
    async with runtime(spec) as opened:
        actors = await team_of(opened, [Doer] * 3)
        actors[0].tell(fail)
        actors[2].tell(fail)
        await wait_all_tasks_blocked()

        assert all(actor.state is State.RUNNING for actor in actors)


@pytest.mark.parametrize("strategy", [Strategy.ONE_FOR_ALL, Strategy.REST_FOR_ONE])
@pytest.mark.parametrize("which", [0, 1, 2])
async def test_a_start_that_fails_within_a_batch_leads_to_the_next_batch(strategy: Strategy, which: int) -> None:
    """The supervisor must not wait for the one that failed, or it would never hear of the next plan."""
    tries = 0

    class Fragile(Doer):
        async def on_start(self, ctx: Context) -> None:
            nonlocal tries
            tries += 1
            if tries == 2:
                raise Oops

    behaviors: list[Any] = [Doer] * 3
    behaviors[which] = Fragile
    async with runtime(SupervisorSpec(strategy=strategy, backoff=NO_JITTER)) as opened:
        actors = await team_of(opened, behaviors)
        actors[0].tell(fail)
        await trio.sleep(20)

        assert all(actor.state is State.RUNNING for actor in actors)
        assert tries == 3
        last = await opened.spawn(Doer)
        last.kill()


@pytest.mark.promise("I-36")
@pytest.mark.parametrize("how", ["kill", "stop"])
@pytest.mark.parametrize("behavior", [Doer, PlainDoer])
@pytest.mark.parametrize("after_s", [0, 1])
async def test_a_neighbour_that_is_asked_to_end_during_a_batch_does_not_come_back(
    how: str, behavior: Any, after_s: float
) -> None:
    spec = SupervisorSpec(strategy=Strategy.ONE_FOR_ALL, backoff=Backoff(first_s=10, jitter=0))
    async with runtime(spec) as opened:
        fragile = await opened.spawn(Doer)
        neighbour = await opened.spawn(behavior)
        fragile.tell(fail)
        if after_s:
            await trio.sleep(after_s)
        getattr(neighbour, how)()
        await trio.sleep(30)

        assert neighbour.is_gone
        assert fragile.state is State.RUNNING
        assert neighbour.tell("x") is Delivery.CLOSED


async def test_an_actor_that_waits_for_a_batch_can_be_killed_at_once() -> None:
    spec = SupervisorSpec(strategy=Strategy.ONE_FOR_ALL, backoff=Backoff(first_s=10, jitter=0))
    async with runtime(spec) as opened:
        first = await opened.spawn(Doer)
        second = await opened.spawn(Doer)
        second.tell(fail)
        await trio.sleep(1)
        second.kill()
        await second.wait_ended()
        assert trio.current_time() == 1
        await trio.sleep(30)

        assert first.state is State.RUNNING


async def test_a_stop_during_a_batch_ends_everybody() -> None:
    spec = SupervisorSpec(strategy=Strategy.ONE_FOR_ALL, backoff=Backoff(first_s=10, jitter=0))
    async with runtime(spec) as opened:
        actors = await team_of(opened, [Doer, PlainDoer, Doer])
        actors[2].tell(fail)
        await trio.sleep(1)

    assert all(actor.is_gone for actor in actors)
    assert trio.current_time() <= 8


async def test_a_busy_neighbour_gets_its_grace_before_it_is_restarted() -> None:
    spec = SupervisorSpec(strategy=Strategy.ONE_FOR_ALL, backoff=AT_ONCE)
    async with runtime(spec) as opened:
        neighbour = await opened.spawn(Doer, spec=ChildSpec(grace_s=3))
        fragile = await opened.spawn(Doer)
        neighbour.tell(Gate())
        await wait_all_tasks_blocked()
        fragile.tell(fail)
        await trio.sleep(2.9)
        assert [node.incarnation for node in opened.tree().children] == [1, 1]
        await trio.sleep(0.2)
        assert [node.incarnation for node in opened.tree().children] == [2, 2]


@pytest.mark.promise("I-38")
async def test_an_abort_of_the_supervisors_own_turn_leaves_nobody_behind() -> None:
    spec = SupervisorSpec(strategy=Strategy.ONE_FOR_ALL, backoff=NO_JITTER)
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team", spec)
        mates = [await team.spawn(behavior) for behavior in (Doer, PlainDoer, Doer)]
        mates[0].tell(fail)
        await trio.sleep(0.5)
        team.ref.abort_turn()
        await trio.sleep(5)

        assert [mate.state for mate in mates] == [State.RUNNING] * 3


@pytest.mark.promise("I-35")
async def test_a_neighbour_that_cannot_be_stopped_is_never_run_twice() -> None:
    running: list[int] = []

    class Stone(Doer):
        async def on_start(self, ctx: Context) -> None:
            running.append(1)
            assert len(running) == 1

        async def on_stop(self, ctx: Context) -> None:
            running.pop()

    async with runtime(SupervisorSpec(strategy=Strategy.ONE_FOR_ALL, backoff=AT_ONCE)) as opened:
        deaf = Deaf(60)
        stone = await opened.spawn(Stone, spec=ChildSpec(grace_s=1, kill_grace_s=1))
        fragile = await opened.spawn(Doer)
        stone.tell(deaf)
        await deaf.entered.wait()
        fragile.tell(fail)
        await trio.sleep(100)

        assert fragile.state is State.RUNNING
        assert stone.state is State.RUNNING or stone.is_gone


@pytest.mark.parametrize("behavior", [Doer, PlainDoer])
async def test_a_spawn_in_the_middle_of_a_batch_is_part_of_it(behavior: Any) -> None:
    """It is stopped before it was ever ready, and started again; whoever spawned it only sees that it is ready."""
    spec = SupervisorSpec(strategy=Strategy.ONE_FOR_ALL, backoff=NO_JITTER)
    async with runtime(spec) as opened, trio.open_nursery() as nursery:
        fragile = await opened.spawn(Doer)
        fragile.tell(fail)
        newcomers: list[Ref[Any]] = []

        async def spawn() -> None:
            newcomers.append(await opened.spawn(behavior))

        for _ in range(4):
            nursery.start_soon(spawn)
            await trio.lowlevel.checkpoint()
        await trio.sleep(10)

        assert [ref.state for ref in newcomers] == [State.RUNNING] * 4
        assert set(opened.root.children()) == {fragile, *newcomers}
