"""A supervisor that ends with its significant children, and only with these."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import ActorExited, Context, State
from greenroom.core import UsageError
from greenroom.supervisor import ChildSpec, EndsWith, Restart, SupervisorFinished, SupervisorSpec
from greenroom.testing import run_virtual
from tests.actors.situations import AT_ONCE, Doer, PlainDoer, events, fail, fail_plainly, runtime

if TYPE_CHECKING:
    from typing import Any

virtually = pytest.mark.usefixtures("virtual_time")

ENDS = ("itself", "crash", "stopped", "killed")


async def finish(ctx: Context) -> None:
    ctx.ref.stop(why="done")


def test_a_child_that_always_comes_back_is_not_significant() -> None:
    with pytest.raises(UsageError, match="must be False for a permanent child"):
        ChildSpec(restart=Restart.PERMANENT, is_significant=True)


@virtually
@pytest.mark.promise("I-41")
async def test_the_first_or_the_last_of_them_ends_their_supervisor_in_order() -> None:
    for ends_with, expected in ((EndsWith.ANY, 1), (EndsWith.ALL, 2), (EndsWith.NONE, 0)):
        async with runtime() as opened:
            team = await opened.spawn_supervisor("team", SupervisorSpec(ends_with=ends_with))
            first, second = [await team.spawn(Doer, spec=ChildSpec(is_significant=True)) for _ in range(2)]
            helpers = [await team.spawn(kind) for kind in (Doer, PlainDoer)]
            ended_after = 0
            for number, main in enumerate((first, second), start=1):
                if not main.is_gone:
                    main.tell(finish)
                await wait_all_tasks_blocked()
                if team.ref.is_gone and not ended_after:
                    ended_after = number

            assert ended_after == expected
            assert [event.child for event in events(opened, SupervisorFinished)] == (
                [] if not expected else [(first.id, second.id)[expected - 1]]
            )
            if expected:
                assert team.ref.state is State.COMPLETED
                ends = [event.actor for event in events(opened, ActorExited)]
                order = [ends.index(helper.id) for helper in reversed(helpers)]
                assert order == sorted(order)


@pytest.mark.promise("I-40", "I-41")
@given(
    ends_with=st.sampled_from(EndsWith),
    children=st.lists(
        st.tuples(st.booleans(), st.sampled_from([Restart.TRANSIENT, Restart.TEMPORARY])), min_size=1, max_size=4
    ),
    ends=st.lists(st.tuples(st.integers(0, 3), st.sampled_from(ENDS)), max_size=6),
)
def test_it_ends_exactly_when_those_that_it_ends_with_have_ended_by_themselves(
    ends_with: EndsWith, children: list[tuple[bool, Restart]], ends: list[tuple[int, str]]
) -> None:
    async def scenario() -> None:
        spec = SupervisorSpec(ends_with=ends_with, intensity=100, backoff=AT_ONCE)
        async with runtime() as opened:
            team = await opened.spawn_supervisor("team", spec)
            specs = [ChildSpec(restart=restart, is_significant=flag) for flag, restart in children]
            refs: list[Any] = [await team.spawn(Doer if n % 2 else PlainDoer, spec=one) for n, one in enumerate(specs)]
            left = {number for number, (flag, _) in enumerate(children) if flag}
            is_over = False
            for number, how in ends:
                ref = refs[number % len(refs)]
                if ref.is_gone or is_over:
                    continue
                end(ref, how, is_plain=number % len(refs) % 2 == 0)
                await wait_all_tasks_blocked()
                place = number % len(refs)
                comes_back = how == "crash" and children[place][1] is Restart.TRANSIENT
                if comes_back or place not in left:
                    continue
                left.discard(place)
                by_itself = how in {"itself", "crash"}
                is_over = by_itself and (ends_with is EndsWith.ANY or (ends_with is EndsWith.ALL and not left))
                assert team.ref.is_gone == is_over, (number, how)
            assert len(events(opened, SupervisorFinished)) == is_over

    run_virtual(scenario)


def end(ref: Any, how: str, *, is_plain: bool) -> None:
    """Make an actor end in one of four ways."""
    match how:
        case "itself":
            ref.tell((lambda ctx: ctx.ref.stop(why="done")) if is_plain else finish)
        case "crash":
            ref.tell(fail_plainly if is_plain else fail)
        case "stopped":
            ref.stop()
        case _:
            ref.kill()
