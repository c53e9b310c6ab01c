"""A run beside the conversation: it begins like the agent's own requests, and what it says stays out of them.

Its requests begin with the bytes of the agent's own: the same model, system prompt, tools and messages, so that what
the provider has cached is read; calls that still run have a result that says so, in this copy alone. What it says goes to the service that called, and into nobody's conversation or
transcript. Each of its requests is recorded and attributed to the agent; the run has one beginning and one end.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import Final, TypeAlias, final

import attrs

from greenroom.agents._blocks import open_calls
from greenroom.agents._model_request import Asker
from greenroom.agents._repair import SoundnessCheck, repair
from greenroom.agents._state import AgentState
from greenroom.agents.events._agent_events import COMPLETED, FAILED, KILLED, ForkBegan, ForkEnded
from greenroom.core import PeerError
from greenroom.core.texts import error_text
from greenroom.models import Message, ModelRequest, ModelResponse, TextBlock, ToolResultBlock, ToolUseBlock, Usage

FORKED_ROUNDS: Final = 3
RUNNING: Final = "This call is still running; it has no result yet."
REFUSED: Final = "Tools cannot be used here. Answer with text alone."

RunCall: TypeAlias = Callable[[ToolUseBlock], Awaitable[ToolResultBlock]]
"""Runs a call of the model; what it decides about calls is its own matter."""


@final
@attrs.frozen(kw_only=True)
class ForkedResult:
    """The result of a forked run."""

    text: str
    usage: Usage
    rounds: int
    stop_reason: str


@final
class ForkFailed(PeerError):
    """A forked run did not come to an answer within its rounds: in the last one it called tools and said nothing.

    Attributes:
        purpose: What the run was for.
        rounds: The model requests that it made.
    """

    def __init__(self, purpose: str, rounds: int) -> None:
        super().__init__(f"the run for {purpose} went on calling tools after {rounds} requests")
        self.purpose = purpose
        self.rounds = rounds


def make_request(
    home: AgentState,
    messages: tuple[Message, ...],
    *,
    max_tokens: int | None = None,
    check: SoundnessCheck | None = None,
) -> ModelRequest:
    """Return a request of an agent, made from its template.

    Messages that a provider would refuse are repaired; those that it takes are sent as they are.

    Args:
        home: The agent's.
        messages: What the model reads.
        max_tokens: The most that the model may write, where it is not what the definition says.
        check: Knows the messages that were sent before, in a request of the agent's own, whose answer the listeners of
            the session get as it arrives; None reads all of them.
    """
    if not (SoundnessCheck() if check is None else check).is_sound(messages):
        messages = repair(messages).messages
    request = home.template.fill(home.profile, home.grants, messages)
    if max_tokens is not None:
        request = attrs.evolve(request, max_tokens=max_tokens)
    return attrs.evolve(request, on_event=None) if check is None else request


async def run_forked(
    turn: Asker,
    directive: str,
    *,
    purpose: str,
    max_tokens: int | None = None,
    max_rounds: int = FORKED_ROUNDS,
    run_call: RunCall | None = None,
    messages: tuple[Message, ...] | None = None,
) -> ForkedResult:
    """Ask the model to answer `directive` behind the conversation as it is now, and return the answer.

    The conversation stays as it is. Cancelled, the run ends, and is recorded as killed.

    Args:
        turn: The turn in which it takes place, or a place beside all turns.
        directive: What to do, for a model that knows the whole conversation.
        purpose: What it is for, in a word or two, for the record and for people.
        max_tokens: The most that one answer may be; by default the definition's.
        max_rounds: Requests that it may take; in the last one, text is the answer even if it comes with calls.
        run_call: Runs the calls that the model makes; by default each is refused, and the model asked for text.
        messages: What the model reads in the place of the conversation; None for all of that.

    Raises:
        ProviderError: The model could not be asked.
        ForkFailed: It still called tools in the last round, and said nothing.
    """
    home = turn.home
    before = turn.usage
    place, number = (turn.agent, turn.incarnation), (turn.turn, turn.round)
    began = turn.emit(ForkBegan, *place, turn.seq, *number, purpose)
    run = _ForkedRun(turn, began, max_tokens, run_call, turn.conversation.messages if messages is None else messages)
    state, error = KILLED, ""
    # What an agent does is what its turn does.
    showing = home.doing(purpose) if turn.turn else nullcontext()
    try:
        with showing:
            response = await run.until_text(directive, max_rounds)
        if response is None:
            raise ForkFailed(purpose, max_rounds)
        state = COMPLETED
    except Exception as problem:
        state, error = FAILED, error_text(problem)
        raise
    finally:
        used = turn.usage - before
        turn.emit(ForkEnded, *place, began, *number, purpose, state, run.rounds, used.total, error)
    return ForkedResult(text=response.text, usage=used, rounds=run.rounds, stop_reason=response.stop_reason or "")


@attrs.define
class _ForkedRun:
    """The requests of one forked run."""

    turn: Asker
    began: int
    max_tokens: int | None
    run_call: RunCall | None
    begins_with: tuple[Message, ...]
    rounds: int = 0

    async def until_text(self, directive: str, most: int) -> ModelResponse | None:
        """Return the first answer without calls, or what the last one says; None where it says nothing."""
        turn = self.turn
        messages = _with_text(self.begins_with, directive)
        while self.rounds < most:
            self.rounds += 1
            request = make_request(turn.home, messages, max_tokens=self.max_tokens)
            response = await turn.ask(request, _drop, self.began)
            if not response.tool_uses or (self.rounds == most and response.text.strip()):
                return response
            results = [await _answer(call, self.run_call) for call in response.tool_uses]
            messages = (*messages, response.message, Message("user", tuple(results)))
        return None


async def _answer(call: ToolUseBlock, run_call: RunCall | None) -> ToolResultBlock:
    if run_call is None:
        return ToolResultBlock(call.id, REFUSED, is_error=True)
    return await run_call(call)


def _with_text(messages: tuple[Message, ...], text: str) -> tuple[Message, ...]:
    """Return a conversation in which the user says something more; what was there keeps its place and its bytes."""
    block = TextBlock(text)
    running = [ToolResultBlock(call.id, RUNNING) for call in open_calls(messages)]
    if running:
        return (*messages, Message("user", (*running, block)))
    if messages and messages[-1].role == "user":
        return (*messages[:-1], Message("user", (*messages[-1].content, block)))
    return (*messages, Message("user", (block,)))


def _drop(response: ModelResponse) -> ModelResponse:
    """Keep nothing: what a forked run says is for its caller."""
    return response
