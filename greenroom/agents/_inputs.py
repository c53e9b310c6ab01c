"""What an agent can be sent."""

from __future__ import annotations

from typing import TypeAlias, final

import attrs

from greenroom.actors import Request
from greenroom.agents._compaction import Compact
from greenroom.models import Usage
from greenroom.skills import Rendered


@final
@attrs.frozen(kw_only=True)
class Answer:
    """How a turn of an agent ended when it ended well."""

    text: str
    """The last thing it said."""
    usage: Usage
    """Of this turn."""
    rounds: int
    """Model requests in this turn."""
    stop_reason: str


@attrs.frozen
class Note:
    """Text for an agent, with where it came from; nobody waits for an answer. It never counts as the user's consent."""

    text: str
    sender: str = ""
    """Name of the agent that sent it; empty for the host."""
    is_hidden: bool = attrs.field(default=False, kw_only=True)
    """Whether it is for the model only; people who look at the conversation are not shown it."""
    notice: str = attrs.field(default="", kw_only=True)
    """Which end of a task it tells of, as `<task id>.<run>`; empty for all else."""


@final
@attrs.frozen
class Work:
    """A piece of work for an agent: it starts a turn of its own and is never taken up by another turn, as a note may be."""

    text: str
    label: str
    """Names the work for whoever gave it, such as the id of an item on a board."""


@final
@attrs.frozen
class Prompt(Request[Answer]):
    """Text for an agent; the turn that it starts is answered with an `Answer`."""

    text: str
    is_hidden: bool = attrs.field(default=False, kw_only=True)
    """As of a note."""
    skills: tuple[Rendered, ...] = attrs.field(default=(), kw_only=True, eq=False, repr=False)
    """The skills that the user called; their text is in the prompt, and the turn has what they grant."""
    said: list[str] = attrs.field(factory=list, init=False, eq=False, repr=False)
    """Where the turn leaves what it had said, for an asker who gets an error instead of an answer."""


Input: TypeAlias = Note | Work | Prompt | Compact
"""What an agent can be sent."""


def render(message: Note | Work | Prompt) -> str:
    """Return what the model reads; a message from another agent says whose it is."""
    if isinstance(message, Note) and message.sender:
        return (
            f'<teammate-message teammate_id="{_escape(message.sender)}">\n{_escape(message.text)}\n</teammate-message>'
        )
    return message.text


def _escape(text: str) -> str:
    """Keep text of an agent from forging or closing a tag."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
