"""Requests whose answers have stalled, for people who otherwise see nothing until the end: a fold over events.

A request is spoken of after a minute without any piece of its answer, and then each time that has doubled. A wait before
another attempt is announced, so it does not count as silence.
"""

from __future__ import annotations

import math
from typing import Final, TypeAlias, final

import attrs

from greenroom.agents.events import ModelBegan, ModelEnded, ModelRetried
from greenroom.core import Event

FIRST_S: Final = 60.0
"""Seconds of silence after which a request is spoken of."""
_Key: TypeAlias = tuple[str, int, int]


@final
@attrs.define
class _Request:
    quiet_since_s: float
    told_s: float = FIRST_S
    """Seconds of silence at which the next note is due."""


@final
class Silences:
    """The requests that have no answer yet."""

    def __init__(self) -> None:
        self._requests: dict[_Key, _Request] = {}

    def __repr__(self) -> str:
        return f"<Silences: {len(self._requests)} requests>"

    def see(self, event: Event, *, now_s: float) -> None:
        """Fold an event."""
        match event:
            case ModelBegan():
                self._requests[event.actor or "", event.turn, event.round] = _Request(now_s)
            case ModelRetried():
                self._requests[event.actor or "", event.turn, event.round] = _Request(now_s + event.delay_s)
            case ModelEnded():
                self._requests.pop((event.actor or "", event.turn, event.round), None)

    def moved(self, agent: str, *, now_s: float) -> None:
        """Note that a piece of an agent's answer has come."""
        for (actor, _, _), request in self._requests.items():
            if actor == agent:
                request.quiet_since_s, request.told_s = now_s, FIRST_S

    @property
    def due_s(self) -> float:
        """When there is something to say next, on the run's clock; infinite while nothing is waited for."""
        return min((request.quiet_since_s + request.told_s for request in self._requests.values()), default=math.inf)

    def due(self, now_s: float) -> list[tuple[str, float]]:
        """Return the actors whose requests are to be spoken of now, each with the seconds of silence."""
        told = []
        for (actor, _, _), request in self._requests.items():
            quiet_s = now_s - request.quiet_since_s
            if quiet_s >= request.told_s:
                while request.told_s <= quiet_s:
                    request.told_s *= 2
                told.append((actor, quiet_s))
        return told
