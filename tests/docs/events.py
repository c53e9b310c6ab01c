"""The page docs/reference/events.md, made from the event classes: `python -m tests.docs.events` writes it."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import attrs

from greenroom.core import Cause, Event, Level, words_of
from greenroom.mailbox import DeadReason, Lane
from greenroom.session import EVENTS, LIVE_EVENTS
from tests.docs.docstrings import faces, field_docs, field_types, one_line, summary

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "reference" / "events.md"
RECORDED: Final[tuple[type[Event], ...]] = EVENTS
ELSEWHERE: Final[tuple[type[Event], ...]] = tuple(
    dict.fromkeys(one for face in reversed(faces()) for one in getattr(face, "EVENTS", ()) if one not in RECORDED)
)
"""Events that no session has on record."""
WORDS: Final = {"mailbox": (Lane, DeadReason)}
"""The enums whose members stand in fields of a folder's events."""
COMMON: Final = tuple(field.name for field in attrs.fields(Event))

HEAD: Final = """\
# Events

All events that a session's journal can contain. Generated from the code by `python -m tests.docs.events`. How a journal
is written and read: [one journal](../explanation/journal.md).

Each event is one line of `journal.jsonl`: a JSON object with `seq` (its number), `t` (seconds since the run began), `ev`
(its kind) and its fields. A field that is empty or has its default is left out of the line. In a program,
`greenroom.trace.read_journal(path, greenroom.session.EVENTS)` returns entries whose `event` is an object of the class, and
`session.events()` streams such objects while they happen.

An event that a reader does not know, as from a newer version, is kept and shown as it is. One that could not be written as
it should be has the kind `journal.unreadable` and says `why`.
"""

IN_ALL: Final = """\
## What all events have

These fields are part of every event and not repeated below. Ids are those of actors, as `actor.new` has them. Where a field
says how something ended, [outcomes](../explanation/outcomes.md) explains the states.
"""

LEVELS: Final = """\
An actor has a level, which says how much of its life goes into the journal; an event is written if its own level is not
above that.
"""

CAUSES: Final = "A `Cause` is an object with these fields:"

LIVE: Final = """\
## Live events

Only `session.events()` carries these, and only those that the session was opened for: `open_session(live=(MessageAppended, AnswerPiece))`. They have the
number 0 and are in no journal. `greenroom.session.LIVE_EVENTS` holds them all.
"""

NOT_YET: Final = """\
## Not in a session

Events that other journals than a session's can contain.
"""


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table in Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *rows))


def fields_of(owner: type[attrs.AttrsInstance], *, without: tuple[str, ...] = ()) -> str:
    """Return the table of the fields of a class; empty where it has none."""
    docs, types = field_docs(owner), field_types(owner)
    if issubclass(owner, Event):
        types |= dict.fromkeys(words_of(owner), "str")  # which words, the meaning says
    rows = [
        (
            f"`{each_field.name}`",
            f"`{types[each_field.name]}`",
            _default(each_field.default),
            docs.get(each_field.name, ""),
        )
        for each_field in attrs.fields(owner)
        if each_field.name not in without
    ]
    return table(("field", "type", "default", "meaning"), rows) if rows else ""


def _default(value: Any) -> str:
    return "" if value is attrs.NOTHING else '`""`' if value == "" else f"`{value}`"


def section(event_class: type[Event]) -> str:
    """Return what there is to say about one event."""
    about = f"`{event_class.__name__}`, level `{event_class.level.name.lower()}`. {summary(event_class)}"
    return "\n\n".join(filter(None, [f"### {event_class.kind}", about, fields_of(event_class, without=COMMON)]))


def words(owner: type[StrEnum]) -> str:
    """Return the table of an enum's members."""
    docs = field_docs(owner)
    rows = [(f"`{one.value}`", docs.get(one.name, "")) for one in owner]
    return f"`{owner.__name__}`: {summary(owner)}\n\n{table(('word', 'meaning'), rows)}"


def folder_of(event_class: type[Event]) -> str:
    """Return the folder of `greenroom` that the event belongs to."""
    return event_class.__module__.split(".")[1]


def folders(events: Iterable[type[Event]], *, level: int = 2) -> list[str]:
    """Return the sections of all events, folder by folder, each with its heading."""
    found = []
    for folder, those in groupby(events, folder_of):
        classes = list(those)
        module = importlib.import_module(classes[0].__module__)
        said = one_line(inspect.cleandoc(module.__doc__ or "").partition("\n\n")[0])
        kinds = [
            (
                f"[`{each_class.kind}`](#{each_class.kind.replace('.', '')})",
                each_class.level.name.lower(),
                summary(each_class),
            )
            for each_class in classes
        ]
        found += [f"{'#' * level} {folder}", said, table(("kind", "level", "what happened"), kinds)]
        found += map(section, classes)
        found += map(words, WORDS.get(folder, ()))
    return found


def page() -> str:
    """Return the whole page."""
    said = field_docs(Level)
    takes = table(("level", "what it takes"), ((f"`{level.name.lower()}`", said[level.name]) for level in Level))
    parts = [HEAD, IN_ALL, fields_of(Event), LEVELS, takes, CAUSES]
    parts += [fields_of(Cause), *folders(RECORDED)]
    parts += [LIVE, *map(section, LIVE_EVENTS)]
    parts += [NOT_YET, *folders(ELSEWHERE, level=3)] if ELSEWHERE else []
    return "\n\n".join(part.strip() for part in parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
