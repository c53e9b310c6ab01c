"""A sub-agent in memory, its record on disk, and the names of sub-agents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, final

import attrs

from greenroom.actors import Ref
from greenroom.agents._definition import AgentDefinition
from greenroom.agents._profile import Lineage
from greenroom.agents._state import AgentState
from greenroom.agents.delegation._results import NO_OUTPUT
from greenroom.agents.subagents._spawn_orders import SpawnOrder
from greenroom.store import encode_line
from greenroom.tasks import AGENT, Task, TaskInfo
from greenroom.worktrees import Hold


@final
@attrs.define(eq=False, kw_only=True, repr=False)
class Subagent:
    """A sub-agent, in memory until it is released."""

    id: str
    order: SpawnOrder
    lineage: Lineage
    task: Task
    home: AgentState
    ref: Ref[Any] | None = None
    """Its actor; None while it waits for a place."""
    hold: Hold | None = None
    """Its worktree while it is in use."""
    first: str = ""
    """The first message of an agent that waits for a place."""
    kept_path: str = ""
    """The worktree that was kept at the end of a run."""
    kept_branch: str = ""
    kept_record: dict[str, Any] | None = None
    """The record that was written last; None before anything was."""

    def __repr__(self) -> str:
        return f"<Subagent {self.id} of {self.definition.name}: run {self.task.info.run}, {self.task.state}>"

    @property
    def definition(self) -> AgentDefinition:
        """Its definition."""
        return self.order.definition

    @property
    def label(self) -> str:
        """Its name for people and agents."""
        return self.order.name or self.id

    @property
    def is_running(self) -> bool:
        """True if a run of it has not ended."""
        return not self.task.is_finished

    def write_record(self, run_folder: Path, write: Callable[[Path, bytes], None]) -> None:
        """Write its record for a later resume, if it has changed."""
        record = self.record()
        if record != self.kept_record:
            write(run_folder / record_path(self.id), encode_line(record))
            self.kept_record = record

    def set_first(self, text: str) -> None:
        """Keep its first message until it is launched."""
        self.first = text

    def add_to_first(self, text: str) -> None:
        """Append to its first message while it waits for a place."""
        self.first = f"{self.first}\n\n{text}"

    def set_actor(self, ref: Ref[Any]) -> Ref[Any]:
        """Set the actor of its run, and return it."""
        self.ref = ref
        return ref

    def begin_run(self, order: SpawnOrder, task: Task) -> None:
        """Begin another run."""
        self.order, self.task = order, task

    def hold_worktree(self, hold: Hold | None) -> None:
        """Keep the worktree that it uses."""
        self.hold = hold

    def take_hold(self) -> Hold | None:
        """Return the hold on its worktree, which the caller has to release."""
        hold, self.hold = self.hold, None
        return hold

    def keep_worktree(self, path: str, branch: str) -> None:
        """Set the worktree that was kept at the end of a run; empty for none."""
        self.kept_path, self.kept_branch = path, branch

    def record(self) -> dict[str, Any]:
        """Return its record on disk, from which it is resumed after it has left memory."""
        home = self.home
        roots = home.profile.own_roots
        held = self.hold if home.worktree is None else home.worktree.hold
        tree = None if held is None else held.worktree
        path = self.kept_path if tree is None else str(tree.path)
        call = self.task.info.tool_use_id
        # The names in the records of the leading coding agent; left out if empty.
        shared = {"toolUseId": call} if call else {}
        shared |= {"worktreePath": path} if path else {}
        return {
            "agentId": self.id,
            "agentType": self.definition.name,
            "name": self.order.name,
            "description": self.order.description,
            "model": home.profile.model,
            "cwd": str(home.profile.place or home.services.cwd),
            "roots": None if roots is None else list(map(str, roots)),
            "parent": self.lineage.parent,
            "above": list(self.lineage.above),
            "depth": self.lineage.depth,
            "skills": list(self.lineage.skills),
            "isFork": self.order.is_fork,
            "isWorker": self.order.is_worker,
            "isBackground": self.order.is_background,
            "inWorktree": self.order.in_worktree,
            "worktree": path,
            "branch": self.kept_branch if tree is None else tree.branch,
            "isStoppedByUser": self.task.is_stopped_by_user,
            "run": self.task.info.run,
            **shared,
        }


@final
class SubagentNames(Mapping[str, tuple[str, ...]]):
    """Every name that was given, with the ids of the agents that had it, in order."""

    def __init__(self) -> None:
        self._holders: dict[str, tuple[str, ...]] = {}

    def __getitem__(self, name: str) -> tuple[str, ...]:
        return self._holders[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._holders)

    def __len__(self) -> int:
        return len(self._holders)

    def __repr__(self) -> str:
        return f"<SubagentNames {self._holders}>"

    def id_of(self, agent: str) -> str:
        """Return the id of the agent that has a name now; of an id, that id."""
        return self._holders.get(agent, (agent,))[-1]

    def add(self, name: str, agent_id: str) -> None:
        """Register an agent under a name; one of an earlier process, too."""
        holders = self._holders.get(name, ())
        if agent_id not in holders:
            self._holders[name] = (*holders, agent_id)


def record_path(agent_id: str) -> Path:
    """Return where the records of an agent lie in the run folder, a line of JSON for each run of it; see `Subagent.record`."""
    return Path(f"transcripts/agent-{agent_id}.meta.json")


def describe_run(
    agent_id: str, order: SpawnOrder, home: AgentState, *, run: int, outputs: Path, recoveries: int = 0
) -> TaskInfo:
    """Return the description of a run for the table of tasks."""
    return TaskInfo(
        id=agent_id,
        kind=AGENT,
        description=order.description,
        owner=order.owner,
        tool_use_id=order.call,
        output_file=outputs / f"{agent_id}.output",
        agent_type=order.definition.name,
        depth=home.profile.lineage.depth,
        run=run,
        recoveries=recoveries,
        default_result=NO_OUTPUT,
    )
