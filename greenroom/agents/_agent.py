"""An agent: an actor whose turns talk to a model."""

from __future__ import annotations

import math
from collections.abc import Awaitable
from contextlib import suppress
from typing import ClassVar, Final, Literal

from greenroom.actors import Behavior, Context, Outcome, State, describe
from greenroom.agents._agent_turn import AgentTurn
from greenroom.agents._blocks import open_calls
from greenroom.agents._conversation import OnMessage
from greenroom.agents._conversation_loader import CONTINUE
from greenroom.agents._inputs import Input, Note, Prompt
from greenroom.agents._line_marks import TURN_ENDED
from greenroom.agents._rounds import Rounds
from greenroom.agents._state import CLOSING, OPENING, AgentState
from greenroom.agents.compaction._compaction import Compact
from greenroom.agents.events._agent_events import AgentDefined
from greenroom.core import JournalError, Level
from greenroom.inbox import AUTO_CONTINUATION, InboxItem
from greenroom.mailbox import Lane
from greenroom.supervisor import ChildSpec, Restart

CUT: Final = "the turn that began with it was ended"
"""Why a message that begins a turn was not read."""


class Agent(Behavior[Input]):
    """Takes notes, work and prompts; each starts a turn, into which notes that came meanwhile are drawn.

    An error of a provider, of a tool or of a limit fails the turn and leaves the agent alive, as an abort does. After
    either, the conversation is one that can be resumed.

    Args:
        home: What belongs to the agent across its incarnations.
    """

    on_failure: ClassVar[Literal["crash", "continue"]] = "continue"
    turn_tasks = True  # a foreground child is linked to the turn that waits for it
    goes_on: ClassVar[bool] = True
    """True if an incarnation that follows an interrupted turn begins by resuming that turn."""
    journal: ClassVar[Level] = Level.FULL

    def __init__(self, home: AgentState) -> None:
        self._home = home

    async def on_start(self, ctx: Context) -> None:
        """Open the transcript, or repair the end of the conversation that an earlier incarnation left."""
        home = self._home
        home.begin(ctx)
        await home.prepare(ctx)
        start, loaded = home.start, home.start.loaded
        if home.conversation is None:
            messages = () if loaded is None else loaded.messages
            lost = frozenset(call.id for call in open_calls(messages)) - start.keeps_open
            conversation = home.open_conversation(self.on_appended, lost=lost)
            if loaded is not None and home.profile.is_child:
                home.review.recall(loaded.said)
            if start.keeps_history and loaded is None:
                conversation.write_beginning(start.shared)
        if ctx.incarnation == 1:
            self._put_on_record(home, ctx)
        if not start.keeps_open:  # else the next turn closes what it does not settle
            home.close_open_calls()
        if home.is_closing or (start.is_held and ctx.incarnation == 1):
            ctx.ref.suspend(why=CLOSING if home.is_closing else OPENING)
        if home.is_cut and self.goes_on:
            self._resume_turn(ctx)
        home.set_cut(is_cut=False)

    def _resume_turn(self, ctx: Context) -> None:
        """Begin with the turn in which the incarnation or the process before ended; the latter's comes before all that waits."""
        start, is_first = self._home.start, self._home.turn is None
        text = start.resumes if is_first and start.resumes is not None else CONTINUE
        note = Note(text, is_hidden=True, origin=AUTO_CONTINUATION, resumption=start.resumption)
        ctx.ref.tell(note, Lane.NOW if is_first else Lane.NEXT)

    @property
    def on_appended(self) -> OnMessage | None:
        """The callback for each message of the conversation; None for none."""
        return self._home.services.listeners.on_message

    def _put_on_record(self, home: AgentState, ctx: Context) -> None:
        """Say which agent this actor is."""
        path = None if home.conversation is None else home.conversation.path
        ctx.recorder.emit(
            AgentDefined(
                actor=ctx.ref.id,
                inc=ctx.incarnation,
                parent=ctx.seq,
                definition=home.profile.definition.name,
                model=home.model_name,
                transcript="" if path is None else path.name,
                agent=home.profile.id,
                owner=home.profile.lineage.parent,
                depth=home.profile.lineage.depth,
                call=home.profile.lineage.call,
                skill=home.profile.lineage.skill,
            )
        )

    def on_message(self, message: Input, ctx: Context) -> Awaitable[None]:
        """Run one turn. It is the turn's own coroutine that is awaited: one less that waits in every agent."""
        home, conversation = self._home, self._home.conversation
        assert conversation is not None
        # The caller of an ask gets the error, and decides; a turn that nobody waits for would be lost.
        home.set_cut(is_cut=not isinstance(message, Prompt | Compact))
        return Rounds(AgentTurn(home=home, ctx=ctx, conversation=conversation)).run(message)

    def on_unfinished(self, message: Input, outcome: Outcome, ctx: Context) -> None:
        """Leave the turn to the next incarnation if this one crashes in it, or ends and nobody asked for that.

        A turn that was aborted or failed while the agent lives on has ended: no later process resumes it by itself.
        """
        was_asked = outcome.state is State.KILLED and ctx.turn.is_aborting
        if isinstance(message, Note) and message.resumption is not None and not outcome.must_crash:
            message.resumption.fail(outcome.error_for(ctx.ref.id, ctx.ref.path), partial=self._home.last_text)
        self._home.set_cut(is_cut=self._home.is_cut and outcome.must_crash and not was_asked)
        if isinstance(message, InboxItem) and not outcome.must_crash and not ctx.is_ending:
            self._home.ports.note_dropped(message.uuid, describe(outcome.error) or CUT)
        if self._home.conversation is not None and not (ctx.is_ending or outcome.must_crash):
            with suppress(JournalError):  # a disk that refuses shows where something depends on it
                self._home.conversation.note(TURN_ENDED, {})


def agent_spec(restart: Restart | str, as_id: str | None = None) -> ChildSpec:
    """Return how an agent is supervised: as other children are, but without one limit for all of its start.

    What an agent waits for before its first turn (MCP servers, hooks, commands of its skills) has a limit each, and goes on
    without what did not come in time. A limit around all of them would end the agent just when one of theirs is due.

    Args:
        restart: When it comes back.
        as_id: The id of the agent of an earlier process that this one resumes.
    """
    return ChildSpec(restart=restart, as_id=as_id, start_timeout_s=math.inf)
