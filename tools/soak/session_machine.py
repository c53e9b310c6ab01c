"""A session under a plan: what a host and its models do, one operation after the other, in virtual time.

A plan is plain data: Hypothesis draws it as a list and makes it short, a history keeps it, and a schedule of `explore`
decides what runs first at every step of it. It is no `RuleBasedStateMachine`, because rules of that are plain functions,
called between runs of Trio and not within one; a list of operations says the same and can be run under any scheduler.

Operations name agents by a number, which means the so-manieth that there was (modulo how many there are), so that each
plan can be carried out whatever the schedule makes of it.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeAlias, final

import attrs
import trio

from greenroom.agents.subagents import AGENT_TOOLS
from greenroom.core import (
    ActorEnded,
    Cause,
    ProviderError,
    Record,
    Stopping,
    TurnFailed,
    TurnKilled,
    Undelivered,
    UsageError,
    point,
)
from greenroom.models import Message
from greenroom.session import Session, open_session
from greenroom.tasks import Task, TaskNotice
from greenroom.testing import Sim
from greenroom.tools import ToolError
from greenroom.tools.builtin import task_output_tool, task_stop_tool
from tests.kept import Kept
from tools.soak.session_situations import TOOLS, ObedientModel, Round, ordered

LONG_S: Final = 20_000.0
"""No plan takes so long."""
RELEASE_S: Final = 30.0
LEAVING_S: Final = 30.0
EXPECTED: Final = (ActorEnded, ProviderError, Stopping, ToolError, TurnFailed, TurnKilled, Undelivered, UsageError)

Operation: TypeAlias = list[Any]
"""A name and what it needs; plain JSON."""


@final
@attrs.frozen
class Plan(Kept):
    """What is done in a session."""

    operations: list[Operation]
    delegation: dict[str, Any] = attrs.field(factory=dict)
    """Settings: `fork`, `max_running`,..."""
    leaves: bool = False
    """Whether the session is left at once after the last operation, with all that runs."""
    auto: bool = False
    """Whether calls and reports are reviewed; the reviewer finds something now and then, and now and then says nothing sensible."""


@final
@attrs.define
class World:
    """A session while a plan is carried out, and what is seen of it."""

    plan: Plan
    model: ObedientModel
    folder: Path
    session: Session = attrs.field(init=False)
    records: list[Record] = attrs.Factory(list)
    runs: list[Task] = attrs.Factory(list)
    """Every run of every agent, in the order of starting."""
    ids: list[str] = attrs.Factory(list)
    asked_to_end: set[Task] = attrs.Factory(set)
    """Runs that somebody but their line of descent asked to end, or may have."""
    interrupted_s: list[float] = attrs.Factory(list)
    jobs: list[trio.CancelScope] = attrs.Factory(list)
    open_jobs: int = 0
    heard: list[tuple[str, Message]] = attrs.Factory(list)
    """Every message that became part of a conversation, with the agent whose that is."""
    notices: list[TaskNotice] = attrs.Factory(list)
    readers: list[tuple[str, ...]] = attrs.Factory(list)
    """For each notice who may read it: who was alive of those that it is for, the first choice first."""
    parents: dict[str, tuple[str, ...]] = attrs.Factory(dict)
    left_s: float = 0.0
    """How long leaving took."""

    def find(self, number: int) -> str:
        """Return the id of an agent."""
        return self.ids[number % len(self.ids)] if self.ids else "a0000000000000000"

    def run_of(self, number: int) -> Task | None:
        """Return the latest run of an agent."""
        agent_id = self.find(number)
        return next((run for run in reversed(self.runs) if run.info.id == agent_id), None)

    def watch(self) -> None:
        """Take note of what happens from now on."""
        recorder = self.session.runtime.recorder
        self.records += recorder.latest()
        recorder.listen(self.records.append)
        tasks = self.session.tasks.table
        open_task = tasks.open

        def open_and_note(*args: Any, **more: Any) -> Task:
            task = open_task(*args, **more)
            tell = task._tell

            def tell_and_note(notice: TaskNotice) -> None:
                self._note(notice)
                tell(notice)

            task._tell = tell_and_note
            self.runs.append(task)
            if self._is_cut(task):
                self.asked_to_end.add(task)
            if task.info.id not in self.ids:
                self.ids.append(task.info.id)
            return task

        tasks.open = open_and_note  # type: ignore[method-assign]

    def _is_cut(self, task: Task) -> bool:
        """Whether a turn of main starts it that was interrupted in this moment, and has not heard of it yet."""
        is_linked = task.info.owner == self.session.main.id and not task.is_background
        return is_linked and bool(self.interrupted_s) and self.interrupted_s[-1] == trio.current_time()

    def _note(self, notice: TaskNotice) -> None:
        alive = {run.info.id for run in self.runs if not run.is_finished} | {self.session.main.id}
        lines = self.lines()
        line = (notice.owner, *(lines.get(notice.owner) or lines.get(notice.task_id, ())), self.session.main.id)
        self.notices.append(notice)
        self.readers.append(tuple(dict.fromkeys(one for one in line if one in alive)))

    def lines(self) -> dict[str, tuple[str, ...]]:
        """Return of each agent what it descends from, the nearest first."""
        pool = self.session.agents.pool
        self.parents.update({subagent.id: subagent.lineage.above for subagent in pool.subagents.values()})
        return self.parents

    @property
    def reminders(self) -> list[str]:
        """What main reads with whatever comes next; at rest nobody else is there to read anything."""
        home = self.session.agents.main.home
        assert home is not None
        return [notice.text for notice in home.pending.quiet]


# --- operations -------------------------------------------------------------------------------------------------------


async def _send(world: World, rounds: list[Round], priority: str | None = None) -> None:
    world.session.send(ordered(*rounds), priority=priority)


async def _ask(world: World, rounds: list[Round]) -> None:
    await world.session.run(ordered(*rounds))


async def _wait(world: World, seconds: float) -> None:
    await trio.sleep(seconds)


async def _spawn(world: World, rounds: list[Round], how: Mapping[str, Any]) -> None:
    try:
        handle = await world.session.spawn("general-purpose", ordered(*rounds), **how)
    except trio.Cancelled:
        world.asked_to_end.update(
            run for run in world.runs if not run.info.owner or run.info.owner == world.session.main.id
        )
        raise
    await handle.wait_finished()


async def _tell(world: World, number: int, rounds: list[Round]) -> None:
    with suppress(UsageError):
        await world.session.agents.post.send(world.find(number), ordered(*rounds))


async def _resume(world: World, number: int, rounds: list[Round]) -> None:
    await world.session.agents.post.resume(world.find(number), ordered(*rounds), by_user=True)


async def _kill(world: World, number: int) -> None:
    task = world.run_of(number)
    if task is not None and task.kill(Cause("host", "killed")):
        world.asked_to_end.add(task)


async def _interrupt(world: World, cancel_queued: bool) -> None:
    world.interrupted_s.append(trio.current_time())
    await _interrupted(world, lambda: world.session.interrupt(cancel_queued=cancel_queued))


async def _interrupted(world: World, act: Callable[[], object]) -> None:
    """Note which runs an interrupt may end: those that main waits for."""
    main = world.session.main.id
    waited_for = [run for run in world.runs if run.info.owner == main and not run.is_background and not run.is_finished]
    act()
    world.asked_to_end.update(waited_for)


async def _background_all(world: World) -> None:
    world.session.tasks.background_all()


async def _kill_all(world: World) -> None:
    running = {run for run in world.runs if not run.is_finished and run.is_background}
    assert set(world.session.tasks.kill_all()) == {one.info.id for one in running}
    world.asked_to_end |= running


async def _move(world: World, number: int) -> None:
    task = world.run_of(number)
    if task is not None:
        assert task.move_to_background() or task.is_finished


async def _compact(world: World) -> None:
    await world.session.compact()


async def _cancel(world: World, number: int) -> None:
    if world.jobs:
        world.jobs[number % len(world.jobs)].cancel()


OPERATIONS: Final[Mapping[str, Callable[..., Awaitable[None]]]] = {
    "send": _send,
    "ask": _ask,
    "wait": _wait,
    "spawn": _spawn,
    "tell": _tell,
    "resume": _resume,
    "kill": _kill,
    "interrupt": _interrupt,
    "background_all": _background_all,
    "kill_all": _kill_all,
    "move": _move,
    "compact": _compact,
    "cancel": _cancel,
}
BESIDE: Final = frozenset({"ask", "spawn", "tell", "resume", "compact"})
"""These take their time; the plan does not wait for them."""


async def _beside(world: World, name: str, values: list[Any]) -> None:
    with trio.CancelScope() as scope:
        world.jobs.append(scope)
        with suppress(*EXPECTED):
            await OPERATIONS[name](world, *values)
    world.open_jobs -= 1


# --- a run ------------------------------------------------------------------------------------------------------------


async def carry_out(plan: Plan, sim: Sim, folder: Path, at_rest: Callable[[World], Awaitable[None]]) -> World:
    """Open a session, do what the plan says, wait until all is quiet, let `at_rest` look at it, and leave."""
    world = World(plan, ObedientModel(), folder)
    world.model = ObedientModel(world.find)
    opened = open_session(
        model=world.model,
        cwd=folder,
        runs=folder / "runs",
        tools=(*TOOLS, *AGENT_TOOLS, task_stop_tool, task_output_tool),
        settings={"delegation": {"release_s": RELEASE_S, **plan.delegation}, "models": {}},
        agents={"brief": {"description": "Does little.", "prompt": "You do little.", "maxTurns": 2}},
        permission_mode="auto" if plan.auto else "bypassPermissions",
        ports=sim.ports,
        on_message=lambda said: world.heard.append((said.agent, said.message)),
    )
    async with trio.open_nursery() as nursery:
        async with opened as world.session:
            world.watch()
            sim.follow(world.session.runtime.recorder)
            for name, *values in plan.operations:
                await point("operation")
                if name in BESIDE:
                    world.open_jobs += 1
                    nursery.start_soon(_beside, world, name, values)
                else:
                    with suppress(*EXPECTED):
                        await OPERATIONS[name](world, *values)
            if not plan.leaves:
                await _rest(world)
                await at_rest(world)
            left_s = trio.current_time()
        world.left_s = trio.current_time() - left_s
    return world


async def _rest(world: World) -> None:
    with trio.move_on_after(LONG_S) as waiting:
        while world.open_jobs or not world.session.agents.pool.is_quiet:  # noqa: ASYNC110 - virtual seconds
            await trio.sleep(10)
        await world.session.wait_quiet()
    states = {run.info.id: run.state.value for run in world.runs if not run.is_settled}
    assert not waiting.cancelled_caught, f"it never comes to rest: {world.open_jobs} jobs are open, {states}"


@contextmanager
def own_folder() -> Iterator[Path]:
    """Give a folder in memory, where there is one: sessions are opened by the thousand."""
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="greenroom-", dir=memory if memory.is_dir() else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def scenario(plan: Plan, folder: Path) -> Callable[[Sim], Awaitable[object]]:
    """Return what `explore` runs for a plan; the folder is emptied before each run."""
    from tools.soak.session_invariants import check_at_rest, check_when_left

    async def run(sim: Sim) -> None:
        shutil.rmtree(folder / "runs", ignore_errors=True)
        world = await carry_out(plan, sim, folder, check_at_rest)
        check_when_left(world)

    return run
