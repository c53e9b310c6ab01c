"""Items that do not balance: between the events of a journal, its transcript, and its store."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import Event
from greenroom.inbox import InboxAccepted, InboxExpired, InboxPoisoned, InboxTaken, InboxWithdrawn
from greenroom.trace import InboxRecord, check_inbox, check_journal
from tests.trace.crafted import accepted, taken
from tests.trace.planting import run

WITHDRAWN: Final = InboxWithdrawn(item="1", why="planted")
EXPIRED: Final = InboxExpired(item="1")
POISONED: Final = InboxPoisoned(item="1", attempts=3)
ENDS: Final = (taken("1"), WITHDRAWN, EXPIRED)
SOUND: Final[dict[str, tuple[tuple[Event, ...], InboxRecord]]] = {
    "read": ((accepted("1"), taken("1")), InboxRecord(lines={"1": 1}, stored=(), is_at_rest=True)),
    "withdrawn": ((accepted("1"), WITHDRAWN), InboxRecord(lines={}, stored=(), is_at_rest=True)),
    "a held one that was refused": ((WITHDRAWN,), InboxRecord(lines={}, stored=(), is_at_rest=True)),
    "waits": ((accepted("1"), accepted("1")), InboxRecord(lines={}, stored=("1",), is_at_rest=True)),
    "poisoned": ((accepted("1"), POISONED), InboxRecord(lines={}, stored=("1",), is_at_rest=True)),
    "read, and the process ended before it left": (
        (accepted("1"), taken("1")),
        InboxRecord(lines={"1": 1}, stored=("1",)),
    ),
    "read, and the journal was cut": ((accepted("1"),), InboxRecord(lines={"1": 1}, stored=("1",))),
    "a command": ((accepted("1", origin="human"), taken("1")), InboxRecord(lines={}, stored=())),
    "a store that is not known": ((accepted("1"),), InboxRecord(lines={})),
}
PLANTED: Final[dict[str, tuple[tuple[Event, ...], InboxRecord, str]]] = {
    "taken, never accepted": ((taken("1"),), InboxRecord(lines={"1": 1}), "never accepted"),
    "accepted after its end": ((accepted("1"), WITHDRAWN, accepted("1")), InboxRecord(lines={}), "accepted again"),
    "taken although poisoned": ((accepted("1"), POISONED, taken("1")), InboxRecord(lines={"1": 1}), "is poisoned"),
    "given again although poisoned": ((accepted("1"), POISONED, accepted("1")), InboxRecord(lines={}), "is poisoned"),
    "read twice": ((accepted("1"), taken("1")), InboxRecord(lines={"1": 2}), "was read 2 times"),
    "withdrawn and read": ((accepted("1"), WITHDRAWN), InboxRecord(lines={"1": 1}), "in the transcript"),
    "expired and read": ((accepted("1"), EXPIRED), InboxRecord(lines={"1": 1}), "in the transcript"),
    "taken and not read": ((accepted("1"), taken("1")), InboxRecord(lines={}), "in no line"),
    "ended and stored": (
        (accepted("1"), taken("1")),
        InboxRecord(lines={"1": 1}, stored=("1",), is_at_rest=True),
        "is in the store still",
    ),
    "lost": ((accepted("1"),), InboxRecord(lines={}, stored=()), "is not in the store"),
    **{
        f"{first.kind}, then {second.kind}": ((accepted("1"), first, second), InboxRecord(lines={"1": 1}), "before")
        for first in ENDS
        for second in ENDS
    },
}


def found(events: tuple[Event, ...], record: InboxRecord) -> list[str]:
    entries = run(*events)
    violations = [*check_journal(entries), *check_inbox(entries, record)]
    assert {violation.seq for violation in violations} <= {entry.seq for entry in entries}
    return [violation.text for violation in violations if violation.id == "I-56"]


@pytest.mark.promise("I-56")
@pytest.mark.parametrize("case", SOUND)
def test_balanced_item_is_no_violation(case: str) -> None:
    assert found(*SOUND[case]) == []


@pytest.mark.promise("I-56")
@pytest.mark.parametrize("case", PLANTED)
def test_each_kind_of_imbalance_is_found(case: str) -> None:
    events, record, words = PLANTED[case]

    assert [text for text in found(events, record) if words in text]


@pytest.mark.promise("I-56")
@given(st.lists(st.sampled_from((accepted("1"), POISONED, *ENDS)), max_size=5), st.integers(0, 2), st.booleans())
def test_any_history_balances_only_if_its_item_ended_once(events: list[Event], lines: int, is_stored: bool) -> None:
    """The rule stated plainly, for a run at rest: one end or none, one place, and nothing after the end."""
    ends = [event.kind for event in events if event in ENDS]
    record = InboxRecord(lines={"1": lines}, stored=("1",) if is_stored else (), is_at_rest=True)
    is_read = ends == [InboxTaken.kind]
    was_accepted = any(event.kind == InboxAccepted.kind for event in events)
    is_right = (
        len(ends) <= 1
        and (not ends or events[-1].kind == ends[0])
        and not (is_read and not (was_accepted and POISONED not in events))
        and not (POISONED in events and InboxAccepted.kind in [each.kind for each in events[events.index(POISONED) :]])
        and (lines == 1 if is_read else lines <= (not ends))
        and not (ends and is_stored)
        and (bool(ends) or not was_accepted or is_stored or lines == 1)
    )

    assert (found(tuple(events), record) == []) is (is_right or not events)
