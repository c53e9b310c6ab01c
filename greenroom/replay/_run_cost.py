"""The cost of a recorded run: the models and tokens of its journal at list prices.

The journal holds no prices. A request is priced as the model that its agent was defined with; the prices of somebody's settings,
and a fallback to another model, are not known here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from decimal import Decimal
from typing import Any, Final

from greenroom.models import Usage
from greenroom.models.budgets import Pricing
from greenroom.trace import Entry

RULES: Final = "playbook"
"""The name of the embedded rules in the place of a model: they cost nothing."""
_PRICING: Final = Pricing()


def request_usd(model: str, event: Any) -> float | None:
    """Return the cost of one request in US dollars; None if its model has no list price.

    Args:
        model: The name of the model.
        event: The end of the request, with its tokens.
    """
    cost = _PRICING.cost(model, _usage_of(event))
    return None if cost is None else float(cost)


def run_cost(entries: Iterable[Entry]) -> tuple[Decimal, tuple[str, ...]]:
    """Return the cost of all requests in US dollars, and the names of the models that were asked and have no list price."""
    models: dict[str, str] = {}
    usd, unpriced = Decimal(0), set()
    for entry in entries:
        if entry.kind == "agent.defined" or (entry.kind == "mate.joined" and entry.get("model")):
            models[entry.event.actor] = entry["model"]
        elif entry.kind == "model.end":
            model = models.get(entry.event.actor, "")
            cost = _PRICING.cost(model, _usage_of(entry.event))
            if cost is None:
                unpriced.add(model)
            else:
                usd += cost
    return usd, tuple(sorted(unpriced))


def cost_in_words(usd: str, unpriced: Collection[str]) -> str:
    """Return the cost for people, such as `about $0.42 at list prices`; empty if nothing was asked.

    Args:
        usd: Dollars of the requests that have a price.
        unpriced: Names of the models without one.
    """
    names = [name or "an unnamed model" for name in unpriced if name != RULES]
    if names:
        known = f"; the others cost about ${Decimal(usd):.2f}" if Decimal(usd) else ""
        return f"cost unknown, as no price of {', '.join(names)} is known{known}"
    if Decimal(usd):
        return f"about ${Decimal(usd):.2f} at list prices"
    return "not billed, as fixed rules did the work" if RULES in unpriced else ""


def _usage_of(event: Any) -> Usage:
    return Usage(
        event.input_tokens, event.output_tokens, event.cache_creation_input_tokens, event.cache_read_input_tokens
    )
