"""Orders for subagents, and the record of each subagent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, Literal, Protocol, final

import attrs

from greenroom.actors import Ref
from greenroom.agents._definition import AgentDefinition
from greenroom.agents._profile import Lineage
from greenroom.agents._state import AgentState
from greenroom.agents.definitions import Definitions
from greenroom.agents.delegation._carriers import SkillForkSetting
from greenroom.agents.delegation._results import REPORT_CHARACTERS
from greenroom.agents.delegation._routing import ForkSetting
from greenroom.core import LISTING_CHARACTERS, checked
from greenroom.store import encode_line
from greenroom.tasks import Task
from greenroom.worktrees import Hold

AUTO_BACKGROUND_MS: Final = 120_000
MAX_REPORT_CHARS: Final = 160_000


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class DelegationSettings:
    """Settings of how the agents of a session start others; the defaults are those of the leading coding agent."""

    fork: ForkSetting = attrs.field(
        default="off", validator=attrs.validators.in_(("off", "when_type_omitted", "explicit"))
    )
    """The way a model forks: not at all, by leaving the type out, or by the type `fork`."""
    skill_fork: SkillForkSetting = attrs.field(default="wait", validator=attrs.validators.in_(("wait", "background")))
    """True if a skill with `context: fork` is waited for, unless it says otherwise; without a person, it always is."""
    background: bool = True
    """True if agents may run in the background at all."""
    background_by_default: bool = False
    """True if an agent runs in the background unless the call says otherwise."""
    auto_background_ms: int = attrs.field(default=AUTO_BACKGROUND_MS, validator=attrs.validators.ge(0))
    """Milliseconds that a call waits for an agent before the agent is moved to the background; 0 for no limit."""
    max_depth: int = attrs.field(default=3, validator=attrs.validators.ge(0))
    """Maximum depth below main at which agents may be started; 0 takes the tool away."""
    max_running: int = attrs.field(default=20, validator=attrs.validators.ge(1))
    """Maximum number that run at once: a model's further calls are refused, a program's wait."""
    max_total: int | None = attrs.field(default=None, validator=attrs.validators.optional(attrs.validators.ge(0)))
    """Maximum number that a session starts in all; None for no limit."""
    listing_chars: int = attrs.field(default=LISTING_CHARACTERS, validator=attrs.validators.ge(1_000))
    """Characters of the list of agents that a model reads with each request; beyond that descriptions are cut, then left out."""
    interactive: bool = False
    """True if a person watches; without one, nobody forks by leaving the type out."""
    assistant: bool = False
    """True if a child never holds up what comes in: all of them run in the background."""
    proactive: bool = False
    """True if the main agent goes on by itself, in a loop: all of its children run in the background."""
    coordinator: bool = False
    """True if the main agent only leads others; `GREENROOM_COORDINATOR_MODE` goes before this."""
    coordinator_prompt: str = ""
    """The coordinator's prompt, in place of the built-in text."""
    simple_workers: bool = False
    """True if a coordinator's workers have a shell, reading and editing, and nothing else."""
    scratchpad: bool = True
    """True if the workers of a coordinator share a folder in which they write unasked."""
    append_system_prompt: str = ""
    """Text behind the system prompt of each of them, except forks."""
    initial_prompt_scope: Literal["any", "main"] = attrs.field(
        default="any", validator=attrs.validators.in_(("any", "main"))
    )
    """The agents whose `initialPrompt` goes before what they are told first: any agent, or the main agent alone."""
    release_s: float = attrs.field(default=30.0, validator=attrs.validators.ge(0))
    """Seconds after its end for which an agent is kept in memory; later it is resumed from its transcript."""
    shell_max_s: float = attrs.field(default=3_600.0, validator=attrs.validators.gt(0))
    """Seconds that a command may go on after the agent in the background that started it has ended."""
    stall_s: float = attrs.field(default=600.0, validator=attrs.validators.ge(0))
    """Seconds for which the model of an agent in the background may send nothing before the agent fails; 0 for no limit."""
    report_chars: int = attrs.field(
        default=REPORT_CHARACTERS,
        validator=attrs.validators.and_(attrs.validators.ge(1), attrs.validators.le(MAX_REPORT_CHARS)),
    )
    """The most of a report that its reader gets, in characters, up to 160,000; all of it is in the output file."""


@final
@attrs.frozen(kw_only=True)
class ChildWish:
    """The parts that an agent is to be made of."""

    definition: AgentDefinition
    parent: AgentState | None
    """The agent that asked; None for the host."""
    lineage: Lineage
    model: str | None = None
    """The model that the call names."""
    is_background: bool
    is_teammate: bool = False
    is_planning: bool = False
    """True if it changes nothing until its plan is approved; of a teammate."""
    is_worker: bool = False
    """True if a coordinator leads it."""
    place: Path | None = None
    """The folder in which it begins; None for where its parent stands."""
    own_roots: tuple[Path, ...] | None = None
    exact_model: str | None = None
    """The model that it had in an earlier run."""
    approved_mode: str = ""
    """The permission mode that its plan was approved into in an earlier run; of a teammate."""


class Ground(Protocol):
    """The services of the session for its subagents."""

    def make_child(self, wish: ChildWish) -> AgentState:
        """Return what belongs to a new agent.

        Raises:
            UsageError: Its definition cannot be used.
        """
        ...

    def let_go(self, home: AgentState) -> None:
        """Forget an agent that has ended."""
        ...

    async def find_definitions(self) -> Definitions:
        """Return the definitions as they are now."""
        ...

    def adopt(self, ref: Ref[Any], home: AgentState) -> None:
        """Add an agent that was started."""
        ...

    def drop(self, agent_id: str) -> None:
        """Release it again; its tokens still count."""
        ...

    def find(self, agent_id: str) -> tuple[Ref[Any], AgentState] | None:
        """Return an agent of the session by its id, teammates included; None if it is not in memory."""
        ...

    def living(self) -> Iterable[AgentState]:
        """Return the records of all agents but the main one that have not ended."""
        ...

    def has_budget(self) -> bool:
        """Return whether anything may still be spent."""
        ...


@final
@attrs.frozen(kw_only=True)
class Order:
    """One agent to start."""

    home: Callable[[Lineage], AgentState]
    """Makes what belongs to it."""
    definition: AgentDefinition
    prompt: str
    description: str
    caller: AgentState | None = None
    """The agent that asks; None for the host."""
    caller_id: str = ""
    owner: str = ""
    """The agent that is notified of its end; empty for the host."""
    call: str = ""
    is_background: bool
    is_fork: bool = False
    is_worker: bool = False
    """True if a coordinator leads it."""
    is_silent: bool = False
    """True if its end is told to nobody, because the host looks at the task."""
    name: str = ""
    in_worktree: bool = False
    waits: bool = False
    """True if it waits for a place where too many run."""
    skill: str = ""
    """The skill that it runs; empty for none."""
    is_service: bool = False
    """True if the runtime itself asks, for a hook: it takes no place, and does not count as one that was started."""
    tell: Callable[[Task], bool] | None = None
    """Tells of its end in the place of the notice, and says whether that could be done; None: the notice does."""


@final
@attrs.define(eq=False, kw_only=True, repr=False)
class Member:
    """An agent of a crew, in memory until it is released."""

    id: str
    order: Order
    lineage: Lineage
    task: Task
    home: AgentState
    ref: Ref[Any] | None = None
    """Its actor; None while it waits for a place."""
    hold: Hold | None = None
    """Its worktree, as long as it is used."""
    first: str = ""
    """The first message of an agent that waits for a place."""
    kept_path: str = ""
    """The worktree that was kept at the end of a run."""
    kept_branch: str = ""
    kept_record: dict[str, Any] | None = None
    """The record that was written last; None before anything was."""

    def __repr__(self) -> str:
        return f"<Member {self.id} of {self.definition.name}: run {self.task.info.run}, {self.task.state}>"

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
        """Write what resuming it needs, if that differs from what was written last."""
        record = self.record()
        if record != self.kept_record:
            write(run_folder / record_path(self.id), encode_line(record))
            self.kept_record = record

    def wait_with(self, text: str) -> None:
        """Keep what it is told first until its turn has come."""
        self.first = text

    def add_to_first(self, text: str) -> None:
        """Add to what it is told first, while it waits for a place."""
        self.first = f"{self.first}\n\n{text}"

    def launched(self, ref: Ref[Any]) -> Ref[Any]:
        """Note the actor of its run, and return it."""
        self.ref = ref
        return ref

    def begin_again(self, order: Order, task: Task) -> None:
        """Begin another run."""
        self.order, self.task = order, task

    def hold_worktree(self, hold: Hold | None) -> None:
        """Keep the worktree that it uses."""
        self.hold = hold

    def take_hold(self) -> Hold | None:
        """Return the hold on its worktree, and forget it."""
        hold, self.hold = self.hold, None
        return hold

    def keep_worktree(self, path: str, branch: str) -> None:
        """Note the worktree that was kept at the end of a run; empty for none."""
        self.kept_path, self.kept_branch = path, branch

    def record(self) -> dict[str, Any]:
        """Return what is kept of it on disk, to go on with it when nothing of it is in memory."""
        home = self.home
        roots = home.profile.own_roots
        held = self.hold if home.worktree is None else home.worktree.hold
        tree = None if held is None else held.worktree
        path = self.kept_path if tree is None else str(tree.path)
        call = self.task.info.tool_use_id
        # The names that the leading coding agent's own records have; left out where there is nothing to say.
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


def record_path(agent_id: str) -> Path:
    """Return where the records of an agent lie in the run folder, a line of JSON for each run of it; see `Member.record`."""
    return Path(f"transcripts/agent-{agent_id}.meta.json")
