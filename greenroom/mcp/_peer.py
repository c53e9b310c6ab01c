"""Port to a connected server, and the data that it exchanges. The SDK implements it, and so do tests.

Must not know: the SDK, actors, models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import Any, Literal, Protocol, TypeAlias, final

import attrs

from greenroom.core import frozen
from greenroom.mcp._configs import ServerConfig


@final
@frozen(kw_only=True)
class PeerInfo:
    """A server's description of itself."""

    name: str = ""
    version: str = ""
    protocol: str = ""
    """The agreed version of the protocol."""
    instructions: str = ""
    """Instructions for a model that uses its tools."""
    has_resources: bool = False
    """True if it declares resources."""
    is_channel: bool = False
    """True if it declares that it pushes messages."""


@final
@frozen(kw_only=True)
class ToolInfo:
    """A tool, as its server describes it."""

    name: str
    description: str = ""
    input_schema: Mapping[str, Any] = attrs.field(factory=dict)
    is_read_only: bool = False
    """The server's own claim; not verified."""
    needs_user: bool = False
    """True if a person has to agree to each call (`requiresUserInteraction`)."""
    output_chars: int | None = None
    """The server's wish for the size of its results, in characters; None for the session's setting."""


@final
@frozen(kw_only=True)
class PromptArgument:
    """An argument of a prompt."""

    name: str
    description: str = ""
    is_required: bool = False


@final
@frozen(kw_only=True)
class PromptInfo:
    """A prompt, as its server describes it."""

    name: str
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


@final
@frozen(kw_only=True)
class ResourceInfo:
    """A resource, as its server lists it."""

    uri: str
    name: str = ""
    description: str = ""
    mime_type: str = ""


@final
class Change(StrEnum):
    """The lists of a server that can change."""

    TOOLS = "tools"
    PROMPTS = "prompts"


@final
@frozen
class TextPart:
    """Text."""

    text: str


@final
@frozen(kw_only=True)
class BinaryPart:
    """An image, audio, or a resource that is not text."""

    kind: Literal["image", "audio", "resource"]
    mime_type: str
    base64: str = attrs.field(repr=False)
    uri: str = ""


@final
@frozen(kw_only=True)
class ResourcePart:
    """A resource that is text."""

    uri: str
    text: str


@final
@frozen(kw_only=True)
class LinkPart:
    """A link to a resource."""

    uri: str
    name: str
    description: str = ""
    mime_type: str = ""


Part: TypeAlias = TextPart | BinaryPart | ResourcePart | LinkPart


@final
@frozen
class PromptPart:
    """A message of a prompt, with its role."""

    role: Literal["user", "assistant"]
    part: Part


@final
@frozen(kw_only=True)
class CallResult:
    """The result of a call."""

    parts: tuple[Part, ...] = ()
    structured: Any = None
    """The result as JSON values; None if absent."""
    is_error: bool = False


@final
@attrs.define(kw_only=True)
class ConnectionEnd:
    """The known reasons for the end of a connection; filled in by the parts that observe it, empty if unknown."""

    why: str = ""
    needs_auth: bool = False
    is_over: bool = False
    """True if the host of the server has gone, which is not a failure."""
    said: str = ""
    """Its last output that is not an answer: a complaint, a status, a line that is not a message."""


class Peer(Protocol):
    """A connected server."""

    @property
    def info(self) -> PeerInfo:
        """Its description of itself."""
        ...

    @property
    def left_out(self) -> tuple[str, ...]:
        """Unusable entries of its latest lists, one line each."""
        ...

    async def list_tools(self) -> tuple[ToolInfo, ...]:
        """Return all of its tools.

        Raises:
            CallFailed: It answered with an error.
        """
        ...

    async def list_prompts(self) -> tuple[PromptInfo, ...]:
        """Return all of its prompts. Raises like `list_tools`."""
        ...

    async def list_resources(self) -> tuple[ResourceInfo, ...]:
        """Return all of its resources. Raises like `list_tools`."""
        ...

    async def get_prompt(self, prompt: str, values: Mapping[str, str]) -> tuple[PromptPart, ...]:
        """Return the messages of a prompt with its arguments filled in. Raises like `list_tools`."""
        ...

    async def read_resource(self, uri: str) -> tuple[Part, ...]:
        """Return the content of a resource. Raises like `list_tools`."""
        ...

    async def call(self, tool: str, values: Mapping[str, Any], on_progress: Callable[[str], None]) -> CallResult:
        """Call a tool; from any task. On cancellation, the server is notified.

        Args:
            tool: The server's own name of it.
            values: The arguments.
            on_progress: Called with the server's progress message, which may be empty.

        Raises:
            CallFailed: It answered with an error that is not a result.
        """
        ...

    async def wait_changed(self) -> frozenset[Change]:
        """Wait until the server has reported changes, and return the lists that changed."""
        ...

    async def wait_lost(self) -> None:
        """Wait until the connection is lost; may also raise."""
        ...


class OpenPeer(Protocol):
    """Opens connections to servers."""

    def __call__(self, config: ServerConfig, ending: ConnectionEnd) -> AbstractAsyncContextManager[Peer]:
        """Connect a server as long as the block lasts; entered and left by one task.

        Every failure leaves it as an exception, or a group of them. When the block has been left, nothing of the server
        remains.
        """
        ...
