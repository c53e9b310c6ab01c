"""The budget of a session, which counts what its earlier processes have used, and the layers around its model."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from functools import cache, partial
from pathlib import Path

from greenroom.agents.events import AgentDefined, ModelEnded, ModelRetried
from greenroom.core import JournalError
from greenroom.core.ports import Ports
from greenroom.models import Model, RetryBudget, Usage, with_settings
from greenroom.models.budgets import Budget, BudgetExceeded, Pricing, Spent
from greenroom.models.recordings import MODEL_FILE, recording
from greenroom.session.assembly._effects_of_run import recorded_part
from greenroom.session.assembly._session_plan import Plan
from greenroom.session.record._json_lines import objects_of
from greenroom.trace import JOURNAL, Journal, read_header


async def layered(plan: Plan, journal: Journal, ports: Ports) -> tuple[Model, Budget]:
    """Return the model of a session with the layers that its settings ask for, and its budget.

    The usage of the run that is continued counts. Answers that come from a record are those that such layers gave.

    Args:
        plan: The plan of the session.
        journal: Takes the recording of the model, if there is one.
        ports: Time, chance and threads.
    """
    session, model = plan.settings.scalars, plan.model
    if plan.spec.host.replay is not None:
        return model, Budget(None, pricing=Pricing(), now_s=ports.clock.bind())
    earlier = journal.folder if plan.run.is_resumed else None
    settings = session.models
    pricing = Pricing() if settings is None else settings.pricing
    budget = Budget(
        None if settings is None else settings.budget,
        pricing=pricing,
        spent=None if earlier is None else await ports.blocking.run(read_spent, earlier, pricing),
        now_s=ports.clock.bind(),
    )
    write = partial(journal.write_before, Path(MODEL_FILE)) if recorded_part(session) != "off" else None
    place = partial(getattr, journal.recorder, "seq")
    if settings is not None:
        shared = RetryBudget()
        return with_settings(
            model, settings, budget=budget, chance=ports.chance, retry_budget=shared, write=write, place=place
        ), budget
    return model if write is None else recording(model, write, place), budget


def read_spent(run_folder: Path, pricing: Pricing, *, since_s: float = 0.0) -> Spent:
    """Return what a run has used so far. It reads the disk: call it through `Blocking`.

    Each attempt at a request counts as a call. Wall time is not counted: a budget's seconds are those of one process.

    Args:
        run_folder: The folder of the run; one without a journal has used nothing.
        pricing: Today's prices, also for what was used earlier.
        since_s: Only what was used from then on, in seconds since 1970.
    """
    began_s = _began_s(run_folder / JOURNAL) if since_s else 0.0
    kinds = (AgentDefined.kind, ModelEnded.kind, ModelRetried.kind)
    models: dict[str, str] = {}
    price_of = cache(pricing.price_of)
    usage, usd, calls, unpriced = Usage(), Decimal(0), 0, 0
    for values in objects_of(run_folder / JOURNAL, *(f'"{kind}"'.encode() for kind in kinds)):
        actor = str(values.get("actor"))
        match values.get("ev"):
            case AgentDefined.kind:
                models[actor] = str(values.get("model"))
            case _ if since_s and began_s + float(values.get("t") or 0) < since_s:
                pass
            case ModelRetried.kind:
                calls += 1
            case ModelEnded.kind if str(values.get("error")).startswith(BudgetExceeded.__name__):
                pass  # the request was never sent
            case ModelEnded.kind:
                used = Usage(
                    input_tokens=_count(values.get("input_tokens")),
                    output_tokens=_count(values.get("output_tokens")),
                    cache_creation_input_tokens=_count(values.get("cache_creation_input_tokens")),
                    cache_read_input_tokens=_count(values.get("cache_read_input_tokens")),
                )
                price = price_of(models.get(actor, ""))
                usage, calls, unpriced = usage + used, calls + 1, unpriced + (price is None)
                usd += Decimal(0) if price is None else price.cost(used)
    return Spent(usage=usage, usd=usd, calls=calls, unpriced_calls=unpriced)


def _began_s(journal: Path) -> float:
    """Return when a journal begins, from which its times count; 0 if it does not say."""
    try:
        return datetime.fromisoformat(read_header(journal).started or "").timestamp()
    except (JournalError, ValueError):
        return 0.0


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0
