"""The text of an announcement: what a chat reads about the end of a run.

    "count the files"
    Status: success
    Result: 42
    Notes: -
    Stats: runtime 5m12s • tokens 1.2k in, 340 out, 1.5k total • est $0.02 • sessionKey ... • sessionId ... • transcript ...

Rule 1: the status is read from the table of ends, never from what a model said. Rule 2: each label stands at the start of a line once;
text of a model is quoted. Rule 3: only a run that completed has a result; what another one had said is unfinished.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Final, final

import attrs

from greenroom.gateway.announce._quotes import one_line, quoted
from greenroom.gateway.record._machines import EndCause
from greenroom.gateway.record._rows import MAX_LISTED, Run
from greenroom.models import Usage
from greenroom.models.budgets import Pricing
from greenroom.tasks import TaskState

SKIP: Final = "ANNOUNCE_SKIP"
"""The reply of a sub-agent that has nothing to announce."""
NO_REPLY: Final = "NO_REPLY"
"""The reply of a requester that has nothing to add."""
NOT_AVAILABLE: Final = "(not available)"
MAX_UNFINISHED: Final = 500
"""Characters of what a run had said that did not complete."""
UNKNOWN_FIGURE: Final = "n/a"


def is_skip(reply: str) -> bool:
    """True if a sub-agent asked to announce nothing; any other text that contains the word is announced."""
    return reply.strip() == SKIP


def is_no_reply(reply: str) -> bool:
    """True if a requester has nothing to add."""
    return reply.strip().casefold() == NO_REPLY.casefold()


def announces(run: Run) -> bool:
    """True if the end of a run is told at all: of a stop, the answer to the stop has told."""
    return run.announce != "none" and not (run.state is TaskState.KILLED and run.cause is EndCause.STOP)


def has_announce_step(run: Run) -> bool:
    """True if the sub-agent is asked for a summary of its run."""
    return announces(run) and (run.state is TaskState.COMPLETED or run.cause is EndCause.TIMEOUT)


def announcement(run: Run, *, reply: str, said: str, stats: str) -> str:
    """Return the text about the end of a run.

    Args:
        run: The run; it has ended.
        reply: The sub-agent's summary; empty for none.
        said: What it had said last.
        stats: The line of statistics.
    """
    words = run.words
    assert words is not None
    is_whole = run.state is TaskState.COMPLETED or run.cause is EndCause.TIMEOUT
    result = reply.strip() if is_whole else ""
    notes = [run.error.strip(), f"stopped by {run.who}" if run.cause is EndCause.STOP and run.who else ""]
    if run.state is not TaskState.COMPLETED and said.strip():
        notes.append(f"unfinished: {said.strip()[:MAX_UNFINISHED]}")
    return "\n".join(
        (
            f'"{one_line(run.label or run.task, MAX_LISTED)}"',  # so that it can be no label of these
            f"Status: {words.template}",
            quoted("Result:", result or NOT_AVAILABLE),
            quoted("Notes:", "\n".join(filter(None, notes)) or "-"),
            stats,
        )
    )


# --- the line of statistics -------------------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class SpentRequest:
    """One request of a run's tree."""

    model: str
    usage: Usage | None
    """None if its stream was cut before it told, or its provider gave none."""
    is_fallback: bool = False
    """True if another model than that of the agent answered."""


def stats_line(
    *,
    runtime_s: float | None,
    requests: Iterable[SpentRequest],
    pricing: Pricing,
    session: str,
    session_id: str,
    transcript: str,
) -> str:
    """Return the last line of an announcement; it names the model that answered in the place of the agent's.

    Args:
        runtime_s: The working time of the run; None if unknown.
        requests: All requests of its tree, the announce step included.
        pricing: The prices that the configuration names; a model without one makes no cost.
        session: Key of its session.
        session_id: Id of its run folder.
        transcript: Where its transcript is, or will be if it is archived at once.
    """
    known, is_partial, asked = [], False, tuple(requests)
    for request in asked:
        if request.usage is None:
            is_partial = True
        else:
            known.append((request.model, request.usage))
    mark = "+" if is_partial and known else ""
    parts = [f"runtime {duration_text(runtime_s)}", _tokens([usage for _, usage in known], mark)]
    costs = [pricing.cost(model, usage) for model, usage in known]
    priced = [cost for cost in costs if cost is not None]
    if priced:
        parts.append(f"est {cost_text(sum(priced, Decimal()))}{mark or ('+' if len(priced) < len(costs) else '')}")
    fallbacks = [request.model for request in asked if request.is_fallback]
    parts += [f"model {one_line(fallbacks[-1], MAX_LISTED)}"] if fallbacks else []
    parts += [f"sessionKey {session}", f"sessionId {session_id}", f"transcript {transcript}"]
    return f"Stats: {' • '.join(parts)}"


def _tokens(usages: list[Usage], mark: str) -> str:
    if not usages:
        return f"tokens {UNKNOWN_FIGURE}"
    sent = sum(usage.prompt_tokens for usage in usages)
    received = sum(usage.output_tokens for usage in usages)
    numbers = ((sent, "in"), (received, "out"), (sent + received, "total"))
    return "tokens " + ", ".join(f"{count_text(number)}{mark} {word}" for number, word in numbers)


def duration_text(seconds: float | None) -> str:
    """Return a duration: `1h1m`, `5m12s` or `45s`; `n/a` for None."""
    if seconds is None:
        return UNKNOWN_FIGURE
    whole = max(0, int(seconds + 0.5))
    if whole >= 3600:
        return f"{whole // 3600}h{whole % 3600 // 60}m"
    return f"{whole // 60}m{whole % 60}s" if whole >= 60 else f"{whole}s"


def count_text(tokens: int) -> str:
    """Return a number of tokens: `1.2m`, `1.2k` or `999`."""
    if tokens >= 999_950:  # which would be 1000.0k
        return f"{tokens / 1_000_000:.1f}m"
    return f"{tokens / 1000:.1f}k" if tokens >= 1000 else str(tokens)


def cost_text(dollars: Decimal) -> str:
    """Return a cost: with 2 decimals from a cent up, with 4 below."""
    return f"${dollars:.2f}" if dollars >= Decimal("0.01") else f"${dollars:.4f}"
