"""Plans of what a turn takes from an inbox, and when; the agent carries them out.

Rule 1: an entry never overtakes the one before it in its lane; an entry that needs a turn of its own holds its lane
until the turn ends. Only in `later`, entries for the model overtake others, such as work from a board. Rule 2: of
entries taken together, the user's come first, because they wait in the first lanes. Rule 3: an expired entry blocks
nothing: it is taken with the rest and dropped by the taker. This module must not depend on the clock, the disk, Trio or
agents.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any, Final, TypeVar

from greenroom.inbox._inbox_items import EntryKind, WaitingEntry
from greenroom.mailbox import Envelope, Lane

E = TypeVar("E", bound=WaitingEntry)

MAX_CHARS: Final = 200_000
"""Maximum length of the texts that a turn or round takes in addition to its first entry: some 50,000 tokens, or one
entry if that alone is more.

Each request costs the whole conversation, so everything that fits is read at once: the idle notices of a thousand
teammates are one turn.
"""


def aborts(entry: WaitingEntry, lane: Lane) -> bool:
    """Return True if an entry ends the running turn: the user's words with priority `now`, and nothing else."""
    return lane is Lane.NOW and entry.origin.is_consent


def plan_edge(waiting: Sequence[Envelope[Any]], now_s: float) -> list[Envelope[Any]]:
    """Return the entries that go between a batch of tool calls and the next model request.

    Args:
        waiting: All waiting envelopes, lane by lane.
        now_s: The time on the run's clock.
    """
    taken: list[Envelope[Any]] = []
    for lane in (Lane.NOW, Lane.NEXT):
        taken += takewhile(lambda envelope: _may_join(envelope, now_s), _of(waiting, lane))
    taken += [envelope for envelope in _of(waiting, Lane.LATER) if _may_join(envelope, now_s)]
    return _that_fit(taken)


def plan_turn(first: WaitingEntry | None, waiting: Sequence[Envelope[Any]], now_s: float) -> list[Envelope[Any]]:
    """Return the entries that a turn takes in addition to its first one.

    A notice shares its turn with other notices only, and only if nothing precedes them.

    Args:
        first: The first entry; None for a prompt whose sender waits for the answer, and for work.
        waiting: All waiting envelopes, lane by lane.
        now_s: The time on the run's clock.
    """
    if first is None or not (first.is_alone or first.is_meta):
        return plan_edge(waiting, now_s)
    if first.kind is not EntryKind.TASK_NOTIFICATION or any(envelope.lane is not Lane.LATER for envelope in waiting):
        return []
    return _that_fit(
        takewhile(lambda envelope: _may_join(envelope, now_s) and envelope.message.kind is first.kind, waiting)
    )


def plan_messages(entries: Sequence[E]) -> list[list[E]]:
    """Return the grouping of entries into messages: each of the user's is its own; others share one with those of their origin."""
    messages: list[list[E]] = []
    for entry in entries:
        last = messages[-1][-1] if messages else None
        if last is not None and _belong_together(last, entry):
            messages[-1].append(entry)
        else:
            messages.append([entry])
    return messages


def _belong_together(first: WaitingEntry, second: WaitingEntry) -> bool:
    if first.origin.is_consent or second.origin.is_consent:
        return False
    return (first.kind, first.is_meta, first.origin) == (second.kind, second.is_meta, second.origin)


def _that_fit(entries: Iterable[Envelope[Any]]) -> list[Envelope[Any]]:
    fitting: list[Envelope[Any]] = []
    chars = 0
    for envelope in entries:
        chars += len(envelope.message.text)
        if fitting and chars > MAX_CHARS:
            break
        fitting.append(envelope)
    return fitting


def _of(waiting: Sequence[Envelope[Any]], lane: Lane) -> list[Envelope[Any]]:
    return [envelope for envelope in waiting if envelope.lane is lane]


def _may_join(envelope: Envelope[Any], now_s: float) -> bool:
    message = envelope.message
    if envelope.reply is not None or not isinstance(message, WaitingEntry):
        return False
    return not message.is_alone or message.is_expired(now_s)
