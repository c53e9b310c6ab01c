"""The usage of a headless run, counted from the events of its session.

It only counts; it is a listener of the recorder and neither waits nor fails.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final, final

from greenroom.actors import TurnBegan
from greenroom.agents.events import AgentDefined, ModelBegan, ModelEnded, ToolBegan
from greenroom.core import Event
from greenroom.models import Usage
from greenroom.models.budgets import Pricing


@final
class Meter:
    """Counts for one run.

    Args:
        main: Id of the main agent.
        pricing: What tokens cost.
    """

    def __init__(self, main: str, *, pricing: Pricing | None = None) -> None:
        self.api_s = 0.0
        """Seconds that agents spent waiting for models; parallel waits are added up."""
        self.rounds = 0
        """Model requests of the main agent in its current or last turn."""
        self.was_in_tools = False
        """True if the main agent's last step was a tool call, and not a model request."""
        self.stop_reason = ""
        """Why the main agent's model stopped last."""
        self.usage = Usage()
        """Of the main agent."""
        self.by_model: dict[str, Usage] = {}
        self.cost_usd: dict[str, Decimal] = {}
        self._main = main
        self._pricing = pricing or Pricing()
        self._models: dict[str, str] = {}
        self._began: dict[tuple[str, int, int], float] = {}

    def see(self, event: Event, t: float) -> None:
        """Count an event of the journal; `t` is the clock reading that it has."""
        handler = _HANDLERS.get(type(event))
        if handler is not None:
            handler(self, t, event)

    def _defined(self, _: float, event: AgentDefined) -> None:
        self._models[event.actor] = event.model

    def _turn_began(self, _: float, event: TurnBegan) -> None:
        if event.actor == self._main:
            self.rounds = 0
            self.was_in_tools = False
            self.stop_reason = ""

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
    ModelBegan: Meter._model_began,
    ModelEnded: Meter._model_ended,
    ToolBegan: Meter._tool_began,
}
