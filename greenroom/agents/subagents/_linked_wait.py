"""The wait of a turn for an agent, linked to it: the agent ends if the turn ends first."""

from __future__ import annotations

import math
from collections.abc import Callable

import trio

from greenroom.actors import Subscription
from greenroom.agents._state import AgentState
from greenroom.agents.subagents._subagent import Subagent


async def wait_linked(
    subagent: Subagent, caller: AgentState, *, cut: Callable[[], object], limit_s: float = math.inf
) -> bool:
    """Wait for the end of an agent; return False if it continues in the background instead.

    Cancelled, the link ends the agent.

    Args:
        subagent: The agent.
        caller: Whose turn waits.
        cut: Called when the wait is cancelled: says who is told of the end, as this call has no result.
        limit_s: Seconds after which it is moved to the background.
    """
    task, context = subagent.task, caller.context
    assert context is not None
    assert subagent.ref is not None
    link: Subscription = context.turn.link(subagent.ref)
    try:
        with trio.move_on_after(limit_s):
            await task.wait_released()
        if task.move_to_background():
            link.unlink()
            return False
        # The link may not have heard of it yet; what is left behind has to be known before it can be reported.
        await task.wait_settled()
    except trio.Cancelled:
        cut()
        raise
    return True
