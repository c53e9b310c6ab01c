"""Fifty claimers on two hundred items, under very many schedules: one gets each item, everybody else hears whose it is."""

from __future__ import annotations

import pytest

from greenroom.core import Level
from greenroom.teams import BoardState, Edit, ItemClaimed, ItemReleased, ItemStatus
from greenroom.teams._board import Board
from greenroom.teams._edits import EditRefused, plan_edit
from greenroom.teams._item_events import ItemEvent
from greenroom.testing import ExplorationFailed, Search, explore, pct
from tests.teams.claims import crowd


@pytest.mark.parametrize("strategy", ["random", pct(3)])
def test_fifty_claimers_take_two_hundred_items_under_any_schedule(
    strategy: Search | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RC-97: 40 schedules here, 10,000 in `make soak`; each with 200 claims and not one too many."""
    monkeypatch.setattr(Board, "journal", Level.LIFECYCLE)  # what the kernel says of each message costs a third

    explored = explore(crowd(), schedules=20, strategy=strategy, shrinks=0)

    assert explored.journals == explored.runs


def believed(state: BoardState, edit: Edit, *_: object, **__: object) -> list[ItemEvent] | EditRefused:
    """Plan a claim as if what its sender saw still held."""
    if edit.status != "in_progress" or not state.items[edit.item].owner:
        return plan_edit(state, edit)
    if state.items[edit.item].status is ItemStatus.COMPLETED:
        return EditRefused("already_resolved", "")
    was = state.items[edit.item].owner
    return [
        ItemReleased(item=edit.item, owner=was, why="it looked free", is_failure=False),
        ItemClaimed(item=edit.item, owner=edit.by),
    ]


def test_a_board_that_believes_what_its_claimers_saw_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scenario sees what it is there for: looking and claiming in two steps gives an item to two members."""
    monkeypatch.setattr("greenroom.teams._board.plan_edit", believed)

    with pytest.raises(ExplorationFailed):
        explore(crowd(claimers=8, items=16), schedules=20, shrinks=0)
