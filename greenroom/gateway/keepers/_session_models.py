"""The model of a session: its settings, the models behind it by their names, and those that a turn asks for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Final, Literal, final

import attrs

from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._values import ModelSetting
from greenroom.models import Model, ModelRequest, ModelStream, Thinking
from greenroom.models._layer import Layer, LayerSource
from greenroom.models.budgets import Budget, Pricing, budgeted
from greenroom.models.budgets._pricing import Price
from greenroom.models.choice import ModelNames, read_effort

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
    mode = thinking_mode(setting.primary, thinking)
    return settings | ({"thinking": {"mode": mode}} if mode else {})


def thinking_mode(model: str, thinking: str | None) -> Literal["adaptive", "disabled"] | None:
    """Return how a model thinks at a level; None for its own way."""
    if thinking == "off":
        return "disabled"
    return "adaptive" if thinking and knows_effort(model) else None


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
@attrs.frozen(kw_only=True)
class TurnWish:
    """The model and the thinking that a turn asks for, where they are not those of its session."""

    model: str = ""
    thinking: str = ""


@final
@attrs.frozen(kw_only=True)
class TurnUses:
    """The services that requests of a session's turns use."""

    find_wish: Callable[[], Awaitable[TurnWish]]
    """Returns what the turn that runs asks for."""
    open_model: Callable[[str], Awaitable[Model]]
    """Returns the model of a reference."""
    find_budgets: Callable[[], Awaitable[tuple[Budget, ...]]]
    """Returns the budgets of the turn that runs."""


def turn_models(model: Model, uses: TurnUses) -> Model:
    """Return a model in whose place a turn may ask another one, or think more or less, within budgets.

    Args:
        model: The model of turns that ask for none; others are opened for their requests.
        uses: The services.
    """
    return Layer(model, "of turns", lambda manager, request: _WishedSource(model, request, manager, uses))


@final
class _WishedSource(LayerSource):
    """The source of one answer for the turn that runs."""

    def __init__(
        self, model: Model, request: ModelRequest, own: AbstractAsyncContextManager[ModelStream], uses: TurnUses
    ) -> None:
        super().__init__(own, request.model or model.name)
        self._model = model
        self._request = request
        self._uses = uses

    async def _begin(self) -> AbstractAsyncContextManager[ModelStream]:
        wish, model, request = await self._uses.find_wish(), self._model, self._request
        if wish.model:
            model, request = await self._uses.open_model(wish.model), attrs.evolve(request, model="")
            await self._entered.enter_async_context(model.open())
        if wish.thinking:
            name = wish.model or request.model or model.name
            mode = thinking_mode(name, wish.thinking)
            effort = effort_for(name, wish.thinking)
            request = attrs.evolve(
                request,
                thinking=None if mode is None else Thinking(mode),
                effort=None if effort is None else read_effort(effort),
            )
        for budget in await self._uses.find_budgets():
            model = budgeted(model, budget)
        is_own = model is self._model and request is self._request
        return self._manager if is_own else model.stream(request)


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
