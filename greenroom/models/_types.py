"""What passes between an agent and a model: blocks, messages, requests, responses and the pieces of a stream.

The blocks mean what they mean in Anthropic's Messages API. Everything is frozen; nothing here knows a provider, a
clock or Trio.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias

import attrs

from greenroom.core import Image, UsageError, checked
from greenroom.models._clean_text import json_size

CHARACTERS_PER_TOKEN: Final = 4
"""What a token is taken for where nobody counts."""


@attrs.frozen
class TextBlock:
    """Text, of the user or of the model."""

    text: str


@attrs.frozen
class ThinkingBlock:
    """What the model thought before it answered; it has to be passed back unchanged."""

    thinking: str
    signature: str
    """The provider's proof of origin; opaque."""
    is_redacted: bool = False
    """The provider hid the text: `thinking` is empty and `signature` is the opaque content."""


@attrs.frozen
class ToolUseBlock:
    """The model asks for a tool; exactly one result with the same id has to follow."""

    id: str
    name: str
    input: Mapping[str, Any]


@attrs.frozen
class ToolResultBlock:
    """What a tool answered."""

    tool_use_id: str
    content: str
    is_error: bool = False
    images: tuple[Image, ...] = ()
    """What it shows, behind the text; with an error providers take none."""

    @property
    def characters(self) -> int:
        """How long it is, images by what they cost: what an estimate of tokens goes by."""
        shown = sum([one.tokens for one in self.images]) * CHARACTERS_PER_TOKEN if self.images else 0
        return len(self.content) + shown


def _characters(block: Block) -> int:
    match block:
        case TextBlock(text):
            return len(text)
        case ThinkingBlock(thinking):
            return len(thinking)
        case ToolUseBlock(_, name, value):
            return len(name) + json_size(value)
        case ToolResultBlock():
            return block.characters


Block: TypeAlias = TextBlock | ThinkingBlock | ToolUseBlock | ToolResultBlock
Role: TypeAlias = Literal["user", "assistant"]


@attrs.frozen
class Message:
    """One entry of a conversation."""

    role: Role
    content: tuple[Block, ...]

    @classmethod
    def user(cls, text: str) -> Message:
        """Return a message of the user that is only text."""
        return cls("user", (TextBlock(text),))

    @property
    def text(self) -> str:
        """The text blocks, joined; empty where there are none."""
        return "".join([block.text for block in self.content if isinstance(block, TextBlock)])

    @property
    def tool_uses(self) -> tuple[ToolUseBlock, ...]:
        """The tools that are asked for, in order."""
        return tuple([block for block in self.content if isinstance(block, ToolUseBlock)])

    @cached_property
    def characters(self) -> int:
        """How long it is, in characters: what an estimate of tokens goes by."""
        return sum([_characters(block) for block in self.content])


@attrs.frozen
class ToolSchema:
    """A tool as the model sees it."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    """JSON Schema of the input; an object."""

    @cached_property
    def characters(self) -> int:
        """How long it is, in characters: what an estimate of tokens goes by."""
        return len(self.name) + len(self.description) + json_size(self.input_schema)


@attrs.frozen
class Usage:
    """Tokens; the four kinds are disjoint, as the provider bills them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_creation_input_tokens + other.cache_creation_input_tokens,
            self.cache_read_input_tokens + other.cache_read_input_tokens,
        )

    def __sub__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens - other.input_tokens,
            self.output_tokens - other.output_tokens,
            self.cache_creation_input_tokens - other.cache_creation_input_tokens,
            self.cache_read_input_tokens - other.cache_read_input_tokens,
        )

    @property
    def total(self) -> int:
        """All tokens of all kinds."""
        return self.input_tokens + self.output_tokens + self.cache_creation_input_tokens + self.cache_read_input_tokens


Effort: TypeAlias = Literal["low", "medium", "high", "xhigh", "max"]
"""How thorough the model is to be; more takes longer and costs more."""

EFFORTS: Final[tuple[Effort, ...]] = ("low", "medium", "high", "xhigh", "max")

# Numbers are the leading agent's second way to say it; each row is the highest number of its level.
_EFFORT_UP_TO: Final[tuple[tuple[int, Effort], ...]] = ((50, "low"), (85, "medium"), (100, "high"))

LEAST_THINKING_TOKENS: Final = 1024


def read_effort(said: str | int) -> Effort:
    """Return the effort that a definition or setting asks for: a level, or a number from 0 to 100, which may be text.

    Raises:
        UsageError: It is neither.
    """
    if isinstance(said, str) and said.strip().isdecimal():
        said = int(said)
    if isinstance(said, int) and not isinstance(said, bool) and said >= 0:
        return next((level for most, level in _EFFORT_UP_TO if said <= most), "max")
    level = next((level for level in EFFORTS if isinstance(said, str) and said.strip().lower() == level), None)
    if level is None:
        raise UsageError(f"an effort is one of {', '.join(EFFORTS)}, or a number from 0 to 100; not {said!r}")
    return level


@attrs.frozen(field_transformer=checked)
class Thinking:
    """Whether the model thinks before it answers, and whether its thoughts are shown."""

    mode: Literal["adaptive", "enabled", "disabled"] = attrs.field(
        default="adaptive", validator=attrs.validators.in_(("adaptive", "enabled", "disabled"))
    )
    """`adaptive`: as much as the model finds right; `enabled`: up to `budget_tokens`, for models before adaptive ones."""
    budget_tokens: int | None = attrs.field(default=None)
    """The most that it may think, in tokens, within the request's `max_tokens`; with `enabled`, and only then."""
    display: Literal["summarized", "omitted"] | None = attrs.field(
        default=None, validator=attrs.validators.optional(attrs.validators.in_(("summarized", "omitted")))
    )
    """Whether thinking blocks come with a text or only with their signature; None: as the model does it."""

    @budget_tokens.validator
    def _check_budget(self, _: Any, value: int | None) -> None:
        if (value is not None) != (self.mode == "enabled"):
            raise UsageError(
                f"thinking takes budget_tokens with the mode 'enabled', and only then: {self.mode!r}, {value!r}"
            )
        if value is not None and value < LEAST_THINKING_TOKENS:
            raise UsageError(f"budget_tokens of thinking has to be at least {LEAST_THINKING_TOKENS}, not {value!r}")


@attrs.frozen(slots=False)  # made once a round and soon gone: without slots it is made in a third of the time
class ModelRequest:
    """One request to a model."""

    messages: tuple[Message, ...]
    system: str = ""
    tools: tuple[ToolSchema, ...] = ()
    max_tokens: int = 8192
    """The most that the model may write."""
    definition: str = ""
    """Name of the agent definition; a playbook picks its function by it."""
    agent: str = ""
    """Id of the agent that asks; never sent to a provider."""
    model: str = ""
    """The provider's exact name of the model; empty: the one that the model object was made for."""
    effort: Effort | None = None
    """None: the model's own default. A change of it, as of `thinking`, voids what the provider has cached."""
    thinking: Thinking | None = None
    """None: the model's own default."""
    attempt: int = 1
    """Which attempt at an answer it is; above 1 where the one before was given up, in its wait, for this one. Never sent."""
    silence_s: float | None = attrs.field(default=None, eq=False, repr=False)
    """Seconds without a sign of life of the connection, such as a `ping`, after which it is given up; None: as the model
    does it. Never sent, and no part of what is recorded."""
    on_event: OnEvent | None = attrs.field(default=None, eq=False, repr=False)
    """Hears of the answer as it comes; see `OnEvent`. Never sent, and no part of what is recorded."""


OnEvent: TypeAlias = Callable[[Mapping[str, Any]], object]
"""Called with each event of a streaming answer in the provider's form (`message_start`, `content_block_delta`, ...), in order and
in the step in which it is read: it may only store and wake. An answer that is begun anew has its events from the start again.
Models of Anthropic's API have such events; others are given them by `with_events`."""


StopReason: TypeAlias = Literal[
    "end_turn",
    "tool_use",
    "max_tokens",
    "stop_sequence",
    "pause_turn",
    "refusal",
    "model_context_window_exceeded",
]
"""The stop reasons known today. Responses hold a plain `str`: a provider may add one."""


@attrs.frozen(slots=False)  # as ModelRequest
class ModelResponse:
    """What a model answered, or the valid part of what it has answered so far.

    The content may be appended to a conversation as it is, unless it is empty: no tool use without its whole input, no
    blank text, no thinking at the end.
    """

    content: tuple[Block, ...]
    stop_reason: str | None
    """Why the model stopped (see `StopReason`); None: it has not, this is a part."""
    usage: Usage
    model: str
    id: str = ""

    @property
    def message(self) -> Message:
        """The entry for the conversation."""
        return Message("assistant", self.content)

    @property
    def text(self) -> str:
        """The text blocks, joined."""
        return "".join([block.text for block in self.content if isinstance(block, TextBlock)])

    @property
    def tool_uses(self) -> tuple[ToolUseBlock, ...]:
        """The tools that are asked for, in order."""
        return tuple([block for block in self.content if isinstance(block, ToolUseBlock)])


# --- the pieces of a stream ------------------------------------------------------------------------------------------


@attrs.frozen
class TextDelta:
    """More text of the answer."""

    text: str


@attrs.frozen
class ThinkingDelta:
    """More thinking."""

    thinking: str


@attrs.frozen
class ToolUseStarted:
    """The model has begun to ask for a tool; its input is still on the way."""

    id: str
    name: str


@attrs.frozen
class ToolInputDelta:
    """More of a tool's input, as JSON text; no JSON by itself."""

    id: str
    json: str


@attrs.frozen
class UsageDelta:
    """The usage of this response so far: it replaces the one before, do not add them up."""

    usage: Usage


@attrs.frozen
class StreamRestarted:
    """The request failed and is sent again: what was streamed of it before does not count any more."""

    reason: str
    """The `kind` of the `ProviderError`."""
    attempt: int
    """Number of the attempt that follows; the first request was 1."""
    wait_s: float = 0.0
    """Seconds until then."""
    lost: Usage = Usage()
    """What the failed attempt had used; the provider may bill it. The usage of the response counts it already."""
    status: int | None = None
    """The HTTP status of the failure, if it had one."""
    attempts: int = 0
    """Requests that there may be in all, the first one included; 0 where that is not known."""
    is_told: bool = False
    """Whether the provider has said when to come back; then nothing may make the wait shorter."""


Notice: TypeAlias = StreamRestarted
"""What happened to a request on its way, as opposed to a piece of its answer."""

Delta: TypeAlias = TextDelta | ThinkingDelta | ToolUseStarted | ToolInputDelta | UsageDelta | StreamRestarted
