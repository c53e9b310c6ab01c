"""The actor of a sub-agent: one run, from its first message to its report.

The actor ends with the run; resuming the agent starts another actor under the same id. Messages that arrived before
its end are answered before it ends; later ones are refused, so that the sender knows. An error of the provider fails the
run, an abort of its turn kills it: nobody could ask it again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, final

from greenroom.actors import Context, Outcome, State
from greenroom.agents._agent import Agent, agent_spec
from greenroom.agents._conversation import Appended, OnMessage
from greenroom.agents._inputs import Input
from greenroom.agents._rounds import OutOfTurns
from greenroom.agents._state import AgentState
from greenroom.agents._turn_hooks import Hooking
from greenroom.agents._turn_state import TurnState
from greenroom.agents.side import summaries
from greenroom.hooks import HookEvent
from greenroom.hooks.inputs import SubagentStartInput
from greenroom.supervisor import ChildSpec, Restart

DRAIN_S: Final = 60.0
"""Seconds in which a run that has come to its end takes up what reached it before."""


class ChildAgent(Agent):
    """Handles its messages, one turn each, and ends when no more are waiting.

    Args:
        home: What belongs to the agent, across its runs.
        is_first_run: True if start hooks run for it.
        on_ready: Called in the step in which it can begin.
        on_message: Called with each message of its conversation, before the session's own callback.
    """

    on_failure = "crash"
    goes_on = False

    def __init__(
        self,
        home: AgentState,
        is_first_run: bool,  # noqa: FBT001
        on_ready: Callable[[], None],
        on_message: OnMessage,
    ) -> None:
        super().__init__(home)
        self._listener = on_message
        self._is_first_run = is_first_run
        self._on_ready = on_ready

    async def on_start(self, ctx: Context) -> None:
        """Start as an agent does; hooks of `SubagentStart` add to what it reads first."""
        await super().on_start(ctx)
        home = self._home
        if self._is_first_run and home.profile.hooks is not None and home.profile.hooks.has(HookEvent.SUBAGENT_START):
            turn = TurnState(token=(ctx.ref.id, ctx.incarnation, 0), seq=ctx.seq, recorder=ctx.recorder)
            await Hooking(home=home, turn=turn).run(
                SubagentStartInput(agent_id=home.profile.id, agent_type=home.profile.definition.name)
            )
            home.pending.open_with(turn.reminders)  # in front of what it is told first
        self._on_ready()

    @property
    def on_appended(self) -> OnMessage:
        """The callbacks for each message of the conversation."""
        mine, shared = self._listener, self._home.services.listeners.on_message
        if shared is None:
            return mine

        def tell(appended: Appended) -> None:
            mine(appended)
            shared(appended)

        return tell

    async def on_message(self, message: Input, ctx: Context) -> None:
        """Run one turn, and end the run if nothing more waits."""
        home = self._home
        before = home.last_text
        try:
            await super().on_message(message, ctx)
        except OutOfTurns as error:  # it ends with what it has
            home.note_text(f"{home.last_text}\n\n({error})".lstrip())
        finally:
            home.note_text(home.last_text or before)
        if not ctx.has_mail:
            ctx.ref.drain(grace_s=DRAIN_S, why="the run has come to its end")

    def on_unfinished(self, message: Input, outcome: Outcome, ctx: Context) -> None:
        """End the run with a turn that was aborted: nobody could ask it again."""
        super().on_unfinished(message, outcome, ctx)
        if outcome.state is State.KILLED and outcome.cause is not None:
            self._home.run.end_by(outcome.cause)
            ctx.ref.kill(outcome.cause.why)


@final
class SummarizedChild(ChildAgent):
    """A sub-agent that summarizes its progress from time to time, beside its turns."""

    actor_tasks = True

    async def on_start(self, ctx: Context) -> None:
        """Start as a sub-agent does, and start the summaries."""
        await super().on_start(ctx)
        ctx.start_soon(partial(summaries, self._home, agent=ctx.ref.id, emit=ctx.recorder.emit_fields))


def child_kind(home: AgentState) -> type[ChildAgent]:
    """Return the class of a sub-agent's actor."""
    return SummarizedChild if home.services.settings.progress_summaries else ChildAgent


def child_spec(as_id: str | None) -> ChildSpec:
    """Return the specification of a run's actor; `as_id` is the id that its first run gets."""
    return agent_spec(Restart.TEMPORARY, as_id)
