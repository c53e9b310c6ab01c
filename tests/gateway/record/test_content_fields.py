"""Fields that hold words: every field that can hold text stands in one of the two tables."""

from __future__ import annotations

import types
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from greenroom.core import Cause, Event, field_names, words_of
from greenroom.gateway.record import EVENTS
from greenroom.gateway.record._content_fields import CONTENT, LABELS, content_fields

BASE: Final = {"actor", "inc", "parent"}


def can_hold_text(hint: Any) -> bool:
    if get_origin(hint) in {tuple, Union, types.UnionType}:
        return any(map(can_hold_text, get_args(hint)))
    return hint in (str, Cause) or get_origin(hint) is Mapping or hint is Mapping


def text_fields() -> set[tuple[str, str]]:
    return {
        (event_class.kind, name)
        for event_class in EVENTS
        for name in field_names(event_class)
        if name not in BASE and name not in words_of(event_class) and can_hold_text(get_type_hints(event_class)[name])
    }


def entries_for(kind: str, name: str) -> list[str]:
    return [pattern for table in (CONTENT, LABELS) for pattern in table.get(name, ()) if fnmatchcase(kind, pattern)]


def test_every_field_that_can_hold_text_has_one_entry() -> None:
    assert {place: found for place in text_fields() if len(found := entries_for(*place)) != 1} == {}


def test_every_entry_belongs_to_a_field_that_there_is() -> None:
    entries = {
        (name, pattern) for table in (CONTENT, LABELS) for name, patterns in table.items() for pattern in patterns
    }
    used = {(name, pattern) for kind, name in text_fields() for pattern in entries_for(kind, name)}

    assert entries - used == set()


def test_a_new_field_without_an_entry_is_found() -> None:
    assert entries_for("mail.sent", "postscript") == []
    assert can_hold_text(str | None)
    assert not can_hold_text(int)


def test_the_words_of_an_event_are_told_from_its_names() -> None:
    assert {"text", "summary"} <= content_fields("mail.sent")
    assert "path" in content_fields("plan.submitted")
    assert not content_fields("actor.new") & set(field_names(_class_of("actor.new")))


def _class_of(kind: str) -> type[Event]:
    return next(event_class for event_class in EVENTS if event_class.kind == kind)
