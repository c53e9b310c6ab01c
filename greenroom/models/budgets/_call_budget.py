"""Budgets of a session, or a part of its tree: reserved before each call and settled after it.

Rule 1: a call reserves its expected maximum before it is sent (its estimated input, and all that it may write), so that
concurrent calls never pass one check together. Rule 2: a call has to fit into the budget of its agent and into all
budgets above, or reserves from none. Rule 3: a call that does not fit only because of other running calls waits for
them. Rule 4: a denial is final: it applies to every later call under that budget. Rule 5: used amounts stay used,
however the call ended, and may exceed the reservation.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from decimal import Decimal
from typing import Final, Literal, TypeAlias, final

import attrs
import trio

from greenroom.core import PeerError, UsageError
from greenroom.core.ports import SystemClock
from greenroom.core.validation import checked
from greenroom.models._layer import Layer, LayerSource
from greenroom.models._model import Model, ModelStream
from greenroom.models._token_usage import Usage
from greenroom.models._types import Delta, ModelRequest
from greenroom.models._written_answers import estimate_usage
from greenroom.models.budgets._pricing import Pricing

Limited: TypeAlias = Literal["tokens", "usd", "calls", "wall_s"]
"""The quantities that a budget limits."""

_NAMES: Final[dict[Limited, str]] = {
    "tokens": "tokens",
    "usd": "US dollars",
    "calls": "model calls",
    "wall_s": "seconds",
}


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class Limits:
    """Upper limits; None: no limit."""

    tokens: int | None = attrs.field(default=None, validator=attrs.validators.optional(attrs.validators.ge(0)))
    """Sum of all four kinds."""
    usd: Decimal | None = attrs.field(
        default=None, validator=attrs.validators.optional(attrs.validators.ge(Decimal(0)))
    )
    """Requires a price for every model in use."""
    calls: int | None = attrs.field(default=None, validator=attrs.validators.optional(attrs.validators.ge(0)))
    """Requests to the provider, each attempt counted."""
    wall_s: float | None = attrs.field(default=None, validator=attrs.validators.optional(attrs.validators.ge(0)))
    """Seconds since the budget was made; after them no call starts."""

    def of(self, limit: Limited) -> Decimal | float | None:
        """Return one of the limits by its name."""
        most: Decimal | float | None = getattr(self, limit)
        return most


@final
@attrs.frozen(kw_only=True)
class Spent:
    """Amounts used, or reserved for running calls."""

    usage: Usage = Usage()  # noqa: RUF009  frozen
    usd: Decimal = Decimal(0)
    """For calls of models with a price."""
    calls: int = 0
    unpriced_calls: int = 0
    """The calls of models without a price: their cost is not in `usd`."""
    wall_s: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            usage=self.usage + other.usage,
            usd=self.usd + other.usd,
            calls=self.calls + other.calls,
            unpriced_calls=self.unpriced_calls + other.unpriced_calls,
            wall_s=self.wall_s + other.wall_s,
        )

    def __sub__(self, other: Spent) -> Spent:
        return Spent(
            usage=self.usage - other.usage,
            usd=self.usd - other.usd,
            calls=self.calls - other.calls,
            unpriced_calls=self.unpriced_calls - other.unpriced_calls,
            wall_s=self.wall_s - other.wall_s,
        )

    def of(self, limit: Limited) -> Decimal | float:
        """Return the amount that a limit applies to."""
        amounts: dict[Limited, Decimal | float] = {
            "tokens": self.usage.total,
            "usd": self.usd,
            "calls": self.calls,
            "wall_s": self.wall_s,
        }
        return amounts[limit]

    def passed(self, limits: Limits) -> Limited | None:
        """Return the first limit that is exceeded."""
        for limit in _NAMES:
            most = limits.of(limit)
            if most is not None and self.of(limit) > most:
                return limit
        return None


@final
class BudgetExceeded(PeerError):
    """A call was denied because it may pass a limit; nothing was sent.

    Attributes:
        budget: Name of the budget.
        limit: Which limit: `tokens`, `usd`, `calls` or `wall_s`.
        allowed: The limit.
        spent: What was used before.
        asked: What the call would have taken.
    """

    def __init__(self, *, budget: str, limit: Limited, allowed: Decimal | float, spent: Spent, asked: Spent) -> None:
        used, more = spent.of(limit), asked.of(limit)
        super().__init__(
            f"Budget limit reached: {used} of {allowed} {_NAMES[limit]} of {budget!r} are used, and a call may use {more}"
            if limit != "wall_s"
            else f"Budget limit reached: the {allowed:g} {_NAMES[limit]} of {budget!r} are over"
        )
        self.budget = budget
        self.limit = limit
        self.allowed = allowed
        self.spent = spent
        self.asked = asked

    def again(self) -> BudgetExceeded:
        """Return an equal error that has not been raised yet, for the next denied call."""
        return BudgetExceeded(
            budget=self.budget, limit=self.limit, allowed=self.allowed, spent=self.spent, asked=self.asked
        )


@final
class Budget:
    """The budget of everything under one node of the tree of agents.

    Args:
        limits: The upper limits.
        name: For errors: the owner of the budget.
        parent: The budget above; amounts used here count there as well.
        pricing: Prices of tokens; None for the pricing of the parent, or the defaults.
        spent: Amounts used before this run, when a session is resumed.
        now_s: The clock for `wall_s`; by default Trio's, so the budget has to be made inside of the run.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        name: str = "session",
        parent: Budget | None = None,
        pricing: Pricing | None = None,
        spent: Spent | None = None,
        now_s: Callable[[], float] | None = None,
    ) -> None:
        self._limits = limits or Limits()
        self._is_limited = self._limits != Limits()
        self._name = name
        self._parent = parent
        self._pricing = pricing or (parent.pricing if parent is not None else Pricing())
        self._spent = self._earlier = spent or Spent()
        self._now_s = now_s or SystemClock().bind()
        self._began_s = self._now_s()
        self._taken = Spent()
        self._denial: BudgetExceeded | None = None
        self._changed = trio.Event()  # only the root's is used: a waiting call may wait for any budget of its line

    def __repr__(self) -> str:
        return f"<Budget {self._name!r}, {self.spent.usage.total} tokens, {self.spent.calls} calls>"

    @property
    def name(self) -> str:
        """The owner of the budget."""
        return self._name

    @property
    def limits(self) -> Limits:
        """The upper limits."""
        return self._limits

    @property
    def pricing(self) -> Pricing:
        """The prices."""
        return self._pricing

    @property
    def earlier(self) -> Spent:
        """Amounts used by earlier processes of a resumed session; part of `spent`."""
        return self._earlier

    @property
    def spent(self) -> Spent:
        """Amounts used, below included; running calls are not in it."""
        return attrs.evolve(self._spent, wall_s=self._spent.wall_s + self._now_s() - self._began_s)

    @property
    def taken(self) -> Spent:
        """Amounts reserved for running calls."""
        return self._taken

    @property
    def exceeded(self) -> BudgetExceeded | None:
        """The denial here or above, if any: spawn nothing afterwards."""
        return self._denial or (self._parent.exceeded if self._parent is not None else None)

    async def wait_exceeded(self) -> BudgetExceeded:
        """RetryAfter for a denial, here or above, and return it."""
        while (denial := self.exceeded) is None:
            await self._root._changed.wait()
        return denial

    def charge(self, used: Spent) -> None:
        """Count amounts that were used elsewhere, here and above; one that passes a limit is a denial of every later call."""
        for budget in self._line():
            budget._spent += used
        for budget in self._line():
            if budget._is_limited:
                budget._deny(Spent())
        self._tell()

    def take_nowait(self, model: str, request: ModelRequest) -> Taken | None:
        """Reserve for a call; return None if it fits only once running calls have released amounts.

        Raises:
            BudgetExceeded: It does not fit, here or above, or an earlier call did not.
            UsageError: There is a limit in dollars, and the model has no price.
        """
        return self._take(model, self._expected(model, request))

    async def take(self, model: str, request: ModelRequest) -> Taken:
        """Reserve for a call, as soon as it fits.

        On cancellation, nothing is reserved.

        Raises:
            BudgetExceeded: It will not fit, here or above, or an earlier call did not.
            UsageError: There is a limit in dollars, and the model has no price.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        asked = self._expected(model, request)
        while (taken := self._take(model, asked)) is None:
            await self._root._changed.wait()
        return taken

    def _take(self, model: str, asked: Spent) -> Taken | None:
        line = self._line()
        limited = [budget for budget in line if budget._is_limited]
        denied = [budget._deny(asked) for budget in limited]
        first = next((refusal for refusal in denied if refusal is not None), None)
        if first is not None:
            raise first.again()
        if any((budget.spent + budget._taken + asked).passed(budget._limits) for budget in limited):
            return None
        for budget in line:
            budget._taken += asked
        return Taken(self, model, asked)

    @property
    def _root(self) -> Budget:
        return self if self._parent is None else self._parent._root

    def _line(self) -> list[Budget]:
        """Return this budget and those above it."""
        return [self] if self._parent is None else [self, *self._parent._line()]

    def _deny(self, asked: Spent) -> BudgetExceeded | None:
        """Return the denial if a call does not fit beside the used amounts; it stays."""
        # A running call counts as used already: unlike tokens, it is not given back.
        spent = attrs.evolve(self.spent, calls=self._spent.calls + self._taken.calls)
        limit = (spent + asked).passed(self._limits)
        if self._denial is None and limit is not None:
            allowed = self._limits.of(limit)
            assert allowed is not None
            self._denial = BudgetExceeded(budget=self._name, limit=limit, allowed=allowed, spent=spent, asked=asked)
            self._tell()
        return self._denial

    def _expected(self, model: str, request: ModelRequest) -> Spent:
        """Return the expected maximum of a call; tokens only if they are limited, since counting them takes time."""
        limits = [budget._limits for budget in self._line()]
        if all(limit.tokens is None and limit.usd is None for limit in limits):
            return Spent(calls=1)
        sent = estimate_usage(request).input_tokens
        price = self._pricing.price_of(model)
        if price is None and any(limit.usd is not None for limit in limits):
            raise UsageError(
                f"the budget has a limit in dollars, but the model {model!r} has no price: add it to `prices`"
            )
        usd = Decimal(0) if price is None else price.highest_cost(sent, request.max_tokens)
        return Spent(usage=Usage(sent, request.max_tokens), usd=usd, calls=1)

    def _settle(self, taken: Spent, used: Spent) -> None:
        for budget in self._line():
            budget._taken -= taken
            budget._spent += used
        self._tell()

    def _tell(self) -> None:
        root = self._root
        changed, root._changed = root._changed, trio.Event()
        changed.set()


@final
class Taken:
    """The reservation of one call, until it is settled; made by `Budget.take`."""

    def __init__(self, budget: Budget, model: str, amount: Spent) -> None:
        self._budget = budget
        self._model = model
        self._amount = amount
        self._is_settled = False

    @property
    def amount(self) -> Spent:
        """The expected maximum of the call."""
        return self._amount

    def settle(self, usage: Usage) -> None:
        """Release the reservation and count the usage; only the first call has an effect."""
        if self._is_settled:
            return
        self._is_settled = True
        usd = self._budget.pricing.cost(self._model, usage)
        used = Spent(usage=usage, usd=usd or Decimal(0), calls=1, unpriced_calls=int(usd is None))
        self._budget._settle(self._amount, used)


BudgetOf: TypeAlias = Callable[[ModelRequest], Budget]
"""Finds the budget of the requesting agent."""


def budgeted(model: Model, budget: Budget | BudgetOf) -> Model:
    """Return a model that reserves from a budget before each call, and settles after it.

    Put it inside of `retrying`, so that each attempt is checked and counted, and around `with_deadlines`, so that
    waiting for the budget does not count towards the answer's time. A denied call is not sent.

    Args:
        budget: The budget of all requests, or a function that finds the budget of each.
    """
    budget_of: BudgetOf = budget if callable(budget) else lambda _: budget
    return Layer(
        model, "budgeted", lambda manager, request: _BudgetedSource(manager, budget_of(request), model.name, request)
    )


@final
class _BudgetedSource(LayerSource):
    def __init__(
        self, manager: AbstractAsyncContextManager[ModelStream], budget: Budget, model: str, request: ModelRequest
    ) -> None:
        super().__init__(manager, request.model or model)
        self._budget = budget
        self._model = request.model or model
        self._request = request
        self._taken: Taken | None = None

    async def next_delta(self) -> Delta | None:
        if self._stream is None:
            self._taken = await self._budget.take(self._model, self._request)
            self._stream = await self._enter()
        return await anext(self._stream, None)

    @property
    def is_holding(self) -> bool:
        return self._taken is not None

    async def close(self) -> None:
        try:
            await self._entered.aclose()
        finally:
            if self._taken is not None:
                self._taken.settle(self.so_far.usage)
