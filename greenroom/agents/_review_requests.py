"""Asking the reviewer of auto mode: about a call before it runs, about an agent when it has ended.

Whatever goes wrong with a review, it allows nothing. A review is recorded as a run beside the conversation, with a
purpose of its own, and counts as the agent's: so what reviews cost can be told from the rest. Who is asked about a call while
the reviewer is paused, and what a refusal looks like, is not said here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import trio

from greenroom.agents._side_run import Emit, SideRun, open_side_run
from greenroom.agents._state import AgentState
from greenroom.agents.events._agent_events import COMPLETED, FAILED, KILLED, AgentReviewed, ForkBegan, ForkEnded
from greenroom.agents.review import (
    AutoMode,
    Review,
    ReviewedHistory,
    ReviewOutcome,
    Unreviewable,
    call_system,
    call_text,
    handoff_system,
    handoff_text,
    read_review,
)
from greenroom.core.texts import error_text, message_of
from greenroom.models import Message, ModelRequest, ModelResponse, ToolUseBlock
from greenroom.permissions import Mode

CALL_REVIEWER: Final = "call-review"
"""The definition in requests to review a call: a playbook answers them under this name."""
HANDOFF_REVIEWER: Final = "handoff-review"
"""The definition in requests to review what an agent has done."""
PURPOSES: Final = {CALL_REVIEWER: "permission review", HANDOFF_REVIEWER: "hand-off review"}
"""The purpose under which reviews are recorded."""
REVIEW_TOKENS: Final = 2_048
"""The most that a reviewer writes."""
HANDOFF_S: Final = 30.0
"""Maximum duration in seconds of the review of an ended agent, whatever the settings say: its report waits for it."""


CUT_SHORT: Final = "the session ended before the review did"


def is_in_auto(home: AgentState | None) -> bool:
    """Return whether what an agent does is reviewed."""
    policy = None if home is None else home.policy_now
    return policy is not None and policy.mode is Mode.AUTO


async def review_call(
    home: AgentState, auto: AutoMode, *, agent: str, emit: Emit, call: ToolUseBlock, values: Mapping[str, Any]
) -> Review:
    """Return what the reviewer finds about a call of an agent that would run with that input.

    Cancelled, there is no review, and it is recorded as killed.

    Args:
        home: The agent's.
        auto: The reviewer.
        agent: Id of the agent's actor.
        emit: Records events.
        call: The call as the model made it; it and those behind it are no earlier calls.
        values: What it would run with.
    """
    try:
        text = call_text(_history(home, auto, until=call.id), call.name, values)
    except Unreviewable as error:
        review = Review(outcome=ReviewOutcome.FAILED, reason=message_of(error))
    else:
        limit_s = auto.settings.timeout_s
        place = open_side_run(home, agent, emit)
        review = await _ask(place, auto, CALL_REVIEWER, call_system(auto.settings), text, limit_s=limit_s)
    auto.note(review.outcome)
    return review


async def review_handoff(home: AgentState, auto: AutoMode, *, agent: str, emit: Emit) -> Review:
    """Return what the reviewer finds about all that an agent has done.

    Cancelled, there is no review, and it is recorded as killed.
    """
    text = handoff_text(_history(home, auto))
    limit_s = min(auto.settings.timeout_s, HANDOFF_S)
    place = open_side_run(home, agent, emit)
    review = Review(outcome=ReviewOutcome.FAILED, reason=CUT_SHORT)
    try:
        review = await _ask(place, auto, HANDOFF_REVIEWER, handoff_system(auto.settings), text, limit_s=limit_s)
    finally:
        emit(AgentReviewed, agent, 0, 0, review.outcome.value, review.reason)
    return review


def _history(home: AgentState, auto: AutoMode, *, until: str = "") -> ReviewedHistory:
    messages = () if home.conversation is None else home.conversation.messages
    calls = [call for message in messages for call in message.tool_uses]
    if until:
        # The last of that id: there are servers of models that give the same ids again and again.
        calls = calls[: max((at for at, call in enumerate(calls) if call.id == until), default=len(calls))]
    return ReviewedHistory(
        cwd=str(home.cwd),
        user=auto.user,
        tasks=home.review.tasks,
        hooks=home.review.remarks,
        earlier=home.review.earlier_calls,
        calls=calls,
    )


async def _ask(place: SideRun, auto: AutoMode, definition: str, system: str, text: str, *, limit_s: float) -> Review:
    request = ModelRequest(
        messages=(Message.user(text),),
        system=system,
        max_tokens=REVIEW_TOKENS,
        definition=definition,
        model=auto.model,
    )
    at, purpose = (place.turn, place.round), PURPOSES[definition]
    began = place.emit(ForkBegan, place.agent, place.incarnation, 0, *at, purpose)
    state, error = KILLED, ""
    try:
        with trio.move_on_after(limit_s):
            response = await place.ask(request, _drop, began)
            state = COMPLETED
            return read_review(response.text)
        return Review(outcome=ReviewOutcome.FAILED, reason=f"the reviewer did not answer within {limit_s:g} s")
    except Exception as problem:  # noqa: BLE001 - the boundary of a service: what fails allows nothing, and is recorded
        state, error = FAILED, error_text(problem)
        return Review(outcome=ReviewOutcome.FAILED, reason=f"the reviewer could not be asked: {problem}")
    finally:
        auto.add_usage(place.usage)
        place.emit(ForkEnded, place.agent, place.incarnation, began, *at, purpose, state, 1, place.usage.total, error)


def _drop(response: ModelResponse) -> ModelResponse:
    """Keep nothing: an answer of a reviewer belongs to no conversation."""
    return response
