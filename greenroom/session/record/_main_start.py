"""The conversation that the main agent of a session continues, and what is open at its end."""

from __future__ import annotations

from pathlib import Path
from typing import final

import attrs

from greenroom.agents import AgentState, Loaded
from greenroom.core.ports import Blocking
from greenroom.models import ToolUseBlock
from greenroom.session.record._open_calls import find_deferred, find_unanswered
from greenroom.session.record._recovery_plan import LeftTurn, TurnPlan, plan_turn
from greenroom.session.settings._recovery_settings import RecoverySettings


@final
@attrs.frozen(kw_only=True)
class MainStart:
    """What the main agent begins with."""

    loaded: Loaded | None = None
    """Its conversation; None in a new run."""
    unanswered: tuple[ToolUseBlock, ...] = ()
    """The calls at its end that wait for a person's answer."""
    deferred: ToolUseBlock | None = None
    """The call at its end that a hook has put off."""
    turn: TurnPlan = TurnPlan.NOTHING
    """What is done about its last turn."""

    def give_to(self, home: AgentState, resume_prompt: str) -> None:
        """Give the main agent its conversation; it is held until the session is open."""
        if self.loaded is None:
            return
        resumes = resume_prompt if self.turn is TurnPlan.RESUME else None
        home.start_from(self.loaded, resumes=resumes, is_held=True)
        home.put_off(self.deferred)
        home.keep_open(call.id for call in (*self.unanswered, self.deferred) if call is not None)


async def find_start(
    run_folder: Path, loaded: Loaded | None, settings: RecoverySettings, blocking: Blocking, *, is_fork: bool
) -> MainStart:
    """Return what the main agent begins with.

    Args:
        run_folder: The folder of the run.
        loaded: The conversation; None in a new run.
        settings: Say who resumes its last turn.
        blocking: Reads the journal.
        is_fork: True if the session is a copy of another run.
    """
    if loaded is None:
        return MainStart()
    unanswered = await find_unanswered(run_folder, loaded, blocking)
    deferred = await find_deferred(run_folder, loaded, blocking)
    waits = bool(unanswered) or deferred is not None
    turn = plan_turn(settings, LeftTurn(was_lost=loaded.was_lost, waits_for_answer=waits, is_fork=is_fork))
    return MainStart(loaded=loaded, unanswered=unanswered, deferred=deferred, turn=turn)
