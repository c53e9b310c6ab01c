"""One model request of an agent, on record and counted, in a turn or beside all of them.

Rule 1: a request has one beginning and one end on record, however it ends. Rule 2: what it used counts, for the agent and for
whoever asked. Must not know: what the answer is good for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeAlias, final

import attrs

from greenroom.agents._events import COMPLETED, FAILED, KILLED, ModelBegan, ModelEnded, ModelRetried
from greenroom.agents._services import AgentHome
from greenroom.models import ModelRequest, ModelResponse, ModelStream, StreamRestarted, Usage

Renew: TypeAlias = Callable[[StreamRestarted], Awaitable[ModelRequest | None]]
"""Waits for the next attempt at a request, and returns one to be sent in its place, or None."""
NOTHING_SAID: Final = ModelResponse((), None, Usage(), "")


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
    asking: Asking,
    request: ModelRequest,
    keep: Callable[[ModelResponse], object],
    parent: int,
    *,
    renew: Renew | None = None,
) -> ModelResponse:
    """Ask the model once; `keep` gets what it said, as far as it came.

    Cancelled, what came so far is kept and counted.

    Args:
        asking: Who asks.
        request: What is asked.
        keep: Called once, with the answer or a part of it; its usage is that of the attempt which it came with.
        parent: `seq` of the event that led to it.
        renew: May replace the request while it waits to be sent again; the attempts are counted on.

    Raises:
        ProviderError: The model could not be asked.
    """
    emit = asking.emit
    began = emit(ModelBegan, asking.agent, asking.incarnation, parent, asking.turn, asking.round, len(request.messages))
    state, error = KILLED, ""
    stream: ModelStream | None = None
    lost = Usage()
    failed: list[Usage] = []
    """Of attempts of this stream: its answer counts them as well."""

    async def note(restart: StreamRestarted) -> None:
        failed.append(restart.lost)
        at = (asking.agent, asking.incarnation, began, asking.turn, asking.round)
        tried = (restart.attempt, restart.attempts, restart.wait_s, restart.status, restart.reason)
        emit(ModelRetried, *at, *tried)
        newer = None if renew is None else await renew(restart)
        if newer is not None:
            raise _Renewed(attrs.evolve(newer, attempt=restart.attempt))

    try:
        while True:
            try:
                async with asking.home.services.model.stream(request) as stream:
                    response = await stream.wait_response(note)
                state = COMPLETED
                return response
            except _Renewed as news:
                lost += NOTHING_SAID.usage if stream is None else stream.so_far.usage
                request, stream = news.request, None
                failed.clear()
    except Exception as problem:
        state, error = FAILED, f"{type(problem).__name__}: {problem}"
        raise
    finally:
        said = NOTHING_SAID if stream is None else stream.so_far
        _count(asking, said, lost + said.usage if lost.total else said.usage, state, error, began)
        keep(attrs.evolve(said, usage=said.usage - sum(failed, Usage())) if failed else said)


@final
class _Renewed(Exception):
    """No error, but the way out of a stream: another request is to be sent in the place of its own."""

    def __init__(self, request: ModelRequest) -> None:
        super().__init__()
        self.request = request


def _count(asking: Asking, response: ModelResponse, usage: Usage, state: str, error: str, began: int) -> None:
    """Put on record how a request ended, and count what it cost."""
    asking.home.usage += usage
    asking.usage += usage
    progress = asking.home.progress
    if progress is not None and asking.turn and usage.total:  # what runs beside its turns is no progress of it
        progress.note_request(usage.total - usage.output_tokens, usage.output_tokens, response.model)
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
