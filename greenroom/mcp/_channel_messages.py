"""Messages that a server pushes of its own accord: `notifications/claude/channel`.

Must not know: who is allowed to push, what becomes of a message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, final

import attrs

from greenroom.inbox import Attributes, attributes_of, is_text

CAPABILITY: Final = "claude/channel"
"""The experimental capability that a server declares to push."""
PUSH: Final = "notifications/claude/channel"
"""The method of the notification."""
MAX_CONTENT_CHARS: Final = 65_536
"""Maximum length of a message, in characters."""
UNDECLARED: Final = f"it does not declare the capability {CAPABILITY}"


@final
@attrs.frozen(kw_only=True)
class ChannelPush:
    """A message that a server pushed."""

    content: str = ""
    attributes: Attributes = ()
    """The usable entries of its `meta`."""
    left_out: int = 0
    """Number of the other entries."""
    fault: str = ""
    """Why the notification is malformed; empty if it is not."""
    is_declared: bool = True
    """True if the server declares that it pushes."""
    is_of_agent: bool = False
    """True if the server belongs to one agent, not to the session."""


def read_push(params: object, *, is_declared: bool) -> ChannelPush:
    """Return what the parameters of a notification say; never raises."""
    fault = _fault_of(params)
    if fault or not isinstance(params, Mapping):
        return ChannelPush(fault=fault, is_declared=is_declared)
    meta = params.get("meta") or {}
    attributes = attributes_of(meta)
    return ChannelPush(
        content=params["content"],
        attributes=attributes,
        left_out=len(meta) - len(attributes),
        is_declared=is_declared,
    )


def declares_channel(result: Mapping[str, Any]) -> bool:
    """True if the answer to a handshake declares that the server pushes."""
    capabilities = result.get("capabilities")
    experimental = capabilities.get("experimental") if isinstance(capabilities, Mapping) else None
    return isinstance(experimental, Mapping) and CAPABILITY in experimental


def _fault_of(params: object) -> str:
    if not isinstance(params, Mapping):
        return "params must be an object"
    content, meta = params.get("content"), params.get("meta")
    if not isinstance(content, str):
        return "content must be text"
    if not content.strip():
        return "content must not be blank"
    if len(content) > MAX_CONTENT_CHARS:
        return f"content must have at most {MAX_CONTENT_CHARS} characters, got {len(content)}"
    if not is_text(content):
        return "content must be valid Unicode"
    return "" if meta is None or isinstance(meta, Mapping) else "meta must be an object"
