"""The outcome of every stop reason and everything that an answer can hold, through the provider's own events."""

from __future__ import annotations

import math
from contextlib import AbstractAsyncContextManager, nullcontext
from itertools import product
from typing import Any, Final, final

import pytest
import trio
from trio.testing import MockClock

from greenroom.agents import Answer, Prompt
from greenroom.agents._repair import faults_of
from greenroom.core import ProviderError, TurnFailed
from greenroom.models import (
    ModelRequest,
    ModelResponse,
    ModelStream,
    Next,
    ToolResultBlock,
    Usage,
    next_after,
    request_body,
)
from greenroom.models._answer_stream import AnswerStream
from greenroom.models._endings import HeldContent
from greenroom.models._messages_api import fold
from greenroom.models._response_assembly import Assembly
from greenroom.models._types import Delta
from tests.agents.situations import open_stage
from tests.api_rules import violations

KNOWN: Final = (
    "end_turn",
    "tool_use",
    "max_tokens",
    "stop_sequence",
    "pause_turn",
    "refusal",
    "model_context_window_exceeded",
)
REASONS: Final = (*KNOWN, None, "", "a new one")
TEXT: Final = ({"type": "text", "text": ""}, {"type": "text_delta", "text": "It is "})
BLANK: Final = ({"type": "text", "text": ""}, {"type": "text_delta", "text": " \n"})
THOUGHT: Final = (
    {"type": "thinking", "thinking": "hm"},
    {"type": "signature_delta", "signature": "signed"},
)
LOOK: Final = (
    {"type": "tool_use", "id": "t", "name": "Look"},
    {"type": "input_json_delta", "partial_json": '{"place":"a"}'},
)
HALF: Final = ({"type": "tool_use", "id": "t", "name": "Look"}, {"type": "input_json_delta", "partial_json": '{"pla'})
SEARCH: Final = (
    {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
    {"type": "input_json_delta", "partial_json": "{}"},
)
CONTENTS: Final[dict[str, tuple[tuple[dict[str, Any], dict[str, Any]], ...]]] = {
    "nothing": (),
    "blanks only": (BLANK,),
    "thinking only": (THOUGHT,),
    "text": (THOUGHT, TEXT),
    "calls": (TEXT, LOOK),
    "server tool use": (SEARCH,),
    "half a call": (TEXT, HALF),
}
HOLDS: Final = {"text": HeldContent.TEXT, "half a call": HeldContent.TEXT, "calls": HeldContent.CALLS}

R, F, C, P, A, S, N, X = (
    Next.RUN_CALLS,
    Next.FINISH,
    Next.CONTINUE,
    Next.RESUME,
    Next.REMIND,
    Next.SHRINK,
    Next.REFUSE,
    Next.FAIL,
)
EXPECTED: Final = {
    "end_turn": {HeldContent.NOTHING: A, HeldContent.TEXT: F, HeldContent.CALLS: R},
    "stop_sequence": {HeldContent.NOTHING: A, HeldContent.TEXT: F, HeldContent.CALLS: R},
    "tool_use": {HeldContent.NOTHING: X, HeldContent.TEXT: X, HeldContent.CALLS: R},
    "max_tokens": {HeldContent.NOTHING: C, HeldContent.TEXT: C, HeldContent.CALLS: R},
    "pause_turn": {HeldContent.NOTHING: P, HeldContent.TEXT: P, HeldContent.CALLS: R},
    "model_context_window_exceeded": {HeldContent.NOTHING: S, HeldContent.TEXT: S, HeldContent.CALLS: R},
    "refusal": {HeldContent.NOTHING: N, HeldContent.TEXT: N, HeldContent.CALLS: N},
    **{
        unknown: {HeldContent.NOTHING: X, HeldContent.TEXT: X, HeldContent.CALLS: X}
        for unknown in (None, "", "a new one")
    },
}


def answer_of(content: str, reason: str | None) -> ModelResponse:
    """Return what becomes of the events of an answer.

    Raises:
        ProviderError: They are not an answer.
    """
    assembly = Assembly("m")
    for index, (start, delta) in enumerate(CONTENTS[content]):
        fold(assembly, {"type": "content_block_start", "index": index, "content_block": start})
        fold(assembly, {"type": "content_block_delta", "index": index, "delta": delta})
        fold(assembly, {"type": "content_block_stop", "index": index})
    fold(assembly, {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {}})
    return assembly.so_far


@final
class _Source:
    def __init__(self, content: str, reason: str | None) -> None:
        self._content, self._reason = content, reason
        self.so_far = ModelResponse((), None, Usage(), "m")
        self.is_holding = False

    async def finish(self) -> bool:
        return False

    async def next_delta(self) -> Delta | None:
        await trio.lowlevel.checkpoint()
        self.so_far = answer_of(self._content, self._reason)
        return None

    async def close(self) -> None:
        pass


@final
class OddModel:
    """Gives one odd answer first, and then whole ones."""

    name = "odd"

    def __init__(self, content: str, reason: str | None) -> None:
        self._odd = [(content, reason)]
        self.requests: list[ModelRequest] = []

    def open(self) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[ModelStream]:
        self.requests.append(request)
        return AnswerStream(_Source(*(self._odd.pop() if self._odd else ("text", "end_turn"))))


@pytest.mark.parametrize(("reason", "content"), [*product(REASONS, CONTENTS)])
def test_each_answer_has_its_row_in_the_table(reason: str | None, content: str) -> None:
    if content == "half a call" and reason in {"end_turn", "tool_use", "stop_sequence"}:
        with pytest.raises(ProviderError, match="JSON object"):  # it is asked for again
            answer_of(content, reason)
        return

    response = answer_of(content, reason)

    assert next_after(response) is EXPECTED[reason][HOLDS.get(content, HeldContent.NOTHING)]
    assert response.is_refused is (next_after(response) is Next.REFUSE)


@pytest.mark.parametrize(("reason", "content"), [*product(REASONS, CONTENTS)])
async def test_only_a_whole_answer_ends_a_turn_well(
    reason: str | None, content: str, autojump_clock: MockClock
) -> None:
    """The turn goes on, or fails with a reason; what it sends is valid, and so is what the next prompt sends."""
    model = OddModel(content, reason)
    held = HOLDS.get(content, HeldContent.NOTHING)
    step = EXPECTED[reason][held]
    is_garbled = content == "half a call" and reason in {"end_turn", "tool_use", "stop_sequence"}

    async with open_stage(model) as stage:
        outcome: Answer | TurnFailed
        try:
            outcome = await stage.agent.ask(Prompt("Go."), timeout_s=math.inf)
        except TurnFailed as error:
            outcome = error
        after = await stage.agent.ask(Prompt("And now?"), timeout_s=math.inf)

        assert faults_of(stage.messages) == []
        results = [
            block for message in stage.messages for block in message.content if isinstance(block, ToolResultBlock)
        ]

    assert after.text == "It is "
    assert [violation for request in model.requests for violation in violations({**request_body(request)})] == []
    if is_garbled or step in {Next.REFUSE, Next.FAIL} or (step is Next.SHRINK and len(CONTENTS[content]) == 0):
        assert isinstance(outcome, TurnFailed)
        assert isinstance(outcome.__cause__, ProviderError)
    else:
        assert isinstance(outcome, Answer) or step is Next.SHRINK
    assert [result.content for result in results if not result.is_error] == (
        ["saw a"] if step is Next.RUN_CALLS else []
    )
    assert all("interrupted" not in result.content for result in results)
    if isinstance(outcome, Answer):
        assert outcome.text == (
            "It is It is " if step in {Next.CONTINUE, Next.RESUME} and held is HeldContent.TEXT else "It is "
        )
        assert len(model.requests) == (2 if step is Next.FINISH else 3 + (step is Next.SHRINK))
