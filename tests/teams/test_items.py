"""The board's rules, as pure functions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from greenroom.teams import (
    MAX_FAILURES,
    BoardState,
    Edit,
    ItemClaimed,
    ItemCompleted,
    ItemCreated,
    ItemEvent,
    ItemReleased,
    ItemStatus,
    Refused,
    apply,
    plan_edit,
)

NAMES = st.sampled_from(["ann", "bob"])
IDS = st.sampled_from(["1", "2", "3", "9"])
EDITS = st.builds(
    Edit,
    item=IDS,
    by=NAMES,
    status=st.sampled_from([None, "pending", "in_progress", "completed", "deleted", "nonsense"]),
    owner=st.one_of(st.none(), NAMES),
    subject=st.one_of(st.none(), st.text(max_size=3)),
    add_blocked_by=st.lists(IDS, max_size=2).map(tuple),
)


def board(*subjects: str) -> BoardState:
    state = BoardState()
    for subject in subjects:
        item_id = str(state.last_id + 1)
        state = apply(state, ItemCreated(item=item_id, subject=subject, description="", by="lead"))
    return state


def edited(state: BoardState, edit: Edit) -> BoardState:
    plan = plan_edit(state, edit)
    assert not isinstance(plan, Refused), plan
    for event in plan:
        state = apply(state, event)
    return state


def reason(state: BoardState, edit: Edit) -> str:
    plan = plan_edit(state, edit)
    assert isinstance(plan, Refused)
    return plan.reason


@given(st.lists(EDITS, max_size=20))
def test_whatever_is_asked_for_an_item_in_progress_has_an_owner_and_a_pending_one_has_none(edits: list[Edit]) -> None:
    state = board("one", "two", "three")
    for edit in edits:
        before = state
        plan = plan_edit(state, edit, ("ann", "bob"))
        events = [] if isinstance(plan, Refused) else plan
        for event in events:
            state = apply(state, event)
        for item in state.items.values():
            if item.status is ItemStatus.PENDING:
                assert not item.owner
            if item.status is ItemStatus.IN_PROGRESS:
                assert item.owner
            was = before.items[item.id]
            assert not (was.status is ItemStatus.COMPLETED and item.status is not ItemStatus.COMPLETED)
            assert not (was.owner and item.owner and was.owner != item.owner), "nobody takes what is somebody's"
        claimable = state.claimable()
        if claimable is not None:
            assert claimable.status is ItemStatus.PENDING
            assert not state.open_blockers(claimable)


@given(st.lists(EDITS, max_size=10))
def test_an_id_is_never_used_again(edits: list[Edit]) -> None:
    state = board("one", "two", "three")
    for edit in edits:
        plan = plan_edit(state, edit)
        for event in [] if isinstance(plan, Refused) else plan:
            state = apply(state, event)

    state = apply(state, ItemCreated(item=str(state.last_id + 1), subject="new", description="", by="lead"))

    assert list(state.items)[-1] == "4"


def test_an_item_in_progress_is_its_owners() -> None:
    state = edited(board("one"), Edit(item="1", by="ann", status="in_progress"))

    assert state.items["1"].owner == "ann"
    assert reason(state, Edit(item="1", by="bob", status="in_progress")) == "already_claimed"


def test_a_blocked_item_waits_for_what_blocks_it() -> None:
    state = edited(board("one", "two"), Edit(item="1", by="ann", add_blocked_by=("2",)))

    assert reason(state, Edit(item="1", by="ann", status="in_progress")) == "blocked"
    claimable = state.claimable()
    assert claimable is not None
    assert claimable.id == "2"
    state = edited(state, Edit(item="2", by="bob", status="completed"))
    unblocked = state.claimable()
    assert unblocked is not None
    assert unblocked.id == "1"


def test_a_completed_item_stays_completed() -> None:
    state = edited(board("one"), Edit(item="1", by="ann", status="completed"))

    assert plan_edit(state, Edit(item="1", by="bob", status="completed")) == []
    assert reason(state, Edit(item="1", by="bob", status="pending")) == "already_resolved"


def test_an_item_that_comes_back_again_and_again_is_not_handed_out_any_more() -> None:
    state = board("one")
    events: list[ItemEvent] = [
        ItemClaimed(item="1", owner="ann"),
        ItemReleased(item="1", owner="ann", why="failed", is_failure=True),
    ] * MAX_FAILURES
    for event in events:
        state = apply(state, event)

    assert state.claimable() is None
    assert state.items["1"].status is ItemStatus.PENDING


def test_nobody_is_given_an_item_who_is_not_there() -> None:
    assert reason(board("one"), Edit(item="1", by="ann", owner="nobody")) == "no_such_member"


def test_an_unknown_item_is_named() -> None:
    plan = plan_edit(board("one"), Edit(item="7", by="ann", status="completed"))

    assert plan == Refused("task_not_found", "there is no task #7")


def test_a_board_is_done_when_every_item_is() -> None:
    state = board("one", "two")

    assert not BoardState().is_done
    state = apply(state, ItemCompleted(item="1", by="ann"))
    assert not state.is_done
    assert apply(state, ItemCompleted(item="2", by="ann")).is_done
