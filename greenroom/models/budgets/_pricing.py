"""Prices of tokens, and the cost of a usage. Money is `Decimal`, in US dollars.

Every kind of token has its price. A model without a price costs an unknown amount, never nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final, final

import attrs

from greenroom.core import UsageError
from greenroom.core.validation import checked
from greenroom.models._token_usage import Usage
from greenroom.models.choice._model_names import family_of

_MILLION: Final = Decimal(1_000_000)


def _check_price(_: object, attribute: attrs.Attribute[Decimal], value: Any) -> None:
    if not isinstance(value, Decimal) or not value.is_finite() or value < 0:
        raise UsageError(f"{attribute.name} of a price must be a Decimal of at least 0, got {value!r}")


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class Price:
    """US dollars for a million tokens of each kind."""

    input: Decimal = attrs.field(validator=_check_price)
    """For `input_tokens`, which no cache is involved in."""
    output: Decimal = attrs.field(validator=_check_price)
    """For `output_tokens`, thinking included."""
    cache_write: Decimal = attrs.field(validator=_check_price)
    """For `cache_creation_input_tokens`."""
    cache_read: Decimal = attrs.field(validator=_check_price)
    """For `cache_read_input_tokens`."""
    long_prompt_over: int | None = None
    """The number of tokens, cached ones included, above which a longer prompt costs more; the surcharge covers the
    whole request.
    """
    long_prompt_factor: Decimal = attrs.field(default=Decimal(1), validator=_check_price)
    """The factor of the surcharge."""

    def cost(self, usage: Usage) -> Decimal:
        """Return what the usage of one request costs."""
        dollars = (
            usage.input_tokens * self.input
            + usage.output_tokens * self.output
            + usage.cache_creation_input_tokens * self.cache_write
            + usage.cache_read_input_tokens * self.cache_read
        ) / _MILLION
        is_long = self.long_prompt_over is not None and usage.prompt_tokens > self.long_prompt_over
        return dollars * self.long_prompt_factor if is_long else dollars

    def highest_cost(self, input_tokens: int, output_tokens: int) -> Decimal:
        """Return the maximum cost of a request of this size, however much of it is cached."""
        return max(
            self.cost(Usage(input_tokens, output_tokens)),
            self.cost(Usage(0, output_tokens, cache_creation_input_tokens=input_tokens)),
            self.cost(Usage(0, output_tokens, cache_read_input_tokens=input_tokens)),
        )


def _price(input: str, output: str, cache_write: str, cache_read: str, **long: Any) -> Price:  # noqa: A002
    return Price(
        input=Decimal(input),
        output=Decimal(output),
        cache_write=Decimal(cache_write),
        cache_read=Decimal(cache_read),
        **long,
    )


DEFAULT_PRICES: Final[Mapping[str, Price]] = {
    "claude-sonnet-5": _price("2", "10", "2.50", "0.20"),
    "claude-sonnet-5-5": _price("2", "10", "2.50", "0.10"),
    "claude-opus-5": _price("5", "25", "6.25", "0.50"),
    "claude-opus-5-5": _price("4", "20", "5", "0.20"),
    "claude-haiku-4-5": _price("1", "5", "1.25", "0.10"),
    "claude-haiku-5-5": _price(
        "0.10", "0.50", "0.125", "0.01", long_prompt_over=100_000, long_prompt_factor=Decimal(5)
    ),
    "claude-fable-5": _price("10", "50", "12.50", "1"),
    "claude-fable-5-1": _price("10", "50", "12.50", "0.25"),
    "claude-fable-5-2": _price("8", "40", "10", "0.20"),
}
"""The provider's list prices in November 2026, with the cache of five minutes. Prices change: those of the settings
take precedence.
"""


@final
@attrs.frozen
class Pricing:
    """The prices of a session."""

    prices: Mapping[str, Price] = DEFAULT_PRICES
    """By the exact name of a model; the name of a family is the price of its models that are not listed."""

    def with_prices(self, prices: Mapping[str, Price]) -> Pricing:
        """Return a table in which these prices take precedence."""
        return Pricing({**self.prices, **prices})

    def price_of(self, model: str) -> Price | None:
        """Return the price of a model; None if the table has none.

        A name that extends a listed one (`claude-haiku-4-5-20251001`) is a snapshot of it.
        """
        found = self.prices.get(model)
        if found is not None:
            return found
        listed = [name for name in self.prices if model.startswith(f"{name}-") and _is_date(model[len(name) + 1 :])]
        if listed:
            return self.prices[max(listed, key=len)]
        return self.prices.get(family_of(model) or "")

    def cost(self, model: str, usage: Usage) -> Decimal | None:
        """Return the cost of one request; None if the model has no price."""
        price = self.price_of(model)
        return None if price is None else price.cost(usage)


def _is_date(text: str) -> bool:
    return len(text) == 8 and text.isdecimal()
