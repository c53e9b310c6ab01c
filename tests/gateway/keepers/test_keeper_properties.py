"""Whatever happens to keepers and their sessions, each input ends once, in order, and nothing stays taken."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Final

import attrs
import pytest
import trio
from hypothesis import given, settings

from greenroom.gateway.keepers._left_items import settle_left
from greenroom.gateway.keepers._turn_lookup import ItemFate
from greenroom.testing import explore, replay
from tests.gateway.keepers.driven import KEYS, KeeperPlan, drive, keeper_plans, run, run_out, scenario
from tests.gateway.keepers.keeping import Gateway, uuid
from tests.gateway.keepers.standins import Conversations

HISTORIES: Final = Path(__file__).parent / "histories"


@pytest.mark.promise("A10-e")
@settings(max_examples=15, deadline=None)
@given(plan=keeper_plans())
def test_every_input_ends_once_whatever_happens(plan: KeeperPlan) -> None:
    run(partial(drive, plan), Conversations(), open_sessions=plan.open_sessions)


@pytest.mark.promise("A10-e")
@pytest.mark.parametrize("path", sorted(HISTORIES.glob("*.json")), ids=lambda path: path.stem)
def test_a_plan_that_once_lost_an_input_does_not_do_so_again(path: Path) -> None:
    """A keeper that ends between what it plans and what the store holds leaves that to the next incarnation."""
    plan, choices = KeeperPlan.loaded(path)
    explore(scenario(plan, path), strategy=replay(choices), shrinks=0)


@pytest.mark.promise("A22-c")
@pytest.mark.parametrize("how", ["kill", "crash"])
@pytest.mark.parametrize("when_s", [0.0, 0.2, 1.0, 10.0, 603.3, 603.6])
def test_a_keeper_that_ends_in_any_state_harms_no_other(how: str, when_s: float) -> None:
    """Opening, in its first turn, waiting for a place, idle, about to close."""

    async def test(gateway: Gateway, disk: Conversations) -> None:
        await gateway.say("One.", uuid(1), KEYS[1])
        await trio.sleep(when_s)
        if how == "kill":
            gateway.keepers.kill(str(KEYS[1]))
        elif str(KEYS[1]) in disk.sessions:
            disk.sessions[str(KEYS[1])].crash()
        await gateway.say("Two.", uuid(2), KEYS[2])
        start = trio.current_time()
        await gateway.watcher.wait_ends(1)
        while not any(uuid(2) in end.items for end in gateway.watcher.ends):
            await gateway.watcher.wait_ends(len(gateway.watcher.ends) + 1)
        assert trio.current_time() - start < 6
        await run_out(gateway)
        assert Counter(item for end in gateway.watcher.ends for item in end.items) == {uuid(1): 1, uuid(2): 1}
        assert gateway.keepers.broken == {}

    run(test, Conversations())


@pytest.mark.promise("A22-c")
def test_a_turn_that_a_crash_cuts_is_resumed_by_the_next_incarnation() -> None:
    async def test(gateway: Gateway, disk: Conversations) -> None:
        await gateway.say("One.", uuid(1), KEYS[1])
        await trio.sleep(1.0)
        disk.sessions[str(KEYS[1])].crash()
        await gateway.watcher.wait_ends(1)
        assert gateway.watcher.ends[0].items == (uuid(1),)

    run(test, Conversations())


@pytest.mark.promise("A22-c")
@pytest.mark.parametrize(
    ("queue", "when_s", "where"), [("steer", 0.2, "unread"), ("steer", 1.0, "taken"), ("collect", 0.5, "held")]
)
def test_a_killed_keeper_leaves_its_inputs_to_the_next_one(queue: str, when_s: float, where: str) -> None:
    """Wherever the input is, nothing else has to come in for its session."""

    async def test(gateway: Gateway, disk: Conversations) -> None:
        await gateway.say("One.", uuid(1), KEYS[1], queue=queue)
        await trio.sleep(when_s)
        assert list(getattr(gateway.keepers._actors.keeper(KEYS[1]).items, where)) == [uuid(1)]
        assert gateway.keepers.kill(str(KEYS[1]))
        await gateway.watcher.wait_ends(1)
        assert gateway.watcher.ends[0].items == (uuid(1),)

    run(test, Conversations())


@pytest.mark.promise("A22-c")
def test_a_keeper_that_crashes_too_often_is_broken_until_it_is_reset() -> None:
    """RC-94: a session that cannot be opened is tried again, and sets no other one back."""
    opened: list[float] = []

    def fail(key: str) -> None:
        if key == str(KEYS[1]):
            opened.append(trio.current_time())
            raise RuntimeError("a bug")

    async def test(gateway: Gateway, disk: Conversations) -> None:
        await gateway.say("One.", uuid(1), KEYS[1])
        await trio.sleep(300)
        assert list(gateway.keepers.broken) == [str(KEYS[1])]
        assert len(opened) == 4
        await gateway.say("Two.", uuid(2), KEYS[1])
        await gateway.say("Three.", uuid(3), KEYS[0])
        await gateway.watcher.wait_ends(1)
        assert [end.items for end in gateway.watcher.ends] == [(uuid(3),)]

        disk.on_open = lambda _: None
        await gateway.keepers.reset(str(KEYS[1]), who="ada")
        await gateway.watcher.wait_ends(2)
        assert gateway.watcher.ends[1].items == (uuid(1), uuid(2))

    run(test, attrs.evolve(Conversations(), on_open=fail))


@pytest.mark.promise("A10-e")
@pytest.mark.parametrize("named", [True, False])
def test_a_cut_turn_that_waits_for_a_place_can_be_stopped(named: bool) -> None:
    """It is the cut turn that ends: a message that came after it is read."""

    async def test(gateway: Gateway, disk: Conversations) -> None:
        key, free = str(KEYS[1]), trio.Event()

        async def hold() -> None:
            async with gateway.lanes.place(str(KEYS[0]), "main"):
                await free.wait()

        async with trio.open_nursery() as nursery:
            await gateway.say("One.", uuid(1), KEYS[1])
            await trio.sleep(1.0)
            nursery.start_soon(hold)
            await trio.sleep(0.1)
            disk.sessions[key].crash()
            await trio.sleep(3.0)
            await gateway.say("Two.", uuid(2), KEYS[1])
            await trio.sleep(0.1)
            assert gateway.keepers.is_busy(key)
            assert await gateway.keepers.stop_turn(key, who="ada", item=uuid(1) if named else "")
            free.set()
        await run_out(gateway)
        ends = [(end.items, end.who) for end in gateway.watcher.ends]
        assert ends == [((uuid(1),), "ada"), ((uuid(2),), "")]
        assert gateway.record.registry.inbound == {}

    run(test, Conversations())


@pytest.mark.promise("A10-e")
def test_an_item_that_is_stopped_while_its_files_are_read_stays_stopped() -> None:
    """The files are read in a thread: what they tell is old when it comes."""

    async def test(gateway: Gateway, disk: Conversations) -> None:
        keeper = gateway.keepers._actors.keeper(KEYS[1])
        await gateway.say("One.", uuid(1), KEYS[1])
        await trio.sleep(1.0)
        assert list(keeper.items.taken) == [uuid(1)]

        def look_up(folder: Path, item: str) -> ItemFate:
            keeper.items.remove(item)  # as a stop does
            return ItemFate(is_read=True)

        keeper.parts, parts = attrs.evolve(keeper.parts, look_up=look_up), keeper.parts
        await settle_left(keeper, {uuid(1): False})
        keeper.parts = parts
        assert not keeper.items.handed
        keeper.items.add_cut(uuid(1), {})  # back, so that its turn ends as any other

    run(test, Conversations())
