"""The events of agents: model requests and tool calls, each a machine with a beginning and one end."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, TypeAlias, final

from greenroom.actors import EndState, State
from greenroom.agents.compaction._triggers import CompactionTrigger
from greenroom.core import Event, Level, OneOf, frozen

COMPLETED: Final = State.COMPLETED.value
FAILED: Final = State.FAILED.value
KILLED: Final = State.KILLED.value
"""The states as they are written into events."""
_Reviewed: TypeAlias = Annotated[str, OneOf("allowed", "blocked", "failed")]


@frozen(kw_only=True)
class _AgentEvent(Event):
    level: ClassVar[Level] = Level.TURNS

    turn: int
    """Number of the agent's turn within its incarnation, from 1; 0 for what runs beside all turns."""
    round: int
    """Number of the model request within the turn, from 1; beside all turns a number that no other event has but its end."""


@final
@frozen(kw_only=True)
class AgentDefined(Event):
    """An actor is an agent of this definition."""

    kind: ClassVar[str] = "agent.defined"

    definition: str
    """Name of the definition."""
    model: str
    """Name of the model that it talks to."""
    transcript: str
    """Name of the transcript file in the run folder; empty where none is kept."""
    agent: str = ""
    """The agent's id, which the actor has too unless the agent had ended before; empty in older journals."""
    owner: str = ""
    """Id of the agent that asked for it; empty for main, and for what the host asked for."""
    depth: int = 0
    """The number of agents above it."""
    call: str = ""
    """The model's id of the call that asked for it."""
    skill: str = ""
    """The skill that it was started to run; empty for all other agents."""


@final
@frozen(kw_only=True)
class ModelBegan(_AgentEvent):
    """A request went to the model."""

    kind: ClassVar[str] = "model.begin"

    messages: int
    """Messages in the conversation that was sent."""
    after: str = ""
    """The uuid of the last line of the transcript that was sent; empty where none is kept, and in older journals."""


@final
@frozen(kw_only=True)
class ModelEnded(_AgentEvent):
    """The answer is there, or will never be."""

    kind: ClassVar[str] = "model.end"

    state: EndState
    """`completed`, `failed` or `killed`."""
    stop_reason: str
    """Why the model stopped, in the provider's word, such as `end_turn` or `tool_use`; empty if the answer was cut."""
    input_tokens: int
    """Tokens that were read and not in the cache."""
    output_tokens: int
    """Tokens that were written."""
    cache_creation_input_tokens: int
    """Tokens that were read and put into the cache."""
    cache_read_input_tokens: int
    """Tokens that came from the cache."""
    error: str
    """Class and text of the error, if it failed."""


@final
@frozen(kw_only=True)
class ModelRetried(_AgentEvent):
    """An attempt at a request failed for a passing reason, and another one follows a wait."""

    kind: ClassVar[str] = "model.retried"

    attempt: int
    """Number of the attempt that follows; the first was 1."""
    attempts: int
    """The maximum number of attempts; 0 where that is not known."""
    delay_s: float
    """The wait before it, in seconds. Mail that may join the turn ends the wait, unless the provider has said how long it has to be."""
    status: int | None
    """The HTTP status of the failure, if it had one."""
    error: str
    """The kind of the failure, such as `overloaded`."""


@final
@frozen(kw_only=True)
class ToolBegan(_AgentEvent):
    """A tool call runs."""

    kind: ClassVar[str] = "tool.begin"

    call: str
    """The model's id of the call."""
    tool: str
    """Name of the tool."""
    summary: str
    """Its subject, in at most 80 characters."""


@final
@frozen(kw_only=True)
class ToolEnded(_AgentEvent):
    """A tool call has its result."""

    kind: ClassVar[str] = "tool.end"

    call: str
    """The model's id of the call."""
    tool: str
    """Name of the tool."""
    state: EndState
    """`completed`, `failed` (the model reads an error) or `killed` (it was interrupted)."""
    output_chars: int
    """Characters of the result."""
    error: str
    """Class of the error if it failed; with its text if it is a bug of the tool."""


@final
@frozen(kw_only=True)
class AgentSpoke(_AgentEvent):
    """The agent ended a turn with text."""

    kind: ClassVar[str] = "agent.spoke"

    text: str
    """The beginning of the text, in at most 200 characters; the transcript has it all."""


@frozen(kw_only=True)
class _CallEvent(_AgentEvent):
    call: str
    """The model's id of the call."""
    tool: str
    """Name of the tool."""


@final
@frozen(kw_only=True)
class PermissionAsked(_CallEvent):
    """A call waits for somebody's answer."""

    kind: ClassVar[str] = "permission.asked"

    reason: str
    """Why it is asked."""


@final
@frozen(kw_only=True)
class PermissionAnswered(_CallEvent):
    """A question has its answer, or will never have one."""

    kind: ClassVar[str] = "permission.answered"

    answer: Annotated[str, OneOf("allowed", "denied", "withdrawn")]
    """`allowed`, `denied`, or `withdrawn` with the turn that asked."""
    by: Annotated[str, OneOf("person", "host", "hook", "deadline", "nobody", "")]
    """`person`, `host` (its function), `hook`, `deadline` or `nobody`; empty where it was withdrawn."""


@final
@frozen(kw_only=True)
class PermissionDenied(_CallEvent):
    """A call was not run; the model reads why."""

    kind: ClassVar[str] = "permission.denied"

    reason: str
    """Why, in at most 500 characters."""


@final
@frozen(kw_only=True)
class CallDeferred(_CallEvent):
    """A hook wants the program to decide later about a call; the turn ends with it open."""

    kind: ClassVar[str] = "tool.deferred"


@final
@frozen(kw_only=True)
class PermissionReviewed(_CallEvent):
    """The reviewer of auto mode has looked at a call."""

    kind: ClassVar[str] = "permission.reviewed"

    outcome: _Reviewed
    """`allowed`, `blocked`, or `failed`: there is no verdict, and the call is not allowed by it."""
    reason: str
    """Why it is not allowed, in at most 500 characters; may be empty where it is."""


@frozen(kw_only=True)
class _ForkEvent(_AgentEvent):
    purpose: str
    """The purpose of the run."""


@final
@frozen(kw_only=True)
class ForkBegan(_ForkEvent):
    """A run beside the conversation began; its model requests name this event as their parent."""

    kind: ClassVar[str] = "fork.begin"


@final
@frozen(kw_only=True)
class ForkEnded(_ForkEvent):
    """A run beside the conversation is over; the conversation does not know of it."""

    kind: ClassVar[str] = "fork.end"

    state: EndState
    """`completed`, `failed` or `killed`."""
    rounds: int
    """Model requests that it took."""
    tokens: int
    """The tokens that they used, of all kinds."""
    error: str
    """Class and text of the error, if it failed."""


@frozen(kw_only=True)
class _CompactEvent(_AgentEvent):
    trigger: Annotated[str, OneOf(*CompactionTrigger)]
    """`auto` or `manual`."""


@final
@frozen(kw_only=True)
class CompactBegan(_CompactEvent):
    """A conversation is to be compacted."""

    kind: ClassVar[str] = "compact.begin"

    tokens: int
    """Its size."""


@final
@frozen(kw_only=True)
class CompactEnded(_CompactEvent):
    """A conversation was compacted, or is as it was."""

    kind: ClassVar[str] = "compact.end"

    state: EndState
    """`completed`; `failed` or `killed`: the conversation is as it was."""
    pre_tokens: int
    """Its size before."""
    post_tokens: int
    """Its size after; as before if it was not compacted."""
    error: str
    """Class and text of the error, if it failed."""


@final
@frozen(kw_only=True)
class AgentNoticed(Event):
    """Something that people should see, such as what a hook has to say."""

    kind: ClassVar[str] = "agent.noticed"

    source: str
    """Its source, such as the event of a hook."""
    text: str
    """In at most 500 characters."""


@final
@frozen(kw_only=True)
class AgentSummarized(Event):
    """A model has said in a few words what an agent is doing."""

    kind: ClassVar[str] = "agent.summarized"
    level: ClassVar[Level] = Level.TURNS

    text: str
    """In 3 to 8 words."""


@final
@frozen(kw_only=True)
class AgentReviewed(Event):
    """The reviewer of auto mode has looked at what an agent did, before its report goes to the agent that asked for it."""

    kind: ClassVar[str] = "agent.reviewed"

    outcome: _Reviewed
    """`allowed`, `blocked` (the report goes on with a warning), or `failed`: it goes on, and says that it is unreviewed."""
    reason: str
    """The finding of the review, or why there is none, in at most 500 characters."""


EVENTS: Final = (
    AgentDefined,
    ModelBegan,
    ModelEnded,
    ModelRetried,
    ToolBegan,
    ToolEnded,
    CallDeferred,
    PermissionAsked,
    PermissionAnswered,
    PermissionDenied,
    PermissionReviewed,
    ForkBegan,
    ForkEnded,
    CompactBegan,
    CompactEnded,
    AgentSpoke,
    AgentNoticed,
    AgentSummarized,
    AgentReviewed,
)
