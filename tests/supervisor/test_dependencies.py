"""Children that build on others are restarted with them, and can be restarted, stopped and waited for by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import trio
from hypothesis import example, given
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import State, StopRequested
from greenroom.core import Cause, UsageError
from greenroom.supervisor import Backoff, ChildRestarted, ChildSpec, Restart, Strategy, SupervisorSpec
from greenroom.testing import run_virtual
from tests.actors.situations import AT_ONCE, Deaf, Doer, PlainDoer, events, fail, fail_plainly, runtime
from tests.supervisor.lives import life_of

if TYPE_CHECKING:
    from greenroom.actors import Context, Ref
    from greenroom.supervisor import Runtime

virtually = pytest.mark.usefixtures("virtual_time")

NAMES = "abcdef"
# Of each child: places of earlier ones that it depends on, whether it is temporary, whether a plain function.
CHILDREN = st.lists(st.tuples(st.sets(st.integers(0, 4)), st.booleans(), st.booleans()), min_size=1, max_size=6)

ACTIONS = st.tuples(
    st.sampled_from(["fail", "fail", "restart", "drain"]), st.integers(0, 4), st.sampled_from([0.0, 0.5])
)


class Slow(Doer):
    async def on_stop(self, ctx: Context) -> None:
        await trio.sleep(1)


async def spawn_all(
    supervisor: Any, children: list[tuple[set[int], bool, bool]], kind: type[Doer] = Doer
) -> list[Ref[Any]]:
    refs = []
    for place, (on, is_temporary, is_plain) in enumerate(children):
        restart = Restart.TEMPORARY if is_temporary else Restart.TRANSIENT
        spec = ChildSpec(restart=restart, depends_on=tuple(NAMES[one] for one in sorted(on) if one < place))
        refs.append(await supervisor.spawn(PlainDoer if is_plain else kind, name=NAMES[place], spec=spec))
    return refs


async def restart(opened: Runtime, ref: Ref[Any]) -> None:
    if not ref.is_gone:  # this task was asked for in an earlier step
        await opened.root.restart(ref)


def tied_to(child: int, children: list[tuple[set[int], bool, bool]], strategy: Strategy) -> set[int]:
    """Return who is to be touched when a child is restarted, from the definition."""
    if strategy is Strategy.ONE_FOR_ALL:
        return set(range(len(children)))
    if strategy is Strategy.REST_FOR_ONE:
        return set(range(child, len(children)))

    def reaches(one: int) -> bool:
        return one == child or any(reaches(on) for on in children[one][0] if on < one)

    return {number for number in range(len(children)) if reaches(number)}


@pytest.mark.promise("I-36", "I-38", "I-40")
@given(CHILDREN, st.integers(0, 5), st.sampled_from(Strategy), st.booleans(), st.lists(st.integers(0, 5), max_size=30))
def test_exactly_those_that_build_on_it_are_restarted_with_a_child(
    children: list[tuple[set[int], bool, bool]],
    place: int,
    strategy: Strategy,
    is_requested: bool,
    choices: list[int],
) -> None:
    place %= len(children)
    tied = tied_to(place, children, strategy)

    async def scenario() -> None:
        async with runtime(SupervisorSpec(strategy=strategy, backoff=AT_ONCE)) as opened:
            refs = await spawn_all(opened, children)
            if is_requested:
                await opened.root.restart(refs[place])
            else:
                refs[place].tell(fail_plainly if children[place][2] else fail)
            await wait_all_tasks_blocked()

            entered_worktrees = is_requested or not children[place][1]
            for one, ref in enumerate(refs):
                is_touched = one in tied if entered_worktrees else one == place
                comes_back = not children[one][1] or (one == place and is_requested)
                assert ref.is_gone is (is_touched and not comes_back)
                if not ref.is_gone:
                    node = next(node for node in opened.tree().children if node.id == ref.id)
                    assert node.incarnation == 1 + is_touched
            assert [event.is_requested for event in events(opened, ChildRestarted)] == [
                is_requested
            ] * entered_worktrees

    run_virtual(scenario, choices=choices)


@pytest.mark.promise("I-36", "I-38", "I-40")
@given(
    children=st.lists(st.tuples(st.sets(st.integers(0, 4)), st.just(False), st.booleans()), min_size=2, max_size=5),
    strategy=st.sampled_from(Strategy),
    actions=st.lists(ACTIONS, min_size=2, max_size=6),
    choices=st.lists(st.integers(0, 5), max_size=30),
)
# The request overtakes the batch of a child that failed twice, while another one relies on that batch.
@example(
    children=[(set(), False, True), ({0}, False, True), ({0}, False, False)],
    strategy=Strategy.ONE_FOR_ONE,
    actions=[("fail", 0, 0.0), ("fail", 0, 0.0), *[("fail", 1, 0.0)] * 3, ("restart", 0, 0.0)],
    choices=[],
)
@example(
    children=[(set(), False, True), (set(), False, True), (set(), False, False), (set(), False, True)],
    strategy=Strategy.ONE_FOR_ALL,
    actions=[("fail", 0, 0.5), ("fail", 3, 0.5), ("restart", 0, 0.5), ("drain", 2, 0.5), ("fail", 1, 0.0)],
    choices=[],
)
def test_however_batches_overlap_only_those_that_were_drained_are_gone_in_the_end(
    children: list[tuple[set[int], bool, bool]],
    strategy: Strategy,
    actions: list[tuple[str, int, float]],
    choices: list[int],
) -> None:
    async def scenario() -> None:
        spec = SupervisorSpec(strategy=strategy, intensity=100, backoff=AT_ONCE)
        async with runtime(spec) as opened, trio.open_nursery() as nursery:
            refs = await spawn_all(opened, children, Slow)
            drained = set()
            for action, number, pause_s in actions:
                place = number % len(children)
                if refs[place].is_gone:
                    continue
                match action:
                    case "fail":
                        refs[place].tell(fail_plainly if children[place][2] else fail)
                    case "restart":
                        nursery.start_soon(restart, opened, refs[place])
                    case "drain":
                        refs[place].drain()
                        drained.add(place)
                await trio.sleep(pause_s)
            await trio.sleep(60)

            assert {place for place, ref in enumerate(refs) if ref.is_gone} == drained
            assert all(ref.is_gone or ref.state is State.RUNNING for ref in refs)

    run_virtual(scenario, choices=choices)


@virtually
@pytest.mark.promise("I-38")
async def test_whoever_builds_on_it_is_stopped_before_it_and_started_after_it() -> None:
    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        refs = await spawn_all(
            opened, [(set(), False, False), (set(), False, False), ({0}, False, False), ({2}, False, False)]
        )
        refs[0].tell(fail)
        await wait_all_tasks_blocked()

        assert life_of(opened) == ["-a", "-d", "-c", "+a", "+c", "+d"]


@virtually
async def test_whom_a_child_builds_on_has_to_be_there() -> None:
    async with runtime() as opened:
        await opened.spawn(Doer, name="store")
        team = await opened.spawn_supervisor("team")
        await team.spawn(Doer, name="a")
        with pytest.raises(UsageError, match="team has no child 'store'; its children: 'a'"):
            await team.spawn(Doer, spec=ChildSpec(depends_on=("store",)))
        with pytest.raises(UsageError, match="depends_on must be a sequence of texts"):
            ChildSpec(depends_on="store")
        assert len(team.children()) == 1


@virtually
async def test_that_one_is_gone_for_good_changes_nothing_for_those_that_build_on_it() -> None:
    async with runtime() as opened:
        refs = await spawn_all(opened, [(set(), True, False), ({0}, False, False)])
        refs[0].tell(fail)
        await wait_all_tasks_blocked()

        assert refs[0].is_gone
        assert refs[1].state is State.RUNNING
        assert not events(opened, ChildRestarted)


@virtually
@pytest.mark.promise("I-17", "I-37")
async def test_a_requested_restart_lets_the_turn_finish_keeps_the_mail_and_costs_no_budget() -> None:
    seen: list[Any] = []
    async with runtime(SupervisorSpec(intensity=0)) as opened:
        actor = await opened.spawn(Doer, seen, name="a")
        for _ in range(3):
            deaf = Deaf(1)
            actor.tell(deaf)
            actor.tell("waits")
            await deaf.entered.wait()
            await opened.root.restart("a")
            await wait_all_tasks_blocked()

        assert seen == ["waits"] * 3
        assert opened.tree().children[0].incarnation == 4
        assert [event.cause.why for event in events(opened, StopRequested)][:3] == ["restarted on request"] * 3


@virtually
async def test_a_restart_whose_start_fails_is_a_failure_like_any_other() -> None:
    starts: list[int] = []

    class Fragile(Doer):
        async def on_start(self, ctx: Any) -> None:
            starts.append(1)
            if len(starts) > 1:
                raise RuntimeError("no")

    async with runtime() as opened:
        team = await opened.spawn_supervisor("team", SupervisorSpec(intensity=2, backoff=AT_ONCE), escalates=False)
        actor = await team.spawn(Fragile)
        await team.restart(actor)
        down = await team.join()

        assert len(starts) == 4
        assert down.state is State.FAILED


@pytest.mark.promise("I-36", "I-38", "I-40")
@given(
    CHILDREN,
    st.sampled_from(Strategy),
    st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=3),
    st.sets(st.tuples(st.integers(0, 5), st.integers(2, 4)), max_size=6),
    st.lists(st.integers(0, 5), max_size=30),
)
def test_whichever_starts_fail_everybody_runs_in_the_end(
    children: list[tuple[set[int], bool, bool]],
    strategy: Strategy,
    crashes: list[tuple[int, bool]],
    failing: set[tuple[int, int]],
    choices: list[int],
) -> None:
    """A start that fails in the middle of a batch is the matter of another batch, and of those that build on it only."""
    children = [(on, False, is_plain) for on, _, is_plain in children]

    class Fragile(Doer):
        async def on_start(self, ctx: Any) -> None:
            if (NAMES.index(ctx.path), ctx.incarnation) in failing:
                raise RuntimeError("no")

    async def scenario() -> None:
        spec = SupervisorSpec(strategy=strategy, intensity=100, backoff=Backoff(first_s=0.1, cap_s=1))
        async with runtime(spec) as opened:
            refs = await spawn_all(opened, children, Fragile)
            for number, is_requested in crashes:
                place = number % len(children)
                if is_requested:
                    await opened.root.restart(refs[place])
                else:
                    refs[place].tell(fail_plainly if children[place][2] else fail)
                    await trio.sleep(0.05)
            await trio.sleep(100)

            assert [ref.state for ref in refs] == [State.RUNNING] * len(refs)

    run_virtual(scenario, choices=choices)


@virtually
async def test_a_supervisor_is_not_restarted_by_hand_and_nobody_else_is_who_is_no_child() -> None:
    async with runtime() as opened:
        await opened.spawn_supervisor("team")
        with pytest.raises(UsageError, match="it is a supervisor; restart its children"):
            await opened.root.restart("team")
        with pytest.raises(UsageError, match="the root has no child 'other'; its children: 'team'"):
            await opened.root.stop("other")


@virtually
async def test_stop_waits_for_the_end_and_says_how_it_was() -> None:
    async with runtime() as opened:
        actor = await opened.spawn(Doer, name="a", spec=ChildSpec(restart=Restart.PERMANENT))
        deaf = Deaf(2)
        actor.tell(deaf)
        await deaf.entered.wait()
        began = trio.current_time()
        down = await opened.root.stop("a", why="enough")

        assert (down.state, trio.current_time() - began) == (State.COMPLETED, 2)
        assert actor.is_gone
        assert events(opened, StopRequested)[0].cause == Cause("host", "enough")


@virtually
async def test_a_cancelled_restart_still_happens() -> None:
    async with runtime() as opened:
        actor = await opened.spawn(Doer, name="a")
        deaf = Deaf(2)
        actor.tell(deaf)
        await deaf.entered.wait()
        with trio.move_on_after(1) as scope:
            await opened.root.restart("a")
        await trio.sleep(2)

        assert scope.cancelled_caught
        assert (actor.state, opened.tree().children[0].incarnation) == (State.RUNNING, 2)


@virtually
@pytest.mark.promise("I-40")
async def test_an_actor_can_have_itself_restarted_by_its_supervisor() -> None:
    async with runtime() as opened:

        async def again(ctx: Any) -> None:
            await opened.root.restart(ctx.ref)

        actor = await opened.spawn(Doer, spec=ChildSpec(grace_s=1))
        actor.tell(again)
        await trio.sleep(3)

        assert (actor.state, opened.tree().children[0].incarnation) == (State.RUNNING, 2)
