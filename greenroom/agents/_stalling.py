"""A request whose answer stands still while nobody waits for its agent: it is given up.

Every piece of the answer begins the time anew, save what it has used so far; another attempt at the request does not,
beyond the wait before it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio

from greenroom.core import ProviderError
from greenroom.models import ModelResponse, ModelStream, Notice, StreamRestarted, UsageDelta


async def read_moving(
    stream: ModelStream, on_notice: Callable[[Notice], Awaitable[object]], *, limit_s: float
) -> ModelResponse:
    """Read an answer to its end and return it, as long as it moves.

    Cancelled, or given up, the stream has what came so far.

    Args:
        stream: The answer.
        on_notice: As for `ModelStream.wait_response`.
        limit_s: How long it may stand still, in seconds of Trio's clock.

    Raises:
        ProviderError: It stood still for that long (`timeout`), or failed.
    """
    with trio.CancelScope(deadline=trio.current_time() + limit_s) as scope:
        async for delta in stream:
            if isinstance(delta, StreamRestarted):
                scope.deadline += delta.wait_s  # nobody expects anything until then
                await on_notice(delta)
            elif not isinstance(delta, UsageDelta):
                scope.deadline = trio.current_time() + limit_s
        return await stream.wait_response()
    why = f"the agent runs in the background, and its model sent nothing for {limit_s:g} s"
    raise ProviderError(why, kind="timeout", is_retryable=False)
