"""One model request of an agent, in a turn or outside all turns: it is recorded, and its usage is counted.

A request has one recorded beginning and one recorded end, however it ends. What it used counts, for the agent and for
the caller.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, Protocol, TypeAlias, final

import attrs
import trio

from greenroom.agents._conversation import Conversation
from greenroom.agents._state import NO_USAGE, AgentState
from greenroom.agents.events._agent_events import COMPLETED, FAILED, KILLED, ModelBegan, ModelEnded, ModelRetried
from greenroom.core import ProviderError
from greenroom.core.texts import error_text
from greenroom.models import (
    ModelRequest,
    ModelResponse,
    ModelStream,
    Notice,
    StreamRestarted,
    Usage,
    UsageDelta,
    fault_of,
)

Renew: TypeAlias = Callable[[ModelRequest, StreamRestarted], Awaitable[ModelRequest | None]]
"""Waits for the next attempt at a request, and returns one to be sent in its place, or None."""
Keep: TypeAlias = Callable[[ModelResponse], ModelResponse]
"""Takes what the model said, as far as it came, and returns it as it was kept: a call may have got another id."""
NOTHING_SAID: Final = ModelResponse((), None, NO_USAGE, "")


class Asker(Protocol):
    """A turn of an agent, or a place beside all turns, whose number is 0: it asks the model in the agent's name."""

    home: AgentState
    agent: str
    incarnation: int
    turn: int
    round: int
    usage: Usage
    """The tokens that its requests have used."""
    conversation: Conversation
    seq: int
    """Number of the event with which it began."""
    emit: Callable[..., int]

    def count(self, usage: Usage) -> None:
        """Count what a request has used."""
        ...

    async def ask(self, request: ModelRequest, keep: Keep, parent: int) -> ModelResponse:
        """Ask the model once, and record the request and its usage; `keep` gets the answer, as far as it arrived."""
        ...


async def ask_model(
    asker: Asker, request: ModelRequest, keep: Keep, parent: int, *, renew: Renew | None = None
) -> ModelResponse:
    """Ask the model once and return what it said, as `keep` kept it.

    Cancelled, what came so far is kept and counted. Of a refused answer nothing is kept: it may not be passed back.

    Args:
        asker: Who asks.
        request: What is asked.
        keep: Called once, with the answer or a part of it; its usage is that of the attempt which it came with.
        parent: `seq` of the event that led to it.
        renew: May replace the request while it waits to be sent again; the attempts are counted on.

    Raises:
        ProviderError: The model could not be asked, refused to answer, or stood still for too long.
        JournalError: What it would be asked cannot be recorded.
    """
    at = (asker.agent, asker.incarnation, parent, asker.turn, asker.round)
    began = asker.emit(ModelBegan, *at, len(request.messages), asker.conversation.last_uuid or "")
    services = asker.home.services
    state, error = KILLED, ""
    stream: ModelStream | None = None
    response: ModelResponse | None = None
    lost = NO_USAGE
    failed: list[Usage] = []
    """Usage of the attempts of this stream; its answer includes them as well."""
    try:
        while True:
            try:
                if services.wait_recorded is not None:
                    await services.wait_recorded()
                async with services.model.stream(request) as stream:
                    # No function of its own: whatever is held while the model works is there once for each agent.
                    note = partial(_note, asker, began, request, renew, failed)
                    limit_s = asker.home.run.stall_limit_s
                    if limit_s == math.inf:
                        response = await stream.wait_response(note)
                    else:
                        response = await read_moving(stream, note, limit_s=limit_s)
                if response.is_refused:
                    fault = fault_of(response)
                    response = attrs.evolve(response, content=())
                    raise fault
                state = COMPLETED
                break
            except _Renewed as news:
                lost += NO_USAGE if stream is None else stream.so_far.usage
                request, stream, response = news.request, None, None
                failed.clear()
    except Exception as problem:
        state, error = FAILED, error_text(problem)
        raise
    finally:
        said = response if response is not None else NOTHING_SAID if stream is None else stream.so_far
        _count(asker, said, said.usage if lost is NO_USAGE else lost + said.usage, state, error, began)
        kept = keep(attrs.evolve(said, usage=said.usage - sum(failed, NO_USAGE)) if failed else said)
    return attrs.evolve(kept, usage=said.usage) if failed else kept


async def _note(
    asker: Asker,
    began: int,
    request: ModelRequest,
    renew: Renew | None,
    failed: list[Usage],
    restart: StreamRestarted,
) -> None:
    """Record that a request is sent again, and wait for that.

    Raises:
        _Renewed: Another one is to be sent in its place.
    """
    failed.append(restart.lost)
    at = (asker.agent, asker.incarnation, began, asker.turn, asker.round)
    tried = (restart.attempt, restart.attempts, restart.wait_s, restart.status, restart.reason)
    asker.emit(ModelRetried, *at, *tried)
    newer = None if renew is None else await renew(request, restart)
    if newer is not None:
        raise _Renewed(attrs.evolve(newer, attempt=restart.attempt))


@final
class _Renewed(Exception):
    """No error, but the way out of a stream: another request is to be sent in the place of its own."""

    def __init__(self, request: ModelRequest) -> None:
        super().__init__()
        self.request = request


def _count(asker: Asker, response: ModelResponse, usage: Usage, state: str, error: str, began: int) -> None:
    """Record how a request ended, and count what it cost."""
    if usage.total:  # otherwise the model does not count tokens
        asker.home.count(usage)
        asker.count(usage)
        progress = asker.home.run.progress
        if progress is not None and asker.turn:  # work outside its turns does not count as progress
            progress.note_request(usage.prompt_tokens, usage.output_tokens, response.model)
    asker.emit(
        ModelEnded,
        asker.agent,
        asker.incarnation,
        began,
        asker.turn,
        asker.round,
        state,
        response.stop_reason or "",
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_creation_input_tokens,
        usage.cache_read_input_tokens,
        error,
    )


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
