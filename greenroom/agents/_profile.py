"""The profile of an agent: what it is, as opposed to what has happened to it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Final, final

import attrs

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
    """The agents that an agent descends from, which is not who supervises it."""

    parent: str = ""
    """Id of the agent that asked for it; empty for main, and for what the host asked for."""
    above: tuple[str, ...] = ()
    """Ids of all that it descends from, the nearest first; its parent again, and main at the end."""
    call: str = ""
    """The model's id of the call."""
    skill: str = ""
    """The skill that it was started to run (`context: fork`); empty for none."""
    skills: tuple[str, ...] = ()
    """The skills that run as agents of their own, from the outermost on, of which it or one above it is such an agent."""

    @property
    def depth(self) -> int:
        """The number of agents above it: 0 for main, 1 for what the host asked for."""
        return len(self.above)


NO_LINEAGE: Final = Lineage()


@final
@attrs.frozen(kw_only=True, eq=False)
class ConversationStart:
    """The beginning of the conversation of an agent."""

    history: Sequence[Message] = ()
    """Messages of another conversation; they are not written to the agent's transcript."""
    loaded: Loaded | None = None
    """The agent's own conversation of an earlier process; its transcript is continued."""
    open_results: Mapping[str, ToolResultBlock] = attrs.field(factory=dict)
    """Results of the calls that it begins with; those that are not here are lost."""
    keeps_history: bool = False
    """True if these messages are written to the transcript too, or where they stand."""
    shared: SharedPrefix | None = None
    """The place of these messages on disk, in the transcript of the agent that it is a fork of; None where not all of them are there."""
    keeps_open: frozenset[str] = frozenset()
    """Ids of calls that it ends with and that have not run, because answers to them may come. With any of them, all calls at
    that end stay open at the start."""


EMPTY_START: Final = ConversationStart()


@final
@attrs.frozen(kw_only=True, eq=False)
class AgentProfile:
    """The attributes of an agent that are replaced as a whole, so that a reader works with values that belong together."""

    definition: AgentDefinition
    tools: ToolSet
    id: str = ""
    """The agent's, for good: of its transcript, its task and whatever is addressed to it. Its actor has the same id in the
    first run, and another in each later one. Empty until it has started, where nobody has chosen one."""
    model: str = ""
    """The exact name of the model that it runs on; empty for the session's."""
    effort: Effort | None = None
    policy: Policy | None = None
    """The rules that decide about its tool calls; None runs all of them."""
    hooks: HookRunner | None = None
    label: str = ""
    """Its name for people, where that is not the name of its definition."""
    refusals: Refusals | None = None
    """The user's refusals to members of its team; None for an agent without a team."""
    must_plan: bool = False
    """True if it changes nothing until its plan is approved, whatever would allow a call."""
    may_defer: bool = False
    """True if hooks may put off its calls: its turns end with them, and its program runs them later."""
    is_child: bool = False
    """True unless it is the session's main agent."""
    lineage: Lineage = NO_LINEAGE
    narrow: Callable[[Sequence[str]], Collection[str]] | None = None
    """Returns which of the tools that there are it may have, because of what it was started for; None for all."""
    place: Path | None = None
    """The folder in which it began, where that is not the session's."""
    own_roots: tuple[Path, ...] | None = None
    """The folders that it is confined to in place of the session's, such as its worktree."""
    more_roots: tuple[Path, ...] = ()
    """Folders that it may work in besides, such as its memory."""
    checkout: Worktree | None = None
    """The worktree that was made for it and that it may not write outside of; None where it may leave."""
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

    def under(self, parent: AgentProfile) -> AgentProfile:
        """Return the profile with what holds for a parent and all below it: a plan that is missing, refusals."""
        policy = self.policy
        if parent.must_plan and policy is not None:
            policy = policy.with_mode(Mode.PLAN)
        must_plan = self.must_plan or parent.must_plan
        return attrs.evolve(self, refusals=parent.refusals, must_plan=must_plan, policy=policy)
