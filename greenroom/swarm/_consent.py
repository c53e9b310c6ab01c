"""Consent to what a run will cost: what is asked, and when a run needs `--yes`.

On a terminal a person is asked. Without one nothing is asked, and a run that may cost more than `swarm.ask_above_usd` is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from greenroom.core import UsageError
from greenroom.core.sources import Places
from greenroom.core.validation import read_settings
from greenroom.session import SwarmSettings
from greenroom.swarm._estimate import Estimate
from greenroom.swarm._swarm_budget import values_of

_YES: Final = frozenset({"y", "yes"})


def agree_to(
    estimate: Estimate,
    settings: Mapping[str, Any],
    places: Places,
    *,
    is_asked: bool | None = None,
    ask: Callable[[str], str] = input,
) -> bool:
    """Return whether a run may begin: a person says so, or nobody has to. It reads the disk.

    Args:
        estimate: What the run will cost.
        settings: With the section `models`, whose budget the run will not exceed.
        places: Where settings files lie.
        is_asked: Whether somebody can be asked; None to find out.
        ask: Shows a question, and returns the answer.

    Raises:
        UsageError: Nobody can be asked, and the run may cost more than `swarm.ask_above_usd`.
    """
    usd = estimate.usd
    if usd is None:
        return True
    if _can_ask() if is_asked is None else is_asked:
        try:
            return ask(f"This run will take {estimate.text}. Start? [y/N] ").strip().lower() in _YES
        except EOFError:
            return False
    limit = settings.get("models", {}).get("budget", {}).get("usd")
    most = usd if limit is None else min(usd, Decimal(str(limit)))
    allowed = read_settings(SwarmSettings, values_of(places, "swarm"), source="swarm").ask_above_usd
    if most > Decimal(str(allowed)):
        raise UsageError(
            f"this run would take {estimate.text}, which is more than `swarm.ask_above_usd` allows ({allowed:g} dollars): "
            f"give --yes, or a lower --max-budget-usd"
        )
    return True


def _can_ask() -> bool:
    """Return True if a person sees questions and can answer them."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))
