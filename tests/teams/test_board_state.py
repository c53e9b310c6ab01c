"""The board's indexes against a plain search, whatever is asked of it: nothing is lost, done twice, or handed out wrongly."""

from __future__ import annotations

import attrs
import orjson
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from greenroom.core import Event
from greenroom.teams import (
    EVENTS,
    FOLDS,
    LEAD,
    BoardState,
    Edit,
    Item,
    ItemClaimed,
    ItemCompleted,
    ItemCreated,
    ItemReleased,
    ItemStatus,
    apply,
)
from greenroom.teams._board_items import MAX_FAILURES
from greenroom.teams._edits import EditRefused, plan_edit
from greenroom.teams._item_events import ItemEvent
from greenroom.trace import Codec, Entry, fold

MEMBERS = ("ann", "bob", "cid")
NAMES = st.sampled_from([*MEMBERS, LEAD])
NUMBERS = st.integers(1, 6).map(str)
LINKS = st.lists(NUMBERS, max_size=2).map(tuple)
CODEC = Codec(EVENTS)
STATUS = st.sampled_from([None, "pending", "in_progress", "completed", "deleted", "nonsense"])


class Boards(RuleBasedStateMachine):
    """Edits by anybody, ends of members, failures; after each step every answer of the board is searched for by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.state = BoardState()
        self.journal: list[ItemEvent] = []
        self.completed: list[str] = []
        self.ids: list[str] = []

    def record(self, *events: ItemEvent) -> None:
        for event in events:
            self.journal.append(event)
            if isinstance(event, ItemCompleted):
                self.completed.append(event.item)
            pure = apply(self.state, event)
            could = self.startable()
            freed = self.state.fold(event)
            assert self.state == pure
            assert {place_of(self.state.items[one]) for one in freed} == self.startable() - could

    def startable(self) -> set[tuple[str, str, tuple[str, ...]]]:
        return {place_of(item) for item in self.state.items.values() if is_startable(self.state, item)}

    @rule(links=LINKS)
    def create(self, links: tuple[str, ...]) -> None:
        item_id = str(self.state.last_id + 1)
        assert item_id not in self.ids
        self.ids.append(item_id)
        self.record(ItemCreated(item=item_id, subject="s", description="d", by=LEAD))
        self.edit(Edit(item=item_id, by=LEAD, add_blocked_by=tuple(link for link in links if link in self.state.items)))

    @rule(
        edit=st.builds(
            Edit,
            item=NUMBERS,
            by=NAMES,
            status=STATUS,
            owner=st.one_of(st.none(), st.sampled_from(["", LEAD, *MEMBERS])),
            subject=st.one_of(st.none(), st.text(max_size=2)),
            add_blocks=LINKS,
            add_blocked_by=LINKS,
        ),
        one_each=st.booleans(),
    )
    def change(self, edit: Edit, one_each: bool) -> None:
        self.edit(edit, one_each=one_each)

    def edit(self, edit: Edit, *, one_each: bool = False) -> None:
        before = self.state.items.get(edit.item)
        plan = plan_edit(self.state, edit, MEMBERS, one_each=one_each)
        if isinstance(plan, EditRefused):
            return
        assert before is not None
        if before.owner and edit.by not in {before.owner, LEAD} and before.status is not ItemStatus.COMPLETED:
            assert not any(isinstance(one, ItemCompleted | ItemClaimed | ItemReleased) for one in plan)
        if any(isinstance(claimed, ItemClaimed) for claimed in plan):
            assert not by_hand_blocked(self.state, before)
        self.record(*plan)

    @precondition(lambda self: self.state.claimable() is not None)
    @rule(member=st.sampled_from(MEMBERS))
    def hand_out(self, member: str) -> None:
        item = self.state.startable(member) or self.state.claimable(member)
        if item is not None:
            assert member not in item.returned_by
            self.record(ItemClaimed(item=item.id, owner=member))

    @rule(member=st.sampled_from(MEMBERS))
    def end(self, member: str) -> None:
        for item in self.state.owned(member):
            self.record(ItemReleased(item=item.id, owner=member, why="ended", is_failure=False))
        assert not self.state.owned(member)

    @rule(member=st.sampled_from(MEMBERS))
    def fail(self, member: str) -> None:
        for item in self.state.in_progress(member):
            self.record(ItemReleased(item=item.id, owner=member, why="failed", is_failure=True))

    @invariant()
    def answers_are_those_of_a_search(self) -> None:
        items = sorted(self.state.items.values(), key=lambda one: int(one.id))
        for owner in ("", *MEMBERS, LEAD):
            found = [item for item in items if item.owner == owner and is_startable(self.state, item)]
            answer = self.state.startable(owner) if owner else self.state.claimable()
            assert answer == (found[0] if found else None)
            free = [item for item in items if not item.owner and is_startable(self.state, item, owner)]
            assert self.state.claimable(owner) == (free[0] if free else None)
        for member in (*MEMBERS, LEAD):
            mine = [item for item in items if item.owner == member and item.status is not ItemStatus.COMPLETED]
            assert list(self.state.owned(member)) == mine
        for item in items:
            assert list(self.state.blocks(item.id)) == [
                each_item.id for each_item in items if item.id in each_item.blocked_by
            ]
            assert list(self.state.open_blockers(item)) == by_hand_blocked(self.state, item)
        assert self.state.is_done == (bool(items) and all(item.status is ItemStatus.COMPLETED for item in items))

    @invariant()
    def items_are_sound(self) -> None:
        for item in self.state.items.values():
            assert item.owner or item.status is not ItemStatus.IN_PROGRESS
            assert all(blocker in self.state.items for blocker in item.blocked_by), (
                "what is deleted is nowhere referred to"
            )
            assert item.id not in reachable(self.state, item)
        assert len(self.completed) == len(set(self.completed)), "nothing is done twice"

    def teardown(self) -> None:
        """The journal folds to the same board, by the functions and through its lines on disk."""
        entries = [Entry(number, 0.0, one.kind, one) for number, one in enumerate(self.journal, start=1)]
        world = fold(map(read_back, entries), FOLDS)

        items = [one for (_, __), one in world.section("items").items()]
        assert BoardState(items, world.section("boards").get("", 0)) == self.state
        assert not world.faults


def read_back(entry: Entry) -> Entry:
    event: Event = entry.event
    fields = (getattr(event, field.name) for field in attrs.fields(type(event)))
    return CODEC.decode(orjson.loads(CODEC.encode((entry.seq, entry.t, type(event), *fields), 0.0)))


def place_of(item: Item) -> tuple[str, str, tuple[str, ...]]:
    return item.id, item.owner, tuple(sorted(item.returned_by))


def is_startable(state: BoardState, item: Item, member: str = "") -> bool:
    is_good = item.failures < MAX_FAILURES and (item.owner or member) not in item.returned_by
    return item.status is ItemStatus.PENDING and is_good and not by_hand_blocked(state, item)


def by_hand_blocked(state: BoardState, item: Item) -> list[str]:
    found = [state.items.get(blocker) for blocker in item.blocked_by]
    return [one.id for one in found if one is not None and one.status is not ItemStatus.COMPLETED]


def reachable(state: BoardState, item: Item) -> set[str]:
    found: set[str] = set()
    to_visit = list(item.blocked_by)
    while to_visit:
        one = to_visit.pop()
        if one not in found:
            found.add(one)
            to_visit += state.items[one].blocked_by
    return found


TestBoards = Boards.TestCase
TestBoards.settings = settings(max_examples=60, stateful_step_count=40)
