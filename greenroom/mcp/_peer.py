"""A server that is connected, as the rest of this folder sees it; and the port through which it is.

The SDK is behind it, and so is whatever a test puts in its place. Must not know: the SDK, actors, models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import Any, Literal, Protocol, TypeAlias, final

import attrs

from greenroom.mcp._configs import ServerConfig


@final
@attrs.frozen(kw_only=True)
class PeerInfo:
    """What a server says of itself."""

    name: str = ""
    version: str = ""
    protocol: str = ""
    """The version of the protocol that is spoken."""
    instructions: str = ""
    """What a model should know about its tools."""
    has_resources: bool = False
    """Whether it says that it has any."""


@final
@attrs.frozen(kw_only=True)
class ToolInfo:
    """A tool as its server describes it."""

    name: str
    description: str = ""
    input_schema: Mapping[str, Any] = attrs.field(factory=dict)
    is_read_only: bool = False
    """What the server says; nobody has checked it."""
    needs_user: bool = False
    """Whether a person has to agree to each call (`requiresUserInteraction`)."""
    output_chars: int | None = None
    """How much of its results the server wants shown, in characters; None for the session's setting."""


@final
@attrs.frozen(kw_only=True)
class PromptArgument:
    """What a prompt wants to know."""

    name: str
    description: str = ""
    is_required: bool = False


@final
@attrs.frozen(kw_only=True)
class PromptInfo:
    """A prompt as its server describes it."""

    name: str
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


@final
@attrs.frozen(kw_only=True)
class ResourceInfo:
    """A resource as its server lists it."""

    uri: str
    name: str = ""
    description: str = ""
    mime_type: str = ""


@final
class Change(StrEnum):
    """What a server may offer others of, from one moment to the next."""

    TOOLS = "tools"
    PROMPTS = "prompts"


@final
@attrs.frozen
class TextPart:
    """Text."""

    text: str


@final
@attrs.frozen(kw_only=True)
class BinaryPart:
    """An image, a sound, or a resource that is no text."""

    kind: Literal["image", "audio", "resource"]
    mime_type: str
    base64: str = attrs.field(repr=False)
    uri: str = ""


@final
@attrs.frozen(kw_only=True)
class ResourcePart:
    """A resource that is text."""

    uri: str
    text: str


@final
@attrs.frozen(kw_only=True)
class LinkPart:
    """Where a resource is, without it."""

    uri: str
    name: str
    description: str = ""
    mime_type: str = ""


Part: TypeAlias = TextPart | BinaryPart | ResourcePart | LinkPart


@final
@attrs.frozen
class PromptPart:
    """A piece of a prompt, and who says it."""

    role: Literal["user", "assistant"]
    part: Part


@final
@attrs.frozen(kw_only=True)
class CallResult:
    """What a call came to."""

    parts: tuple[Part, ...] = ()
    structured: Any = None
    """The result as JSON values; None where there is none."""
    is_error: bool = False


@final
@attrs.define(kw_only=True)
class Ending:
    """What is known of why a connection ended; filled in by whoever sees it, empty where nobody did."""

    why: str = ""
    needs_auth: bool = False
    is_over: bool = False
    """Whether whoever has the server has gone: that is no failure."""
    said: str = ""
    """What it said last that is no answer: a complaint, a status, a line that is no message."""


class Peer(Protocol):
    """A server that is connected."""

    @property
    def info(self) -> PeerInfo:
        """What it says of itself."""
        ...

    @property
    def left_out(self) -> tuple[str, ...]:
        """What is left out of its last lists because it cannot be used, a line each."""
        ...

    async def list_tools(self) -> tuple[ToolInfo, ...]:
        """Return all of its tools.

        Raises:
            CallFailed: It answered with an error.
        """
        ...

    async def list_prompts(self) -> tuple[PromptInfo, ...]:
        """Return all of its prompts. Raises as `list_tools` does."""
        ...

    async def list_resources(self) -> tuple[ResourceInfo, ...]:
        """Return all of its resources. Raises as `list_tools` does."""
        ...

    async def get_prompt(self, prompt: str, values: Mapping[str, str]) -> tuple[PromptPart, ...]:
        """Return what a prompt says, its arguments filled in. Raises as `list_tools` does."""
        ...

    async def read_resource(self, uri: str) -> tuple[Part, ...]:
        """Return what a resource holds. Raises as `list_tools` does."""
        ...

    async def call(self, tool: str, values: Mapping[str, Any], on_progress: Callable[[str], None]) -> CallResult:
        """Call a tool; from any task. Cancelled, the server is told.

        Args:
            tool: The server's own name of it.
            values: The arguments.
            on_progress: Called with what the server says it is doing, which may be nothing.

        Raises:
            CallFailed: It answered with an error that is no result.
        """
        ...

    async def wait_changed(self) -> frozenset[Change]:
        """Wait until the server has said that it has others of something, and return of what."""
        ...

    async def wait_lost(self) -> None:
        """Wait until the connection is lost; it may also be left by an error."""
        ...


class OpenPeer(Protocol):
    """Connects servers."""

    def __call__(self, config: ServerConfig, ending: Ending) -> AbstractAsyncContextManager[Peer]:
        """Connect a server for as long as the block lasts; entered and left by one task.

        Whatever goes wrong leaves it as an exception, or a group of them. What is left of the server when the block has
        been left is nothing.
        """
        ...
