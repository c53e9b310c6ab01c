"""Fallbacks: which model is asked next, when, and until when."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest

from greenroom.core import ProviderError
from greenroom.models import Message, ModelRequest, ModelSettings, ScriptedModel, ToolResultBlock, with_settings
from greenroom.models._continuation import GO_ON
from greenroom.models._fallbacks import OF_ONE_MODEL, begins_turn, with_fallbacks
from greenroom.models._retry import RetryPolicy
from greenroom.models._scripted import ScriptStep
from tests.models.situations import HELLO, provider_error

RESULTS = ModelRequest((Message("user", (ToolResultBlock("t1", "done"),)),))


@attrs.define(eq=False)
class Provider:
    """Models by their names, behind one object."""

    scripts: Mapping[str, ScriptedModel]
    name: str = "first"
    asked: list[str] = attrs.field(factory=list)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        yield

    def stream(self, request: ModelRequest) -> Any:
        name = request.model or self.name
        self.asked.append(name)
        return self.scripts[name].stream(request)


def provider(**scripts: list[Any]) -> Provider:
    return Provider({name: ScriptedModel(script) for name, script in scripts.items()})


async def ask(model: Any, request: ModelRequest = HELLO) -> str:
    async with model.stream(request) as stream:
        return str((await stream.wait_response()).text)


async def test_models_are_asked_in_order_until_one_answers() -> None:
    behind = provider(
        first=[provider_error("not_found")], second=[provider_error("permission")], third=["I am the third."]
    )

    assert await ask(with_fallbacks(behind, ("second", "third"))) == "I am the third."
    assert behind.asked == ["first", "second", "third"]


async def test_the_model_that_answered_answers_the_whole_turn_and_no_other() -> None:
    behind = provider(first=[provider_error("overloaded"), "back"], second=["one", "two"])
    model = with_fallbacks(behind, ("second",))

    said = [await ask(model), await ask(model, RESULTS), await ask(model)]

    assert said == ["one", "two", "back"]
    assert behind.asked == ["first", "second", "second", "first"]


@pytest.mark.parametrize("kind", ["bad_request", "too_large", "refused", "cut"])
async def test_a_failure_that_is_not_the_models_own_asks_no_other(kind: str) -> None:
    behind = provider(first=[provider_error(kind)], second=[])

    with pytest.raises(ProviderError) as caught:
        await ask(with_fallbacks(behind, ("second",)))

    assert caught.value.kind == kind
    assert kind not in OF_ONE_MODEL
    assert behind.asked == ["first"]


async def test_after_a_part_of_an_answer_no_other_model_is_asked() -> None:
    cut = ScriptStep(answer="Half an answer", error=provider_error("overloaded"), error_after=2)
    behind = provider(first=[cut], second=[])

    with pytest.raises(ProviderError):
        await ask(with_fallbacks(behind, ("second",)))

    assert behind.asked == ["first"]


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (HELLO, True),
        (RESULTS, False),
        (ModelRequest((Message.user(GO_ON),)), False),
        (ModelRequest((Message("assistant", ()),)), False),
    ],
)
def test_only_the_first_request_of_a_turn_begins_it(request_: ModelRequest, expected: bool) -> None:
    assert begins_turn(request_) is expected


async def test_later_requests_and_those_for_other_models_have_no_fallbacks() -> None:
    behind = provider(first=[provider_error("not_found")], other=[provider_error("not_found")], second=[])
    model = with_fallbacks(behind, ("second",))

    for request in (RESULTS, attrs.evolve(HELLO, model="other")):
        with pytest.raises(ProviderError):
            await ask(model, request)

    assert behind.asked == ["first", "other"]


async def test_fallbacks_of_the_settings_are_asked_after_all_retries(autojump_clock: object) -> None:
    behind = provider(first=[provider_error("overloaded")] * 3, second=["There."])
    settings = ModelSettings(fallbacks=("second",), retries=RetryPolicy(attempts=3))

    async with with_settings(behind, settings).stream(HELLO) as stream:
        response = await stream.wait_response()

    assert (response.text, response.model) == ("There.", "scripted")
    assert behind.asked == ["first"] * 3 + ["second"]
