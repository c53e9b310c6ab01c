"""Values exchanged between an agent and a model: blocks, messages, requests, responses and the pieces of a stream.

The blocks mean what they mean in Anthropic's Messages API. Everything is frozen and independent of providers, clocks
and Trio.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias

import attrs

from greenroom.core import Image, UsageError
from greenroom.core.validation import checked
from greenroom.models._clean_text import json_size
from greenroom.models._token_usage import Usage

CHARACTERS_PER_TOKEN: Final = 4
"""Estimated characters per token."""


@attrs.frozen
class TextBlock:
    """Text, of the user or of the model."""

    text: str


@attrs.frozen
class ThinkingBlock:
    """The model's thinking before its answer; it has to be passed back unchanged."""

    thinking: str
    signature: str
    """The provider's proof of origin; opaque."""
    is_redacted: bool = False
    """The provider hid the text: `thinking` is empty and `signature` is the opaque content."""


@attrs.frozen
class ToolUseBlock:
    """A call of a tool; exactly one result with the same id has to follow."""

    id: str
    name: str
    input: Mapping[str, Any]


@attrs.frozen
class ToolResultBlock:
    """The result of a tool call."""

    tool_use_id: str
    content: str
    is_error: bool = False
    images: tuple[Image, ...] = ()
    """Its images, after the text; providers accept none with an error."""

    @property
    def characters(self) -> int:
        """Its length, images by their cost, for estimates of tokens."""
        shown = sum([image.tokens for image in self.images]) * CHARACTERS_PER_TOKEN if self.images else 0
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
        """The text blocks, joined; empty if there are none."""
        return "".join([block.text for block in self.content if isinstance(block, TextBlock)])

    @property
    def tool_uses(self) -> tuple[ToolUseBlock, ...]:
        """The tool calls, in order."""
        return tuple([block for block in self.content if isinstance(block, ToolUseBlock)])

    @cached_property
    def characters(self) -> int:
        """Its length in characters, for estimates of tokens."""
        return sum([_characters(block) for block in self.content])


@attrs.frozen
class ToolSchema:
    """A tool, as described to the model."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    """JSON Schema of the input; an object."""

    @cached_property
    def characters(self) -> int:
        """Its length in characters, for estimates of tokens."""
        return len(self.name) + len(self.description) + json_size(self.input_schema)


Effort: TypeAlias = Literal["low", "medium", "high", "xhigh", "max"]
"""The model's thoroughness; more takes longer and costs more."""

EFFORTS: Final[tuple[Effort, ...]] = ("low", "medium", "high", "xhigh", "max")

# Claude Code also accepts numbers; each row is the highest number of its level.
_EFFORT_UP_TO: Final[tuple[tuple[int, Effort], ...]] = ((50, "low"), (85, "medium"), (100, "high"))

LEAST_THINKING_TOKENS: Final = 1024


def read_effort(said: str | int) -> Effort:
    """Return the effort of a definition or setting: a level, or a number from 0 to 100, which may be text.

    Raises:
        UsageError: It is neither.
    """
    if isinstance(said, str) and said.strip().isdecimal():
        said = int(said)
    if isinstance(said, int) and not isinstance(said, bool) and said >= 0:
        return next((level for most, level in _EFFORT_UP_TO if said <= most), "max")
    level = next((level for level in EFFORTS if isinstance(said, str) and said.strip().lower() == level), None)
    if level is None:
        raise UsageError(f"effort must be one of {', '.join(EFFORTS)}, or a number from 0 to 100, got {said!r}")
    return level


@attrs.frozen(field_transformer=checked)
class Thinking:
    """Thinking before an answer, and the display of thoughts."""

    mode: Literal["adaptive", "enabled", "disabled"] = attrs.field(
        default="adaptive", validator=attrs.validators.in_(("adaptive", "enabled", "disabled"))
    )
    """`adaptive`: as much as the model chooses; `enabled`: up to `budget_tokens`, for models before adaptive ones."""
    budget_tokens: int | None = attrs.field(default=None)
    """Upper limit of thinking, in tokens, within the request's `max_tokens`; with `enabled`, and only then."""
    display: Literal["summarized", "omitted"] | None = attrs.field(
        default=None, validator=attrs.validators.optional(attrs.validators.in_(("summarized", "omitted")))
    )
    """The display of thinking blocks: with a text or only with their signature; None: the model's default."""

    @budget_tokens.validator
    def _check_budget(self, _: Any, value: int | None) -> None:
        if (value is not None) != (self.mode == "enabled"):
            raise UsageError(
                f"thinking requires budget_tokens in mode 'enabled', and only there, got {self.mode!r}, {value!r}"
            )
        if value is not None and value < LEAST_THINKING_TOKENS:
            raise UsageError(f"budget_tokens of thinking must be at least {LEAST_THINKING_TOKENS}, got {value!r}")


@attrs.frozen(slots=False)  # made once per round and short-lived: without slots it is made in a third of the time
class ModelRequest:
    """One request to a model."""

    messages: tuple[Message, ...]
    system: str = ""
    tools: tuple[ToolSchema, ...] = ()
    max_tokens: int = 8192
    """Maximum number of tokens that the model may write."""
    definition: str = ""
    """Name of the agent definition; a playbook selects its function by it."""
    agent: str = ""
    """Id of the requesting agent; never sent to a provider."""
    model: str = ""
    """The provider's exact name of the model; empty: that of the model object."""
    effort: Effort | None = None
    """None: the model's default. Changing it, or `thinking`, voids the provider's cache."""
    thinking: Thinking | None = None
    """None: the model's default."""
    attempt: int = 1
    """Number of the attempt at an answer; above 1 if the previous request was abandoned, in its wait, for this one.
    Never sent.
    """
    silence_s: float | None = attrs.field(default=None, eq=False, repr=False)
    """Seconds without a sign of life of the connection, such as a `ping`, after which it is given up; None: the model's
    default. Never sent, and not recorded.
    """
    on_event: OnEvent | None = attrs.field(default=None, eq=False, repr=False)
    """Called with the events of the answer; see `OnEvent`. Never sent, and not recorded."""

    def with_messages(self, messages: tuple[Message, ...]) -> ModelRequest:
        """Return the same request with other messages; made once per round, in a fifth of the time of `attrs.evolve`."""
        made: ModelRequest = object.__new__(ModelRequest)
        values = self.__dict__.copy()
        values["messages"] = messages
        object.__setattr__(made, "__dict__", values)  # faster than to fill the one that it has
        return made


OnEvent: TypeAlias = Callable[[Mapping[str, Any]], object]
"""Called with each event of a streaming answer in the provider's form (`message_start`, `content_block_delta`, ...), in
order and in the step in which it is read: it may only store and wake.

An answer that is restarted has its events from the start again. Models of Anthropic's API have such events;
`with_events` adds them to others.
"""


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
    """An answer of a model, or its valid part so far.

    The content may be appended to a conversation unchanged, unless it is empty: no tool use with incomplete input, no
    blank text, no thinking at the end.
    """

    content: tuple[Block, ...]
    stop_reason: str | None
    """The reason why the model stopped (see `StopReason`); None: it has not, this is a part."""
    usage: Usage
    model: str
    id: str = ""

    @property
    def is_refused(self) -> bool:
        """True if the model declined to answer; what it said may not be passed back."""
        return self.stop_reason == "refusal"

    @property
    def message(self) -> Message:
        """The entry for the conversation."""
        return Message("assistant", self.content)

    @property
    def text(self) -> str:
        """The text blocks, joined."""
        text = ""  # a loop, because most answers have one block, or none of text
        for block in self.content:
            if isinstance(block, TextBlock):
                text += block.text
        return text

    @property
    def tool_uses(self) -> tuple[ToolUseBlock, ...]:
        """The tool calls, in order."""
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
    """The model has begun a tool call; its input is still arriving."""

    id: str
    name: str


@attrs.frozen
class ToolInputDelta:
    """More of a tool's input, as a fragment of JSON text."""

    id: str
    json: str


@attrs.frozen
class UsageDelta:
    """The usage of this response so far: it replaces the previous one, do not add them up."""

    usage: Usage


@attrs.frozen
class StreamRestarted:
    """The request failed and is sent again: its deltas so far are void."""

    reason: str
    """The `kind` of the `ProviderError`."""
    attempt: int
    """Number of the attempt that follows; the first request was 1."""
    wait_s: float = 0.0
    """Seconds until then."""
    lost: Usage = Usage()  # noqa: RUF009 - it is frozen
    """The usage of the failed attempt; the provider may bill it. The usage of the response includes it."""
    status: int | None = None
    """The HTTP status of the failure, if it had one."""
    attempts: int = 0
    """Maximum number of requests, the first one included; 0 if unknown."""
    is_told: bool = False
    """True if the provider set the wait; then nothing may shorten it."""


Notice: TypeAlias = StreamRestarted
"""An event about a request, as opposed to a piece of its answer."""

Delta: TypeAlias = TextDelta | ThinkingDelta | ToolUseStarted | ToolInputDelta | UsageDelta | StreamRestarted
