"""Grouping of the calls of one assistant message into batches that run concurrently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol, TypeVar

from greenroom.core import UsageError
from greenroom.tools._tool import Tool

SIDE_BY_SIDE: Final = 10
"""Maximum number of concurrent read-only calls; Claude Code's number."""


class Call(Protocol):
    """A call as a model wrote it; only the name matters here."""

    @property
    def name(self) -> str:
        """The name of the tool."""
        ...


C = TypeVar("C", bound=Call)


def plan_batches(calls: Sequence[C], tools: Mapping[str, Tool], cap: int = SIDE_BY_SIDE) -> list[tuple[C, ...]]:
    """Return the calls in batches: each batch runs side by side, one batch after the other.

    Args:
        calls: In the order in which the model wrote them.
        tools: The agent's tools; a call of a tool that is not there gets a batch of its own.
        cap: The most calls in one batch.
    """
    if cap < 1:
        raise UsageError(f"cap must be at least 1, got {cap!r}")
    batches: list[list[C]] = []
    is_open = False
    for call in calls:
        found = tools.get(call.name)
        joins = found is not None and found.is_read_only
        if joins and is_open and len(batches[-1]) < cap:
            batches[-1].append(call)
        else:
            batches.append([call])
        is_open = joins
    return [tuple(batch) for batch in batches]
