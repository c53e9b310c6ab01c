"""The facts of a run as a whole, from its events: whether it goes on, its title, its transcripts, its prices."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, final

from greenroom.models.budgets import Pricing
from greenroom.session import SessionBegan
from greenroom.trace import Entry, Header, RunEnding, RunIndex, World, parse_line

_PRICING: Final = Pricing()
_NOTED: Final = RunEnding.KINDS | {"session.titled", "agent.defined"}
"""Kinds of events that say something of the whole run."""


class RunStanding(StrEnum):
    """Whether a run goes on."""

    RUNNING = "running"
    ENDED = "ended"
    BROKEN_OFF = "broken off"
    """Its process ended before the run did."""
    VANISHED = "vanished"
    REPLACED = "replaced"


@final
class RunFacts:
    """The facts of one run.

    Attributes:
        transcripts: Name of the transcript of each agent, by id; empty if none is kept.
    """

    def __init__(self) -> None:
        self.transcripts: dict[str, str] = {}
        self._session: dict[str, Any] = {}
        self._ending = RunEnding()

    @property
    def has_ended(self) -> bool:
        """True if the run has ended."""
        return self._ending.has_ended

    def note(self, entry: Entry) -> None:
        """Process the next event."""
        if entry.kind not in _NOTED:
            return
        self._ending.look(entry.kind, entry.event.actor, is_supervised=bool(entry.get("supervisor", "?")))
        if entry.kind == "agent.defined":
            self.transcripts[entry.event.actor] = str(entry["transcript"])
        elif isinstance(entry.event, SessionBegan):
            self._session = {"cwd": entry["cwd"], "model": entry["model"], "title": entry["title"]}
        elif entry.kind == "session.titled":
            self._session["title"] = entry["title"]

    def shown(self, index: RunIndex, standing: RunStanding, world: World, journal: Path) -> dict[str, Any]:
        """Return what a page says of the whole run."""
        header = index.header
        assert header is not None
        return {
            **self._session,
            "run": header.run,
            "started": header.started,
            "greenroom": header.greenroom,
            "standing": standing,
            "events": len(index),
            "damage": index.damage,
            "damaged_lines": index.damaged_lines,
            "folder": journal.parent.name,
            "prices": prices_of(view.model for view in world.section("agents").values()),
        }


def epoch_s(header: Header, t_s: float) -> float:
    """Return a time of the journal in seconds of the epoch; 0 without a date."""
    try:
        started = datetime.fromisoformat(header.started or "")
    except ValueError:
        return 0.0
    return (started if started.tzinfo is not None else started.replace(tzinfo=UTC)).timestamp() + t_s


def prices_of(models: Iterable[str]) -> dict[str, tuple[float, ...]]:
    """Return the dollars for a million tokens of each model that has a price: input, output, cache written, cache read."""
    known = {model: price for model in sorted(set(models)) if (price := _PRICING.price_of(model)) is not None}
    return {
        model: tuple(map(float, (price.input, price.output, price.cache_write, price.cache_read)))
        for model, price in known.items()
    }


def parsed_line(line: bytes) -> dict[str, Any]:
    """Return a line of a transcript; of a damaged one, what is wrong with it."""
    try:
        return parse_line(line)
    except ValueError as error:
        return {"damaged": str(error)}
