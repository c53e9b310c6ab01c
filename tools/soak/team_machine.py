"""A whole team under a plan: what a host, a lead and its mates do, one operation after the other, in virtual time.

A plan is plain data: Hypothesis draws it as a list and makes it short, a history keeps it, and a schedule of `explore` decides what
runs first at every step of it. Operations name mates and items by a number, which means the so-manieth that there was (modulo how
many there are), so that each plan can be carried out whatever the schedule makes of it.

    make the team - do this and that - wait until all is quiet, or do not - close it - make it again - ... - close the session
"""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias, final

import attrs
import trio

from greenroom.agents import AgentDefinition
from greenroom.agents.subagents import AGENT_TOOLS, SendRefused
from greenroom.core import ActorEnded, Record, Stopping, TurnFailed, TurnKilled, Undelivered, UsageError, point
from greenroom.models import Message
from greenroom.session import Session, open_session
from greenroom.teams import LEAD, Edit, EditItem, Item, Team
from greenroom.teams._board_messages import CreateItem
from greenroom.teams._shutdown_requests import ShutdownOutcome
from greenroom.teams._team_handles import Teammate
from greenroom.testing import Sim
from greenroom.tools.builtin import task_output_tool, task_stop_tool
from tests.kept import Kept
from tools.soak.session_situations import TOOLS, Round
from tools.soak.team_orders import ObedientMembers, OrderBook

MAX_STEPS: Final = 40_000
"""No run takes so many steps."""
LONG_S: Final = 20_000.0
"""No plan takes so long."""
TEAM: Final = "crew"
STARTERS: Final = ("ann", "bob")
MATE: Final = AgentDefinition(name="mate", system_prompt="You help.")
EXPECTED: Final = (ActorEnded, SendRefused, Stopping, TurnFailed, TurnKilled, Undelivered, UsageError)

Operation: TypeAlias = list[Any]
"""A name and what it needs; plain JSON."""


@final
@attrs.frozen
class Plan(Kept):
    """What is done in a session with one team; `["reopen", True]` closes the team when all is quiet, with False at once."""

    operations: list[Operation]
    teams: dict[str, Any] = attrs.field(factory=dict)
    """Settings of teams."""
    leaves: bool = False
    """Whether the session is left at once after the last operation, with all that runs."""

    @property
    def sittings(self) -> list[tuple[list[Operation], bool]]:
        """What is done while the team is open, each time that it is; and whether all is quiet when it is closed.

        In the end it is opened once more, unless the session is left with all that runs.
        """
        sittings: list[tuple[list[Operation], bool]] = []
        done: list[Operation] = []
        for operation in self.operations:
            if operation[0] == "reopen":
                sittings.append((done, operation[1]))
                done = []
            else:
                done.append(operation)
        return [*sittings, (done, False)] if self.leaves else [*sittings, (done, True), ([], True)]


@final
@attrs.define(eq=False)
class World:
    """A session and its team while a plan is carried out, and what is seen of them."""

    plan: Plan
    nursery: trio.Nursery
    book: OrderBook = attrs.Factory(OrderBook)
    model: ObedientMembers = attrs.field(init=False)
    session: Session = attrs.field(init=False)
    team: Team = attrs.field(init=False)
    records: list[Record] = attrs.Factory(list)
    heard: list[tuple[str, Message]] = attrs.Factory(list)
    """Every message that became part of a conversation, with the agent whose that is."""
    outcomes: list[tuple[float, ShutdownOutcome]] = attrs.Factory(list)
    """Of requests to end of the host, with the seconds that they took beyond their deadline."""
    open_jobs: int = 0

    def __attrs_post_init__(self) -> None:
        self.model = ObedientMembers(self.book, self.name_of, self.item_of)

    def watch(self) -> None:
        """Take note of what happens from now on."""
        recorder = self.session.runtime.recorder
        self.records += recorder.latest()
        recorder.listen(self.records.append)

    def mate(self, number: int) -> Teammate:
        """Return a mate that there was since the team was opened."""
        mates = list(self.team.teammates.values())
        return mates[number % len(mates)]

    def name_of(self, number: int) -> str:
        """Return the name of a mate, also of one of an earlier time."""
        names = sorted(self.team.roster.joined - {LEAD})
        return names[number % len(names)] if names else "ann"

    def item_of(self, number: int) -> str:
        """Return the id of an item."""
        items = self.team.board.items()
        return items[number % len(items)].id if items else "1"

    def texts_of(self, agent: str) -> list[str]:
        """Return all that became part of an agent's conversation."""
        return [
            block.text for who, one in self.heard if who == agent for block in one.content if hasattr(block, "text")
        ]

    async def spawn(self, name: str, text: str = "", *, plan_required: bool = False) -> Teammate:
        """Let a mate join."""
        return await self.team.spawn(name, definition=MATE, prompt=text, plan_required=plan_required)

    async def create(self, text: str) -> Item:
        """Put an item on the board."""
        item = await self.team.board.ref.ask(CreateItem(subject="one", description=text, by=LEAD))
        assert isinstance(item, Item), item
        return item

    async def edit(self, item: str, **changes: Any) -> None:
        """Change an item as the lead would; it may be refused."""
        await self.team.board.ref.ask(EditItem(edit=Edit(item=item, by=LEAD, **changes)))

    async def rest(self) -> None:
        """Wait until nothing happens any more."""
        with trio.move_on_after(LONG_S) as waiting:
            while self.open_jobs:  # noqa: ASYNC110 - virtual seconds
                await trio.sleep(10)
            await self.session.wait_quiet()
        assert not waiting.cancelled_caught, f"it never comes to rest: {self.open_jobs} jobs are open"


# --- operations ---------------------------------------------------------------------------------------------------------


async def _send(world: World, rounds: list[Round]) -> None:
    world.session.send(world.book.text(rounds))


async def _tell(world: World, number: int, rounds: list[Round]) -> None:
    world.mate(number).tell(world.book.text(rounds))


async def _create(world: World, rounds: list[Round]) -> None:
    await world.create(world.book.text(rounds))


async def _edit(world: World, item: int, changes: dict[str, Any]) -> None:
    await world.edit(world.item_of(item), **changes)


async def _assign(world: World, item: int, number: int, is_begun: bool) -> None:
    more = {"status": "in_progress"} if is_begun else {}
    await world.edit(world.item_of(item), owner=world.mate(number).name, **more)


async def _link(world: World, item: int, other: int) -> None:
    await world.edit(world.item_of(item), add_blocked_by=(world.item_of(other),))


async def _abort(world: World, number: int) -> None:
    world.mate(number).abort_turn()


async def _kill(world: World, number: int) -> None:
    world.mate(number).kill()


async def _crash_board(world: World) -> None:
    await world.team.board.ref.ask(EditItem(edit=None))  # type: ignore[arg-type]


async def _interrupt(world: World) -> None:
    world.session.interrupt()


async def _wait(_: World, seconds: float) -> None:
    await trio.sleep(seconds)


async def _spawn(world: World, name: str, rounds: list[Round], plan_required: bool) -> None:
    await world.spawn(name, world.book.text(rounds), plan_required=plan_required)


async def _shutdown(world: World, number: int, answer: str, deadline_s: float) -> None:
    began_s = trio.current_time()
    outcome = await world.mate(number).shutdown(f"answer: {answer}", deadline_s=deadline_s)
    world.outcomes.append((trio.current_time() - began_s - deadline_s, outcome))


async def _answer_plan(world: World, approve: bool) -> None:
    for request in list(world.team.plans.requests)[:1]:
        await world.team.plans.answer(request, approve=approve)


OPERATIONS: Final[Mapping[str, Callable[..., Awaitable[None]]]] = {
    "send": _send,
    "tell": _tell,
    "create": _create,
    "edit": _edit,
    "assign": _assign,
    "link": _link,
    "abort": _abort,
    "kill": _kill,
    "crash the board": _crash_board,
    "interrupt": _interrupt,
    "wait": _wait,
    "spawn": _spawn,
    "shutdown": _shutdown,
    "answer a plan": _answer_plan,
}
BESIDE: Final = frozenset({"spawn", "shutdown", "answer a plan"})
"""These take their time; the plan does not wait for them."""


async def _beside(world: World, name: str, values: list[Any]) -> None:
    with suppress(*EXPECTED):
        await OPERATIONS[name](world, *values)
    world.open_jobs -= 1


async def _carry_out(world: World, operations: Sequence[Operation]) -> None:
    for name, *values in operations:
        await point("operation")
        if name in BESIDE:
            world.open_jobs += 1
            world.nursery.start_soon(_beside, world, name, values)
        else:
            with suppress(*EXPECTED):
                await OPERATIONS[name](world, *values)


# --- a run --------------------------------------------------------------------------------------------------------------


def scenario(plan: Plan, folder: Path) -> Callable[[Sim], Awaitable[object]]:
    """Return what `explore` runs for a plan; the folder is emptied before each run."""
    return partial(_run, plan, folder)


async def _run(plan: Plan, folder: Path, sim: Sim) -> None:
    from tools.soak.team_invariants import check_when_left

    shutil.rmtree(folder / "runs", ignore_errors=True)
    async with trio.open_nursery() as nursery:
        world = World(plan, nursery)
        opened = open_session(
            model=world.model,
            cwd=folder,
            runs=folder / "runs",
            main=AgentDefinition(name="main", system_prompt="You lead."),
            tools=(*TOOLS, *AGENT_TOOLS, task_stop_tool, task_output_tool),
            settings={"teams": {"enabled": True, **plan.teams}, "models": {}},
            permission_mode="bypassPermissions",
            ports=sim.ports,
            on_message=lambda said: world.heard.append((said.agent, said.message)),
        )
        async with opened as world.session:
            world.watch()
            sim.follow(world.session.runtime.recorder)
            await _sit(world)
    check_when_left(world)


async def _sit(world: World) -> None:
    from tools.soak.team_invariants import Snapshot, check_at_rest, check_closed, probe

    before: Snapshot | None = None
    sittings = world.plan.sittings
    for number, (operations, is_rested) in enumerate(sittings, start=1):
        async with world.session.open_team(TEAM) as world.team:
            if before is not None:
                await before.check_back(world)
            for name in STARTERS[len(world.team.teammates) :]:
                await world.spawn(name)
            await _carry_out(world, operations)
            if is_rested:
                await world.rest()
                check_at_rest(world)
            if is_rested and number == len(sittings):
                await probe(world)
            elif number == len(sittings):
                world.session.stop()
            is_settled = is_rested and not world.team.plans.requests
        check_closed(world)
        if number < len(sittings):
            before = await Snapshot.taken(world, is_settled=is_settled)
