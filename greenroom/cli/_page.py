"""One answer of `greenroom replay`: the same facts for people and for programs; and how times, ends and names look."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar, final

import attrs

from greenroom.core import field_names
from greenroom.core.texts import printable_text
from greenroom.terminal import Narrator, is_terminal, json_for_reader, printable
from greenroom.trace import Entry, UnknownEvent, as_json

T = TypeVar("T")
MOST: Final = 160
ROOT: Final = "(root)"
RUN: Final = "(run)"
_ACTOR_ID: Final = re.compile(r"a[0-9a-f]{16}")
_PLACES: Final = frozenset({"actor", "inc", "parent"})


@final
@attrs.frozen(kw_only=True)
class Page:
    """A page of output."""

    facts: Mapping[str, Any]
    """For `--json`."""
    lines: Sequence[str]

    def print(self, *, is_json: bool) -> None:
        """Print it: as one JSON object, or as lines that are cut at the width of a terminal."""
        if is_json:
            import orjson

            print(json_for_reader(as_json(self.facts, orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode()))
            return
        width = shutil.get_terminal_size().columns if is_terminal() else sys.maxsize
        for line in self.lines:
            # Names are text of a model or a user: they must not move the cursor.
            safe = printable_text(line)
            print(safe if len(safe) <= width else safe[: width - 1] + "…")


def seconds(value: float) -> str:
    """Return a duration as people read it."""
    if value < 1:
        return f"{value * 1000:.3g} ms" if value else "0 s"
    if value < 120:
        return f"{value:.3g} s"
    return f"{int(value // 60)} min {value % 60:.0f} s"


def first_of(values: Sequence[T], most: int) -> tuple[Sequence[T], int]:
    """Return the values to list, and how many are left out: never just one, its line would be as long."""
    shown = values if len(values) <= most + 1 else values[:most]
    return shown, len(values) - len(shown)


def behavior_name(name: str) -> str:
    """Return how people call a behavior: those of ours that are private lose what marks them."""
    return name.strip("_").removesuffix("Behavior").lower() if name.startswith("_") else name


def counted(number: int, thing: str) -> str:
    """Return a number and what is counted, in the plural where it is one."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def tally(counts: Mapping[str, int]) -> str:
    """Return `3 completed, 1 failed`, the most frequent first."""
    return ", ".join(f"{number:,} {name}" for name, number in sorted(counts.items(), key=lambda one: (-one[1], one[0])))


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
