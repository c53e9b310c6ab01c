"""Edits of an item, who may make them, and their effect: the board's rules as pure functions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import IllegalTransition
from greenroom.teams import (
    LEAD,
    TRANSITIONS,
    BoardState,
    Edit,
    Item,
    ItemClaimed,
    ItemCompleted,
    ItemCreated,
    ItemDeleted,
    ItemEdited,
    ItemReleased,
    ItemStatus,
    apply,
)
from greenroom.teams._board_items import MAX_FAILURES
from greenroom.teams._edits import EditRefused, plan_edit
from tests.teams.situations import board, edited, refused


def test_an_item_in_progress_is_its_owners() -> None:
    """RC-97: claiming, completing, giving back and deleting look at the owner in the step that changes it."""
    state = edited(board("one"), "1", "ann", status="in_progress")

    assert state.items["1"].owner == "ann"
    for wanted in ("in_progress", "completed", "deleted"):
        assert refused(state, "1", "bob", status=wanted).reason == "already_claimed"
    assert refused(state, "1", "bob", status="pending").reason == "already_claimed"
    assert refused(state, "1", "bob", owner="bob").reason == "already_claimed"
    assert refused(state, "1", "bob", owner="").reason == "already_claimed"


@pytest.mark.parametrize("by", ["ann", LEAD])
def test_its_owner_and_the_lead_complete_it_and_give_it_back(by: str) -> None:
    state = edited(board("one"), "1", "ann", status="in_progress")

    back = edited(state, "1", by, status="pending").items["1"]

    assert (back.status, back.owner) == (ItemStatus.PENDING, "")
    assert edited(state, "1", by, status="completed").items["1"].status is ItemStatus.COMPLETED
    assert edited(state, "1", by, owner="").items["1"] == back
    assert edited(state, "1", by, status="deleted").items == {}


def test_who_completes_what_is_nobodys_has_done_it() -> None:
    assert edited(board("one"), "1", "ann", status="completed").items["1"].owner == "ann"
    assert edited(board("one"), "1", LEAD, status="completed").items["1"].owner == ""
    assert edited(board("one"), "1", LEAD, members=("bob",), status="completed", owner="bob").items["1"].owner == "bob"


def test_being_given_an_item_is_not_beginning_with_it() -> None:
    state = edited(board("one"), "1", LEAD, members=("ann",), owner="ann")

    assert (state.items["1"].status, state.items["1"].owner) == (ItemStatus.PENDING, "ann")
    assert state.claimable() is None
    assert state.startable("ann") == state.items["1"]
    assert refused(state, "1", "bob", status="in_progress").reason == "already_claimed"
    assert edited(state, "1", "ann", status="in_progress").items["1"].status is ItemStatus.IN_PROGRESS


def test_an_item_in_progress_that_is_handed_over_is_pending_again() -> None:
    state = edited(board("one"), "1", "ann", status="in_progress")

    state = edited(state, "1", LEAD, members=("ann", "bob"), owner="bob")

    assert (state.items["1"].status, state.items["1"].owner) == (ItemStatus.PENDING, "bob")


def test_who_is_told_to_begin_has_it_in_progress() -> None:
    state = edited(board("one"), "1", LEAD, members=("ann",), owner="ann", status="in_progress")

    assert (state.items["1"].status, state.items["1"].owner) == (ItemStatus.IN_PROGRESS, "ann")
    assert plan_edit(state, Edit(item="1", by="ann", status="in_progress")) == []
    assert plan_edit(state, Edit(item="1", by=LEAD, status="in_progress", owner="")) == []


def test_what_waits_for_something_open_cannot_be_begun() -> None:
    """RC-100."""
    state = edited(board("one", "two", "three"), "1", LEAD, add_blocked_by=("2", "3"))
    state = edited(state, "3", "bob", status="completed")

    no = refused(state, "1", "ann", status="in_progress")
    assert (no.reason, no.items) == ("blocked", ("2",))
    assert refused(state, "1", LEAD, status="in_progress").reason == "blocked"
    assert refused(state, "1", "ann", status="completed").reason == "blocked"
    assert [claim.id for claim in claims(state)] == ["2"]

    state = edited(state, "2", "bob", status="completed")
    assert [claim.id for claim in claims(state)] == ["1"]


def claims(state: BoardState) -> list[Item]:
    item = state.claimable()
    return [] if item is None else [item]


def test_links_go_both_ways_and_end_with_what_they_lead_to() -> None:
    state = edited(board("one", "two", "three"), "1", LEAD, add_blocks=("2", "3"))

    assert state.blocks("1") == ("2", "3")
    assert state.items["2"].blocked_by == ("1",)
    state = edited(state, "1", LEAD, status="deleted")
    assert [item.blocked_by for item in state.in_order()] == [(), ()]
    assert [claim.id for claim in claims(state)] == ["2"]


def test_nothing_comes_to_wait_for_itself() -> None:
    state = edited(board("one", "two", "three"), "1", LEAD, add_blocked_by=("2",))
    state = edited(state, "2", LEAD, add_blocked_by=("3",))

    assert refused(state, "3", LEAD, add_blocked_by=("1",)).items == ("3", "1", "2", "3")
    assert refused(state, "1", LEAD, add_blocks=("3",)).items == ("1", "2", "3", "1")
    assert refused(state, "1", LEAD, add_blocked_by=("1",)).items == ("1", "1")
    assert refused(board("one"), "1", LEAD, add_blocks=("1",)).items == ("1", "1")
    no = refused(board("one", "two"), "1", LEAD, add_blocks=("2",), add_blocked_by=("2",))
    assert (no.reason, no.items) == ("cycle", ("1", "2", "1"))


def test_a_member_that_works_on_an_item_is_refused_another_where_each_may_have_one() -> None:
    state = edited(board("one", "two"), "1", "ann", status="in_progress")

    assert edited(state, "2", "ann", status="in_progress").items["2"].owner == "ann"
    no = refused(state, "2", "ann", one_each=True, status="in_progress")
    assert (no.reason, no.items) == ("agent_busy", ("1",))


def test_a_completed_item_stays_completed() -> None:
    state = edited(board("one"), "1", "ann", status="completed")

    assert plan_edit(state, Edit(item="1", by="bob", status="completed")) == []
    for wanted in ("pending", "in_progress"):
        assert refused(state, "1", LEAD, status=wanted).reason == "already_resolved"
    assert refused(state, "1", LEAD, members=("bob",), owner="bob").reason == "already_resolved"
    with pytest.raises(IllegalTransition):
        apply(state, ItemClaimed(item="1", owner="ann"))


def test_every_status_has_its_row() -> None:
    assert set(TRANSITIONS) == set(ItemStatus)


def test_an_item_that_comes_back_again_and_again_is_not_handed_out_any_more_save_by_name() -> None:
    state = board("one")
    for _ in range(MAX_FAILURES):
        assert state.claimable() is not None
        state = apply(state, ItemClaimed(item="1", owner="ann"))
        state = apply(state, ItemReleased(item="1", owner="ann", why="failed", is_failure=True))

    assert state.claimable() is None
    state = edited(state, "1", LEAD, members=("bob",), owner="bob")
    assert state.startable("bob") is not None


def test_nobody_is_given_an_item_who_is_not_there() -> None:
    no = refused(board("one"), "1", LEAD, members=("ann", "bob"), owner="anna")

    assert no.reason == "no_such_member"
    assert "'ann'" in no.text


def test_an_unknown_item_is_named() -> None:
    assert refused(board("one"), "7", "ann", status="completed") == EditRefused("task_not_found", "there is no task #7")
    assert refused(board("one"), "1", "ann", add_blocks=("7",)) == EditRefused("task_not_found", "there is no task #7")


def test_a_refused_edit_changes_nothing_of_what_else_it_wanted() -> None:
    state = edited(board("one"), "1", "ann", status="in_progress")

    no = refused(state, "1", "bob", subject="mine", status="in_progress")

    assert no.reason == "already_claimed"


def test_texts_that_are_too_long_are_cut_and_say_so() -> None:
    """CL-27."""
    state = edited(board("one"), "1", "ann", subject="x" * 1_000, description="y" * 200_000, active_form="z" * 1_000)

    item = state.items["1"]
    assert (len(item.subject), len(item.description), len(item.active_form)) == (500, 50_000, 500)
    assert item.subject.endswith("... [cut, it had 1,000 characters]")


def test_metadata_is_merged_by_key_and_null_takes_a_key_away() -> None:
    state = edited(board("one"), "1", "ann", metadata={"kept": 1, "gone": [2]})

    state = edited(state, "1", "ann", metadata={"gone": None, "new": {"a": None}, "never": None})

    assert state.items["1"].metadata == {"kept": 1, "new": {"a": None}}
    assert plan_edit(state, Edit(item="1", by="ann", metadata={"kept": 1, "never": None})) == []


@pytest.mark.parametrize("metadata", [{"a": "x" * 20_000}, {"a": float("nan")}, {"a": object()}])
def test_metadata_that_cannot_be_kept_is_refused(metadata: dict[str, Any]) -> None:
    assert refused(board("one"), "1", "ann", metadata=metadata).reason == "invalid"


def test_a_change_that_changes_nothing_is_no_event() -> None:
    state = edited(board("one"), "1", "ann", description="d", add_blocked_by=())

    assert plan_edit(state, Edit(item="1", by="ann", subject="one", description="d", owner="")) == []


def test_an_edit_says_of_the_long_texts_only_what_changed() -> None:
    (event,) = plan_list(board("one"), Edit(item="1", by="ann", metadata={"a": 1}))

    assert isinstance(event, ItemEdited)
    assert (event.subject, event.description, event.active_form) == ("one", None, None)


def plan_list(state: BoardState, edit: Edit) -> list[Any]:
    plan = plan_edit(state, edit)
    assert not isinstance(plan, EditRefused)
    return list(plan)


def test_a_board_is_done_when_every_item_is() -> None:
    state = board("one", "two")

    assert not BoardState().is_done
    state = apply(state, ItemCompleted(item="1", by="ann"))
    assert not state.is_done
    assert apply(state, ItemCompleted(item="2", by="ann")).is_done


def test_items_are_listed_by_number() -> None:
    """CL-47: 2 comes before 10, and before what was created earlier with a higher number."""
    state = BoardState()
    for number in (3, *range(4, 12), 2):
        state.fold(ItemCreated(item=str(number), subject="", description="", by=LEAD))

    assert [item.id for item in state.in_order()] == [str(number) for number in range(2, 12)]
    assert [item.id for item in BoardState(state.items.values()).in_order()] == [str(n) for n in range(2, 12)]
    assert [claim.id for claim in claims(state)] == ["2"]


@given(st.lists(st.booleans(), max_size=20))
def test_an_id_is_never_used_again(deletions: list[bool]) -> None:
    """RC-96: what an id names stays what it named."""
    state = board("one")
    for is_deleted in deletions:
        if is_deleted:
            state = apply(state, ItemDeleted(item=str(state.last_id), by=LEAD))
        created = str(state.last_id + 1)
        assert created not in state.items
        state = apply(state, ItemCreated(item=created, subject="new", description="", by=LEAD))

    assert state.last_id == len(deletions) + 1
