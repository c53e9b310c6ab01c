"""Model usage of the earlier processes of a session, read from its journal."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from greenroom.agents import AgentDefined, ModelEnded, ModelRetried
from greenroom.models import BudgetExceeded, Pricing, Spent, Usage
from greenroom.session._lines import objects_of
from greenroom.trace import JOURNAL


def read_spent(run_folder: Path, pricing: Pricing) -> Spent:
    """Return what a run has used so far. It reads the disk: call it through `Blocking`.

    Each attempt at a request counts as a call. Wall time is not counted: a budget's seconds are those of one process.

    Args:
        run_folder: The folder of the run; one without a journal has used nothing.
        pricing: Today's prices, also for what was used earlier.
    """
    kinds = (AgentDefined.kind, ModelEnded.kind, ModelRetried.kind)
    models: dict[str, str] = {}
    spent = Spent()
    for values in objects_of(run_folder / JOURNAL, *(f'"{kind}"'.encode() for kind in kinds)):
        actor = str(values.get("actor"))
        match values.get("ev"):
            case AgentDefined.kind:
                models[actor] = str(values.get("model"))
            case ModelRetried.kind:
                spent += Spent(calls=1)
            case ModelEnded.kind if str(values.get("error")).startswith(BudgetExceeded.__name__):
                pass  # the request was never sent
            case ModelEnded.kind:
                usage = Usage(
                    input_tokens=_count(values.get("input_tokens")),
                    output_tokens=_count(values.get("output_tokens")),
                    cache_creation_input_tokens=_count(values.get("cache_creation_input_tokens")),
                    cache_read_input_tokens=_count(values.get("cache_read_input_tokens")),
                )
                usd = pricing.cost(models.get(actor, ""), usage)
                spent += Spent(usage=usage, usd=usd or Decimal(0), calls=1, unpriced_calls=int(usd is None))
    return spent


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0
