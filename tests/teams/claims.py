"""Many claimers on one board: each looks at the list, takes what it saw free, works, completes; under any schedule.

What a claimer sees may be somebody else's by the time its claim is read, which is the point: of those that saw the same, one gets
it, and the others are told whose it is. Used by the tests, and by `python -m tools.soak.claims` for very many schedules.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import trio

from greenroom.actors import Behavior, Context, Ref
from greenroom.core import event_of
from greenroom.supervisor import ChildSpec, Restart
from greenroom.teams import BoardState, Edit, EditItem, Item, ItemClaimed, ItemCompleted, ItemStatus
from greenroom.teams._board import Board, BoardHome
from greenroom.teams._board_messages import Edited, Join
from greenroom.teams._edits import EditRefused
from greenroom.teams._item_events import ItemEvent
from greenroom.testing import Sim

CLAIMERS: Final = 50
ITEMS: Final = 200
NEAR: Final = 20
"""Claimers choose among so many of the first free items: fewer than there are claimers, so that some want the same."""


class Claimer(Behavior[str]):
    """Claims and completes until nothing is free."""

    def __init__(self, number: int, home: BoardHome, board: Ref[Any], lost: list[EditRefused]) -> None:
        self._number = number
        self._name = f"c{number}"
        self._home = home
        self._board = board
        self._lost = lost

    async def on_message(self, message: str, ctx: Context) -> None:
        self._board.tell(Join(member=self._name, ref=ctx.ref))
        while (item_id := first_free(self._home.state, self._number % NEAR)) is not None:
            await trio.lowlevel.checkpoint()  # between looking and claiming anybody may have claimed it
            if await self._claim(item_id):
                done = await self._edit(item_id, "completed")
                assert isinstance(done, Edited), done

    async def _claim(self, item_id: str) -> bool:
        answer = await self._edit(item_id, "in_progress")
        if isinstance(answer, EditRefused):
            self._lost.append(answer)
            return False
        assert answer.after is not None
        assert answer.after.owner == self._name
        return True

    async def _edit(self, item_id: str, status: str) -> Edited | EditRefused:
        answer: Edited | EditRefused = await self._board.ask(
            EditItem(edit=Edit(item=item_id, by=self._name, status=status))
        )
        return answer


def first_free(state: BoardState, number: int) -> str | None:
    """Return one of the first free items, as somebody sees it who reads the list; None where none is free."""
    item = state.claimable()
    if item is None:
        return None
    for each_number in range(item.number + number, item.number, -1):
        other = state.items.get(str(each_number))
        if other is not None and other.status is ItemStatus.PENDING:
            return other.id
    return item.id


def crowd(claimers: int = CLAIMERS, items: int = ITEMS) -> Callable[[Sim], Awaitable[object]]:
    """Return a scenario in which every item is claimed once, completed once, and by the one who claimed it."""

    async def scenario(sim: Sim) -> None:
        made = [Item(id=str(number), subject="", description="") for number in range(1, items + 1)]
        home = BoardHome(team="crowd", state=BoardState(made), tell_owner=lambda _: None)
        lost: list[EditRefused] = []
        async with sim.open_runtime() as runtime:
            board: Ref[Any] = await runtime.spawn(Board, home, name="board", spec=ChildSpec(restart=Restart.PERMANENT))
            home.board = board
            refs = [await runtime.spawn(Claimer, number, home, board, lost) for number in range(claimers)]
            for ref in refs:
                ref.tell("go")
            await trio.sleep(1)  # of virtual time, which passes when nobody has anything to do
        check(sim, home, items)
        assert {one.reason for one in lost} <= {"already_claimed", "already_resolved"}

    return scenario


def check(sim: Sim, home: BoardHome, items: int) -> None:
    """Look at the record: one claim and one completion of each item, both by its owner."""
    events = [event_of(record) for record in sim.records() if issubclass(record[2], ItemEvent)]
    claims = {event.item: event.owner for event in events if isinstance(event, ItemClaimed)}
    ends = {event.item: event.by for event in events if isinstance(event, ItemCompleted)}
    assert len(events) == 2 * items, "no item is claimed or completed twice"
    assert claims == ends == {item.id: item.owner for item in home.state.in_order()}
    assert len(claims) == items
