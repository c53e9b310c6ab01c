"""The settings of models, and the order in which what they ask for goes around a model.

Must not know: where settings files lie; `greenroom.core.read_settings` reads what stands in them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, final

import attrs

from greenroom.core import Chance, checked
from greenroom.models._budget import Budget, BudgetOf, Limits, budgeted
from greenroom.models._choice import ModelNames
from greenroom.models._continuation import ContinuationPolicy
from greenroom.models._deadlines import Deadlines, with_deadlines
from greenroom.models._model import Model
from greenroom.models._pricing import Price, Pricing
from greenroom.models._recording import recording
from greenroom.models._retry import RetryBudget, RetryPolicy, retrying
from greenroom.models._types import Effort, Thinking, read_effort


def _check_effort(_: object, __: attrs.Attribute[Any], value: str | int | None) -> None:
    if value is not None:
        read_effort(value)


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class ModelSettings:
    """Which models a session uses, and how."""

    name: str | None = None
    """The model of the main agent: an alias, a family or an exact name; none: the one of the model object."""
    aliases: Mapping[str, str] = attrs.field(factory=dict)
    """Names of your own for exact names."""
    available: tuple[str, ...] | None = None
    """The models that may be used: exact names, and families for all of their models; none: all."""
    effort: str | int | None = attrs.field(default=None, validator=_check_effort)
    """How thorough models are: `low`, `medium`, `high`, `xhigh`, `max` or a number from 0 to 100; none: as each does it."""
    thinking: Thinking | None = None
    """Whether models think before they answer; none: as each does it."""
    deadlines: Deadlines = Deadlines()  # noqa: RUF009  frozen
    """How long one request may take."""
    retries: RetryPolicy = RetryPolicy()  # noqa: RUF009  frozen
    """When a request that failed is sent again."""
    continuation: ContinuationPolicy = ContinuationPolicy()  # noqa: RUF009  frozen
    """How an answer is gone on with that was cut at its `max_tokens`."""
    budget: Limits = Limits()  # noqa: RUF009  frozen
    """What the whole session may use."""
    prices: Mapping[str, Price] = attrs.field(factory=dict)
    """US dollars for a million tokens, by the exact name of a model or its family; they go before the built-in list."""

    @property
    def names(self) -> ModelNames:
        """What names mean, and which of them may be used."""
        return ModelNames(aliases=self.aliases, available=self.available)

    @property
    def pricing(self) -> Pricing:
        """The prices, those of the known models included."""
        return Pricing().with_prices(self.prices)

    @property
    def effort_level(self) -> Effort | None:
        """The effort as a level."""
        return None if self.effort is None else read_effort(self.effort)


def with_settings(
    model: Model,
    settings: ModelSettings,
    *,
    budget: Budget | BudgetOf | None = None,
    chance: Chance | None = None,
    retry_budget: RetryBudget | None = None,
    write: Callable[[bytes], object] | None = None,
) -> Model:
    """Return a model with deadlines around each attempt, a budget around these, retries around both, and a recorder.

    Args:
        budget: What calls are taken from, see `budgeted`; None for no budget.
        chance: Where the jitter of retries comes from; None for the machine's.
        retry_budget: Retries that are shared with other models; None for no limit but the policy's.
        write: Where the run is recorded, see `recording`; None records nothing.
    """
    model = with_deadlines(model, settings.deadlines)
    if budget is not None:
        model = budgeted(model, budget)
    model = retrying(model, settings.retries, chance=chance, budget=retry_budget)
    return model if write is None else recording(model, write)
