"""The model of a session: its settings, and the models behind it by their names."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Final, final

import attrs

from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._values import ModelSetting
from greenroom.models import Model, ModelRequest
from greenroom.models._model import ModelStream
from greenroom.models.budgets import Pricing
from greenroom.models.budgets._pricing import Price
from greenroom.models.choice import ModelNames

EFFORTS: Final[Mapping[str, str | None]] = {
    "off": None,
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "xhigh",
    "max": "max",
}
"""The effort of a level of thinking."""
WITHOUT_EFFORT: Final = ("claude-haiku-4-5",)
"""Models, and their snapshots, that know neither an effort nor thinking as much as they choose."""


def knows_effort(model: str) -> bool:
    """True if a model can be told how much to think; one that is not listed can."""
    exact = ModelNames().exact(model.rpartition("/")[2])
    return not exact.startswith(WITHOUT_EFFORT)


def effort_for(model: str, thinking: str | None) -> str | None:
    """Return the effort of a level of thinking; None for the model's own."""
    return EFFORTS.get(thinking) if thinking and knows_effort(model) else None


def model_settings(config: GatewayConfig, setting: ModelSetting, thinking: str | None) -> dict[str, Any]:
    """Return the settings of a session's models.

    Args:
        config: The configuration.
        setting: The model, and what is asked in its place.
        thinking: The level of thinking; None for the model's own.
    """
    prices = {name: attrs.asdict(price) for name, price in gateway_pricing(config).prices.items()}
    settings: dict[str, Any] = {"fallbacks": list(setting.fallbacks), "prices": prices}
    if thinking == "off":
        settings["thinking"] = {"mode": "disabled"}
    elif thinking is not None and knows_effort(setting.primary):
        settings["thinking"] = {"mode": "adaptive"}
    return settings


def gateway_pricing(config: GatewayConfig) -> Pricing:
    """Return the prices that the configuration names, and no others."""
    prices: dict[str, Price] = {}
    for provider, settings in config.models.providers.items():
        for model in settings.models:
            if model.cost is not None:
                cost = model.cost
                price = Price(
                    input=cost.input, output=cost.output, cache_write=cost.cache_write, cache_read=cost.cache_read
                )
                prices |= {model.id: price, f"{provider}/{model.id}": price}
    return Pricing(prices)


@final
class NamedModels:
    """A model with others behind it, for requests that name them.

    Args:
        model: The model of requests that name none.
        others: The others, by the names that requests have.
    """

    def __init__(self, model: Model, others: Mapping[str, Model]) -> None:
        self._model = model
        self._others = dict(others)

    def __repr__(self) -> str:
        return f"<NamedModels {self._model!r} and {', '.join(self._others)}>"

    @property
    def name(self) -> str:
        """The name of the model of requests that name none."""
        return self._model.name

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Open all of them."""
        async with AsyncExitStack() as stack:
            for model in (self._model, *self._others.values()):
                await stack.enter_async_context(model.open())
            yield

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[ModelStream]:
        """Stream an answer of the model that a request names."""
        other = self._others.get(request.model)
        return self._model.stream(request) if other is None else other.stream(attrs.evolve(request, model=""))
