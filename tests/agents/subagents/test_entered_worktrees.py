"""Whatever order agents go into worktrees, work there and leave in: nothing is lost unless that was said. With real git."""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from greenroom.agents import AgentDefinition, AgentProfile, AgentServices, AgentState
from greenroom.agents.subagents import EnteredWorktreeRecord, EnteredWorktrees
from greenroom.core import Event, JournalError, UsageError
from greenroom.core.ports import Ports
from greenroom.models import ScriptedModel
from greenroom.testing import BareAgentPorts
from greenroom.tools import ToolSet
from greenroom.worktrees import BaseRef, Fate, WorktreeEntered, WorktreeKept, WorktreeLeft, Worktrees, WorktreeSettings
from tests.worktrees.repositories import NEEDS_GIT, commit, git, listed, make_repository

pytestmark = NEEDS_GIT
WORK = st.sampled_from(["enter b", "write", "write", "commit", "merge", "restart", "crash"])
END = st.sampled_from(["keep", "remove", "remove", "discard"])
STEPS = st.lists(st.tuples(WORK, WORK, END), max_size=5).map(lambda rounds: [step for one in rounds for step in one])


@attrs.define
class Life:
    """One agent in one repository, and all that it wrote."""

    project: Path
    events: list[Event] = attrs.field(factory=list)
    written: dict[str, str] = attrs.field(factory=dict)
    """Where each piece of work is: the worktree that it was written in; empty once it was given up."""
    worktrees: Worktrees = attrs.field(init=False)
    entered_worktrees: EnteredWorktrees = attrs.field(init=False)
    home: AgentState = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.worktrees = Worktrees(WorktreeSettings(base_ref=BaseRef.HEAD))
        tasks: Any = SimpleNamespace(running=lambda _: ())
        self.entered_worktrees = EnteredWorktrees(worktrees=self.worktrees, tasks=tasks, record=self.record)
        services = AgentServices(
            model=ScriptedModel([]), cwd=self.project, roots=(self.project,), blocking=Ports().blocking
        )
        self.home = AgentState(
            ports=BareAgentPorts(),
            profile=AgentProfile(definition=AgentDefinition(name="main"), tools=ToolSet()),
            services=services,
        )

    async def record(self, event: Event) -> None:
        await trio.lowlevel.checkpoint()
        self.events.append(event)

    def on_record(self) -> EnteredWorktreeRecord | None:
        for event in reversed(self.events):
            if isinstance(event, WorktreeLeft):
                return None
            if isinstance(event, WorktreeEntered):
                original = Path(event.original_cwd)
                return EnteredWorktreeRecord(
                    path=Path(event.path), branch=event.branch, original_cwd=original, was_there=event.was_there
                )
        return None

    async def take(self, step: str) -> None:
        stay = self.home.worktree
        what, _, name = step.partition(" ")
        match what:
            case "enter":
                await self.entered_worktrees.enter(self.home, name=name)
            case "write":
                stay = stay or await self.entered_worktrees.enter(self.home, name="a")
                work = f"work-{len(self.written)}"
                (self.home.cwd / work).write_text(work)
                self.written[work] = stay.worktree.name
            case "commit" if stay is not None and git(self.home.cwd, "status", "--porcelain"):
                commit(self.home.cwd, "work")
            case "merge" if stay is not None:
                git(self.project, "-c", "user.name=a", "merge", "--quiet", "--no-edit", stay.worktree.branch)
            case "keep" | "remove":
                await self.entered_worktrees.leave(self.home, "keep" if what == "keep" else "remove")
            case "discard":
                departure = await self.entered_worktrees.leave(self.home, "remove", discard_changes=True)
                assert departure.release.fate is Fate.REMOVED
                gone = {work for work, at in self.written.items() if at == departure.worktree.name}
                self.written |= dict.fromkeys(gone - self.merged(), "")
            case "restart" | "crash":
                left = self.on_record()
                if what == "restart":
                    await self.entered_worktrees.close()
                else:  # the system lets go of what a process held
                    for held in self.worktrees._held.values():
                        held.claim.close()
                self.begin()
                if left is not None:
                    assert await self.entered_worktrees.reenter(self.home, left) == ""

    def merged(self) -> set[str]:
        return set(git(self.project, "ls-tree", "-r", "--name-only", "main").split())

    def is_there(self, work: str) -> bool:
        trees = self.project / ".greenroom" / "worktrees"
        return work in self.merged() or any((tree / work).exists() for tree in trees.glob("[a-z]*"))

    def check(self) -> None:
        stay, record = self.home.worktree, self.on_record()
        assert (None if stay is None else stay.worktree.path) == (None if record is None else record.path)
        assert self.home.cwd == (self.project if stay is None else stay.worktree.path)
        assert self.home.roots == (self.home.cwd,)
        assert all(self.is_there(work) for work, at in self.written.items() if at)
        locks = listed(self.project).count("locked greenroom")
        assert locks == (stay is not None)


async def live(steps: list[str], project: Path) -> None:
    life = Life(project)
    for step in steps:
        before = life.home.worktree
        try:
            await life.take(step)
        except UsageError:  # whatever is refused leaves it where it is
            assert life.home.worktree is before
        life.check()
    await life.entered_worktrees.close()


@settings(max_examples=settings().max_examples // 10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_no_order_of_steps_loses_work_or_the_place(steps: list[str]) -> None:
    """RC-75: work goes only with `discard`; record, place and git's lock always say the same."""
    with tempfile.TemporaryDirectory() as folder:
        trio.run(live, steps, make_repository(Path(folder) / "project"))


async def test_going_in_that_is_cancelled_while_it_is_put_on_record_is_no_stay(tmp_path: Path) -> None:
    """Rule 4: a run that is resumed is where the agent was when it ended, not where it was about to go."""
    life = Life(make_repository(tmp_path / "project"))
    scope = trio.CancelScope()

    async def record(event: Event) -> None:
        life.events.append(event)
        if isinstance(event, WorktreeEntered):
            scope.cancel()
        await trio.lowlevel.checkpoint()

    life.entered_worktrees.record = record
    with scope:
        await life.entered_worktrees.enter(life.home, name="x")

    assert scope.cancelled_caught
    life.check()
    await life.entered_worktrees.close()


async def test_who_has_left_and_cannot_say_so_on_record_has_left(tmp_path: Path) -> None:
    """What holds nothing any more is no stay: its end would let go of it again. Mechanism: `EnteredWorktrees.leave` looks at the hold."""
    life = Life(make_repository(tmp_path / "project"))

    async def record(event: Event) -> None:
        await trio.lowlevel.checkpoint()
        if isinstance(event, WorktreeKept):
            raise JournalError("run", "no space left on device")

    life.worktrees = life.entered_worktrees.worktrees = Worktrees(
        WorktreeSettings(base_ref=BaseRef.HEAD), record=record
    )
    await life.entered_worktrees.enter(life.home, name="x")
    with pytest.raises(JournalError):
        await life.entered_worktrees.leave(life.home, "keep")

    assert life.home.worktree is None
    assert life.home.cwd == life.project
    assert await life.entered_worktrees.release(life.home) is None
