"""The board as its members and its lead see it: a real board, and members that are plain collectors of work."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from greenroom.core import JournalError, TurnFailed
from greenroom.mailbox import Lane
from greenroom.teams import LEAD, EditItem, ItemStatus
from greenroom.teams._board_items import MAX_FAILURES
from greenroom.teams._board_messages import (
    CreateItem,
    Edited,
    GiveBack,
    ItemAssignment,
    Join,
    Occupied,
    ReserveId,
    TurnOver,
)
from greenroom.teams._edits import EditRefused
from greenroom.teams._teammate_status import Availability
from tests.teams.situations import open_scene


async def settle() -> None:
    await trio.sleep(1)


async def test_an_idle_member_is_given_the_lowest_item_at_once(autojump_clock: MockClock) -> None:
    async with open_scene() as scene:
        await scene.join("ann")
        await scene.create("first")
        await scene.create("second")
        await settle()

        assert scene.work("ann") == ["1"]
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

        await scene.edit("3", LEAD, owner="ann", status="in_progress")
        await settle()

        assert scene.items[2].owner == "ann"
        assert scene.work("ann") == ["1", "3"]


async def test_an_owner_who_is_not_there_is_refused(autojump_clock: MockClock) -> None:
    async with open_scene() as scene:
        await scene.create()

        answer = await scene.edit("1", LEAD, owner="nobody")

        assert isinstance(answer, EditRefused)
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
        assert len(scene.told) == MAX_FAILURES + 1, "of each end once"


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

        assert len(scene.work("ann")) == MAX_FAILURES
        assert scene.items[0].status is ItemStatus.PENDING
        assert "Nobody is given it any more." in scene.told[-1]


async def test_a_board_that_comes_back_hands_out_what_waits(autojump_clock: MockClock) -> None:
    async with open_scene() as scene:
        await scene.create("first")
        await scene.join("ann")
        scene.home.ready.clear()  # as if the crash had come between the two
        scene.home.set_availability("ann", Availability.READY)
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
        scene.board.tell(CreateItem(subject="lost", description="", by=LEAD))
        await settle()

        assert scene.items == ()


async def test_a_member_that_is_given_an_item_is_told_and_begins_with_it_when_it_is_free(
    autojump_clock: MockClock,
) -> None:
    told: list[ItemAssignment] = []
    async with open_scene(tell_owner=told.append) as scene:
        await scene.join("ann")
        for subject in ("first", "second", "third"):
            await scene.create(subject)
        await settle()

        await scene.edit("3", LEAD, owner="ann")
        await settle()

        assert (scene.items[2].status, scene.items[2].owner) == (ItemStatus.PENDING, "ann")
        assert [(one.owner, one.item.subject, one.by) for one in told] == [("ann", "third", LEAD)]
        scene.say_idle("ann")
        await settle()
        assert scene.work("ann") == ["1", "3"], "what is its own comes before what is nobody's"


async def test_a_member_that_waits_is_handed_at_once_what_it_is_given(autojump_clock: MockClock) -> None:
    async with open_scene() as scene:
        await scene.create("first")
        await scene.edit("1", LEAD, owner=LEAD)
        await scene.join("ann")

        await scene.edit("1", LEAD, owner="ann")
        await settle()

        assert scene.work("ann") == ["1"]
        assert scene.items[0].status is ItemStatus.IN_PROGRESS


async def test_whoever_is_given_an_item_by_somebody_else_is_told(autojump_clock: MockClock) -> None:
    """The lead too, and nobody where the owner is taken away, or is who does it."""
    told: list[ItemAssignment] = []
    async with open_scene(tell_owner=told.append) as scene:
        await scene.create("first")
        ref = await scene.join("ann")
        await settle()
        await scene.create("second")

        await scene.edit("2", LEAD, owner="ann")
        await scene.edit("2", "ann", owner=LEAD)
        await scene.edit("2", LEAD, owner="")
        await scene.edit("2", "ann", owner="ann")

        assert [(one.owner, one.item.id, one.by) for one in told] == [("ann", "2", LEAD), (LEAD, "2", "ann")]
        assert not ref.is_gone


async def test_the_end_of_what_blocks_an_item_wakes_who_waits(autojump_clock: MockClock) -> None:
    """RC-100: its owner where it has one, anybody else otherwise."""
    async with open_scene() as scene:
        for subject in ("blocker", "owned", "free"):
            await scene.create(subject)
        await scene.edit("1", LEAD, add_blocks=("2", "3"), status="in_progress")
        for name in ("ann", "bob"):
            await scene.join(name)
        await settle()
        await scene.edit("2", LEAD, owner="bob")
        await settle()
        answer = await scene.edit("2", "bob", status="in_progress")
        assert isinstance(answer, EditRefused)
        assert (answer.reason, answer.items) == ("blocked", ("1",))
        scene.say_idle("bob")
        await settle()
        assert (scene.work("ann"), scene.work("bob")) == ([], [])

        await scene.edit("1", LEAD, status="completed")
        await settle()

        assert (scene.work("ann"), scene.work("bob")) == (["3"], ["2"])


async def test_deleting_what_blocks_an_item_frees_it_too(autojump_clock: MockClock) -> None:
    async with open_scene() as scene:
        await scene.create("blocker")
        await scene.create("blocked")
        await scene.edit("1", LEAD, add_blocks=("2",), status="in_progress")
        await scene.join("ann")
        await settle()

        await scene.edit("1", LEAD, status="deleted")
        await settle()

        assert scene.work("ann") == ["2"]
        assert scene.items[0].blocked_by == ()


async def test_what_a_member_that_ends_had_comes_back_and_the_lead_hears_of_all_of_it_at_once(
    autojump_clock: MockClock,
) -> None:
    """What it worked on, and what it had not begun; what it had completed stays its own."""
    async with open_scene() as scene:
        await scene.join("ann")
        for subject in ("done", "begun", "given"):
            await scene.create(subject)
        await settle()
        await scene.edit("1", "ann", status="completed")
        await scene.edit("2", "ann", status="in_progress")
        await scene.edit("3", LEAD, owner="ann")
        told = len(scene.told)

        scene.refs["ann"].kill()
        await settle()

        assert [(item.status.value, item.owner) for item in scene.items] == [
            ("completed", "ann"),
            ("pending", ""),
            ("pending", ""),
        ]
        (text,) = scene.told[told:]
        assert text.startswith("ann has ended (killed).")
        assert "#2 (begun)\n- #3 (given)" in text
        assert "#1" not in text


async def test_a_member_that_has_ended_takes_nothing_any_more(autojump_clock: MockClock) -> None:
    """Its claim may still wait at the board when it has ended; nobody would take the item back."""
    async with open_scene() as scene:
        ref = await scene.join("ann")
        await scene.create("first")
        await settle()
        ref.kill()
        await settle()

        answer = await scene.edit("1", "ann", status="in_progress")
        given = await scene.edit("1", LEAD, owner="ann")
        scene.board.tell(Join(member="ann", ref=ref), Lane.NOW)
        await settle()

        assert isinstance(answer, EditRefused)
        assert isinstance(given, EditRefused)
        assert (answer.reason, given.reason) == ("no_such_member", "no_such_member")
        assert (scene.items[0].owner, scene.home.members) == ("", {})


async def test_a_member_that_has_not_been_idle_yet_may_own_items_too(autojump_clock: MockClock) -> None:
    async with open_scene() as scene:
        ref = await scene.spawn("ann")
        scene.board.tell(Join(member="ann", ref=ref), Lane.NOW)
        await scene.create("first")
        await settle()
        assert scene.work("ann") == []

        await scene.edit("1", "ann", status="in_progress")
        ref.kill()
        await settle()

        assert scene.items[0].owner == ""


async def test_a_member_that_has_something_else_to_do_is_handed_nothing(autojump_clock: MockClock) -> None:
    settled: list[str] = []
    async with open_scene(settle=settled.append) as scene:
        await scene.join("ann")
        scene.board.tell(Occupied(member="ann"), Lane.NOW)
        await scene.create("first")
        await settle()
        assert (scene.work("ann"), settled) == ([], ["ann"])

        scene.say_idle("ann")
        await settle()

        assert (scene.work("ann"), settled) == (["1"], ["ann"])


async def test_where_each_may_have_one_item_nobody_is_handed_a_second(autojump_clock: MockClock) -> None:
    async with open_scene(one_each=True) as scene:
        await scene.join("ann")
        await scene.create("first")
        await scene.create("second")
        await settle()
        scene.say_idle("ann")
        await settle()
        assert scene.work("ann") == ["1"]
        assert not scene.home.has_claimable, "nobody may take it"

        await scene.edit("1", LEAD, status="pending", owner="")
        await settle()

        assert scene.work("ann") == ["1", "1"]
        answer = await scene.edit("2", LEAD, owner="ann", status="in_progress")
        assert isinstance(answer, EditRefused)
        assert (answer.reason, answer.items) == ("agent_busy", ("1",))


async def test_an_id_that_was_reserved_is_nobody_elses(autojump_clock: MockClock) -> None:
    async with open_scene() as scene:
        first = await scene.board.ask(ReserveId())
        refused = await scene.board.ask(ReserveId())
        other = await scene.create("other")
        late = await scene.create("late", id=first)

        assert (first, refused, other.id, late.id) == ("1", "2", "3", "1")
        assert [item.id for item in scene.items] == ["1", "3"]
        assert (await scene.create("next")).id == "4"


async def test_an_edit_says_what_was_and_what_is(autojump_clock: MockClock) -> None:
    async with open_scene() as scene:
        await scene.create("first")

        answer = await scene.edit("1", "ann", status="in_progress")

        assert isinstance(answer, Edited)
        assert answer.after is not None
        assert (answer.before.owner, answer.after.owner) == ("", "ann")


async def test_nothing_is_handed_out_that_could_not_be_put_on_record(autojump_clock: MockClock) -> None:
    is_full = False

    def check_open() -> None:
        if is_full:
            raise JournalError("journal.jsonl", "the disk is full")

    async with open_scene(check_open=check_open) as scene:
        await scene.create("own")
        await scene.create("free")
        await scene.edit("1", LEAD, owner=LEAD, status="in_progress")
        for name in ("ann", "bob"):
            await scene.join(name)
        await settle()
        assert scene.work("ann") == ["2"]
        is_full = True
        await scene.edit("1", LEAD, owner="bob")
        await settle()
        assert scene.work("bob") == []

        is_full = False
        scene.say_idle("bob")
        await settle()

        assert scene.work("bob") == ["1"]


async def test_metadata_that_cannot_be_kept_makes_no_item(autojump_clock: MockClock) -> None:
    async with open_scene() as scene:
        answer: Any = await scene.board.ask(
            CreateItem(subject="s", description="", by=LEAD, metadata={"a": "x" * 20_000})
        )

        assert isinstance(answer, EditRefused)
        assert scene.items == ()


async def test_of_a_new_item_too_long_texts_are_cut(autojump_clock: MockClock) -> None:
    """CL-27."""
    async with open_scene() as scene:
        item = await scene.create("x" * 1_000, active_form="y" * 1_000)

        assert (len(item.subject), len(item.active_form)) == (500, 500)
