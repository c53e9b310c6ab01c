"""The cost of a swarm: the sum of its usage, and the words for it.

The rules cost nothing; what they read is told as what it would cost on a model. A model without a price costs an unknown amount,
never nothing.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final, final

import attrs

if TYPE_CHECKING:
    from greenroom.session import Session
    from greenroom.swarm._estimate import Estimate

FAR_OFF: Final = 1.5
"""A ratio of the length of answers to the assumed one that is told, either way."""


@final
@attrs.frozen(kw_only=True)
class SwarmCost:
    """The usage of a swarm, processes before a resume included."""

    usd: Decimal | None = None
    """US dollars; None if a model without a price was asked, or the rules."""
    requests: int = 0
    """Each attempt counts; 0 for the rules."""
    input_tokens: int = 0
    """All that was read, from the cache too."""
    cached_tokens: int = 0
    """Those of it that came from the cache."""
    output_tokens: int = 0
    is_rule_based: bool = False
    estimate: Estimate | None = None
    """The expectation before it began; for the rules, what their work would cost on a model. None if nothing was estimated."""

    @classmethod
    def of(cls, session: Session, *, is_rule_based: bool, estimate: Estimate | None) -> SwarmCost:
        """Return what a session has used."""
        spent, usage = session.budget.spent, session.usage
        return cls(
            usd=None if spent.unpriced_calls or is_rule_based else spent.usd,
            requests=0 if is_rule_based else spent.calls,
            input_tokens=usage.prompt_tokens,
            cached_tokens=usage.cache_read_input_tokens,
            output_tokens=usage.output_tokens,
            is_rule_based=is_rule_based,
            estimate=estimate,
        )

    @property
    def cached_share(self) -> float:
        """The part of the input that came from the cache, from 0 to 1."""
        return self.cached_tokens / self.input_tokens if self.input_tokens else 0.0

    @property
    def text(self) -> str:
        """The whole, in one line."""
        if self.is_rule_based:
            would = "" if self.estimate is None or self.estimate.usd is None else f"; {self.estimate.would_be}"
            return f"nothing, as fixed rules did the work{would}"
        dollars = "unknown, as a model has no price" if self.usd is None else f"${self.usd:.2f}"
        cached = f" ({self.cached_share:.0%} from the cache)" if self.cached_tokens else ""
        requests = f"{self.requests:,} request{'' if self.requests == 1 else 's'}"
        told = f"{dollars}; {requests}, {self.input_tokens:,} tokens in{cached}, {self.output_tokens:,} out"
        return f"{told}{self._surprise}"

    @property
    def _surprise(self) -> str:
        """Words for answers that were much longer or shorter than assumed."""
        if self.estimate is None or not self.requests or not self.estimate.requests:
            return ""
        assumed = self.estimate.output_tokens / self.estimate.requests
        ratio = self.output_tokens / self.requests / assumed
        if 1 / FAR_OFF < ratio < FAR_OFF:
            return ""
        expected = "" if self.estimate.usd is None else f" (estimated: ${self.estimate.usd:.2f})"
        return f"; answers were {ratio:.1f} times as long as assumed{expected}"
