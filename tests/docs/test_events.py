"""The page about events lists every event with everything that it says."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from greenroom.core import Event
from greenroom.session import LIVE_EVENTS
from tests.docs.docstrings import field_docs, summary
from tests.docs.events import ELSEWHERE, PAGE, RECORDED, WORDS, page

SHOWN = (*RECORDED, *ELSEWHERE, *LIVE_EVENTS)


def below(owner: type[Event]) -> Iterator[type[Event]]:
    for one in owner.__subclasses__():
        yield one
        yield from below(one)


def test_the_page_is_that_of_the_code() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tests.docs.events`"


def test_no_event_is_left_out() -> None:
    # Kinds, not classes: attrs makes a second class with slots, and the first may still be there.
    ours = {one.kind for one in below(Event) if one.kind and one.__module__.startswith("greenroom.")}

    assert ours - {one.kind for one in SHOWN} == {
        "unknown",
        "recent.kept",
    }  # none of these is in a journal that we write


def test_every_event_and_every_field_says_what_it_means() -> None:
    silent = [one.__name__ for one in SHOWN if not summary(one)]
    silent += [
        f"{one.__name__}.{field.name}"
        for one in SHOWN
        for field in attrs.fields(one)
        if not field_docs(one).get(field.name)
    ]

    assert silent == []


def test_every_word_says_what_it_means() -> None:
    silent = [
        repr(word) for those in WORDS.values() for one in those for word in one if not field_docs(one).get(word.name)
    ]

    assert silent == []
