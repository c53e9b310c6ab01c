"""The cost of a run on a model, estimated from the folder before anything starts.

The folder is looked at as the lead looks at it, and divided as the rules divide it. Each item takes three requests: the facts, the
lines in doubt, the findings. What is sent again comes from the cache. How long answers are is assumed, and told afterwards where it was
far off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, final

import attrs
import trio

from greenroom.core.ports import InlineBlocking
from greenroom.core.validation import read_settings
from greenroom.models import ModelSettings, Usage
from greenroom.models.budgets import Pricing
from greenroom.models.choice import DEFAULT_CLAUDE_MODEL, INHERIT, SMALL_CLAUDE_MODEL
from greenroom.swarm._swarm_plan import SwarmPlan
from greenroom.swarm.survey import FolderLook, ItemSize, look_at_folder, size_of
from greenroom.tools import ToolContext
from greenroom.tools.builtin import READ_ONLY_TOOLS

MATE_PREFIX: Final = 3_000
LEAD_PREFIX: Final = 2_750
"""Tokens of system prompt and tools, which each request begins with."""
PATH_TOKENS: Final = 11
"""A file in the description of an item, and in the call that asks for its facts."""
FACT_TOKENS: Final = 30
"""Facts of a file without anything to tell."""
FACT_TOKENS_OF_LINE: Final = 0.09
DOUBT_TOKENS: Final = 7_000
"""The most that is read of the lines of an item."""
LINE_TOKENS: Final = 11
FINDINGS_TOKENS: Final = 220
READ_CALL_TOKENS: Final = 25
READ_CALLS: Final = 5
ITEM_TOKENS: Final = 80
"""An item on the board, besides its files."""
REPORT_TOKENS: Final = 2_000
WAKE_TOKENS: Final = 60
LIST_CHARS: Final = 60_000
PROMPT_TOKENS: Final = 300
LISTED_CHARS: Final = 90
"""Of a file in the lead's looks."""


@final
@attrs.frozen(kw_only=True)
class Estimate:
    """The expected usage of a run."""

    lead: Usage
    mates: Usage
    requests: int
    models: tuple[str, str]
    """The model of the lead and that of the teammates."""
    pricing: Pricing = attrs.field(factory=Pricing)

    @property
    def input_tokens(self) -> int:
        """All that is read, from the cache too."""
        return sum(usage.prompt_tokens for usage in (self.lead, self.mates))

    @property
    def output_tokens(self) -> int:
        """All that is written."""
        return self.lead.output_tokens + self.mates.output_tokens

    @property
    def usd(self) -> Decimal | None:
        """US dollars; None if a model has no price."""
        return self._cost(self.lead, self.mates)

    @property
    def usd_without_cache(self) -> Decimal | None:
        """The same if nothing were read from a cache."""
        plain = [Usage(usage.prompt_tokens, usage.output_tokens) for usage in (self.lead, self.mates)]
        return self._cost(*plain)

    @property
    def unpriced(self) -> tuple[str, ...]:
        """The models that have no price."""
        return tuple(name for name in dict.fromkeys(self.models) if self.pricing.price_of(name) is None)

    @property
    def text(self) -> str:
        """The line before a run."""
        amount = f"about {_rounded(self.requests):,} requests and {_millions(self.input_tokens)} tokens"
        if self.usd is None:
            return f"{amount}; no price is known for {' and '.join(self.unpriced)} (add it to `models.prices`)"
        return f"{amount}, ${self.usd:.2f} on {self._on}, ${self.usd_without_cache:.2f} without cache"

    @property
    def would_be(self) -> str:
        """The words for work that rules did."""
        return f"on {self._on} this would be about ${self.usd:.2f}"

    @property
    def _on(self) -> str:
        lead, mates = self.models
        return lead if lead == mates else f"{lead} with {mates} for the teammates"

    def _cost(self, lead: Usage, mates: Usage) -> Decimal | None:
        costs = [self.pricing.cost(name, usage) for name, usage in zip(self.models, (lead, mates), strict=True)]
        return None if None in costs else sum((cost for cost in costs if cost is not None), Decimal(0))


def estimate_folder(folder: Path, prompt: str, *, models: tuple[str, str], mates: int, pricing: Pricing) -> Estimate:
    """Return what a survey of a folder is expected to use. It looks at the folder.

    Args:
        folder: The folder.
        prompt: The lead's first prompt, which says what is to be done.
        models: Exact names of the model of the lead and of that of the teammates.
        mates: Number of teammates.
        pricing: The prices.
    """
    return _estimate(trio.run(_look, folder, prompt), models=models, mates=mates, pricing=pricing)


def estimate_run(plan: SwarmPlan, model: str, settings: Mapping[str, Any]) -> Estimate:
    """Return what a run is expected to use. It looks at the folder.

    Args:
        plan: Who works on what.
        model: Exact name of the model of the lead.
        settings: With the section `models`, for aliases and prices.
    """
    models = read_settings(ModelSettings, settings.get("models") or {}, source="models")
    asked = plan.mates[0].definition.model
    small = model if asked == INHERIT else models.names.exact(asked)
    return estimate_folder(
        plan.folder, plan.prompt, models=(model, small), mates=len(plan.mates), pricing=models.pricing
    )


def estimate_items(
    descriptions: Iterable[str],
    *,
    mates: int,
    models: tuple[str, str] = (DEFAULT_CLAUDE_MODEL, SMALL_CLAUDE_MODEL),
    pricing: Pricing = Pricing(),  # noqa: B008 - frozen
) -> Estimate:
    """Return what the items of a board are expected to use, given by their descriptions."""
    items = tuple(map(size_of, descriptions))
    listed = sum(item.files for item in items) * LISTED_CHARS
    return _estimate(FolderLook(characters=listed, items=items), models=models, mates=mates, pricing=pricing)


def _estimate(look: FolderLook, *, models: tuple[str, str], mates: int, pricing: Pricing) -> Estimate:
    requests, lead = _lead_usage(look)
    usage = Usage(0, 0, cache_creation_input_tokens=mates * MATE_PREFIX)
    for item in look.items:
        more, used = _item_usage(item)
        requests, usage = requests + more, usage + used
    return Estimate(lead=lead, mates=usage, requests=requests, models=models, pricing=pricing)


async def _look(folder: Path, prompt: str) -> FolderLook:
    tools = {tool.name: tool for tool in READ_ONLY_TOOLS}
    context = ToolContext(
        cwd=folder, roots=(folder,), actor="estimate", tool_use_id="estimate", blocking=InlineBlocking()
    )
    return await look_at_folder(prompt, lambda name, values: tools[name].call(values, context))


def _item_usage(item: ItemSize) -> tuple[int, Usage]:
    """Return requests and tokens of one item."""
    files, lines = item.files, item.lines
    asked = ITEM_TOKENS + files * PATH_TOKENS
    if not files:
        found = 2 * ITEM_TOKENS
        return 2, Usage(
            0,
            ITEM_TOKENS + FINDINGS_TOKENS,
            cache_creation_input_tokens=asked + found,
            cache_read_input_tokens=2 * MATE_PREFIX + asked,
        )
    facts = round(files * FACT_TOKENS + lines * FACT_TOKENS_OF_LINE)
    doubts = min(DOUBT_TOKENS, lines * LINE_TOKENS)
    calls = files * PATH_TOKENS + READ_CALLS * READ_CALL_TOKENS
    return 3, Usage(
        0,
        calls + FINDINGS_TOKENS,
        cache_creation_input_tokens=asked + calls + facts + doubts,
        cache_read_input_tokens=3 * MATE_PREFIX + 2 * asked + calls + facts,
    )


def _lead_usage(look: FolderLook) -> tuple[int, Usage]:
    count = len(look.items)
    described = sum(ITEM_TOKENS + item.files * PATH_TOKENS for item in look.items)
    findings = count * (FINDINGS_TOKENS + ITEM_TOKENS // 2)
    pages = max(1, -(-findings * 4 // LIST_CHARS))
    steps: Sequence[int] = (
        PROMPT_TOKENS,
        look.characters // 4,
        described + count * READ_CALL_TOKENS,
        *([WAKE_TOKENS] * (4 if count >= 8 else 1)),
        *([findings // pages] * pages),
    )
    read, written = 0, LEAD_PREFIX
    for step in steps:
        read, written = read + written, written + step
    return len(steps), Usage(
        0,
        described + REPORT_TOKENS + len(steps) * READ_CALL_TOKENS,
        cache_creation_input_tokens=written,
        cache_read_input_tokens=read,
    )


def _rounded(number: int) -> int:
    """Return a number with two digits that count."""
    digits = max(0, len(str(number)) - 2)
    return round(number, -digits)


def _millions(tokens: int) -> str:
    return f"{tokens / 1_000_000:.1f} M" if tokens >= 100_000 else f"{_rounded(tokens):,}"
