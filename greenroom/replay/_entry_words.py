"""Events in words and as facts, with readable names of actors."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from greenroom.core import field_names
from greenroom.terminal import Narrator, printable
from greenroom.trace import Entry, UnknownEvent

MOST: Final = 160
ROOT: Final = "(root)"
RUN: Final = "(run)"
_ACTOR_ID: Final = re.compile(r"a[0-9a-f]{16}")
_PLACES: Final = frozenset({"actor", "inc", "parent"})


def behavior_name(name: str) -> str:
    """Return how people call a behavior: those of ours that are private lose what marks them."""
    return name.strip("_").removesuffix("Behavior").lower() if name.startswith("_") else name


def paths_of(entries: Sequence[Entry]) -> dict[str, str]:
    """Return the readable path of each actor by its id."""
    return {entry.event.actor: entry["path"] or ROOT for entry in entries if entry.kind == "actor.new"}


def own_fields(entry: Entry) -> dict[str, Any]:
    """Return what an event says besides where it belongs, without what is empty."""
    event = entry.event
    if isinstance(event, UnknownEvent):
        return dict(event.fields)
    fields = {name: getattr(event, name) for name in field_names(type(event)) if name not in _PLACES}
    return {name: _plain(value) for name, value in fields.items() if value not in ("", 0, None, False, ())}


def facts_of(entry: Entry) -> dict[str, Any]:
    """Return an event for `--json`, much as its line in the journal has it."""
    event = entry.event
    head = {"seq": entry.seq, "t": entry.t, "actor": event.actor, "inc": event.inc, "ev": entry.kind}
    return {**head, **own_fields(entry), "parent": event.parent}


def worded(entry: Entry, paths: Mapping[str, str]) -> str:
    """Return what an event says, on one line: in words where there are any, else field by field."""
    words = Narrator().words(entry.event)
    if words is not None:
        text = words[2]
    else:
        text = " ".join(f"{name}={_short(value)}" for name, value in own_fields(entry).items())
    return printable(_ACTOR_ID.sub(lambda found: paths.get(found.group(), found.group()), text), MOST)


def _plain(value: Any) -> Any:
    if attrs.has(type(value)):
        return {field.name: _plain(getattr(value, field.name)) for field in attrs.fields(type(value))}
    return value


def _short(value: Any) -> str:
    if isinstance(value, Mapping):  # a cause, mostly
        return "(" + ", ".join(map(str, value.values())) + ")"
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
