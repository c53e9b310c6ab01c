"""The main agent's messages as they are shown: hooks of `MessageDisplay` may replace their text.

Only what is shown changes: the conversation, the transcript and the answer of the turn have what the model said. A
message is shown once, whatever becomes of the hooks: as it is where they fail, hang, or the turn is cut.
"""

from __future__ import annotations

from uuid import NAMESPACE_OID, uuid5

import attrs

from greenroom.agents._agent_turn import AgentTurn
from greenroom.agents._conversation import Appended
from greenroom.hooks import HookEvent
from greenroom.hooks.inputs import MessageDisplayInput
from greenroom.models import Block, Message, ModelResponse, TextBlock


def is_shown_later(turn: AgentTurn, response: ModelResponse) -> bool:
    """Return whether hooks look at a message before it is shown: one of the main agent's that is whole and holds text."""
    if turn.home.profile.is_child or not turn.hooking.has(HookEvent.MESSAGE_DISPLAY):
        return False
    return response.stop_reason is not None and bool(response.text)


async def show(turn: AgentTurn, appended: Appended) -> None:
    """Run the hooks that look at a message, and show it. Cancelled, it is shown as it is."""
    home, text = turn.home, None
    of_turn = f"{home.services.session_id}/{turn.agent}/{turn.incarnation}/{turn.turn}"
    told = MessageDisplayInput(
        turn_id=str(uuid5(NAMESPACE_OID, of_turn)),
        message_id=appended.uuid or str(uuid5(NAMESPACE_OID, f"{of_turn}/{appended.number}")),
        delta=appended.message.text,
    )
    try:
        text = (await turn.hooking.run(told)).extras.display_content
    finally:
        if home.services.listeners.on_shown is not None:
            home.services.listeners.on_shown(appended if text is None else with_text(appended, text))


def with_text(appended: Appended, text: str) -> Appended:
    """Return a message with another text in the place of all that it holds; an empty one leaves none."""
    message, is_put = appended.message, not text
    blocks: list[Block] = []
    for block in message.content:
        if not isinstance(block, TextBlock):
            blocks.append(block)
        elif not is_put:
            blocks.append(TextBlock(text))
            is_put = True
    return attrs.evolve(appended, message=Message(message.role, tuple(blocks)))
