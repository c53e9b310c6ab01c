"""What a headless run has used: counted from the events of its session, as they are recorded.

Rule 1: it only counts; it is a listener of the recorder and neither waits nor fails.
Must not know: the clock, the disk, how counts are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final, final

from greenroom.actors import TurnBegan, TurnEnded
from greenroom.agents import (
    AgentDefined,
    AgentNoticed,
    CompactBegan,
    CompactEnded,
    ModelBegan,
    ModelEnded,
    ModelRetried,
    PermissionDenied,
    ToolBegan,
)
from greenroom.core import CLASS, SEQ, TIME, Event, Record, event_of
from greenroom.hooks import HookRan
from greenroom.models import Usage
from greenroom.models.budgets import Pricing


@final
class Meter:
    """Counts for one run.

    Args:
        main: Id of the main agent.
        pricing: What tokens cost.
        on_event: Called with what is told of the main agent: the end of a turn, a refused call, a compaction, a hook, a notice.
    """

    def __init__(
        self, main: str, *, pricing: Pricing | None = None, on_event: Callable[[Event], None] | None = None
    ) -> None:
        self.api_s = 0.0
        """Seconds in which models were waited for; side by side counts twice."""
        self.rounds = 0
        """Model requests of the main agent in its current or last turn."""
        self.was_in_tools = False
        """Whether the main agent's last step was a tool call, and not a model request."""
        self.stop_reason = ""
        """Why the main agent's model stopped last."""
        self.usage = Usage()
        """Of the main agent."""
        self.by_model: dict[str, Usage] = {}
        self.cost_usd: dict[str, Decimal] = {}
        self._main = main
        self._pricing = pricing or Pricing()
        self._on_event = on_event
        self._models: dict[str, str] = {}
        self._began: dict[tuple[str, int, int], float] = {}

    def see(self, record: Record) -> None:
        """Count an event, if it is one of those that count."""
        handler = _HANDLERS.get(record[CLASS]) if record[SEQ] > 0 else None
        if handler is not None:
            handler(self, record[TIME], event_of(record))

    def _defined(self, _: float, event: AgentDefined) -> None:
        self._models[event.actor] = event.model

    def _turn_began(self, _: float, event: TurnBegan) -> None:
        if event.actor == self._main:
            self.rounds = 0
            self.was_in_tools = False
            self.stop_reason = ""

    def _told(self, _: float, event: Event) -> None:
        if event.actor == self._main and self._on_event is not None:
            self._on_event(event)

    def _model_began(self, t: float, event: ModelBegan) -> None:
        self._began[event.actor, event.turn, event.round] = t
        if event.actor == self._main and event.turn:
            self.rounds += 1
            self.was_in_tools = False

    def _model_ended(self, t: float, event: ModelEnded) -> None:
        self.api_s += t - self._began.pop((event.actor, event.turn, event.round), t)
        usage = Usage(
            event.input_tokens,
            event.output_tokens,
            event.cache_creation_input_tokens,
            event.cache_read_input_tokens,
        )
        model = self._models.get(event.actor, "")
        self.by_model[model] = self.by_model.get(model, Usage()) + usage
        cost = self._pricing.cost(model, usage)
        if cost is not None:
            self.cost_usd[model] = self.cost_usd.get(model, Decimal(0)) + cost
        if event.actor == self._main:
            self.usage += usage
            if event.turn:
                self.stop_reason = event.stop_reason

    def _tool_began(self, _: float, event: ToolBegan) -> None:
        if event.actor == self._main and event.turn:
            self.was_in_tools = True


_HANDLERS: Final[Mapping[type[Event], Callable[[Meter, float, Any], None]]] = {
    AgentDefined: Meter._defined,
    TurnBegan: Meter._turn_began,
    TurnEnded: Meter._told,
    PermissionDenied: Meter._told,
    CompactBegan: Meter._told,
    CompactEnded: Meter._told,
    ModelRetried: Meter._told,
    HookRan: Meter._told,
    AgentNoticed: Meter._told,
    ModelBegan: Meter._model_began,
    ModelEnded: Meter._model_ended,
    ToolBegan: Meter._tool_began,
}
