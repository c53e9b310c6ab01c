"""What a turn takes out of an inbox, and when: plans that the agent carries out (agents 9.8 to 9.10).

Rule 1: nothing goes before what stands in front of it in its lane; what needs a turn of its own holds its lane until the turn
ends. In `later` alone, what is for the model passes what is not, such as work from a board. Rule 2: of what is taken
together, the user's comes first, because it waits in the first lanes. Rule 3: what has expired holds nobody up: it is taken
with the rest, for the taker to let go.
Must not know: clock, disk, Trio, agents.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any, Final, TypeVar

from greenroom.inbox._item import Entry, Kind
from greenroom.mailbox import Envelope, Lane

E = TypeVar("E", bound=Entry)

MAX_CHARS: Final = 200_000
"""What one turn or round takes up beside what it begins with: some 50,000 tokens, or one entry where that alone is more.

Each request costs the whole conversation, so whatever fits is read at once: the idle notices of a thousand mates are one turn.
"""


def aborts(entry: Entry, lane: Lane) -> bool:
    """Whether it ends the turn that runs: what the user says with priority `now`, and nothing else (agents 9.10)."""
    return lane is Lane.NOW and entry.origin.is_consent


def plan_edge(waiting: Sequence[Envelope[Any]], now_s: float) -> list[Envelope[Any]]:
    """Return what goes in between a batch of tool calls and the next model request (agents 9.9).

    Args:
        waiting: All that waits, lane by lane.
        now_s: The time on the run's clock.
    """
    taken: list[Envelope[Any]] = []
    for lane in (Lane.NOW, Lane.NEXT):
        taken += takewhile(lambda one: _may_join(one, now_s), _of(waiting, lane))
    taken += [one for one in _of(waiting, Lane.LATER) if _may_join(one, now_s)]
    return _that_fit(taken)


def plan_turn(first: Entry | None, waiting: Sequence[Envelope[Any]], now_s: float) -> list[Envelope[Any]]:
    """Return what a turn takes up beside what it begins with (agents 9.8).

    A notice shares its turn with other notices only, and only where nothing goes before them.

    Args:
        first: What it begins with; None for a prompt of somebody who waits for the answer, and for work.
        waiting: All that waits, lane by lane.
        now_s: The time on the run's clock.
    """
    if first is None or not (first.is_alone or first.is_meta):
        return plan_edge(waiting, now_s)
    if first.kind is not Kind.TASK_NOTIFICATION or any(one.lane is not Lane.LATER for one in waiting):
        return []
    return _that_fit(takewhile(lambda one: _may_join(one, now_s) and one.message.kind is first.kind, waiting))


def plan_messages(entries: Sequence[E]) -> list[list[E]]:
    """Return which of the entries that are taken together make one message: each of the user's is its own (agents 9.8)."""
    messages: list[list[E]] = []
    for entry in entries:
        last = messages[-1][-1] if messages else None
        if last is not None and _belong_together(last, entry):
            messages[-1].append(entry)
        else:
            messages.append([entry])
    return messages


def _belong_together(one: Entry, other: Entry) -> bool:
    if one.origin.is_consent or other.origin.is_consent:
        return False
    return (one.kind, one.is_meta) == (other.kind, other.is_meta)


def _that_fit(entries: Iterable[Envelope[Any]]) -> list[Envelope[Any]]:
    fitting: list[Envelope[Any]] = []
    chars = 0
    for one in entries:
        chars += len(one.message.text)
        if fitting and chars > MAX_CHARS:
            break
        fitting.append(one)
    return fitting


def _of(waiting: Sequence[Envelope[Any]], lane: Lane) -> list[Envelope[Any]]:
    return [one for one in waiting if one.lane is lane]


def _may_join(envelope: Envelope[Any], now_s: float) -> bool:
    message = envelope.message
    if envelope.reply is not None or not isinstance(message, Entry):
        return False
    return not message.is_alone or message.is_expired(now_s)
