"""A board under a plan: hosts that create, change and take away items, members that work, fail, crash and die; under any schedule.

A plan is plain data, so that Hypothesis can draw it and make it short, and any schedule of `explore` can be tried on it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import Any, Final, TypeAlias, final

import attrs
import trio

from greenroom.actors import Behavior, Context, Ref
from greenroom.agents import Note, Work
from greenroom.core import ActorEnded, Record, TurnFailed, TurnKilled, Undelivered, event_of
from greenroom.mailbox import Delivery, Lane
from greenroom.supervisor import Backoff, ChildSpec, Restart, Runtime, SupervisorSpec
from greenroom.teams import (
    FOLDS,
    LEAD,
    BoardState,
    Edit,
    EditItem,
    Item,
    ItemAssigned,
    ItemClaimed,
    ItemCompleted,
    ItemCreated,
    ItemDeleted,
    ItemReleased,
    ItemStatus,
)
from greenroom.teams._board import Board, BoardHome
from greenroom.teams._board_messages import CreateItem, GiveBack, Idle, Join, Occupied, TurnOver
from greenroom.teams._item_events import ItemEvent
from greenroom.teams._teammate_status import Availability
from greenroom.testing import Sim
from greenroom.trace import Entry, fold

ACTS: Final = ("complete", "abort", "give back", "pause", "fail", "keep", "die", "crash", "claim another")
OPERATIONS: Final = (
    "create",
    "link",
    "assign",
    "begin",
    "take back",
    "delete",
    "kill",
    "crash the board",
    "write",
    "wait",
)
EXPECTED: Final = (ActorEnded, TurnFailed, TurnKilled, Undelivered)

Operation: TypeAlias = tuple[str, int, int]
"""What is done, and two numbers that say to what, each modulo how many there are."""


@final
@attrs.frozen
class Plan:
    """An operation on a board."""

    hosts: tuple[tuple[Operation, ...], ...]
    """Each does one operation after the other, all side by side."""
    members: tuple[tuple[str, ...], ...]
    """What each member does with the first items that it is handed; it completes all others."""
    one_each: bool = False


def begun(acts: Sequence[str]) -> Iterator[str]:
    return chain(acts, repeat("complete"))


class Worker(Behavior[Any]):
    """A member: does with each item what its plan says, and says that it has nothing to do."""

    def __init__(self, name: str, acts: Iterator[str], world: World) -> None:
        self._name = name
        self._acts = acts
        self._world = world

    async def on_start(self, ctx: Context) -> None:
        self._tell(Join(member=self._name, ref=ctx.ref))
        self._tell(Idle(member=self._name, ref=ctx.ref))

    async def on_message(self, message: Work | Note, ctx: Context) -> None:
        self._tell(Occupied(member=self._name))
        await trio.lowlevel.checkpoint()
        if isinstance(message, Work):
            await self._work(message.label, next(self._acts), ctx)
        self._tell(Idle(member=self._name, ref=ctx.ref))

    async def _work(self, item: str, act: str, ctx: Context) -> None:
        match act:
            case "complete":
                await self._world.edit(item, self._name, status="completed")
            case "give back":
                await self._world.edit(item, self._name, status="pending")
            case "pause":
                await self._world.edit(item, self._name, status="pending", owner=self._name)
            case "abort" | "fail":
                is_failure = act == "fail"
                self._tell(GiveBack(member=self._name, item=item, why=act, is_failure=is_failure))
            case "keep":
                self._tell(TurnOver(member=self._name, item=item))
            case "die":
                ctx.ref.kill("it dies")
                await trio.sleep_forever()
            case "crash":
                raise ArithmeticError
            case _:
                free = self._world.home.state.claimable()
                if free is not None:
                    await trio.lowlevel.checkpoint()  # it may be somebody else's by now
                    await self._world.edit(free.id, self._name, status="in_progress")

    def _tell(self, message: Any) -> None:
        self._world.board.tell(message, Lane.NOW)


@final
@attrs.define(eq=False)
class World:
    """A board while a plan is carried out."""

    plan: Plan
    runtime: Runtime
    home: BoardHome = attrs.field(init=False)
    board: Ref[Any] = attrs.field(init=False)
    refs: dict[str, Ref[Any]] = attrs.Factory(dict)
    told: list[str] = attrs.Factory(list)

    async def begin(self) -> None:
        self.home = BoardHome(team="crew", tell_lead=self._hear, tell_owner=lambda _: None, one_each=self.plan.one_each)
        permanent = ChildSpec(restart=Restart.PERMANENT)
        self.board = await self.runtime.spawn(Board, self.home, name="board", spec=permanent)
        self.home.board = self.board
        for number, acts in enumerate(self.plan.members):
            await self.spawn(f"m{number}", acts)

    def _hear(self, note: Note) -> Delivery:
        self.told.append(note.text)
        return Delivery.ACCEPTED

    async def spawn(self, name: str, acts: Sequence[str]) -> None:
        self.refs[name] = await self.runtime.spawn(Worker, name, begun(acts), self, name=name, spec=ChildSpec())

    async def edit(self, item: str, by: str, **changes: Any) -> None:
        await self._ask(EditItem(edit=Edit(item=item, by=by, **changes)))

    async def _ask(self, request: Any) -> None:
        try:
            await self.board.ask(request)
        except EXPECTED:
            pass

    async def carry_out(self, operations: Sequence[Operation]) -> None:
        for what, one, other in operations:
            await self._do(what, one, other)

    async def _do(self, what: str, one: int, other: int) -> None:
        items = [item.id for item in self.home.state.in_order()] or ["1"]
        item, another = items[one % len(items)], items[other % len(items)]
        names = list(self.refs)
        name = names[other % len(names)]
        match what:
            case "create":
                await self._ask(CreateItem(subject="s", description="d", by=LEAD))
            case "link":
                await self.edit(item, LEAD, add_blocked_by=(another,))
            case "assign":
                await self.edit(item, LEAD, owner=name)
            case "begin":
                await self.edit(item, LEAD, owner=name, status="in_progress")
            case "take back":
                await self.edit(item, LEAD, owner="")
            case "delete":
                await self.edit(item, LEAD, status="deleted")
            case "kill":
                self.refs[name].kill()
            case "crash the board":
                await self._ask(EditItem(edit=None))  # type: ignore[arg-type]
            case "write":
                self.refs[name].tell(Note("news"))
            case _:
                await trio.sleep(one / 10)

    async def end(self) -> None:
        """Give what is left to somebody who completes everything: nothing may be lost."""
        await trio.sleep(100)
        self.check_rest()
        await self.spawn("closer", ["complete"])
        for item in self.home.state.in_order():
            if item.status is not ItemStatus.COMPLETED:
                await self.edit(item.id, LEAD, owner="closer")
        await trio.sleep(100)
        left = [item for item in self.home.state.in_order() if item.status is not ItemStatus.COMPLETED]
        assert left == []

    def check_rest(self) -> None:
        """Look at a board where nothing happens any more: nobody waits for what there is, nothing is owned by the dead."""
        state, home = self.home.state, self.home
        alive = {name for name, ref in self.refs.items() if not ref.is_gone}
        assert {item.owner for item in state.in_order() if item.status is not ItemStatus.COMPLETED} <= {
            "",
            LEAD,
            *alive,
        }
        assert set(home.members) == alive, "all that live are known, and nobody else"
        assert not [name for name in home.ready if state.claimable(name)]
        assert not [name for name in home.ready if state.startable(name)]
        ready = {name for name, known in home.availability.items() if known is Availability.READY}
        assert set(home.ready) == ready


def scenario(plan: Plan) -> Callable[[Sim], Awaitable[object]]:
    """Return what `explore` runs."""

    async def run(sim: Sim) -> None:
        spec = SupervisorSpec(backoff=Backoff(first_s=0.0), intensity=100_000)
        async with sim.open_runtime(spec) as runtime:
            world = World(plan, runtime)
            await world.begin()
            async with trio.open_nursery() as nursery:
                for operations in plan.hosts:
                    nursery.start_soon(world.carry_out, operations)
            await world.end()
        check_record(sim.records(), world.home.state)

    return run


def check_record(records: Iterable[Record], state: BoardState) -> None:
    """Look at every event: an item has one owner at most, is done once, and has an id that was never used."""
    events = [event_of(record) for record in records if issubclass(record[2], ItemEvent)]
    owners: dict[str, str] = {}
    done: set[str] = set()
    created: list[str] = []
    for event in events:
        assert isinstance(event, ItemEvent)
        assert event.item not in done or isinstance(event, ItemDeleted) or event.kind in {"item.linked", "item.edited"}
        match event:
            case ItemCreated():
                created.append(event.item)
                owners[event.item] = ""
            case ItemClaimed() | ItemAssigned():
                assert owners[event.item] in {"", event.owner}, "what is somebody's is given back first"
                owners[event.item] = event.owner
            case ItemReleased():
                assert owners[event.item] == event.owner
                owners[event.item] = ""
            case ItemCompleted():
                assert event.by in {LEAD, owners[event.item]}
                done.add(event.item)
    assert created == [str(number + 1) for number in range(len(created))]
    world = fold((Entry(number, 0.0, one.kind, one) for number, one in enumerate(events, start=1)), FOLDS)
    items: list[Item] = list(world.section("items").values())
    assert not world.faults
    assert BoardState(items, world.section("boards").get("crew", 0)) == state
