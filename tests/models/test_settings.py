"""The settings of models as people write them, and what they do around a model."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
import trio

from greenroom.core import SettingsError
from greenroom.core.validation import read_settings
from greenroom.models import ContinuationPolicy, ModelSettings, RetryPolicy, ScriptedModel, Thinking, with_settings
from greenroom.models._deadlines import Deadlines
from greenroom.models._retry import KindPolicy
from greenroom.models._scripted import ScriptStep
from greenroom.models.budgets import Budget, BudgetExceeded, Limits
from greenroom.models.budgets._pricing import DEFAULT_PRICES, Price
from greenroom.models.choice import ModelNames
from greenroom.models.recordings import RecordedModel
from greenroom.models.recordings._recording_file import parse_recording
from tests.models.situations import HELLO, provider_error

WRITTEN: dict[str, Any] = {
    "name": "opus",
    "aliases": {"cheap": "claude-haiku-5-5"},
    "available": ["opus", "claude-haiku-5-5"],
    "effort": 60,
    "thinking": {"mode": "enabled", "budget_tokens": 2048},
    "deadlines": {"first_token_s": 60, "request_s": "inf"},
    "retries": {"attempts": 3, "by_kind": {"overloaded": {"attempts": 9}}},
    "continuation": {"times": 1},
    "budget": {"tokens": 1_000_000, "usd": 2.5, "calls": 100, "wall_s": 3600},
    "prices": {"mine": {"input": "0.1", "output": 1, "cache_write": 0, "cache_read": 0}},
}


def test_what_is_written_is_what_is_meant() -> None:
    settings = read_settings(ModelSettings, WRITTEN, source="settings.json")

    mine = Price(input=Decimal("0.1"), output=Decimal(1), cache_write=Decimal(0), cache_read=Decimal(0))
    assert settings == ModelSettings(
        name="opus",
        aliases={"cheap": "claude-haiku-5-5"},
        available=("opus", "claude-haiku-5-5"),
        effort=60,
        thinking=Thinking("enabled", 2048),
        deadlines=Deadlines(first_token_s=60, request_s=float("inf")),
        retries=RetryPolicy(attempts=3, by_kind={"overloaded": KindPolicy(attempts=9)}),
        continuation=ContinuationPolicy(times=1),
        budget=Limits(tokens=1_000_000, usd=Decimal("2.5"), calls=100, wall_s=3600),
        prices={"mine": mine},
    )
    assert settings.effort_level == "medium"
    assert settings.names == ModelNames(aliases=settings.aliases, available=settings.available)
    assert settings.pricing.price_of("mine") == mine
    assert settings.pricing.price_of("claude-opus-5") == DEFAULT_PRICES["claude-opus-5"]


def test_without_any_everything_is_as_it_was() -> None:
    settings = read_settings(ModelSettings, {}, source="settings.json")
    assert settings == ModelSettings()
    assert (settings.effort_level, settings.budget, settings.retries) == (None, Limits(), RetryPolicy())


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"nmae": "x"}, "unknown key 'nmae'"),
        ({"effort": "highest"}, "effort must be one of low, medium"),
        ({"budget": {"usd": -1}}, "usd must be >= 0"),
        ({"budget": {"usd": "much"}}, "budget.usd: 'much' is not a number"),
        ({"budget": {"token": 1}}, "budget: unknown key 'token'"),
        ({"retries": {"attempts": 0}}, "attempts must be >= 1"),
        ({"retries": {"by_kind": {"oops": {}}}}, "unknown kind of error 'oops'"),
        ({"prices": {"m": {"input": 1}}}, "prices['m'].output: required key is missing"),
        ({"thinking": {"mode": "enabled"}}, "thinking requires budget_tokens"),
        ({"thinking": {"mode": "deep"}}, "thinking.mode: expected one of"),
    ],
)
def test_a_mistake_is_named_with_its_place(wrong: dict[str, Any], place: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_settings(ModelSettings, wrong, source="settings.json")
    assert place in str(caught.value)


async def test_the_order_around_a_model_is_the_right_one(autojump_clock: trio.testing.MockClock) -> None:
    """Each attempt has its own time and is counted; waiting for the budget is no stall; all of it is recorded."""
    settings = ModelSettings(
        deadlines=Deadlines(first_token_s=5), retries=RetryPolicy(attempts=2, first_wait_s=0, by_kind={})
    )
    stalled = ScriptStep(answer="late", wait_s=9)
    scripted = ScriptedModel([provider_error("overloaded"), "ok", stalled, stalled])
    budget = Budget(Limits(tokens=8_300, calls=5))
    lines: list[bytes] = []
    model = with_settings(scripted, settings, budget=budget, write=lines.append)
    held = await budget.take("m", HELLO)

    async def give_back() -> None:
        await trio.sleep(60)
        held.settle(held.amount.usage - held.amount.usage)

    seen = []
    async with model.open(), trio.open_nursery() as nursery:
        nursery.start_soon(give_back)
        for _ in range(3):
            async with model.stream(HELLO) as stream:
                try:
                    seen.append((await stream.wait_response()).text)
                except Exception as error:  # noqa: BLE001 - the kinds are what is tested
                    seen.append(getattr(error, "kind", type(error).__name__))

    assert seen[:2] == ["ok", "timeout"]
    assert seen[2] == BudgetExceeded.__name__
    assert len(scripted.requests) == 4
    recorded = parse_recording(b"".join(lines), source="it")
    assert [exchange.end for exchange in recorded.exchanges] == ["complete", "error", "error"]
    assert [said["type"] for said in recorded.exchanges[0].said][:1] == ["restarted"]
    assert RecordedModel(recorded).name == scripted.name


def test_nothing_is_recorded_and_limited_unasked() -> None:
    assert repr(with_settings(ScriptedModel([]), ModelSettings())).startswith("<retrying <with deadlines <Scripted")
