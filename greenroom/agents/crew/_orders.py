"""What is asked of a crew, and what it keeps of each of its agents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal, Protocol, final

import attrs

from greenroom.actors import Ref
from greenroom.agents._definition import AgentDefinition
from greenroom.agents._services import AgentHome, Lineage
from greenroom.agents.definitions import Definitions
from greenroom.agents.delegation._carriers import SkillForkSetting
from greenroom.agents.delegation._results import REPORT_CHARACTERS
from greenroom.agents.delegation._routing import ForkSetting
from greenroom.core import LISTING_CHARACTERS, checked
from greenroom.tasks import Task
from greenroom.worktrees import Hold

AUTO_BACKGROUND_MS: Final = 120_000
MAX_REPORT_CHARS: Final = 160_000


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class DelegationSettings:
    """How the agents of a session start others; the defaults are the reference documents' (agents 0.0)."""

    fork: ForkSetting = attrs.field(
        default="off", validator=attrs.validators.in_(("off", "when_type_omitted", "explicit"))
    )
    """How a model forks: not at all, by leaving the type out, or by the type `fork`."""
    skill_fork: SkillForkSetting = attrs.field(default="wait", validator=attrs.validators.in_(("wait", "background")))
    """Whether a skill with `context: fork` is waited for, unless it says otherwise; without a person, it always is."""
    background: bool = True
    """Whether agents may run in the background at all."""
    background_by_default: bool = False
    """Whether an agent runs in the background unless the call says otherwise."""
    auto_background_ms: int = attrs.field(default=AUTO_BACKGROUND_MS, validator=attrs.validators.ge(0))
    """Milliseconds that a call waits for an agent before it goes on in the background; 0: for ever."""
    max_depth: int = attrs.field(default=3, validator=attrs.validators.ge(0))
    """How far below main agents may be started; 0 takes the tool away."""
    max_running: int = attrs.field(default=20, validator=attrs.validators.ge(1))
    """How many run at once: a model's further calls are refused, a program's wait."""
    max_total: int | None = attrs.field(default=None, validator=attrs.validators.optional(attrs.validators.ge(0)))
    """How many a session starts in all; nothing said: as many as it likes."""
    listing_chars: int = attrs.field(default=LISTING_CHARACTERS, validator=attrs.validators.ge(1_000))
    """Characters of the list of agents that a model reads with each request; beyond that descriptions are cut, then left out."""
    interactive: bool = False
    """Whether a person watches; without one, nobody forks by leaving the type out."""
    assistant: bool = False
    """Whether a child never holds up what comes in: all of them run in the background."""
    proactive: bool = False
    """Whether the main agent goes on by itself, in a loop: all of its children run in the background."""
    coordinator: bool = False
    """Whether the main agent only leads others (agents 8); `GREENROOM_COORDINATOR_MODE` goes before this."""
    coordinator_prompt: str = ""
    """What a coordinator is told in place of the text that is built in."""
    simple_workers: bool = False
    """Whether a coordinator's workers have a shell, reading and editing, and nothing else."""
    scratchpad: bool = True
    """Whether the workers of a coordinator share a folder in which they write unasked."""
    append_system_prompt: str = ""
    """What goes behind the system prompt of each of them, save forks (agents 1.88)."""
    initial_prompt_scope: Literal["any", "main"] = attrs.field(
        default="any", validator=attrs.validators.in_(("any", "main"))
    )
    """Whose `initialPrompt` goes before what it is told first: that of any agent, or of the main agent alone."""
    release_s: float = attrs.field(default=30.0, validator=attrs.validators.ge(0))
    """Seconds after its end for which an agent is kept in memory; later it is gone on with from its transcript."""
    shell_max_s: float = attrs.field(default=3_600.0, validator=attrs.validators.gt(0))
    """Seconds that a command may go on after the agent in the background that started it has ended."""
    stall_s: float = attrs.field(default=600.0, validator=attrs.validators.ge(0))
    """Seconds for which the model of an agent in the background may send nothing before the agent fails; 0: for ever."""
    report_chars: int = attrs.field(
        default=REPORT_CHARACTERS,
        validator=attrs.validators.and_(attrs.validators.ge(1), attrs.validators.le(MAX_REPORT_CHARS)),
    )
    """The most of a report that its reader gets, in characters, up to 160,000; all of it is in the output file."""


@final
@attrs.frozen(kw_only=True)
class ChildWish:
    """What an agent is to be made of."""

    definition: AgentDefinition
    parent: AgentHome | None
    """The agent that asked; None for the host."""
    lineage: Lineage
    model: str | None = None
    """What the call says."""
    is_background: bool
    is_teammate: bool = False
    is_planning: bool = False
    """Whether it changes nothing until its plan is approved; of a teammate."""
    is_worker: bool = False
    """Whether a coordinator leads it."""
    place: Path | None = None
    """Where it begins; None for where its parent stands."""
    own_roots: tuple[Path, ...] | None = None
    exact_model: str | None = None
    """The model that it had in an earlier run."""
    approved_mode: str = ""
    """The permission mode that its plan was approved into in an earlier run; of a teammate."""


class Ground(Protocol):
    """What a crew stands on; a session fills it."""

    def make_child(self, wish: ChildWish) -> AgentHome:
        """Return what belongs to a new agent.

        Raises:
            UsageError: Its definition cannot be used.
        """
        ...

    def let_go(self, home: AgentHome) -> None:
        """Forget an agent that has ended."""
        ...

    async def find_definitions(self) -> Definitions:
        """Return the definitions as they are now."""
        ...

    @property
    def adopt(self) -> Callable[[Ref[Any], AgentHome], None]:
        """Takes note of an agent that was started."""
        ...

    @property
    def drop(self) -> Callable[[str], None]:
        """Forgets it again; what it used counts on."""
        ...

    @property
    def find(self) -> Callable[[str], tuple[Ref[Any], AgentHome] | None]:
        """Finds an agent of the session by its id, teammates included."""
        ...

    def has_budget(self) -> bool:
        """Whether anything may still be spent."""
        ...


@final
@attrs.frozen(kw_only=True)
class Order:
    """One agent to start."""

    home: Callable[[Lineage], AgentHome]
    """Makes what belongs to it."""
    definition: AgentDefinition
    prompt: str
    description: str
    caller: AgentHome | None = None
    """The agent that asks; None for the host."""
    caller_id: str = ""
    owner: str = ""
    """Who is told of its end; empty: the host."""
    call: str = ""
    is_background: bool
    is_fork: bool = False
    is_worker: bool = False
    """Whether a coordinator leads it."""
    is_silent: bool = False
    """Whether its end is told to nobody, because the host looks at the task."""
    name: str = ""
    in_worktree: bool = False
    waits: bool = False
    """Whether it waits for a place where too many run."""
    skill: str = ""
    """The skill that it runs; empty for none."""
    is_service: bool = False
    """Whether the runtime itself asks, for a hook: it takes no place, and does not count as one that was started."""
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
    home: AgentHome
    ref: Ref[Any] | None = None
    """Its actor; None while it waits for a place."""
    hold: Hold | None = None
    """Its worktree, as long as it is used."""
    first: str = ""
    """What it is told when its turn has come, as long as it waits for a place."""
    kept_path: str = ""
    """The worktree that was kept at the end of a run."""
    kept_branch: str = ""
    kept_record: dict[str, Any] | None = None
    """What was written last of it; None before anything was."""
    record_file: Path | None = None
    """Where that is written; None before anything was."""

    def __repr__(self) -> str:
        return f"<Member {self.id} of {self.definition.name}: run {self.task.info.run}, {self.task.state}>"

    @property
    def definition(self) -> AgentDefinition:
        """What kind of agent it is."""
        return self.order.definition

    @property
    def label(self) -> str:
        """What people and agents call it."""
        return self.order.name or self.id

    @property
    def is_running(self) -> bool:
        """Whether a run of it has not ended."""
        return not self.task.is_finished

    def record(self) -> dict[str, Any]:
        """Return what is kept of it on disk, to go on with it when nothing of it is in memory (agents 6.58)."""
        home = self.home
        roots = home.own_roots
        held = self.hold if home.stay is None else home.stay.hold
        tree = None if held is None else held.worktree
        path = self.kept_path if tree is None else str(tree.path)
        call = self.task.info.tool_use_id
        # The names that the leading coding agent's own records have (agents 10.3); left out where there is nothing to say.
        shared = {"toolUseId": call} if call else {}
        shared |= {"worktreePath": path} if path else {}
        return {
            "agentId": self.id,
            "agentType": self.definition.name,
            "name": self.order.name,
            "description": self.order.description,
            "model": home.model,
            "cwd": str(home.place or home.services.cwd),
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
