"""Every board comes to rest: whatever members do with what they are handed, nobody is handed an item forever.

The plan says what each member does with each item that it is handed, again and again forever; none of them tires of it. Between
two looks of the lead, the board stops by itself, and each item that could be begun says why it is not handed out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import Final

from hypothesis import example, given, settings
from hypothesis import strategies as st

from greenroom.teams import LEAD, BoardState, Edit, Item, ItemClaimed, ItemCreated, ItemReleased, ItemStatus
from greenroom.teams._board_items import MAX_FAILURES
from greenroom.teams._edits import EditRefused, plan_edit

MEMBERS: Final = ("ann", "bob", "cid", "dan")
ACTS: Final = (
    "complete",
    "give back",
    "pause",
    "say no owner",
    "hand on",
    "fail",
    "note and give back",
    "say more and give back",
    "wait for another",
    "wait for another later",
    "wait for what is done",
    "keep",
)
LOOKS: Final = ("say more", "rename", "give by name", "note", "take back")
PLANS = st.lists(st.lists(st.sampled_from(ACTS), min_size=1, max_size=4), min_size=1, max_size=len(MEMBERS))


class Crew:
    """A board, and members that do the same things with its items forever."""

    def __init__(self, plans: Sequence[Sequence[str]], items: int) -> None:
        self.members = MEMBERS[: len(plans)]
        self.acts: dict[str, Iterator[str]] = dict(zip(self.members, map(cycle, plans), strict=True))
        self.state = BoardState()
        self.said = 0
        for number in range(1, items + 1):
            self.state.fold(ItemCreated(item=str(number), subject="s", description="d", by=LEAD))

    def run(self, most: int) -> int:
        """Hand out until nobody is handed anything; returns how often that was."""
        count = 0
        while (given := self.next_up()) is not None:
            item, member = given
            count += 1
            assert count <= most, f"no end: {item}"
            self.state.fold(ItemClaimed(item=item.id, owner=member))
            self.act(member, item.id, next(self.acts[member]))
        return count

    def next_up(self) -> tuple[Item, str] | None:
        for member in self.members:
            item = self.state.startable(member) or self.state.claimable(member)
            if item is not None:
                return item, member
        return None

    def act(self, member: str, item: str, act: str) -> None:
        self.said += 1
        others = [each_member for each_member in self.members if each_member != member] or [member]
        pending = [
            each_item.id
            for each_item in self.state.in_order()
            if each_item.status is ItemStatus.PENDING and each_item.id != item
        ]
        done = [item.id for item in self.state.in_order() if item.status is ItemStatus.COMPLETED]
        match act:
            case "complete":
                self.edit(item, member, status="completed")
            case "give back":
                self.edit(item, member, status="pending")
            case "pause":
                self.edit(item, member, status="pending", owner=member)
            case "say no owner":
                self.edit(item, member, owner="")
            case "hand on":
                self.edit(item, member, owner=others[self.said % len(others)])
            case "fail":
                self.state.fold(ItemReleased(item=item, owner=member, why="failed", is_failure=True))
            case "note and give back":
                self.edit(item, member, metadata={"tries": self.said})
                self.edit(item, member, status="pending")
            case "say more and give back":
                self.edit(item, member, description=f"and {self.said}", status="pending")
            case "wait for another":
                self.edit(item, member, add_blocked_by=tuple(pending[:1]), status="pending")
            case "wait for another later":
                self.edit(item, member, status="pending")
                self.edit(item, member, add_blocked_by=tuple(pending[:1]))
            case "wait for what is done":
                self.edit(item, member, add_blocked_by=tuple(done[:1]), status="pending")
            case _:
                pass

    def edit(self, item: str, by: str, **changes: object) -> None:
        plan = plan_edit(self.state, Edit(item=item, by=by, **changes), MEMBERS)  # type: ignore[arg-type]
        if not isinstance(plan, EditRefused):
            for event in plan:
                self.state.fold(event)

    def look(self, what: str, item: str) -> None:
        """Make the lead do something about an item."""
        self.said += 1
        match what:
            case "say more":
                self.edit(item, LEAD, description=f"really, {self.said}")
            case "rename":
                self.edit(item, LEAD, subject=f"s{self.said}")
            case "give by name":
                self.edit(item, LEAD, owner=self.members[self.said % len(self.members)])
            case "note":
                self.edit(item, LEAD, metadata={"seen": self.said})
            case _:
                self.edit(item, LEAD, owner="")


@settings(max_examples=200)
@example(plans=[["give back"]], items=1, looks=[])
@example(plans=[["pause"]], items=1, looks=[])
@example(plans=[["hand on"], ["hand on"]], items=1, looks=[])
@example(plans=[["say more and give back"], ["say more and give back"]], items=2, looks=[])
@example(plans=[["complete", "wait for what is done"]], items=2, looks=[])
@given(
    plans=PLANS,
    items=st.integers(1, 4),
    looks=st.lists(st.tuples(st.sampled_from(LOOKS), st.integers(0, 3)), max_size=4),
)
def test_no_board_hands_an_item_out_forever(plans: list[list[str]], items: int, looks: list[tuple[str, int]]) -> None:
    """Between two looks of the lead an item is handed out at most three times, and once more for each item that it came to wait for."""
    crew = Crew(plans, items)
    most = items * (MAX_FAILURES + items)

    crew.run(most)
    for what, number in looks:
        crew.look(what, str(number % items + 1))
        crew.run(most)

    for item in crew.state.in_order():
        if item.status is ItemStatus.PENDING and not crew.state.open_blockers(item):
            assert item.held_back
            assert item.is_held_back or {*item.returned_by} >= {item.owner or member for member in crew.members}


@given(plans=PLANS, what=st.sampled_from(["say more", "rename", "give by name"]))
def test_what_the_lead_changed_is_handed_out_again(plans: list[list[str]], what: str) -> None:
    crew = Crew([["pause"], *plans[:-1]], items=1)
    crew.run(2 * MAX_FAILURES)
    if crew.state.items["1"].status is not ItemStatus.PENDING:
        return

    crew.look(what, "1")

    assert crew.next_up() is not None
    assert not crew.state.items["1"].held_back


def test_who_gave_an_item_back_is_not_handed_it_again_and_another_is() -> None:
    crew = Crew([["give back"], ["keep"]], items=1)

    assert crew.run(2) == 2

    item = crew.state.items["1"]
    assert (item.owner, item.returned_by, item.failures) == ("bob", ("ann",), 1)


def test_a_change_of_somebody_else_lets_it_be_handed_to_who_gave_it_back() -> None:
    crew = Crew([["give back"]], items=1)
    crew.run(1)
    crew.edit("1", "ann", description="what I found")
    assert crew.state.claimable("ann") is None, "its own change is none"

    crew.edit("1", "bob", description="what you need")

    assert crew.state.claimable("ann") is not None
    assert crew.state.items["1"].failures == 1, "only the lead's word begins anew"


def test_what_waited_for_another_item_is_handed_out_when_that_is_done() -> None:
    """The order in which a model says that it gives it back, and what for, makes no difference."""
    for way in ("wait for another", "wait for another later"):
        crew = Crew([[way, "complete", "complete"]], items=2)

        crew.run(3)

        assert crew.state.is_done
