"""Boards to begin with, and a real board whose members are plain collectors of work."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import attrs

from greenroom.actors import Behavior, Context, Ref
from greenroom.agents import Note, Work
from greenroom.core import Recorder
from greenroom.mailbox import Delivery, Lane
from greenroom.supervisor import Backoff, ChildSpec, Restart, Runtime, SupervisorSpec, open_runtime
from greenroom.teams import LEAD, BoardState, Edit, EditItem, Item, ItemCreated, apply
from greenroom.teams._board import Board, BoardHome
from greenroom.teams._board_messages import CreateItem, Edited, Idle
from greenroom.teams._edits import EditRefused, plan_edit
from greenroom.testing import virtual_ports


def board(*subjects: str) -> BoardState:
    state = BoardState()
    for subject in subjects:
        state.fold(ItemCreated(item=str(state.last_id + 1), subject=subject, description="", by=LEAD))
    return state


def edited(state: BoardState, item: str, by: str, *, members: tuple[str, ...] = (), **changes: Any) -> BoardState:
    """Return the board after an edit that it accepts."""
    plan = plan_edit(state, Edit(item=item, by=by, **changes), members)
    assert not isinstance(plan, EditRefused), plan
    for event in plan:
        state = apply(state, event)
    return state


def refused(
    state: BoardState, item: str, by: str, *, members: tuple[str, ...] = (), one_each: bool = False, **changes: Any
) -> EditRefused:
    """Return why the board does not accept an edit."""
    plan = plan_edit(state, Edit(item=item, by=by, **changes), members, one_each=one_each)
    assert isinstance(plan, EditRefused), plan
    return plan


class Member(Behavior[Work | Note]):
    """Keeps what it is given."""

    def __init__(self, given_to: list[Work | Note]) -> None:
        self._given = given_to

    async def on_message(self, message: Work | Note, ctx: Context) -> None:
        self._given.append(message)


@attrs.define(kw_only=True, eq=False)
class Scene:
    """A board, and who is there."""

    runtime: Runtime
    home: BoardHome
    board: Ref[Any]
    told: list[str]
    """Notices to the lead."""
    given: dict[str, list[Work | Note]] = attrs.Factory(dict)
    """Messages to each member."""
    refs: dict[str, Ref[Any]] = attrs.Factory(dict)

    async def spawn(self, name: str) -> Ref[Any]:
        self.given[name] = []
        self.refs[name] = await self.runtime.spawn(Member, self.given[name], name=name)
        return self.refs[name]

    async def join(self, name: str) -> Ref[Any]:
        ref = await self.spawn(name)
        self.say_idle(name)
        return ref

    def say_idle(self, name: str) -> None:
        self.board.tell(Idle(member=name, ref=self.refs[name]), Lane.NOW)

    async def create(self, subject: str = "one", **more: Any) -> Item:
        item = await self.board.ask(CreateItem(subject=subject, description="", by=LEAD, **more))
        assert isinstance(item, Item), item
        return item

    async def edit(self, item: str, by: str, **changes: Any) -> Edited | EditRefused:
        answer: Edited | EditRefused = await self.board.ask(EditItem(edit=Edit(item=item, by=by, **changes)))
        return answer

    def work(self, name: str) -> list[str]:
        """Return the items that a member was handed."""
        return [work.label for work in self.given[name] if isinstance(work, Work)]

    @property
    def items(self) -> tuple[Item, ...]:
        return tuple(self.home.state.in_order())


@asynccontextmanager
async def open_scene(*, recorder: Recorder | None = None, **of_home: Any) -> AsyncIterator[Scene]:
    told: list[str] = []

    def tell_lead(note: Note) -> Delivery:
        told.append(note.text)
        return Delivery.ACCEPTED

    home = BoardHome(**{"team": "crew", "tell_lead": tell_lead, "tell_owner": lambda _: None, **of_home})
    spec = SupervisorSpec(backoff=Backoff(first_s=0.0), intensity=1_000)
    async with open_runtime(ports=virtual_ports(), recorder=recorder, spec=spec) as runtime:
        ref: Ref[Any] = await runtime.spawn(Board, home, name="board", spec=ChildSpec(restart=Restart.PERMANENT))
        home.board = ref
        yield Scene(runtime=runtime, home=home, board=ref, told=told)
