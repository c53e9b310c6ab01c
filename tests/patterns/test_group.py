"""Groups: whoever is gone is no member, and every listener hears of every change once, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import State
from greenroom.actors._events import WatchFailed
from greenroom.patterns import Group, GroupChanged
from greenroom.supervisor import SupervisorSpec
from greenroom.testing import run_virtual
from tests.actors.situations import AT_ONCE, Doer, Oops, PlainDoer, events, fail, runtime

if TYPE_CHECKING:
    from collections.abc import Callable

    from greenroom.actors import Ref

virtual = pytest.mark.usefixtures("virtual_time")


@given(
    st.lists(st.tuples(st.sampled_from(["join", "leave", "kill", "listen", "stop"]), st.integers(0, 3)), max_size=40),
    st.lists(st.integers(0, 7), max_size=40),
)
def test_each_listener_can_follow_the_members_from_where_it_began(
    actions: list[tuple[str, int]], choices: list[int]
) -> None:
    async def scenario() -> None:
        async with runtime() as opened:
            refs = [await opened.spawn(Doer if number % 2 else PlainDoer) for number in range(4)]
            group: Group[Any] = Group("g")
            model: list[Ref[Any]] = []
            followed: list[list[Ref[Any]]] = []
            stops: list[Callable[[], None]] = []

            def follow(change: GroupChanged[Any], members: list[Ref[Any]]) -> None:
                assert (change.ref in members) is not change.has_joined
                (members.append if change.has_joined else members.remove)(change.ref)

            for action, number in actions:
                ref = refs[number]
                match action:
                    case "join":
                        is_new = ref not in model and not ref.is_gone
                        assert group.join(ref) is is_new
                        model += [ref] * is_new
                    case "leave":
                        assert group.leave(ref) is (ref in model)
                        model = [one for one in model if one != ref]
                    case "kill":
                        ref.kill()
                        await wait_all_tasks_blocked()
                        model = [one for one in model if one != ref]
                    case "listen":
                        members = group.members()
                        followed.append(members)
                        stops.append(group.listen(lambda change, members=members: follow(change, members)))  # type: ignore[misc]
                    case "stop" if stops:
                        stops.pop()()
                        followed.pop()
                assert group.members() == model
                assert all(members == model for members in followed)
                assert len(group) == len(model)
                assert all((ref in group) is (ref in model) for ref in refs)
        assert len(group) == 0

    run_virtual(scenario, choices=choices)


@virtual
async def test_a_member_leaves_by_itself_when_it_is_gone_and_not_when_it_is_restarted() -> None:
    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(Doer)
        group: Group[Any] = Group("g")
        changes: list[GroupChanged[Any]] = []
        group.join(actor)
        group.listen(changes.append)
        actor.tell(fail)
        await wait_all_tasks_blocked()
        assert actor in group
        assert changes == []

        actor.stop()
        await actor.wait_ended()

        assert group.members() == []
        assert [(change.ref, change.has_joined) for change in changes] == [(actor, False)]
        assert changes[0].down is not None
        assert changes[0].down.state is State.COMPLETED
        assert not group.join(actor)


@virtual
async def test_changes_can_be_told_to_an_actor_until_it_is_gone() -> None:
    seen: list[Any] = []
    async with runtime() as opened:
        listener = await opened.spawn(Doer, seen)
        actor = await opened.spawn(Doer)
        group: Group[Any] = Group("g")
        group.listen(listener.tell, until=listener)
        group.join(actor)
        await wait_all_tasks_blocked()
        assert [change.ref for change in seen] == [actor]

        listener.kill()
        await listener.wait_ended()
        group.leave(actor)

        assert opened.statistics().dead_letters == 0


@virtual
async def test_a_change_that_a_listener_makes_is_told_after_the_one_that_it_heard_of() -> None:
    async with runtime() as opened:
        first, second = await opened.spawn(Doer), await opened.spawn(Doer)
        group: Group[Any] = Group("g")
        heard: dict[str, list[Any]] = {"a": [], "b": []}

        def follow(change: GroupChanged[Any]) -> None:
            heard["a"].append((change.ref, change.has_joined))
            if change.has_joined:
                group.join(second)
                group.leave(change.ref)

        group.listen(follow)
        group.listen(lambda change: heard["b"].append((change.ref, change.has_joined)))
        group.join(first)

        assert heard["a"] == heard["b"] == [(first, True), (second, True), (first, False), (second, False)]
        assert group.members() == []


@virtual
async def test_a_listener_that_raises_keeps_nothing_from_the_others() -> None:
    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        group: Group[Any] = Group("g")
        heard: list[bool] = []

        def oops(_: GroupChanged[Any]) -> None:
            raise Oops

        group.listen(oops)
        stop = group.listen(oops)
        group.listen(lambda change: heard.append(change.has_joined))
        with pytest.RaisesGroup(Oops, Oops):
            group.join(actor)
        stop()
        actor.kill()
        await actor.wait_ended()

        assert heard == [True, False]
        assert len(events(opened, WatchFailed)) == 1
        assert repr(group) == "<Group 'g': 0 members>"
