"""The plan of what waits for a session: when it is handed in, what is handed in together, and what is dropped.

Rule 1: items for different routes never share a turn's input. Rule 2: nothing is lost by a limit: a result that is dropped leaves its
name in a summary, and its text stays on record. Rule 3: the order of a route is that in which its items came.
Must not know: clock, sessions, the inbox.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, final

import attrs

from greenroom.gateway.announce._quotes import one_line

QUIET_S: Final = 1.0
CAP: Final = 20
MAX_SUMMARY: Final = 160
"""Characters of the line that stands for dropped items."""
MIN_NAME: Final = 10
MAX_NAME: Final = 40
"""Characters of each item in it: fewer where there are many."""


class QueueMode(StrEnum):
    """When items are handed in."""

    STEER = "steer"
    """At once: the running turn reads them with its next request."""
    STEER_BACKLOG = "steer-backlog"
    """Read as `steer`."""
    FOLLOWUP = "followup"
    """One at a time, each when no turn runs."""
    COLLECT = "collect"
    """All together when no turn runs and nothing has come for a while."""
    INTERRUPT = "interrupt"
    """At once, and the running turn is ended."""


class Overflow(StrEnum):
    """Items that are dropped beyond the cap."""

    SUMMARIZE = "summarize"
    """The oldest ones; a line names them."""
    OLD = "old"
    """The oldest ones."""
    NEW = "new"
    """The newest ones; their sender is told."""


@final
@attrs.frozen(kw_only=True)
class HeldItem:
    """An item that waits."""

    id: str
    route: Mapping[str, Any]
    text: str
    at_s: float
    """When it came."""


@final
@attrs.frozen(kw_only=True)
class QueueSettings:
    """The settings of a queue."""

    mode: QueueMode = QueueMode.STEER
    quiet_s: float = QUIET_S
    cap: int = CAP
    overflow: Overflow = Overflow.SUMMARIZE


@final
@attrs.frozen(kw_only=True)
class QueueBatch:
    """Items of one route that are handed in together."""

    items: tuple[HeldItem, ...]
    route: Mapping[str, Any]
    summary: str = ""
    """The line about those that were dropped; empty for none."""


@final
@attrs.frozen(kw_only=True)
class QueuePlan:
    """The step to take now."""

    batches: tuple[QueueBatch, ...] = ()
    """To hand in, in order."""
    dropped: tuple[HeldItem, ...] = ()
    """Not handed in any more; those that a summary names count as delivered by it."""
    interrupts: bool = False
    """True if the running turn is ended first."""
    look_s: float | None = None
    """When to look again; None for when something changes."""


def plan_queue(held: Sequence[HeldItem], settings: QueueSettings, *, is_busy: bool, now_s: float) -> QueuePlan:
    """Return what is done with the items that wait.

    Args:
        held: The items, in the order in which they came.
        settings: The settings of the queue.
        is_busy: True if a turn of the session runs.
        now_s: A clock; one that is set back makes no wait longer than the quiet time.
    """
    if not held:
        return QueuePlan()
    mode = settings.mode
    if mode in {QueueMode.STEER, QueueMode.STEER_BACKLOG, QueueMode.INTERRUPT}:
        batches = tuple(QueueBatch(items=(item,), route=item.route) for item in held)
        return QueuePlan(batches=batches, interrupts=is_busy and mode is QueueMode.INTERRUPT)
    if is_busy:
        # Until the turn has ended, more may come: only what is refused for good is dropped now.
        kept, dropped = _capped(held, settings)
        return QueuePlan(dropped=dropped if settings.overflow is Overflow.NEW else ())
    kept, dropped = _capped(held, settings)
    if mode is QueueMode.FOLLOWUP:
        groups = [kept[:1]]
    else:
        quiet_s = now_s - max(item.at_s for item in held)
        if 0 <= quiet_s < settings.quiet_s:
            return QueuePlan(look_s=now_s + settings.quiet_s - quiet_s)
        groups = _by_route(kept)
    named = dropped if settings.overflow is Overflow.SUMMARIZE else ()
    return QueuePlan(batches=_batches(groups, named), dropped=dropped)


def _capped(held: Sequence[HeldItem], settings: QueueSettings) -> tuple[tuple[HeldItem, ...], tuple[HeldItem, ...]]:
    """Return the items that are kept, and those beyond the cap."""
    cap = settings.cap
    if len(held) <= cap:
        return tuple(held), ()
    if settings.overflow is Overflow.NEW:
        return tuple(held[:cap]), tuple(held[cap:])
    return tuple(held[len(held) - cap :]), tuple(held[: len(held) - cap])


def _by_route(items: Sequence[HeldItem]) -> list[tuple[HeldItem, ...]]:
    found: dict[str, list[HeldItem]] = {}
    for item in items:
        found.setdefault(_name(item.route), []).append(item)
    return [tuple(group) for group in found.values()]


def _name(route: Mapping[str, Any]) -> str:
    return json.dumps(route, sort_keys=True, default=str)


def _batches(groups: Sequence[tuple[HeldItem, ...]], named: Sequence[HeldItem]) -> tuple[QueueBatch, ...]:
    summaries = {_name(group[0].route): group for group in _by_route(named)}
    found = []
    for group in filter(None, groups):
        mine = summaries.pop(_name(group[0].route), ())
        found.append(QueueBatch(items=group, route=group[0].route, summary=summary_line(mine)))
    alone = [QueueBatch(items=(), route=group[0].route, summary=summary_line(group)) for group in summaries.values()]
    return (*alone, *found)


def summary_line(dropped: Sequence[HeldItem]) -> str:
    """Return the line that stands for dropped items; empty for none."""
    if not dropped:
        return ""
    head = f"{len(dropped)} earlier, not shown in full: "
    each = max(MIN_NAME, min(MAX_NAME, (MAX_SUMMARY - len(head)) // len(dropped) - 2))
    return one_line(head + "; ".join(one_line(item.text, each) for item in dropped), MAX_SUMMARY)
