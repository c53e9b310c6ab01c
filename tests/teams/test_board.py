"""The board as its members and its lead see it: a real board, and members that are plain collectors of work."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.actors import Behavior, Context, Ref
from greenroom.agents import Note, Work
from greenroom.core import TurnFailed
from greenroom.mailbox import Delivery, Lane
from greenroom.supervisor import Backoff, ChildSpec, Restart, Runtime, SupervisorSpec, open_runtime
from greenroom.teams import (
    MAX_FAILURES,
    Board,
    BoardHome,
    CreateItem,
    Edit,
    EditItem,
    GiveBack,
    Idle,
    Item,
    ItemStatus,
    Refused,
    TurnOver,
)
from greenroom.testing import run_virtual, virtual_ports


class Member(Behavior[Work]):
    """Keeps the work that it is given."""

    def __init__(self, given_to: list[Work]) -> None:
        self._given = given_to

    async def on_message(self, message: Work, ctx: Context) -> None:
        self._given.append(message)


@attrs.define(kw_only=True, eq=False)
class Scene:
    runtime: Runtime
    home: BoardHome
    board: Ref[Any]
    told: list[str]
    work: dict[str, list[Work]]
    refs: dict[str, Ref[Any]]

    async def join(self, name: str) -> Ref[Any]:
        self.work[name] = []
        self.refs[name] = await self.runtime.spawn(Member, self.work[name], name=name)
        self.say_idle(name)
        return self.refs[name]

    def say_idle(self, name: str) -> None:
        self.board.tell(Idle(member=name, ref=self.refs[name]), Lane.NOW)

    async def create(self, subject: str = "one") -> Item:
        return await self.board.ask(CreateItem(subject=subject, description="", by="lead"))

    async def edit(self, item: str, by: str, **changes: Any) -> Item | Refused | None:
        return await self.board.ask(EditItem(edit=Edit(item=item, by=by, **changes)))

    @property
    def items(self) -> tuple[Item, ...]:
        return tuple(self.home.state.items.values())


@asynccontextmanager
async def open_scene() -> AsyncIterator[Scene]:
    told: list[str] = []

    def tell_lead(note: Note) -> Delivery:
        told.append(note.text)
        return Delivery.ACCEPTED

    home = BoardHome(tell_lead=tell_lead)
    spec = SupervisorSpec(backoff=Backoff(first_s=0.0))
    async with open_runtime(ports=virtual_ports(), spec=spec) as runtime:
        board: Ref[Any] = await runtime.spawn(Board, home, name="board", spec=ChildSpec(restart=Restart.PERMANENT))
        home.board = board
        yield Scene(runtime=runtime, home=home, board=board, told=told, work={}, refs={})


async def settle() -> None:
    await trio.sleep(1)


async def test_an_idle_member_is_given_the_lowest_item_at_once(autojump_clock: MockClock) -> None:
    async with open_scene() as scene:
        await scene.join("ann")
        await scene.create("first")
        await scene.create("second")
        await settle()

        assert [work.label for work in scene.work["ann"]] == ["1"]
        assert [(item.owner, item.status) for item in scene.items] == [
            ("ann", ItemStatus.IN_PROGRESS),
            ("", ItemStatus.PENDING),
        ]


async def test_a_member_that_the_lead_names_is_given_the_work(autojump_clock: MockClock) -> None:
    async with open_scene() as scene:
        await scene.join("ann")
        await scene.join("bob")
        await scene.create("first")
        await scene.create("second")
        await settle()
        await scene.create("third")

        item = await scene.edit("3", "lead", owner="ann")
        await settle()

        assert isinstance(item, Item)
        assert item.owner == "ann"
        assert [work.label for work in scene.work["ann"]] == ["1", "3"]


async def test_an_owner_who_is_not_there_is_refused(autojump_clock: MockClock) -> None:
    async with open_scene() as scene:
        await scene.create()

        answer = await scene.edit("1", "lead", owner="nobody")

        assert isinstance(answer, Refused)
        assert answer.reason == "no_such_member"


async def test_the_lead_hears_of_a_turn_that_ended_without_its_item(autojump_clock: MockClock) -> None:
    async with open_scene() as scene:
        await scene.join("ann")
        await scene.create("first")
        await settle()

        scene.board.tell(TurnOver(member="ann", item="1"), Lane.NOW)
        await settle()

        (told,) = scene.told
        assert "ann ended its turn without completing task #1" in told


async def test_members_that_end_do_not_wear_an_item_out(autojump_clock: MockClock) -> None:
    async with open_scene() as scene:
        await scene.create("first")
        for number in range(MAX_FAILURES + 1):
            name = f"victim-{number}"
            ref = await scene.join(name)
            await settle()
            ref.kill()
            scene.say_idle(name)  # what it said last arrives after its end
            await settle()
        await scene.join("ann")
        await settle()

        assert [(item.owner, item.failures) for item in scene.items] == [("ann", 0)]


async def test_an_item_that_fails_again_and_again_is_kept_back_and_the_lead_is_told(
    autojump_clock: MockClock,
) -> None:
    async with open_scene() as scene:
        await scene.join("ann")
        await scene.create("first")
        for _ in range(MAX_FAILURES):
            await settle()
            scene.board.tell(GiveBack(member="ann", item="1", why="no luck", is_failure=True), Lane.NOW)
            scene.say_idle("ann")
        await settle()

        assert len(scene.work["ann"]) == MAX_FAILURES
        assert scene.items[0].status is ItemStatus.PENDING
        assert scene.told[-1].endswith("Nobody is given it any more.")


async def test_a_board_that_comes_back_hands_out_what_waits(autojump_clock: MockClock) -> None:
    async with open_scene() as scene:
        await scene.create("first")
        await scene.join("ann")
        scene.home.waiting.clear()  # as if the crash had come between the two
        scene.home.waiting["ann"] = scene.refs["ann"]
        await settle()
        await scene.create("second")
        with pytest.raises(TurnFailed):
            await scene.board.ask(EditItem(edit=None))  # type: ignore[arg-type]  # crashes it
        await settle()

        assert scene.board.pinned().incarnation == 2
        assert len(scene.items) == 2
        victim = scene.refs["ann"]
        victim.kill()
        await settle()
        assert {item.owner for item in scene.items} == {""}, "the new incarnation hears of the end too"


async def test_a_command_that_nobody_waits_for_changes_nothing(autojump_clock: MockClock) -> None:
    async with open_scene() as scene:
        scene.board.tell(CreateItem(subject="lost", description="", by="lead"))
        await settle()

        assert scene.items == ()


@given(
    choices=st.lists(st.integers(0, 7), max_size=60),
    members=st.integers(1, 6),
    items=st.integers(1, 12),
    kills=st.sets(st.integers(0, 5)),
)
def test_under_any_schedule_every_item_has_one_owner_and_is_done_once(
    choices: list[int], members: int, items: int, kills: set[int]
) -> None:
    async def run() -> None:
        done: list[str] = []

        class Worker(Behavior[Work]):
            def __init__(self, name: str, board: Ref[Any]) -> None:
                self._name = name
                self._board = board

            async def on_start(self, ctx: Context) -> None:
                self._board.tell(Idle(member=self._name, ref=ctx.ref), Lane.NOW)

            async def on_message(self, message: Work, ctx: Context) -> None:
                await trio.sleep(1)
                edit = Edit(item=message.label, by=self._name, status="completed")
                answer = await self._board.ask(EditItem(edit=edit))
                assert isinstance(answer, Item), answer
                done.append(message.label)
                self._board.tell(Idle(member=self._name, ref=ctx.ref), Lane.NOW)

        async with open_scene() as scene:
            refs = [await scene.runtime.spawn(Worker, f"w{n}", scene.board, name=f"w{n}") for n in range(members)]
            for _ in range(items):
                await scene.create()
            await trio.sleep(0.5)
            survivors = [ref for number, ref in enumerate(refs) if number not in kills]
            for number in kills:
                if number < members:
                    refs[number].kill()
            await trio.sleep(100)
            if survivors:
                assert {item.status for item in scene.items} == {ItemStatus.COMPLETED}
                assert sorted(done) == sorted(item.id for item in scene.items)

    run_virtual(run, choices=choices)
