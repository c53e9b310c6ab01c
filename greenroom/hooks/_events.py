"""Events of hooks: each handler that ran, with its result."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, final

import attrs

from greenroom.core import Event, Level, OneOf
from greenroom.hooks._outcomes import Permission, ReplyAction

COMPLETED: Final = "completed"
FAILED: Final = "failed"
KILLED: Final = "killed"
TIMED_OUT: Final = "timed_out"


@final
@attrs.frozen(kw_only=True)
class HookRan(Event):
    """A handler of a hook has ended."""

    kind: ClassVar[str] = "hook.ran"
    level: ClassVar[Level] = Level.TURNS

    event: str
    """The event, such as `PreToolUse`."""
    subject: str
    """The subject that its matcher was compared with, such as a tool's name; empty if the event has none."""
    handler: str
    """The handler, in at most 80 characters."""
    source: str
    """The source of its configuration."""
    state: Annotated[str, OneOf(COMPLETED, FAILED, TIMED_OUT, KILLED)]
    """`completed`, `failed` (see `error`), `timed_out` or `killed` (the waiting task was cancelled)."""
    decision: Annotated[str, OneOf("stop", "block", *Permission, *ReplyAction, "")]
    """`stop`, `block`, `allow`, `ask`, `defer`, `deny`, for a server's question `accept`, `decline` or `cancel`, or
    empty.

    The part of the answer that could be parsed takes effect even if there was an error.
    """
    duration_s: float
    """Seconds that it ran."""
    error: str
    """The error, in at most 500 characters; empty for `completed` and `killed`."""


EVENTS: Final = (HookRan,)
