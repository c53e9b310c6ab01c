"""One model request of an agent, on record and counted, in a turn or beside all of them.

Rule 1: a request has one beginning and one end on record, however it ends. Rule 2: what it used counts, for the agent and for
whoever asked. Must not know: what the answer is good for.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, Protocol, TypeAlias, final

import attrs

from greenroom.agents._events import COMPLETED, FAILED, KILLED, ModelBegan, ModelEnded, ModelRetried
from greenroom.agents._services import NO_USAGE, AgentHome
from greenroom.agents._stalling import read_moving
from greenroom.core import error_text
from greenroom.models import (
    ModelRequest,
    ModelResponse,
    ModelStream,
    Next,
    StreamRestarted,
    Usage,
    fault_of,
    next_after,
)

Renew: TypeAlias = Callable[[ModelRequest, StreamRestarted], Awaitable[ModelRequest | None]]
"""Waits for the next attempt at a request, and returns one to be sent in its place, or None."""
Keep: TypeAlias = Callable[[ModelResponse], ModelResponse]
"""Takes what the model said, as far as it came, and returns it as it was kept: a call may have got another id."""
NOTHING_SAID: Final = ModelResponse((), None, NO_USAGE, "")


class Asking(Protocol):
    """Whoever asks the model in an agent's name."""

    home: AgentHome
    agent: str
    incarnation: int
    turn: int
    round: int
    usage: Usage
    """What its requests have used."""
    emit: Callable[..., int]


async def ask_model(
    asking: Asking, request: ModelRequest, keep: Keep, parent: int, *, renew: Renew | None = None
) -> ModelResponse:
    """Ask the model once and return what it said, as `keep` kept it.

    Cancelled, what came so far is kept and counted. Of a refused answer nothing is kept: it may not be passed back.

    Args:
        asking: Who asks.
        request: What is asked.
        keep: Called once, with the answer or a part of it; its usage is that of the attempt which it came with.
        parent: `seq` of the event that led to it.
        renew: May replace the request while it waits to be sent again; the attempts are counted on.

    Raises:
        ProviderError: The model could not be asked, refused to answer, or stood still for too long.
        JournalError: What it would be asked cannot be put on record.
    """
    began = asking.emit(
        ModelBegan, asking.agent, asking.incarnation, parent, asking.turn, asking.round, len(request.messages)
    )
    state, error = KILLED, ""
    stream: ModelStream | None = None
    response: ModelResponse | None = None
    lost = NO_USAGE
    failed: list[Usage] = []
    """Of attempts of this stream: its answer counts them as well."""
    try:
        while True:
            try:
                if asking.home.services.wait_recorded is not None:
                    await asking.home.services.wait_recorded()
                async with asking.home.services.model.stream(request) as stream:
                    # No function of its own: whatever is held while the model works is there once for each agent.
                    note = partial(_note, asking, began, request, renew, failed)
                    limit_s = asking.home.stall_limit_s
                    if limit_s == math.inf:
                        response = await stream.wait_response(note)
                    else:
                        response = await read_moving(stream, note, limit_s=limit_s)
                if next_after(response) is Next.REFUSE:
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
        _count(asking, said, said.usage if lost is NO_USAGE else lost + said.usage, state, error, began)
        kept = keep(attrs.evolve(said, usage=said.usage - sum(failed, NO_USAGE)) if failed else said)
    return attrs.evolve(kept, usage=said.usage) if failed else kept


async def _note(
    asking: Asking,
    began: int,
    request: ModelRequest,
    renew: Renew | None,
    failed: list[Usage],
    restart: StreamRestarted,
) -> None:
    """Put on record that a request is sent again, and wait for that.

    Raises:
        _Renewed: Another one is to be sent in its place.
    """
    failed.append(restart.lost)
    at = (asking.agent, asking.incarnation, began, asking.turn, asking.round)
    tried = (restart.attempt, restart.attempts, restart.wait_s, restart.status, restart.reason)
    asking.emit(ModelRetried, *at, *tried)
    newer = None if renew is None else await renew(request, restart)
    if newer is not None:
        raise _Renewed(attrs.evolve(newer, attempt=restart.attempt))


@final
class _Renewed(Exception):
    """No error, but the way out of a stream: another request is to be sent in the place of its own."""

    def __init__(self, request: ModelRequest) -> None:
        super().__init__()
        self.request = request


def _count(asking: Asking, response: ModelResponse, usage: Usage, state: str, error: str, began: int) -> None:
    """Put on record how a request ended, and count what it cost."""
    total = usage.total
    if total:  # else the model counts nothing
        asking.home.usage += usage
        asking.usage += usage
        progress = asking.home.progress
        if progress is not None and asking.turn:  # what runs beside its turns is no progress of it
            progress.note_request(total - usage.output_tokens, usage.output_tokens, response.model)
    asking.emit(
        ModelEnded,
        asking.agent,
        asking.incarnation,
        began,
        asking.turn,
        asking.round,
        state,
        response.stop_reason or "",
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_creation_input_tokens,
        usage.cache_read_input_tokens,
        error,
    )
