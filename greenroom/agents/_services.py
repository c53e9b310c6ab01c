"""The services that all agents of a session share: the model, the machine, the people that can be asked, the settings of a turn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, final

import attrs

from greenroom.agents._conversation import OnMessage
from greenroom.agents._repetition import RepetitionLimits
from greenroom.agents.compaction._compaction import CompactionSettings
from greenroom.agents.review import AutoMode
from greenroom.containment import Sandbox, Secrets
from greenroom.core.ports import Blocking
from greenroom.effects import Effects
from greenroom.hooks import STOP_BLOCK_CAP
from greenroom.models import ContinuationPolicy, Model, Thinking
from greenroom.permissions import Allow, ApprovalQueue, Deny, Verdict
from greenroom.store import Transcript
from greenroom.tools import SIDE_BY_SIDE, AskUser, Background, FileChanges, Processes


@final
@attrs.frozen(kw_only=True)
class PermissionQuestion:
    """A call that somebody has to decide about."""

    agent: str
    """Id of the agent that asks."""
    label: str
    """The agent's name for people."""
    tool: str
    input: Mapping[str, Any]
    """The input that the call would run with."""
    verdict: Verdict
    """Why permission is needed, and which rule would settle it permanently."""
    call_id: str
    """The model's id of the call."""


CanUseTool: TypeAlias = Callable[[PermissionQuestion], Awaitable[Allow | Deny | None]]
"""The host's answer to a question; None leaves it to the session's queue. Cancelled with the turn that asks."""
OnStream: TypeAlias = Callable[[str, Mapping[str, Any]], object]
"""Called with an agent's id and an event of the model's answer in one of its turns; see `greenroom.models.OnEvent`."""


@final
@attrs.frozen(kw_only=True)
class Listeners:
    """The callbacks for showing a session to people; None for nobody."""

    on_message: OnMessage | None = None
    """Called with each message that is appended to an agent's conversation."""
    on_shown: OnMessage | None = None
    """Called with each message that hooks of `MessageDisplay` have looked at, as it is to be shown."""
    on_stream: OnStream | None = None
    """Called with the models' answers in agents' turns as they arrive."""
    on_taken: Callable[[str], object] | None = None
    """Called with the id of each message that was sent to the main agent, when that takes it up."""


@final
@attrs.frozen(kw_only=True)
class TurnSettings:
    """The settings of turns and their requests."""

    thinking: Thinking | None = None
    """True if models think before they answer; None leaves it to the model."""
    continuation: ContinuationPolicy | None = None
    """The policy for answers that were cut off; None for the default."""
    compaction: CompactionSettings = attrs.field(factory=CompactionSettings)
    side_by_side: int = SIDE_BY_SIDE
    """Maximum number of read-only calls of one message that run at once."""
    repetition: RepetitionLimits = attrs.field(factory=RepetitionLimits)
    """Limits of calls that fail in the same way."""
    stop_blocks: int = STOP_BLOCK_CAP
    """Maximum number of times in a row that stop hooks may keep a turn going; 0 for no limit."""
    progress_summaries: bool = False
    """True if sub-agents say from time to time what they do."""


@final
@attrs.frozen(kw_only=True)
class AgentServices:
    """The services that all agents of a session share."""

    model: Model
    cwd: Path
    roots: tuple[Path, ...]
    blocking: Blocking
    session_id: str = ""
    listeners: Listeners = attrs.field(factory=Listeners)
    settings: TurnSettings = attrs.field(factory=TurnSettings)
    open_transcript: Callable[[str], Transcript] | None = None
    """Makes the transcript of an agent, given its id; None keeps none."""
    main_transcript: Path | None = None
    """The main agent's transcript, as hooks are given it."""
    wait_durable: Callable[[], Awaitable[None]] | None = None
    """Returns when all that was said and emitted so far survives a crash; awaited before a call that may change something.
    Raises `JournalError` if it cannot be. None: nothing is kept."""
    wait_recorded: Callable[[], Awaitable[None]] | None = None
    """Returns when all that was said and emitted so far survives a crash; awaited before a model is asked. Raises `JournalError`
    if it cannot be: what is not recorded is sent to no model. None: nothing is kept."""
    sandbox: Sandbox | None = None
    """The sandbox of commands; None for none."""
    secrets: Secrets = attrs.field(factory=Secrets)
    """Known secrets, which are masked in the results of calls before they enter a conversation."""
    can_use_tool: CanUseTool | None = None
    approvals: ApprovalQueue | None = None
    """The queue of questions that the host has not answered; None refuses them."""
    auto: AutoMode | None = None
    """The reviewer of calls in the mode auto; None asks people there as well."""
    watch_files: Callable[[Sequence[str]], object] | None = None
    """Replaces the files whose changes hooks are notified of."""
    set_title: Callable[[str], object] | None = None
    """Takes the title that a hook gives the session."""
    processes: Processes | None = None
    background: Background | None = None
    ask_user: AskUser | None = None
    changes: FileChanges | None = None
    """Notified of files that tools change; None for nobody."""
    effects: Effects | None = None
    """Records results from outside, or serves them from a record; None for neither."""

    @property
    def is_rerun(self) -> bool:
        """True if results come from a record, so that nothing outside of the run folder may change."""
        return self.effects is not None and self.effects.is_served

    def reading(self, of: str, owner: str, value: int) -> int:
        """Return a number that was just read, or the one that the record has in its place; see `Effects.reading`."""
        return value if self.effects is None else round(self.effects.reading(of, owner, value))
