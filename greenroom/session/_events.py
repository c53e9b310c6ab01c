"""Events of a session: its start and end, rewound files, questions of servers."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, final

from greenroom.actors import EndState
from greenroom.core import Event, OneOf, frozen
from greenroom.mcp import ElicitationAction
from greenroom.permissions import Mode


@final
@frozen(kw_only=True)
class SessionBegan(Event):
    """A session was opened, or a run folder was opened again."""

    kind: ClassVar[str] = "session.begin"

    session: str
    """Id of the session: the name of its run folder."""
    model: str
    """Name of the model that it was opened with."""
    cwd: str
    """The folder that its agents work in."""
    agent: str = ""
    """Name of the main agent's definition."""
    permission_mode: Annotated[str, OneOf(*Mode, "")] = ""
    """The permission mode with which it began."""
    mode: Annotated[str, OneOf("coordinator", "normal", "")] = ""
    """`coordinator` where the main agent only leads others, else `normal`."""
    title: str = ""
    """The title of the run that it resumes; empty for none."""


@final
@frozen(kw_only=True)
class SessionTitled(Event):
    """The session has another title."""

    kind: ClassVar[str] = "session.titled"

    title: str
    """In one line, at most 200 characters."""


@final
@frozen(kw_only=True)
class SessionEnded(Event):
    """Everything of the session has ended."""

    kind: ClassVar[str] = "session.end"

    state: EndState
    """`completed`, `failed` or `killed`: how the block of `open_session` was left."""
    error: str
    """Class and text of what left the block, if it failed."""


@final
@frozen(kw_only=True)
class FilesRewound(Event):
    """Files were set back to how they were when a message of the user's arrived."""

    kind: ClassVar[str] = "session.files_rewound"

    message: str
    """The id that was given for the message."""
    restored: int
    """Files that have their content and mode again."""
    removed: int
    """Files that were made since, and are gone."""
    insertions: int
    """Lines that are there again."""
    deletions: int
    """Lines that are gone again."""
    error: str = ""
    """The files that could not be set back and the reason, in one line; empty for none."""


@final
@frozen(kw_only=True)
class ElicitationAsked(Event):
    """An MCP server asks a person something."""

    kind: ClassVar[str] = "elicitation.asked"

    server: str
    """Its name."""
    mode: Annotated[str, OneOf("form", "url")]
    """`form` for fields to fill in, `url` for an address to open."""
    message: str
    """Its text, in at most 500 characters."""


@final
@frozen(kw_only=True)
class ElicitationAnswered(Event):
    """An MCP server was answered; what was filled in is not recorded."""

    kind: ClassVar[str] = "elicitation.answered"

    server: str
    """Its name."""
    mode: Annotated[str, OneOf("form", "url")]
    """`form` or `url`."""
    action: Annotated[str, OneOf(*ElicitationAction, "withdrawn")]
    """`accept`, `decline`, `cancel`, or `withdrawn` where nobody waited for the answer any more."""
    who: Annotated[str, OneOf("person", "hook", "nobody", "")]
    """`person`, `hook`, `nobody` where nobody could be asked, or empty."""


EVENTS: Final = (SessionBegan, SessionTitled, FilesRewound, ElicitationAsked, ElicitationAnswered, SessionEnded)
