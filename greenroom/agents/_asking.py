"""One model request of an agent, on record and counted, in a turn or beside all of them.

Rule 1: a request has one beginning and one end on record, however it ends. Rule 2: what it used counts, for the agent and for
whoever asked. Must not know: what the answer is good for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from greenroom.agents._events import COMPLETED, FAILED, KILLED, ModelBegan, ModelEnded
from greenroom.agents._services import AgentHome
from greenroom.models import ModelRequest, ModelResponse, ModelStream, Usage

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
    asking: Asking, request: ModelRequest, keep: Callable[[ModelResponse], object], parent: int
) -> ModelResponse:
    """Ask the model once; `keep` gets what it said, as far as it came.

    Cancelled, what came so far is kept and counted.

    Raises:
        ProviderError: The model could not be asked.
    """
    emit = asking.emit
    began = emit(ModelBegan, asking.agent, asking.incarnation, parent, asking.turn, asking.round, len(request.messages))
    state, error = KILLED, ""
    stream: ModelStream | None = None
    try:
        async with asking.home.services.model.stream(request) as stream:
            response = await stream.wait_response()
        state = COMPLETED
    except Exception as problem:
        state, error = FAILED, f"{type(problem).__name__}: {problem}"
        raise
    finally:
        said = NOTHING_SAID if stream is None else stream.so_far
        _count(asking, said, state, error, began)
        keep(said)
    return response


def _count(asking: Asking, response: ModelResponse, state: str, error: str, began: int) -> None:
    """Put on record how a request ended, and count what it cost."""
    usage = response.usage
    asking.home.usage += usage
    asking.usage += usage
    progress = asking.home.progress
    if progress is not None and asking.turn and usage.total:  # what runs beside its turns is no progress of it
        progress.note_request(usage.total - usage.output_tokens, usage.output_tokens)
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
