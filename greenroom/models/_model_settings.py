"""Settings of models, and the order of the layers that they put around a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, final

import attrs

from greenroom.core.ports import Chance
from greenroom.core.validation import checked
from greenroom.models._continuation import ContinuationPolicy
from greenroom.models._deadlines import Deadlines, with_deadlines
from greenroom.models._fallbacks import with_fallbacks
from greenroom.models._model import Model
from greenroom.models._retry import RetryBudget, RetryPolicy, retrying
from greenroom.models._types import Effort, Thinking, read_effort
from greenroom.models.budgets._call_budget import Budget, BudgetOf, Limits, budgeted
from greenroom.models.budgets._pricing import Price, Pricing
from greenroom.models.choice._model_choice import ModelNames
from greenroom.models.recordings._recording_file import recording


def _check_effort(_: object, __: attrs.Attribute[Any], value: str | int | None) -> None:
    if value is not None:
        read_effort(value)


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class ModelSettings:
    """Choice and use of models in a session."""

    name: str | None = None
    """The model of the main agent: an alias, a family or an exact name; empty: that of the model object."""
    aliases: Mapping[str, str] = attrs.field(factory=dict)
    """Names of your own for exact names."""
    available: tuple[str, ...] | None = None
    """The allowed models: exact names, and families for all of their models; empty: all."""
    fallbacks: tuple[str, ...] = ()
    """Exact names of models that are asked in this order when the first request of a turn fails for good, before anything of an
    answer is there; for agents on the model of the session.
    """
    effort: str | int | None = attrs.field(default=None, validator=_check_effort)
    """Effort of models: `low`, `medium`, `high`, `xhigh`, `max` or a number from 0 to 100; empty: the model's default.
    """
    thinking: Thinking | None = None
    """True if models think before they answer; None: the model's default."""
    deadlines: Deadlines = Deadlines()  # noqa: RUF009  frozen
    """Time limits of one request."""
    retries: RetryPolicy = RetryPolicy()  # noqa: RUF009  frozen
    """Policy for retries of failed requests."""
    continuation: ContinuationPolicy = ContinuationPolicy()  # noqa: RUF009  frozen
    """Limits for continuing an answer that was cut at its `max_tokens`."""
    budget: Limits = Limits()  # noqa: RUF009  frozen
    """Upper limits of the whole session."""
    prices: Mapping[str, Price] = attrs.field(factory=dict)
    """US dollars for a million tokens, by the exact name of a model or its family; they take precedence over the
    built-in list.
    """

    @property
    def names(self) -> ModelNames:
        """Aliases and allowed models."""
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
    place: Callable[[], int] = lambda: 0,
) -> Model:
    """Return a model with deadlines around each attempt, a budget around these, retries around both, fallbacks, a recorder.

    Args:
        budget: The budget of calls, see `budgeted`; None for none.
        chance: Source of the jitter of retries; None for the machine's.
        retry_budget: Retries shared with other models; None for the policy's limit only.
        write: Destination of the recording, see `recording`; None records nothing.
        place: As for `recording`.
    """
    model = with_deadlines(model, settings.deadlines)
    if budget is not None:
        model = budgeted(model, budget)
    model = retrying(model, settings.retries, chance=chance, budget=retry_budget)
    if settings.fallbacks:
        model = with_fallbacks(model, settings.fallbacks)
    return model if write is None else recording(model, write, place)
