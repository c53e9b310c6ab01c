"""What the engine is given: the model, the tools, the ports. Composed by the session, the same for each of its agents."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, final

import attrs

from greenroom.actors import Context, Ref
from greenroom.agents._compaction import CompactionRecord, CompactionSettings
from greenroom.agents._conversation import Conversation, OnMessage
from greenroom.agents._definition import MAIN_NAME, AgentDefinition
from greenroom.agents._grants import NOTHING_GRANTED, Grants
from greenroom.agents._inputs import Note
from greenroom.agents._loading import Loaded
from greenroom.agents._repetition import RepetitionLimits
from greenroom.agents._skill_tool import SkillTool
from greenroom.agents._stay import Stay
from greenroom.agents._structured import AnswerTool
from greenroom.agents.memory import InstructionFile, MemoryFolder
from greenroom.agents.review import AutoMode
from greenroom.containment import Sandbox, Secrets
from greenroom.core import Blocking, Cause
from greenroom.hooks import STOP_BLOCK_CAP, HookRunner
from greenroom.inbox import UNCLASSIFIED, Origin
from greenroom.models import (
    ContinuationPolicy,
    Effort,
    Message,
    Model,
    Thinking,
    ToolResultBlock,
    ToolSchema,
    ToolUseBlock,
    Usage,
)
from greenroom.permissions import Allow, ApprovalQueue, Deny, Mode, Policy, Refusals, Update, Verdict
from greenroom.skills import Rendered
from greenroom.store import SharedPrefix, Transcript
from greenroom.tasks import Progress, Task, TaskNotice
from greenroom.tools import SIDE_BY_SIDE, AskUser, Background, FileChanges, Processes, ToolContext, ToolSet, Workspace
from greenroom.worktrees import Worktree

if TYPE_CHECKING:
    from greenroom.agents._hooking import Hooking


@final
@attrs.frozen(kw_only=True)
class Question:
    """A call that somebody has to decide about."""

    agent: str
    """Id of the agent that asks."""
    label: str
    """What people call that agent."""
    tool: str
    input: Mapping[str, Any]
    """What the call would run with."""
    verdict: Verdict
    """Why it is asked, and what would settle it for good."""
    call_id: str
    """The model's id of the call."""


CanUseTool: TypeAlias = Callable[[Question], Awaitable[Allow | Deny | None]]
"""The host's answer to a question; None leaves it to the session's queue. Cancelled with the turn that asks."""


@final
@attrs.frozen(kw_only=True)
class Denial:
    """A call that was not run because it may not."""

    tool: str
    call: str
    """The model's id of the call."""
    input: Mapping[str, Any]


OnStream: TypeAlias = Callable[[str, Mapping[str, Any]], object]
"""Called with an agent's id and an event of the model's answer in one of its turns; see `greenroom.models.OnEvent`."""


@final
@attrs.frozen(kw_only=True)
class AgentServices:
    """What all agents of a session share."""

    model: Model
    cwd: Path
    roots: tuple[Path, ...]
    blocking: Blocking
    open_transcript: Callable[[str], Transcript] | None = None
    """Makes the transcript of an agent, given its id; None keeps none."""
    on_message: OnMessage | None = None
    """Hears of each message that an agent's conversation gets."""
    on_shown: OnMessage | None = None
    """Hears of each message that hooks of `MessageDisplay` have looked at, as it is to be shown."""
    on_stream: OnStream | None = None
    """Hears of the answers of the agents' turns as they come."""
    on_taken: Callable[[str], object] | None = None
    """Hears the id of each message that was sent to the main agent, when that takes it up."""
    wait_durable: Callable[[], Awaitable[None]] | None = None
    """Returns when all that was said and emitted so far survives a crash; awaited before a call that may change something.
    Raises `JournalError` when it cannot be. None: nothing is kept."""
    sandbox: Sandbox | None = None
    """What commands run in; None for nothing."""
    secrets: Secrets = attrs.field(factory=Secrets)
    """Known secrets, which are masked in the results of calls before they enter a conversation."""
    wait_recorded: Callable[[], Awaitable[None]] | None = None
    """Returns when all that was said and emitted so far survives a crash; awaited before a model is asked. Raises `JournalError`
    when it cannot be: what is not on record is sent to no model. None: nothing is kept."""
    session_id: str = ""
    main_transcript: Path | None = None
    """The main agent's transcript, which hooks are told of."""
    can_use_tool: CanUseTool | None = None
    approvals: ApprovalQueue | None = None
    """Where questions wait that the host has not answered; None refuses them."""
    watch_files: Callable[[Sequence[str]], object] | None = None
    """Takes the files that hooks are to be told changes of, in place of those before."""
    set_title: Callable[[str], object] | None = None
    """Takes the title that a hook gives the session."""
    auto: AutoMode | None = None
    """What reviews calls in the mode auto; None: whoever can be asked is asked there as well."""
    thinking: Thinking | None = None
    """Whether models think before they answer; None: as they do by themselves."""
    continuation: ContinuationPolicy | None = None
    """How answers are gone on with that were cut; None: as by default."""
    compaction: CompactionSettings = attrs.field(factory=CompactionSettings)
    side_by_side: int = SIDE_BY_SIDE
    """How many read-only calls of one message run at once."""
    repetition: RepetitionLimits = attrs.field(factory=RepetitionLimits)
    """How often a call may fail in the same way."""
    stop_blocks: int = STOP_BLOCK_CAP
    """How often in a row stop hooks may keep a turn going; 0 for ever."""
    progress_summaries: bool = False
    """Whether those that another one, or the host, started say from time to time what they do."""
    processes: Processes | None = None
    background: Background | None = None
    ask_user: AskUser | None = None
    changes: FileChanges | None = None
    """Hears of files that tools change; None: nobody does."""


@final
@attrs.frozen(kw_only=True)
class Lineage:
    """Who asked for an agent (DESIGN 12.18: descent, not supervision)."""

    parent: str = ""
    """Id of the agent that did; empty for main, and for what the host asked for."""
    above: tuple[str, ...] = ()
    """All that it descends from, the nearest first; its parent again, and main at the end."""
    call: str = ""
    """The model's id of the call."""
    skill: str = ""
    """The skill that it was started to run (`context: fork`); empty for none."""
    skills: tuple[str, ...] = ()
    """The skills that run as agents of their own, from the outermost on, of which it or one above it is such an agent."""

    @property
    def depth(self) -> int:
        """How far it is below main, which is 0; what the host asked for is 1."""
        return len(self.above)


NO_LINEAGE: Final = Lineage()
NO_USAGE: Final = Usage()


class AgentPorts(Protocol):
    """What the session gives to one agent: given when the agent is made, and never replaced.

    The agent passes itself, so that one object can serve it from before it exists.
    """

    async def admit(self, agent: AgentHome) -> None:
        """Wait for what the agent cannot work without, before anything of it is made.

        Raises:
            ToolError: It cannot have that.
        """
        ...

    async def prepare(self, agent: AgentHome, ctx: Context) -> None:
        """Read what the agent starts with; awaited before its first turn, until it has succeeded once.

        Raises:
            MissingServers: A server that it requires has no tools.
        """
        ...

    async def renew_prompt(self, agent: AgentHome) -> str | None:
        """Return the system prompt from files as they are now, for a compacted conversation; None to keep the one it has."""
        ...

    def survivors(self, agent: AgentHome) -> Sequence[str]:
        """Return what the model has to know again after a compaction; empty texts are left out."""
        ...

    async def follow(self, calls: Sequence[ToolUseBlock]) -> list[str]:
        """Return what the model is to read now that these calls have worked on files; awaited after each batch."""
        ...

    def take_up(self, agent: AgentHome, rendered: Rendered) -> None:
        """Put in force what a skill grants; called with each skill that is taken up."""
        ...

    async def read_prompt(self, agent: AgentHome, text: str) -> tuple[str, tuple[Rendered, ...]]:
        """Return what a command of the user's by `/name` stands for, and the skills that it calls.

        Raises:
            UsageError: The command cannot be run.
        """
        ...

    async def run_skill(self, agent: AgentHome, rendered: Rendered) -> str:
        """Run a skill of the user's with `context: fork`, and return the output of the command.

        Raises:
            UsageError: It may not be run here.
            PeerError: Its agent did not complete.
        """
        ...

    def note_taken(self, uuid: str) -> None:
        """Note that the agent has taken up an item, in the step in which it did."""
        ...

    def note_said(self, uuid: str) -> None:
        """Note that the agent has taken up a message of the user's, in the step in which it did."""
        ...

    async def keep_updates(self, agent: AgentHome, updates: Sequence[Update]) -> None:
        """Put lasting answers about permissions in force for the whole session."""
        ...

    def of_fork(self, parent: AgentHome) -> AgentPorts:
        """Return the ports of a fork of `parent`, which begins with all that its parent was given."""
        ...


@final
@attrs.define(kw_only=True, eq=False)
class AgentHome:
    """What belongs to one agent for good, across its incarnations. Its conversation is the memory of it all.

    What is empty in most agents is a tuple, which all of them share: the garbage collector looks at what each has of its own.
    """

    definition: AgentDefinition
    services: AgentServices
    ports: AgentPorts
    tools: ToolSet
    conversation: Conversation | None = None
    """Made when the agent first starts, because its transcript is named after its id."""
    usage: Usage = NO_USAGE
    activity: str = ""
    """What it is doing now, for people."""
    last_text: str = ""
    """The latest text of the turn that runs, or of the last one; what is there when a turn is cut."""
    history: Sequence[Message] = ()
    """Messages that a new conversation begins with; they are not written to its transcript."""
    loaded: Loaded | None = None
    """The agent's own conversation of an earlier process; its transcript is gone on with."""
    model: str = ""
    """The exact name of the model that it runs on; empty for the session's."""
    effort: Effort | None = None
    policy: Policy | None = None
    """What decides about its tool calls; None lets all of them run."""
    hooks: HookRunner | None = None
    label: str = ""
    """What people call it, where that is not the name of its definition."""
    refusals: Refusals | None = None
    """What the user has refused to members of its team; None for one that belongs to none."""
    must_plan: bool = False
    """Whether it changes nothing until its plan is approved, whoever would allow a call."""
    hooking: Hooking | None = None
    """Runs the hooks of its latest turn."""
    is_child: bool = False
    """Whether it is not the session's main agent."""
    id: str = ""
    """The agent's, for good: of its transcript, its task and whatever is addressed to it. Its actor has the same in its first
    run, and another in each later one."""
    lineage: Lineage = NO_LINEAGE
    """Who asked for it."""
    context: Context | None = None
    """What its actor may do; there once it has started."""
    task: Task | None = None
    """Its current run in the table of tasks; None where it does not stand there."""
    stall_s: float = math.inf
    """Seconds for which its model may send nothing while the run is in the background."""
    place: Path | None = None
    """The folder in which it began, where that is not the session's."""
    own_roots: tuple[Path, ...] | None = None
    """The folders that it is confined to in place of the session's, such as its worktree."""
    stay: Stay | None = None
    """Its stay in a worktree that it went into; None where it is in none, or in one that was made for it."""
    has_moved: bool = False
    """Whether it works in other folders than those that the calls of its turn have been told."""
    open_results: Mapping[str, ToolResultBlock] = attrs.field(factory=dict)
    """Results of calls that its conversation begins with; those that are not here are lost."""
    keeps_history: bool = False
    """Whether the messages that its conversation begins with are written to its transcript too, or where they stand."""
    shared: SharedPrefix | None = None
    """Where these stand on disk, in the transcript of the agent that it is a fork of; None where not all of them do."""
    ended_by: Cause | None = None
    """Who asked for the end of the turn with which its run ended."""
    checkout: Worktree | None = None
    """The worktree that was made for it and that it may not write outside of; None where it may leave."""
    narrow: Callable[[Sequence[str]], Collection[str]] | None = None
    """Returns which of the tools that there are it may have, because of what it was started for."""
    openings: tuple[str, ...] = ()
    """What the model is to read with the next message, in front of it."""
    reminders: tuple[str, ...] = ()
    """What the model is to read with the next message, besides."""
    unread: dict[str, TaskNotice] = attrs.field(factory=dict)
    """Notices that were handed to it and that it has not read, by their ids; of a sub-agent."""
    quiet: tuple[Note, ...] = ()
    """Notices that begin no turn: the model reads them with the next message."""
    denials: tuple[Denial, ...] = ()
    """Calls that were refused, in order."""
    tasks: tuple[str, ...] = ()
    """What it was told by others than the user, where a reviewer reads it."""
    for_reviewer: tuple[str, ...] = ()
    """What hooks say of its calls, for a reviewer."""
    earlier_calls: tuple[str, ...] = ()
    """What a reviewer reads of calls that were compacted away."""
    compactions: CompactionRecord = attrs.field(factory=CompactionRecord)
    workspace: Workspace = attrs.field(factory=Workspace)
    more_roots: tuple[Path, ...] = ()
    """Folders that it may work in besides the session's, such as its memory."""
    instructions: tuple[InstructionFile, ...] = ()
    """The files of instructions that its prompt holds."""
    memory: MemoryFolder | None = None
    """Where it keeps its notes; None for one without."""
    skill_tool: SkillTool | None = None
    origin: Origin = UNCLASSIFIED
    """Where that comes from with which its latest turn began."""
    grants: Grants = NOTHING_GRANTED
    """What skills give it for this turn."""
    is_prepared: bool = False
    """True once `ports.prepare` has succeeded."""
    may_defer: bool = False
    """Whether hooks may put off its calls: its turns end with them, and its program goes on (agents 3.36)."""
    deferred: ToolUseBlock | None = None
    """The call that is put off, and open at the end of its conversation."""
    keeps_open: frozenset[str] = frozenset()
    """Ids of calls that its loaded conversation ends with and that have not run, because answers to them may come. With any of
    them, all calls at that end stay open at its start."""
    ref: Ref[Any] | None = None
    """Its actor in the latest run; None before it has started."""
    asides: int = 0
    """Runs and requests beside its turns so far; each has its number."""
    is_cut: bool = False
    """Whether the last turn ended with the incarnation, so that the next one has to go on with it."""
    answer_tool: AnswerTool | None = attrs.field(init=False)
    """Takes its answer in the form that its definition asks for; None where that is words."""
    _schemas: tuple[ToolSet, tuple[ToolSchema, ...]] | None = None

    @answer_tool.default
    def _make_answer_tool(self) -> AnswerTool | None:
        schema = self.definition.answer_schema
        return None if schema is None else AnswerTool(schema, lambda: self.id)

    @property
    def told_type(self) -> str | None:
        """Which agent hooks are told that it is; None for the main agent of a session that names none (agents 3.20)."""
        return self.definition.name if self.is_child or self.definition.name != MAIN_NAME else None

    @property
    def answer_tools(self) -> tuple[AnswerTool, ...]:
        """The tool by which it answers, if there is one."""
        return () if self.answer_tool is None else (self.answer_tool,)

    def stand_under(self, parent: AgentHome) -> None:
        """Take over what holds for the agent that starts this one and for all below it: a plan that is missing, refusals."""
        self.refusals = parent.refusals
        if parent.must_plan:
            self.must_plan = True
            self.policy = None if self.policy is None else self.policy.with_mode(Mode.PLAN)

    def tool_context(self) -> ToolContext:
        """Return what all tool calls of this agent have in common; each call gets its own with `for_call`."""
        services = self.services
        return ToolContext(
            cwd=self.place or services.cwd,
            roots=self.roots,
            actor=self.id,
            tool_use_id="",
            is_main=not self.is_child,
            workspace=self.workspace,
            blocking=services.blocking,
            processes=services.processes,
            sandbox=services.sandbox,
            background=services.background,
            ask_user=services.ask_user,
            progress=self.note_activity,
            changes=services.changes,
            variables=self.exported,
        )

    def exported(self) -> Mapping[str, str]:
        """Return what commands of the agent are given as things are now, beside the variables of the session (agents 15)."""
        effort = self.grants.effort or self.effort
        return {} if effort is None else {"CLAUDE_EFFORT": effort}

    def note_activity(self, text: str) -> None:
        """Say what it is doing now."""
        self.activity = text

    @property
    def policy_now(self) -> Policy | None:
        """What decides about its calls in this turn."""
        return None if self.policy is None else self.grants.widen(self.policy)

    @property
    def roots(self) -> tuple[Path, ...]:
        """The folders that its calls are confined to."""
        added = () if self.policy is None else map(Path, self.policy.directories)
        first = self.services.roots if self.own_roots is None else self.own_roots
        return tuple(dict.fromkeys((*first, *self.more_roots, *added)))

    def move(self, place: Path | None, own_roots: tuple[Path, ...] | None) -> None:
        """Let it work elsewhere from its next call on; its shell begins there.

        Args:
            place: The folder; None for the session's.
            own_roots: The folders that it is confined to there; None for the session's.
        """
        self.place, self.own_roots, self.workspace.cwd = place, own_roots, None
        self.has_moved = True
        if self.conversation is not None:
            self.conversation.move(place or self.services.cwd)

    @property
    def cwd(self) -> Path:
        """Where the agent stands now."""
        return self.workspace.cwd or self.place or self.services.cwd

    @property
    def progress(self) -> Progress | None:
        """The counters of its current run; None without a task."""
        return None if self.task is None else self.task.progress

    @property
    def stall_limit_s(self) -> float:
        """Seconds for which its model may send nothing; without limit while a call waits for the run.

        Read when a request begins: one that was under way when the task was moved to the background has no limit.
        """
        return self.stall_s if self.task is not None and self.task.is_background else math.inf

    @property
    def schemas(self) -> tuple[ToolSchema, ...]:
        """The tools as the model sees them; the same objects in every request, as long as the tools are the same."""
        if self._schemas is None or self._schemas[0] is not self.tools:
            made = tuple(ToolSchema(one.name, one.description, one.input_schema) for one in self.tools.schemas)
            self._schemas = (self.tools, made)
        return self._schemas[1]
