"""An agent: an actor whose turns talk to a model."""

from __future__ import annotations

from typing import ClassVar

from greenroom.actors import Behavior, Context
from greenroom.agents._conversation import Conversation
from greenroom.agents._events import AgentDefined
from greenroom.agents._inputs import Input
from greenroom.agents._services import AgentHome
from greenroom.agents._turns import AgentTurn
from greenroom.core import Level


class Agent(Behavior[Input]):
    """Takes notes, work and prompts; each starts a turn, into which notes that came meanwhile are drawn.

    An error of a provider, of a tool or of a limit fails the turn and leaves the agent alive, as an abort does. After
    either, the conversation is one to go on with.

    Args:
        home: What belongs to the agent across its incarnations.
    """

    on_failure = "continue"
    journal: ClassVar[Level] = Level.FULL

    def __init__(self, home: AgentHome) -> None:
        self._home = home

    async def on_start(self, ctx: Context) -> None:
        """Open the transcript, or repair the end of the conversation that an earlier incarnation left."""
        home = self._home
        if home.conversation is None:
            open_transcript = home.services.open_transcript
            transcript = open_transcript(ctx.ref.id) if open_transcript is not None else None
            home.conversation = Conversation(transcript, home.history)
            name = transcript.path.name if transcript is not None else ""
            ctx.recorder.emit(
                AgentDefined(
                    actor=ctx.ref.id,
                    inc=ctx.incarnation,
                    parent=ctx.seq,
                    definition=home.definition.name,
                    model=home.services.model.name,
                    transcript=name,
                )
            )
        home.conversation.close_open_calls()

    async def on_message(self, message: Input, ctx: Context) -> None:
        """Run one turn."""
        conversation = self._home.conversation
        assert conversation is not None
        await AgentTurn(home=self._home, ctx=ctx, conversation=conversation).run(message)
