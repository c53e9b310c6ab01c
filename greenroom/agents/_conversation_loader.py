"""Loading a conversation from a transcript file, to be continued."""

from __future__ import annotations

from pathlib import Path
from typing import Final, final

import attrs

from greenroom.agents._blocks import decode_known
from greenroom.agents._line_marks import AT_REST, PART, TURN_ENDED, TURN_OPEN, TYPED
from greenroom.agents._repair import repair
from greenroom.core.texts import REMINDER, begins_with
from greenroom.models import Message, TextBlock, ToolResultBlock
from greenroom.store import RESUMED_BYTES, Line, read_conversation

CONTINUE: Final = "Continue from where you left off."
"""The prompt of an agent whose turn was cut (the leading coding agent's text)."""


@final
@attrs.frozen(kw_only=True)
class Loaded:
    """A conversation from a transcript."""

    messages: tuple[Message, ...]
    """One that a provider accepts, save calls at its very end: the agent closes them when it starts, in its transcript too."""
    agent_id: str
    session_id: str
    last_uuid: str | None
    """The uuid that the transcript's next line follows."""
    is_torn: bool
    """True if the transcript does not end with a whole line."""
    said: tuple[str, ...] = ()
    """The user's words in it, oldest first; for an agent that another one started, what it was told."""
    notes: tuple[str, ...]
    """The parts that were left out or repaired, each in one sentence."""
    lines: int | None = None
    """The number of lines of the transcripts; None where a beginning was left out."""
    is_at_rest: bool = False
    """True if it ends with a summary that no turn went on with, or with what nobody is to answer."""
    ends_in_part: bool = False
    """True if it ends with what the model had said when it was cut off."""
    has_ended: bool = False
    """True if the last turn was aborted or failed while its process lived: only a request resumes it."""

    @property
    def was_cut(self) -> bool:
        """True if the last turn did not come to its end: the model has not answered it all, or its calls have no results."""
        if self.is_at_rest or not self.messages:
            return False
        last = self.messages[-1]
        return self.ends_in_part or last.role == "user" or bool(last.tool_uses)

    @property
    def was_lost(self) -> bool:
        """True if the last turn was cut because its process, or its session, ended: it is to be resumed."""
        return self.was_cut and not self.has_ended


def load_conversation(path: Path, *, limit_bytes: int = RESUMED_BYTES, follows: bool = True) -> Loaded:
    """Read the conversation that a transcript ends with and repair it; blocks, so call it through the port.

    Args:
        path: The transcript.
        limit_bytes: The most that is read of the file's end.
        follows: Whether what a fork shares with its parent is read too.

    Raises:
        UsageError: The file cannot be read, or what a fork shares is not there as it was.
    """
    left_out: list[str] = []

    def decode(line: Line) -> tuple[Message | None, tuple[str, ...]]:
        message, missing = decode_known(line["message"])
        left_out.extend(missing)
        return message, () if message is None else _said(line, message)

    stored = read_conversation(path, decode, limit_bytes=limit_bytes, follows=follows)
    last = stored.newest
    is_summary = last.get("isCompactSummary") is True and last.get(TURN_OPEN) is not True
    repaired = repair((message for message, _ in stored.lines if message is not None), closes=False)
    return Loaded(
        messages=repaired.messages,
        agent_id=stored.agent_id,
        session_id=stored.session_id,
        last_uuid=stored.last_uuid,
        is_torn=stored.is_torn,
        lines=None if stored.is_cut else len(stored.lines),
        is_at_rest=is_summary or last.get(AT_REST) is True,
        ends_in_part=last.get(PART) is True,
        has_ended=TURN_ENDED in stored.kinds_after,
        said=tuple(text for _, said in stored.lines for text in said),
        notes=(*stored.notes, *left_out, *repaired.notes),
    )


def _said(line: Line, message: Message) -> tuple[str, ...]:
    """Return the user's own words in a line, by what stands beside the message: of all others it says whose they are."""
    is_other = any(line.get(key) for key in _NOT_THE_USERS)
    if message.role != "user" or is_other or any(isinstance(each, ToolResultBlock) for each in message.content):
        return ()
    typed = line.get(TYPED)
    if isinstance(typed, str):
        return (typed,)
    texts = [block.text for block in message.content if isinstance(block, TextBlock)]
    return tuple(text for text in texts if not begins_with(text, REMINDER))


_NOT_THE_USERS: Final = ("origin", "isMeta", "isCompactSummary", AT_REST)
