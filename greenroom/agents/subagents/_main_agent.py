"""The main agent of a session, for parts that were made before it started."""

from __future__ import annotations

from typing import Any, final

from greenroom.actors import Ref
from greenroom.agents._state import AgentState


@final
class MainAgent:
    """The main agent of one session; empty until it has started."""

    def __init__(self) -> None:
        self._started: tuple[Ref[Any], AgentState] | None = None

    def __repr__(self) -> str:
        return f"<MainAgent {'not started' if self._started is None else self._started[0]!r}>"

    def begin(self, ref: Ref[Any], home: AgentState) -> None:
        """Record that the agent has started; called once, by the session."""
        self._started = (ref, home)

    @property
    def started(self) -> tuple[Ref[Any], AgentState] | None:
        """Its address and its record; None before it has started."""
        return self._started

    @property
    def ref(self) -> Ref[Any]:
        """Its address; there once it has started."""
        assert self._started is not None
        return self._started[0]

    @property
    def home(self) -> AgentState | None:
        """Its record; None before it has started."""
        return None if self._started is None else self._started[1]
