"""One agent of a swarm, as its events tell of it: state, open requests and calls, and its activity in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

import attrs

from greenroom.terminal.screen._activity_samples import ActivitySamples
from greenroom.terminal.screen._picture import FLASH_S, GONE, AgentRow, LaneUse

LONG_WAIT_S: Final = 2.0
"""Seconds that a model may take before a picture shows how long it has taken."""
RELEASE_S: Final = 1.0
"""Seconds within which the board takes an item back from an owner that has ended."""
ERROR_WORDS: Final[Mapping[str, str]] = {"cut": "a cut answer", "timeout": "a hang", "rate_limited": "a rate limit"}
"""Errors of model requests in words for people; others are their own."""
LONG_AGO: Final = float("-inf")


@final
@attrs.define(kw_only=True)
class AgentActivity:
    """An agent, as its events tell of it."""

    id: str
    name: str
    owner: str = ""
    """Actor id of the agent that started it."""
    model: str = ""
    """The model that it was defined with."""
    color: str = ""
    is_teammate: bool = False
    state: str = "starting"
    restarts: int = 0
    changed_s: float = LONG_AGO
    lane: ActivitySamples = attrs.field(factory=ActivitySamples)
    tools: dict[str, str] = attrs.field(factory=dict)
    """Open calls, by id, with their texts."""
    asking: set[str] = attrs.field(factory=set)
    """Calls that wait for a person."""
    model_since_s: float | None = None
    """When the open request began; None if there is none. In the future while the next attempt has to wait."""
    retry: str = ""
    """The error of the last attempt of that request; empty if there was none."""
    kill_why: str = ""
    gone_s: float = float("inf")
    """When it ended for good."""

    def copy(self) -> AgentActivity:
        """Return the same agent, which changes on its own."""
        return attrs.evolve(self, lane=self.lane.copy(), tools=dict(self.tools), asking=set(self.asking))

    def row(self, t_s: float, *, depth: int, item: str, unread: int) -> AgentRow:
        """Return it as it is shown at a time, with what others know of it."""
        return AgentRow(
            id=self.id,
            name=self.name,
            state=self.state,
            color=self.color,
            depth=depth,
            is_teammate=self.is_teammate,
            use=self.use,
            doing=self.doing(t_s),
            lane=self.lane.samples(t_s),
            item=item,
            unread=unread,
            restarts=self.restarts,
            flashes=t_s - self.changed_s < FLASH_S,
        )

    @property
    def use(self) -> LaneUse:
        """Its activity."""
        if self.state in GONE or self.state == "starting":
            return LaneUse.DOWN
        if self.asking or (self.retry and self.model_since_s is not None):
            return LaneUse.WAITING
        if self.tools:
            return LaneUse.TOOL
        return LaneUse.IDLE if self.model_since_s is None else LaneUse.MODEL

    def has_left(self, t_s: float) -> bool:
        """Return True if it ended for good, and long enough ago for the board to have its item back."""
        return self.gone_s < t_s - RELEASE_S

    def rest(self) -> None:
        """Forget what was open: nothing is open between turns."""
        self.tools.clear()
        self.asking.clear()
        self.model_since_s, self.retry = None, ""

    def doing(self, t_s: float) -> str:
        """Return its activity in words."""
        if self.asking:
            return "waits for a person"
        if self.tools:
            *others, last = self.tools.values()
            return f"{last} (and {len(others)} more)" if others else last
        if self.model_since_s is None:
            return ""
        waited_s = t_s - self.model_since_s
        if self.retry and waited_s < 0:
            return f"{self.retry}, tried again in {-waited_s:.0f} s" if waited_s < -1 else f"{self.retry}, tried again"
        words = f"thinking after {self.retry}" if self.retry else "thinking"
        return words if waited_s < LONG_WAIT_S else f"{words} for {waited_s:.0f} s"
