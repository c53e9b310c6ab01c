"""The state of an agent across its incarnations, and what its session does for it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import Any, Final, Protocol, final

import attrs

from greenroom.actors import Context, Ref
from greenroom.agents._agent_run import AgentRun
from greenroom.agents._answers import Resumption
from greenroom.agents._conversation import Conversation, OnMessage
from greenroom.agents._conversation_loader import Loaded
from greenroom.agents._grants import NOTHING_GRANTED, Grants
from greenroom.agents._pending import PendingTexts
from greenroom.agents._profile import EMPTY_START, AgentProfile, ConversationStart
from greenroom.agents._request_template import RequestTemplate
from greenroom.agents._services import AgentServices
from greenroom.agents._structured import AnswerTool
from greenroom.agents._turn_state import TurnState
from greenroom.agents._worktree_session import WorktreeSession
from greenroom.agents.compaction._compaction import CompactionRecord
from greenroom.agents.review import ReviewNotes
from greenroom.hooks.inputs import SessionCron
from greenroom.inbox import UNCLASSIFIED, Origin
from greenroom.models import ModelResponse, ToolUseBlock, Usage
from greenroom.permissions import Mode, Policy, Update, stricter_mode
from greenroom.skills import Rendered
from greenroom.tasks import Progress, Task
from greenroom.tools import ToolContext, Workspace

NO_USAGE: Final = Usage()
CLOSING: Final = "its session closes"
OPENING: Final = "its session is being opened"


class AgentPorts(Protocol):
    """The services of the session for one agent: given when the agent is made, and never replaced.

    The agent passes itself, so that one object can serve it from before it exists.
    """

    async def admit(self, agent: AgentState) -> None:
        """Wait for what the agent cannot work without, before anything of it is made.

        Raises:
            ToolError: It cannot have that.
        """
        ...

    async def prepare(self, agent: AgentState, ctx: Context) -> None:
        """Read what the agent starts with; awaited before its first turn, until it has succeeded once.

        Raises:
            MissingServers: A server that it requires has no tools.
        """
        ...

    async def renew_prompt(self, agent: AgentState) -> str | None:
        """Return the system prompt from files as they are now, for a compacted conversation; None to keep the one it has."""
        ...

    def survivors(self, agent: AgentState) -> Sequence[str]:
        """Return what the model has to know again after a compaction; empty texts are left out."""
        ...

    def scheduled(self, agent: AgentState) -> Sequence[SessionCron]:
        """Return the scheduled prompts of the agent, as hooks are told of them."""
        ...

    async def follow(self, calls: Sequence[ToolUseBlock]) -> list[str]:
        """Return what the model is to read now that these calls have worked on files; awaited after each batch."""
        ...

    def take_up(self, agent: AgentState, rendered: Rendered) -> None:
        """Apply what a skill grants; called with each skill that is taken up."""
        ...

    async def read_prompt(self, agent: AgentState, text: str) -> tuple[str, tuple[Rendered, ...]]:
        """Return what a command of the user's by `/name` stands for, and the skills that it calls.

        Raises:
            UsageError: The command cannot be run.
        """
        ...

    async def run_skill(self, agent: AgentState, rendered: Rendered) -> str:
        """Run a skill of the user's with `context: fork`, and return the output of the command.

        Raises:
            UsageError: It may not be run here.
            PeerError: Its agent did not complete.
        """
        ...

    def place(self, agent: AgentState) -> AbstractAsyncContextManager[object]:
        """Return what a turn enters before it takes its message and leaves at its end, such as a place among turns that may run.

        An abort of the turn cancels the wait, and the message ends as that of any aborted turn.
        """
        ...

    def note_begun(self, uuid: str) -> None:
        """Note that a turn begins with an item, before it is taken up."""
        ...

    def note_taken(self, uuid: str) -> None:
        """Note that the agent has taken up an item, in the step in which it did."""
        ...

    def note_dropped(self, uuid: str, why: str) -> None:
        """Note that an item will not be taken up; `why` is empty for one that has expired. One that was taken up is left alone."""
        ...

    def note_said(self, uuid: str) -> None:
        """Note that the agent has taken up a message of the user's, in the step in which it did."""
        ...

    async def keep_updates(self, agent: AgentState, updates: Sequence[Update]) -> None:
        """Apply lasting answers about permissions to the whole session."""
        ...

    def of_fork(self, parent: AgentState) -> AgentPorts:
        """Return the ports of a fork of `parent`, which begins with all that its parent was given."""
        ...


@final
@attrs.define(kw_only=True, eq=False)
class AgentState:
    """The state of one agent across its incarnations. Others than its actor change it by the methods here alone."""

    profile: AgentProfile
    services: AgentServices
    ports: AgentPorts
    start: ConversationStart = EMPTY_START
    conversation: Conversation | None = None
    """Made when the agent first starts, because its transcript is named after its id."""
    context: Context | None = None
    """The context of its actor; None before it has started and after a run has ended."""
    ref: Ref[Any] | None = None
    """Its actor in the latest run; None before it has started."""
    run: AgentRun = attrs.field(factory=AgentRun)
    turn: TurnState | None = None
    """The latest turn; None before the first."""
    usage: Usage = NO_USAGE
    activity: str = ""
    """Its current activity, for people."""
    last_text: str = ""
    """The latest text of the turn that runs, or of the last one; what is there when a turn is cut."""
    pending: PendingTexts = attrs.field(factory=PendingTexts)
    review: ReviewNotes = attrs.field(factory=ReviewNotes)
    compactions: CompactionRecord = attrs.field(factory=CompactionRecord)
    workspace: Workspace = attrs.field(factory=Workspace)
    worktree: WorktreeSession | None = None
    """The worktree that it has entered; None outside of one, or in one that was made for it."""
    grants: Grants = NOTHING_GRANTED
    """The grants of skills, which hold until the user says something again."""
    deferred: ToolUseBlock | None = None
    """The call that is put off, and open at the end of its conversation."""
    side_runs: int = 0
    """Number of runs and requests beside its turns so far; each has its number."""
    is_prepared: bool = False
    """True once `ports.prepare` has succeeded."""
    is_closing: bool = False
    """True if it begins no turn any more, because its session closes."""
    is_cut: bool = False
    """True if the last turn ended with the incarnation, so that the next one has to continue it."""
    answer_tool: AnswerTool | None = attrs.field(init=False)
    """Takes its answer in the form that its definition asks for; None where that is words."""
    template: RequestTemplate = attrs.field(init=False)
    """Makes its requests."""

    @answer_tool.default
    def _make_answer_tool(self) -> AnswerTool | None:
        schema = self.profile.definition.answer_schema
        return None if schema is None else AnswerTool(schema, lambda: self.profile.id)

    @template.default
    def _make_template(self) -> RequestTemplate:
        return RequestTemplate(self.services)

    # --- what it is --------------------------------------------------------------------------------------------------

    def replace(self, **changes: Any) -> None:
        """Replace the profile by one with other values, from the next call or request on.

        Args:
            **changes: Fields of `AgentProfile`.
        """
        self.profile = attrs.evolve(self.profile, **changes)

    def start_from(self, loaded: Loaded, *, resumes: str | None = None, is_held: bool = False) -> None:
        """Continue a conversation of an earlier process; called before the agent has started.

        Args:
            loaded: The conversation.
            resumes: The prompt with which its last turn is resumed, if the process ended in it; empty to ask the same once more,
                None to leave that turn.
            is_held: True if it takes nothing before its actor is resumed.
        """
        self.is_cut = resumes is not None and loaded.was_lost
        resumption = Resumption() if self.is_cut else None
        self.start = attrs.evolve(self.start, loaded=loaded, resumes=resumes, resumption=resumption, is_held=is_held)

    @property
    def has_lost_turn(self) -> bool:
        """True if an earlier process ended in its last turn, and it has taken no turn in this one."""
        loaded = self.start.loaded
        return self.turn is None and loaded is not None and loaded.was_lost and not self.start.keeps_open

    def keep_open(self, calls: Iterable[str]) -> None:
        """Leave the calls open that the conversation ends with, if some of them may still be answered; before the start.

        Args:
            calls: Ids of those that may be answered.
        """
        self.start = attrs.evolve(self.start, keeps_open=frozenset(calls))

    @property
    def policy_now(self) -> Policy | None:
        """The rules that decide about its calls in this turn."""
        policy = self.profile.policy
        return None if policy is None else _limited(self.grants.widen(policy), self.mode_limit)

    @property
    def mode_limit(self) -> Mode | None:
        """The permission mode that it must not exceed in this turn; None for no limit besides its own."""
        own, turn = self.profile.mode_limit, None if self.turn is None else self.turn.mode_limit
        return own if turn is None else turn if own is None else stricter_mode(own, turn)

    @property
    def passed_limit(self) -> Mode | None:
        """The permission mode that its children must not exceed: its limit of this turn, if that is below its own mode."""
        policy, limit = self.profile.policy, self.mode_limit
        is_felt = limit is not None and policy is not None and stricter_mode(policy.mode, limit) is not policy.mode
        return limit if is_felt else self.profile.mode_limit

    @property
    def roots(self) -> tuple[Path, ...]:
        """The folders that its calls are confined to."""
        profile = self.profile
        added = () if profile.policy is None else map(Path, profile.policy.directories)
        first = self.services.roots if profile.own_roots is None else profile.own_roots
        return tuple(dict.fromkeys((*first, *profile.more_roots, *added)))

    @property
    def cwd(self) -> Path:
        """The folder in which it works now."""
        return self.workspace.cwd or self.profile.place or self.services.cwd

    @property
    def model_name(self) -> str:
        """The exact name of its model."""
        return self.profile.model or self.services.model.name

    def tool_context(self) -> ToolContext:
        """Return what all tool calls of this agent have in common; each call gets its own with `for_call`."""
        services, profile = self.services, self.profile
        return ToolContext(
            cwd=profile.place or services.cwd,
            roots=self.roots,
            actor=profile.id,
            tool_use_id="",
            is_main=not profile.is_child,
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
        """Return the variables that the agent's commands are given now, besides those of the session."""
        effort = self.grants.effort or self.profile.effort
        return {} if effort is None else {"CLAUDE_EFFORT": effort}

    # --- its life ----------------------------------------------------------------------------------------------------

    def begin(self, ctx: Context) -> None:
        """Note the actor of a run."""
        self.context, self.ref = ctx, ctx.ref
        if not self.profile.id:
            self.profile = self.profile.with_id(ctx.ref.id)

    async def prepare(self, ctx: Context) -> None:
        """Have the session read what the agent starts with, unless that has been done."""
        if not self.is_prepared:
            await self.ports.prepare(self, ctx)
            self.is_prepared = True

    def open_conversation(self, on_message: OnMessage | None, *, lost: frozenset[str]) -> Conversation:
        """Make the conversation, and its transcript if one is kept.

        Args:
            on_message: Called with each message.
            lost: Ids of calls that it begins with and whose results are lost.
        """
        start, loaded = self.start, self.start.loaded
        open_transcript = self.services.open_transcript
        transcript = None if open_transcript is None else open_transcript(self.profile.id)
        if transcript is not None and loaded is not None:
            transcript.follow(loaded.last_uuid, is_torn=loaded.is_torn)
        if transcript is not None and self.profile.place is not None:
            transcript.move(str(self.profile.place))
        self.conversation = Conversation(
            transcript,
            start.history if loaded is None else loaded.messages,
            agent=self.profile.id,
            on_message=on_message,
            attached=self.workspace.attachments,
            told=self.workspace.told,
            lines=None if loaded is None else loaded.lines,
            lost=lost,
        )
        return self.conversation

    def begin_run(self, task: Task, *, stall_s: float = math.inf) -> None:
        """Begin another run, which stands in the table of tasks; nothing of the one before is left.

        Args:
            task: Its place in the table.
            stall_s: Seconds for which its model may send nothing while the task is in the background.
        """
        task.progress = progress = Progress()
        self.run = AgentRun(task, stall_s, progress)
        self.last_text = ""
        if task.info.run > 1:
            self.start = attrs.evolve(self.start, open_results={})

    def release(self) -> None:
        """Resume an agent that was held since its start, so that it takes the messages that wait."""
        if self.start.is_held:
            self.start = attrs.evolve(self.start, is_held=False)
            if self.ref is not None and not self.is_closing:
                self.ref.resume(why="its session is open")

    def close(self) -> None:
        """Begin no turn any more, and take nothing into the one that runs; a later incarnation neither."""
        self.is_closing = True
        if self.ref is not None:
            self.ref.suspend(why=CLOSING)

    def end_run(self) -> None:
        """Note that the run has ended: there is no actor until the next one."""
        self.context = None

    def close_open_calls(self) -> None:
        """Give the calls that the conversation begins with their results; those without one are lost."""
        if self.conversation is not None:
            self.conversation.close_open_calls(self.start.open_results)

    # --- its turns ---------------------------------------------------------------------------------------------------

    def begin_turn(self, turn: TurnState) -> None:
        """Make a turn the latest one."""
        self.turn = turn

    @property
    def origin(self) -> Origin:
        """The origin of the message that began the latest turn."""
        return UNCLASSIFIED if self.turn is None else self.turn.origin

    def set_cut(self, *, is_cut: bool) -> None:
        """Note whether the next incarnation has to continue the turn that runs."""
        self.is_cut = is_cut

    def note_activity(self, text: str) -> None:
        """Note what the agent is doing now."""
        self.activity = text

    @contextmanager
    def doing(self, text: str) -> Iterator[None]:
        """Show what the agent is doing within the block, and afterwards what it was doing before."""
        before, self.activity = self.activity, text
        try:
            yield
        finally:
            self.activity = before

    def note_text(self, text: str) -> None:
        """Note the latest text of the turn."""
        self.last_text = text

    def note_response(self, response: ModelResponse) -> None:
        """Note the text of an answer, if it has any."""
        self.last_text = response.text or self.last_text

    def count(self, usage: Usage) -> None:
        """Count what a request has used."""
        self.usage += usage

    def grant(self, grants: Grants) -> None:
        """Replace what skills grant."""
        self.grants = grants

    def put_off(self, call: ToolUseBlock | None) -> None:
        """Note the call that is put off; None for none."""
        self.deferred = call

    def next_side_run(self) -> int:
        """Return the number of another run or request beside the turns: their beginnings and ends may cross."""
        self.side_runs += 1
        return self.side_runs

    # --- where it works ----------------------------------------------------------------------------------------------

    def move(self, place: Path | None, own_roots: tuple[Path, ...] | None) -> None:
        """Move it to another folder from its next call on; its shell begins there.

        Args:
            place: The folder; None for the session's.
            own_roots: The folders that it is confined to there; None for the session's.
        """
        self.replace(place=place, own_roots=own_roots)
        self.workspace.cwd = None
        if self.conversation is not None:
            self.conversation.move(place or self.services.cwd)

    def enter_worktree(self, session: WorktreeSession) -> None:
        """Move into a worktree."""
        self.worktree = session
        self.move(session.worktree.path, (session.worktree.path,))

    def leave_worktree(self, session: WorktreeSession, *, has_origin: bool) -> Path:
        """Move back, and return the folder: where the agent stood, or, where that is gone, where it began."""
        self.worktree = None
        self.move(session.place, session.own_roots)
        if session.original_cwd != self.cwd and has_origin:
            self.workspace.cwd = session.original_cwd
        return self.cwd

    def release_worktree(self) -> WorktreeSession | None:
        """Forget the worktree that the agent has entered, and return it; the agent has ended."""
        session, self.worktree = self.worktree, None
        return session


def _limited(policy: Policy, limit: Mode | None) -> Policy:
    return policy if limit is None else policy.with_mode(stricter_mode(policy.mode, limit))
