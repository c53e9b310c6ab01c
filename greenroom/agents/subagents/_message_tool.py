"""The tool SendMessage: one for sub-agents, and for the members of a team.

What it says was sent is recorded; what cannot be recorded is not sent, in the words of the leading coding agent
. Calls of one message run one after the other, so that messages arrive in the order in which they were written.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, final

import attrs

from greenroom.agents.delegation._send_message_call import (
    SendMessageCall,
    letter_description,
    letter_schema,
    read_letter,
)
from greenroom.agents.subagents._agent_tool import AGENT_TOOL
from greenroom.agents.subagents._messages import Post, SendRefused, Told
from greenroom.agents.subagents._session_tool import SessionTool
from greenroom.agents.subagents._subagent_pool import SEND_MESSAGE
from greenroom.core import JournalError
from greenroom.tools import Tool, ToolContext, ToolError

INBOX_REFUSED: Final = "Failed to write to {name}'s inbox — nothing was sent. Try again, or message the lead."
OBJECT_REFUSED: Final = "Failed to write the {what} to {name}'s inbox — nothing was sent"


def not_recorded(letter: SendMessageCall, name: str) -> SendRefused:
    """Return the refusal of a letter that cannot be recorded."""
    if isinstance(letter.body, str):
        return SendRefused("not_recorded", INBOX_REFUSED.format(name=name), is_whole=True)
    what = str(letter.body.get("type", "message")).replace("_", " ")
    return SendRefused("not_recorded", OBJECT_REFUSED.format(what=what, name=name), is_whole=True)


@final
@attrs.frozen(kw_only=True, eq=False, repr=False)
class SendMessage:
    """The tool of one session; made by `make_send_message`."""

    post: Post
    wait_durable: Callable[[], Awaitable[None]] | None
    description: str
    input_schema: Mapping[str, Any]
    name: str = SEND_MESSAGE
    is_read_only: bool = False
    records_itself: bool = True

    def __repr__(self) -> str:
        return f"<tool {self.name}>"

    async def call(self, input: Mapping[str, Any], ctx: ToolContext) -> str:  # noqa: A002 - the protocol's own word
        """Send a message, and return what the sender reads of it.

        Raises:
            ToolError: Nothing was sent; or it was, and nobody knows whether that survives a crash.
        """
        letter = read_letter(input)
        ctx.progress(f"Sending a message to {letter.to}: {letter.summary}")
        team = self.post.team
        if team is not None and team.is_for(letter, ctx.actor):  # which records each message by itself
            told = await self.post.deliver(letter, ctx.actor)
        else:
            told = await self._deliver(letter, ctx.actor)
        routing = {"sender": told.sender, "target": told.target, "summary": letter.summary}
        ctx.attach({"success": True, "message": told.text, "routing": routing, **told.more})
        return told.text

    async def _deliver(self, letter: SendMessageCall, sender: str) -> Told:
        if self.wait_durable is None:
            return await self.post.deliver(letter, sender)
        try:
            await self.wait_durable()
        except JournalError as error:
            raise not_recorded(letter, letter.to) from error
        told = await self.post.deliver(letter, sender)
        try:
            await self.wait_durable()
        except JournalError as error:
            raise ToolError(f"it was sent, and may be lost: {error}") from error
        return told


def make_send_message(
    post: Post, wait_durable: Callable[[], Awaitable[None]] | None = None, *, has_team: bool = False
) -> Tool:
    """Return the tool SendMessage of a session.

    Args:
        post: Delivers.
        wait_durable: Returns when all that was recorded so far survives a crash; raises `JournalError`. None: nothing is kept.
        has_team: Whether its model reads how members of a team are written to; where it does not, they are reached all the same.
    """
    return SendMessage(
        post=post,
        wait_durable=wait_durable,
        description=letter_description(has_team=has_team),
        input_schema=letter_schema(has_team=has_team),
    )


AGENT_TOOLS: Final[tuple[Tool, ...]] = (SessionTool(AGENT_TOOL), SessionTool(SEND_MESSAGE))
"""`Agent` and `SendMessage`, for the `tools` of `open_session`."""
