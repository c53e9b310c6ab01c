"""The profile of an agent: its attributes, as opposed to its state."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Final, final

import attrs

from greenroom.agents._answers import Resumption
from greenroom.agents._conversation_loader import Loaded
from greenroom.agents._definition import MAIN_NAME, AgentDefinition
from greenroom.agents._skill_tool import SkillTool
from greenroom.agents.memory import InstructionFile, MemoryFolder
from greenroom.hooks import HookRunner
from greenroom.models import Effort, Message, ToolResultBlock
from greenroom.permissions import Mode, Policy, Refusals
from greenroom.store import SharedPrefix
from greenroom.tools import ToolSet
from greenroom.worktrees import Worktree


@final
@attrs.frozen(kw_only=True)
class Lineage:
    """The chain of agents that started an agent; its supervisor is not among them."""

    parent: str = ""
    """Id of the agent that started it; empty for the main agent, and for agents that the host started."""
    above: tuple[str, ...] = ()
    """Ids of all its ancestors, from its parent to the main agent."""
    call: str = ""
    """Id of the tool call that started it, given by the model."""
    skill: str = ""
    """The skill that it was started to run (`context: fork`); empty for none."""
    skills: tuple[str, ...] = ()
    """The skills (`context: fork`) that it and its ancestors run, the outermost first."""

    @property
    def depth(self) -> int:
        """The number of agents above it: 0 for the main agent, 1 for an agent that the host started."""
        return len(self.above)


NO_LINEAGE: Final = Lineage()


@final
@attrs.frozen(kw_only=True, eq=False)
class ConversationStart:
    """The messages that an agent's conversation starts with."""

    history: Sequence[Message] = ()
    """Messages of another conversation; they are not written to the agent's transcript."""
    loaded: Loaded | None = None
    """The agent's own conversation from an earlier process; its transcript is continued."""
    open_results: Mapping[str, ToolResultBlock] = attrs.field(factory=dict)
    """Results of calls that are open at the start; calls without a result here are reported as lost."""
    keeps_history: bool = False
    """True if the messages of `history` are written to the transcript too, or a reference to them."""
    shared: SharedPrefix | None = None
    """The place of these messages on disk, in the transcript of the agent that was forked; None if not all of them are
    there."""
    keeps_open: frozenset[str] = frozenset()
    """Ids of calls at the end of the conversation that have not run, and may still be answered. If there are any, all
    calls at the end stay open at the start."""
    resumes: str | None = None
    """The prompt with which the first incarnation resumes the turn in which an earlier process ended; empty to ask the same
    once more, None to leave it."""
    resumption: Resumption | None = None
    """Takes the answer of that turn; None if nobody can ask for it."""
    is_held: bool = False
    """True if the agent takes nothing before its session says so."""


EMPTY_START: Final = ConversationStart()


@final
@attrs.frozen(kw_only=True, eq=False, slots=False)  # without slots it is replaced in less time
class AgentProfile:
    """The attributes of an agent, replaced together, so that a reader never sees a mix of old and new values."""

    definition: AgentDefinition
    tools: ToolSet
    id: str = ""
    """Permanent id of the agent, which its transcript, its task and messages to it use. Its actor has the same id in
    the first run, and a different one in each later run. Empty until the agent has started, unless an id was chosen
    before."""
    model: str = ""
    """The exact name of the model that it runs on; empty for the session's."""
    effort: Effort | None = None
    policy: Policy | None = None
    """The rules that decide about its tool calls; None runs all of them."""
    hooks: HookRunner | None = None
    label: str = ""
    """Its display name, if that is not the name of its definition."""
    refusals: Refusals | None = None
    """The user's refusals to members of its team; None for an agent without a team."""
    must_plan: bool = False
    """True if it must not change anything until its plan is approved, whatever rules allow."""
    mode_limit: Mode | None = None
    """The permission mode that it must not exceed, whatever its policy says; None for no limit."""
    may_defer: bool = False
    """True if hooks may defer its calls: the turn then ends, and the program runs the calls later."""
    is_child: bool = False
    """True unless it is the session's main agent."""
    lineage: Lineage = NO_LINEAGE
    narrow: Callable[[Sequence[str]], Collection[str]] | None = None
    """Returns the subset of the given tools that it may have, according to its purpose; None for all."""
    place: Path | None = None
    """The folder in which it started, if that is not the session's."""
    own_roots: tuple[Path, ...] | None = None
    """The folders that it is confined to in place of the session's, such as its worktree."""
    more_roots: tuple[Path, ...] = ()
    """Further folders that it may work in, such as its memory."""
    checkout: Worktree | None = None
    """The worktree that was created for it, and outside of which it may not write; None if it is not confined to
    one."""
    instructions: tuple[InstructionFile, ...] = ()
    """The files of instructions that its prompt holds."""
    memory: MemoryFolder | None = None
    """The folder of its notes; None for an agent without."""
    skill_tool: SkillTool | None = None

    @property
    def hook_type(self) -> str | None:
        """The type that hooks are given; None for the main agent of a session that names none."""
        return self.definition.name if self.is_child or self.definition.name != MAIN_NAME else None

    @property
    def display_name(self) -> str:
        """Its name for people."""
        return self.label or self.definition.name

    def with_id(self, agent: str) -> AgentProfile:
        """Return the profile of the agent of that id; once for each agent that begins without one."""
        made: AgentProfile = object.__new__(AgentProfile)
        made.__dict__.update(self.__dict__, id=agent)
        return made

    def under(self, parent: AgentProfile) -> AgentProfile:
        """Return the profile with the restrictions that a parent passes on: a missing plan, and refusals."""
        policy = self.policy
        if parent.must_plan and policy is not None:
            policy = policy.with_mode(Mode.PLAN)
        must_plan = self.must_plan or parent.must_plan
        return attrs.evolve(self, refusals=parent.refusals, must_plan=must_plan, policy=policy)
