"""What hooks put on record: each handler that ran, and how it went."""

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
    """The moment, such as `PreToolUse`."""
    subject: str
    """What its matcher was compared with, such as a tool's name; empty where there is none."""
    handler: str
    """What ran, in at most 80 characters."""
    source: str
    """Where it was configured."""
    state: Annotated[str, OneOf(COMPLETED, FAILED, TIMED_OUT, KILLED)]
    """`completed`, `failed` (see `error`), `timed_out` or `killed` (whoever waited for it was ended)."""
    decision: Annotated[str, OneOf("stop", "block", *Permission, *ReplyAction, "")]
    """`stop`, `block`, `allow`, `ask`, `defer`, `deny`, of a server's question `accept`, `decline` or `cancel`, or empty. What could
    be understood counts, beside an error too."""
    duration_s: float
    """Seconds that it ran."""
    error: str
    """What went wrong, in at most 500 characters; empty for `completed` and `killed`."""


EVENTS: Final = (HookRan,)
FOLDS: Final = ()
