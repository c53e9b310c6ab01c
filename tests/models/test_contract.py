"""The conformance kit of models, run over our own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio

from greenroom.models import Model, PlaybookModel, ScriptedModel, WrittenAnswer, retrying
from greenroom.models.budgets import Budget, Limits, budgeted
from greenroom.models.recordings import RecordedModel, recording
from greenroom.models.recordings._recording_file import parse_recording
from greenroom.testing import ErrorReply, ModelConformance, open_messages_server
from greenroom.testing._conformance_llm import ANSWER, Planned
from tests.models.situations import HELLO, claude, provider_error


class TestAnthropicModel(ModelConformance):
    @asynccontextmanager
    async def open(self, answer: Planned) -> AsyncIterator[Model]:
        async with open_messages_server(lambda _: answer) as server:
            model = claude(server)
            async with model.open():
                yield model

    @asynccontextmanager
    async def open_refusing(self) -> AsyncIterator[Model]:
        reply = ErrorReply(status=429, type="rate_limit_error", message="slow down")
        async with open_messages_server(lambda _: reply) as server:
            model = claude(server)
            async with model.open():
                yield model


class Wrapped(ModelConformance):
    """A playbook behind a layer."""

    def wrap(self, model: Model) -> Model:
        return model

    @asynccontextmanager
    async def open(self, answer: Planned) -> AsyncIterator[Model]:
        model = self.wrap(PlaybookModel({"": lambda _: answer}))
        async with model.open():
            yield model

    @asynccontextmanager
    async def open_refusing(self) -> AsyncIterator[Model]:
        model = self.wrap(ScriptedModel([provider_error("bad_request")]))
        async with model.open():
            yield model


class TestPlaybookModel(Wrapped):
    pass


class TestRetrying(Wrapped):
    def wrap(self, model: Model) -> Model:
        return retrying(model)


class TestBudgeted(Wrapped):
    def wrap(self, model: Model) -> Model:
        return budgeted(model, Budget(Limits(calls=3)))


class TestRecording(Wrapped):
    def wrap(self, model: Model) -> Model:
        lines: list[bytes] = []
        return recording(model, lines.append)


class TestScriptedModel(Wrapped):
    @asynccontextmanager
    async def open(self, answer: Planned) -> AsyncIterator[Model]:
        yield ScriptedModel([answer] * 3)


class TestRecordedModel(ModelConformance):
    can_refuse = False

    @asynccontextmanager
    async def open(self, answer: Planned) -> AsyncIterator[Model]:
        lines: list[bytes] = []
        model = recording(PlaybookModel({"": lambda _: answer}), lines.append)
        for _ in range(3):
            async with model.stream(HELLO) as stream:
                await stream.wait_response()
        yield RecordedModel(parse_recording(b"".join(lines), source=""))


class WrongStopReason(ModelConformance):
    """A model that the kit must reject: its stop reason does not fit the call."""

    @asynccontextmanager
    async def open(self, answer: Planned) -> AsyncIterator[Model]:
        yield ScriptedModel([WrittenAnswer(answer, stop_reason="end_turn")])


def test_wrong_stop_reason_is_found() -> None:
    with pytest.raises(AssertionError):
        WrongStopReason().test_deltas_add_up_to_answer()


@pytest.mark.parametrize("kind", ["anthropic", "playbook"])
def test_model_and_stream_have_readable_repr(kind: str) -> None:
    kit = TestAnthropicModel() if kind == "anthropic" else TestPlaybookModel()

    async def look() -> None:
        async with kit.open(ANSWER) as model, model.stream(HELLO) as stream:
            await stream.wait_response()
            assert repr(model).startswith("<")
            assert repr(stream) == "<AnswerStream ended, 2 blocks>"

    trio.run(look)
