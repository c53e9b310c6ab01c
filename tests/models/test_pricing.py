"""The price of tokens: each kind at its own price, long prompts at theirs, and nothing at no price."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import UsageError
from greenroom.models import Usage
from greenroom.models.budgets import Pricing
from greenroom.models.budgets._pricing import DEFAULT_PRICES, Price
from greenroom.models.choice._model_names import CLAUDE_MODELS

TOKENS = st.integers(0, 2_000_000)
USD = st.decimals(0, 100, places=4)
PLAIN = Price(input=Decimal(1), output=Decimal(10), cache_write=Decimal(2), cache_read=Decimal("0.1"))


@given(
    st.builds(Price, input=USD, output=USD, cache_write=USD, cache_read=USD, long_prompt_over=st.none() | TOKENS),
    st.builds(Usage, TOKENS, TOKENS, TOKENS, TOKENS),
)
def test_no_split_of_a_prompt_costs_more_than_the_highest_cost(price: Price, usage: Usage) -> None:
    sent = usage.total - usage.output_tokens
    assert price.cost(usage) <= price.highest_cost(sent, usage.output_tokens)


def test_each_kind_of_token_has_its_price() -> None:
    million = 1_000_000
    assert PLAIN.cost(Usage(million, 0, 0, 0)) == 1
    assert PLAIN.cost(Usage(0, million, 0, 0)) == 10
    assert PLAIN.cost(Usage(0, 0, million, 0)) == 2
    assert PLAIN.cost(Usage(0, 0, 0, million)) == Decimal("0.1")


def test_a_long_prompt_costs_more_for_all_of_the_request_and_its_answer_does_not_make_it_long() -> None:
    haiku = DEFAULT_PRICES["claude-haiku-5-5"]
    short, long = Usage(40_000, 500_000, 30_000, 30_000), Usage(40_000, 500_000, 30_000, 30_001)

    assert (
        haiku.cost(short)
        == Decimal("0.25") + (40_000 * haiku.input + 30_000 * (haiku.cache_write + haiku.cache_read)) / 10**6
    )
    assert haiku.cost(long) == 5 * haiku.cost(short) + 5 * haiku.cache_read / 10**6


def test_every_model_that_is_known_has_a_price() -> None:
    assert set(CLAUDE_MODELS) <= DEFAULT_PRICES.keys()


@pytest.mark.parametrize(
    ("model", "listed"),
    [
        ("claude-haiku-4-5", "claude-haiku-4-5"),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("claude-sonnet-5-5-20260901", "claude-sonnet-5-5"),
        ("claude-sonnet-5-6", None),
        ("gpt", None),
        ("", None),
    ],
)
def test_a_model_is_found_by_its_exact_name_or_as_a_snapshot(model: str, listed: str | None) -> None:
    found = Pricing().price_of(model)
    assert found == (None if listed is None else DEFAULT_PRICES[listed])
    assert Pricing().cost(model, Usage(1)) == (None if found is None else found.input / 10**6)


def test_the_price_of_a_family_is_for_its_models_that_are_not_listed() -> None:
    pricing = Pricing().with_prices({"sonnet": PLAIN, "claude-opus-5": PLAIN})

    assert pricing.price_of("us.anthropic.claude-sonnet-9-v1:0") == PLAIN
    assert pricing.price_of("claude-sonnet-5") == DEFAULT_PRICES["claude-sonnet-5"]
    assert pricing.price_of("claude-opus-5") == PLAIN


@pytest.mark.parametrize("bad", [Decimal(-1), Decimal("nan"), 1.5])
def test_a_price_that_is_none_is_refused(bad: Decimal) -> None:
    with pytest.raises(UsageError, match="input"):
        Price(input=bad, output=Decimal(1), cache_write=Decimal(1), cache_read=Decimal(1))
