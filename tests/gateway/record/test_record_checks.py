"""The checks of `greenroom replay --check` for a gateway's journal: a sound one passes, and each planted fault is found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs
import pytest

from greenroom.core import Event
from greenroom.gateway.record import _gateway_events as gateway
from greenroom.gateway.record import _run_events as work
from greenroom.gateway.record import checks_for
from greenroom.gateway.record._record_checks import RECORD_CHECKS
from greenroom.gateway.record._registry import Registry
from greenroom.trace import Check, Entry, check_journal
from tests.gateway.record.histories import ROUTE, SESSIONS, START, ended, registered

MAIN, CHILD = SESSIONS
AT_S: Final = 1e9 + 20
ITEM: Final = work.InboundAccepted(at_s=AT_S, item="i", session=CHILD, run="r1")
DUE: Final = work.DeliveryDue(at_s=AT_S, delivery="run:r1")
TRY: Final = work.DeliveryBegan(at_s=AT_S, delivery="run:r1", part=1, parts=1, key="run:r1:1", digest="d")
TAKEN: Final = work.DeliveryEnded(at_s=AT_S, delivery="run:r1", part=1, result="taken")
COMPOSED: Final = work.CompletionComposed(at_s=AT_S, run="r1", text="done")
OPENED: Final = gateway.SessionOpened(at_s=AT_S, session=CHILD)
CLOSED: Final = gateway.SessionClosed(at_s=AT_S, session=CHILD)
ARCHIVED: Final = gateway.SessionArchived(at_s=AT_S, session=CHILD, transcript="t")
SETTLED: Final = work.InboundSettled(at_s=AT_S, item="i", why="completed")
SOUND: Final[tuple[Event, ...]] = (
    *START,
    registered(),
    ITEM,
    OPENED,
    work.InboundTaken(at_s=AT_S, item="i"),
    work.RunBegan(at_s=AT_S, run="r1"),
    ended(),
    SETTLED,
    COMPOSED,
    DUE,
    TRY,
    attrs.evolve(TAKEN, result="failed"),
    TRY,
    TAKEN,
    CLOSED,
    ARCHIVED,
    gateway.GatewayEnded(at_s=AT_S, why="stopped"),
)


def journal(events: Sequence[Event]) -> list[Entry]:
    return [Entry(seq, float(seq), type(event).kind, event) for seq, event in enumerate(events, 1)]


def without(event: Event) -> list[Event]:
    return [each for each in SOUND if each != event]


def twice(event: Event) -> list[Event]:
    place = SOUND.index(event)
    return [*SOUND[: place + 1], event, *SOUND[place + 1 :]]


def moved(event: Event, before: Event) -> list[Event]:
    rest = without(event)
    place = rest.index(before)
    return [*rest[:place], event, *rest[place:]]


def replaced(event: Event, by: Event) -> list[Event]:
    place = SOUND.index(event)
    return [*SOUND[:place], by, *SOUND[place + 1 :]]


PLANTED: Final[dict[str, tuple[str, list[Event]]]] = {
    "an event that is not possible": ("G-1", replaced(COMPOSED, CLOSED)),
    "a run that is registered twice": ("G-2", twice(registered())),
    "a run that was never registered": ("G-2", without(registered())),
    "two ends of a run": ("G-2", twice(ended())),
    "two completions of a run": ("G-2", twice(COMPOSED)),
    "a completion before the end": ("G-2", moved(COMPOSED, ended())),
    "a part that is sent again": ("G-3", moved(TAKEN, TRY)),
    "another text at the second try": ("G-3", replaced(TAKEN, attrs.evolve(TRY, digest="other"))),
    "a part that is taken twice": ("G-3", twice(TAKEN)),
    "an item that is accepted twice": ("G-4", twice(ITEM)),
    "an item that was never accepted": ("G-4", without(ITEM)),
    "an item that is settled twice": ("G-4", twice(SETTLED)),
    "an item that is settled without a reason": ("G-4", replaced(SETTLED, attrs.evolve(SETTLED, why=""))),
    "an archived session whose run goes on": ("G-5", moved(ARCHIVED, ended())),
    "an archived session for which a message waits": ("G-5", without(SETTLED)),
    "an open session at the end": ("G-6", without(CLOSED)),
}


@pytest.mark.promise("A28-f")
def test_a_sound_journal_has_no_violation() -> None:
    entries = journal(SOUND)

    assert checks_for(entries) == RECORD_CHECKS
    assert check_journal(entries, checks=RECORD_CHECKS) == []


@pytest.mark.promise("A28-f")
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(name: str) -> None:
    id_, events = PLANTED[name]
    entries = journal(events)
    (check,) = [check for check in RECORD_CHECKS if check.id == id_]

    found = check_journal(entries, checks=[check])

    assert {violation.id for violation in found} == {id_}
    assert all(entries[violation.seq - 1].seq == violation.seq and violation.text for violation in found)


@pytest.mark.parametrize("cut", range(3, len(SOUND)))
def test_a_journal_that_begins_anew_is_sound(cut: int) -> None:
    """Ids that only the snapshot names are known."""
    state = Registry().fold_all(SOUND[:cut]).snapshot()

    entries = journal([gateway.GatewaySnapshot(at_s=AT_S, state=state), *SOUND[cut:]])

    assert check_journal(entries, checks=RECORD_CHECKS) == []


def test_every_check_has_a_planted_fault() -> None:
    assert {id_ for id_, _ in PLANTED.values()} == {check.id for check in RECORD_CHECKS}


def test_the_journal_of_a_session_has_no_checks_of_a_gateway() -> None:
    check: tuple[Check, ...] = checks_for(journal([registered(route=ROUTE)]))

    assert check == ()
