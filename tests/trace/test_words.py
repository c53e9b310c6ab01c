"""Fields of events that hold one of a set of words: each is declared, written as declared, and checked in a journal."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, get_type_hints

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greenroom.core import Event, OneOf, words_of
from greenroom.session import EVENTS
from greenroom.trace import Codec, Entry, check_journal
from tests.trace.drawn_events import events_of
from tests.trace.scenarios import SCENARIOS, Scenario, run_entries

NAMES: Final = {"state", "outcome", "status", "action", "decision", "answer", "trigger", "lane"}
"""Fields with these names hold one of a set of words."""
OPEN: Final = {("actor.entered", "state")}
"""Those whose words are the program's own."""
WORDS: Final = [(event, field, words) for event in EVENTS for field, words in words_of(event).items()]


def found(event: Event) -> list[str]:
    return [finding.text for finding in check_journal([Entry(1, 0.0, event.kind, event)]) if finding.id == "I-55"]


def test_fields_named_like_states_declare_their_words() -> None:
    named = {
        (event.kind, field.name)
        for event in EVENTS
        for field in attrs.fields(event)
        if field.name in NAMES and get_type_hints(event)[field.name] is str
    }

    assert sorted(named - {(one.kind, field) for one, field, _ in WORDS}) == sorted(OPEN)


@pytest.mark.promise("I-55")
@settings(max_examples=200)
@given(data=st.data())
def test_a_word_outside_the_declared_set_is_found_in_every_event(data: Any) -> None:
    event_class, field, words = data.draw(st.sampled_from(WORDS))
    word = data.draw(st.one_of(st.sampled_from(["exploded", "pending", "running", ""]), st.text(max_size=9)))
    event = attrs.evolve(data.draw(events_of(event_class)), **{field: word})

    said = [text for text in found(event) if text.startswith(f"{field} of {event_class.kind} ")]

    assert len(said) == (word not in words)


def test_a_new_event_is_checked_by_its_own_declaration() -> None:
    @attrs.frozen(kw_only=True)
    class DoorMoved(Event):
        kind: ClassVar[str] = "door.moved"

        state: Annotated[str, OneOf("open", "shut")]

    codec = Codec([DoorMoved])
    entries = [codec.decode({"seq": 1, "t": 0.0, "ev": "door.moved", "state": word}) for word in ("shut", "ajar")]

    assert [found(entry.event) for entry in entries] == [
        [],
        ["state of door.moved must be one of 'open', 'shut', got 'ajar'"],
    ]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_runs_write_only_declared_words(scenario: Scenario) -> None:
    assert [finding.text for finding in check_journal(run_entries(scenario)) if finding.id == "I-55"] == []
