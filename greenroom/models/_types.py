"""What passes between an agent and a model: blocks, messages, requests, responses and the pieces of a stream.

The blocks mean what they mean in Anthropic's Messages API. Everything is frozen; nothing here knows a provider, a
clock or Trio.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import attrs


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


@attrs.frozen
class ToolSchema:
    """A tool as the model sees it."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    """JSON Schema of the input; an object."""


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


Delta: TypeAlias = TextDelta | ThinkingDelta | ToolUseStarted | ToolInputDelta | UsageDelta | StreamRestarted
