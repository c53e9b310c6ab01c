"""The messages that an agent can be sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias, final

import attrs

from greenroom.actors import Request
from greenroom.agents._answers import Answer, Resumption
from greenroom.agents.compaction._compaction import Compact
from greenroom.core.texts import frame
from greenroom.inbox import HUMAN, SOURCE, UNCLASSIFIED, EntryKind, InboxItem, Origin, OriginKind, WaitingEntry, peer
from greenroom.skills import Rendered


def _note_origin(note: Note) -> Origin:
    return peer(note.sender) if note.sender else UNCLASSIFIED


@attrs.frozen
class Note(WaitingEntry):
    """Text for an agent, with where it came from; nobody waits for an answer. It never counts as the user's consent."""

    text: str
    sender: str = ""
    """Name of the agent that sent it; empty for the host."""
    is_hidden: bool = attrs.field(default=False, kw_only=True)
    """True if it is for the model only; people who look at the conversation are not shown it."""
    notice: str = attrs.field(default="", kw_only=True)
    """The end of a task that it tells of, as `<task id>.<run>`; empty for all else."""
    status: str = attrs.field(default="", kw_only=True)
    """The state in which that task ended."""
    origin: Origin = attrs.field(default=attrs.Factory(_note_origin, takes_self=True), kw_only=True)
    """Its origin; by default the agent that sent it."""

    is_answered: Callable[[], bool] | None = attrs.field(default=None, kw_only=True, eq=False, repr=False)
    """True if its news has meanwhile been delivered in another way, such as by the result of a call; then it is not
    delivered."""
    on_read: Callable[[], None] | None = attrs.field(default=None, kw_only=True, eq=False, repr=False)
    """Called in the step in which it has become part of the conversation; never before, and never twice."""
    resumption: Resumption | None = attrs.field(default=None, kw_only=True, eq=False, repr=False)
    """Takes the answer of the turn that it begins, if that is one of an earlier process."""
    about: Mapping[str, str] = attrs.field(factory=dict, kw_only=True)
    """Attributes that the model reads besides its text and its sender, such as `color` and `summary`."""

    @property
    def is_meta(self) -> bool:
        """As of every entry: whether it is hidden."""
        return self.is_hidden

    def is_expired(self, now_s: float) -> bool:
        """Return True if it no longer applies."""
        return super().is_expired(now_s) or (self.is_answered is not None and self.is_answered())


@final
@attrs.frozen
class Work:
    """A piece of work for an agent: it starts a turn of its own and is never taken up by another turn, as a note may be."""

    text: str
    label: str
    """Names the work for its giver, such as the id of an item on a board."""
    mark: str = ""
    """Its mark in the transcript line that holds it; empty for none."""
    is_fresh: bool = attrs.field(default=False, kw_only=True)
    """True if its conversation begins with it; see `Conversations`."""


@final
@attrs.frozen
class Prompt(Request[Answer]):
    """Text for an agent; the turn that it starts is answered with an `Answer`."""

    text: str
    is_hidden: bool = attrs.field(default=False, kw_only=True)
    """As of a note."""
    uuid: str = attrs.field(default="", kw_only=True)
    """Of its line in the transcript, where it has one already."""
    skills: tuple[Rendered, ...] = attrs.field(default=(), kw_only=True, eq=False, repr=False)
    """The skills that the user called; their text is in the prompt, and the turn has what they grant."""
    typed: str = attrs.field(default="", kw_only=True)
    """The text that the user typed, where another stands in its place, as for a command by `/name`; empty where it is the text."""
    settles: str = attrs.field(default="", kw_only=True)
    """The id of the call that was put off, and that is to run now; nothing is said to the model then."""
    said: list[str] = attrs.field(factory=list, init=False, eq=False, repr=False)
    """The last text of the turn, for an asker who gets an error instead of an answer."""


Input: TypeAlias = Note | Work | Prompt | Compact | InboxItem
"""The messages that an agent can be sent."""


def origin_of(message: Note | Work | Prompt | InboxItem) -> Origin:
    """Return where something comes from; who asks a prompt speaks for the user."""
    if isinstance(message, WaitingEntry):
        return message.origin
    return HUMAN if isinstance(message, Prompt) else UNCLASSIFIED


def prompt_id_of(message: Input) -> str | None:
    """Return the id of the user's message, which its line in the transcript has too; None of all else."""
    if not isinstance(message, Prompt | InboxItem) or not message.uuid or not origin_of(message).is_consent:
        return None
    is_answer = isinstance(message, InboxItem) and message.kind is EntryKind.ORPHANED_PERMISSION  # it has no line
    return None if is_answer else message.uuid


def is_meta(message: Note | Work | Prompt | InboxItem) -> bool:
    """Return whether it is for the model only."""
    return message.is_meta if isinstance(message, WaitingEntry) else isinstance(message, Prompt) and message.is_hidden


def notices_of(messages: Iterable[object]) -> dict[str, str]:
    """Return the ends of tasks that messages tell of: the ids of the notices, and how each task ended; and the marks of work."""
    told = {message.notice: message.status for message in messages if isinstance(message, Note) and message.notice}
    return told | {message.mark: "" for message in messages if isinstance(message, Work) and message.mark}


def render(message: Note | Work | Prompt | InboxItem) -> str:
    """Return what the model reads; a message from another agent, or from a channel, says whose it is."""
    name = (
        message.origin.name if isinstance(message, InboxItem) else message.sender if isinstance(message, Note) else ""
    )
    if not name:
        return message.text
    if isinstance(message, InboxItem) and message.origin.kind is OriginKind.CHANNEL:
        return frame("channel", message.text, {SOURCE: name, **dict(message.attributes)})
    about = message.about if isinstance(message, Note) else {}
    return frame("teammate-message", message.text, {"teammate_id": name, **about})
