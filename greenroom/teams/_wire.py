"""The wire form of what members of a team say: reading, and writing (agents 7E, 7.28).

Rule 1: what is needed has to be there and to be of its kind, or nothing is read; what is optional and makes no sense is as if it
were not there. Rule 2: names in camelCase are written; those in snake_case are read as well. Rule 3: reading never raises, and
one bad entry of a list keeps nothing from the others.
Must not know: actors, who may say what to whom, clock.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, final, get_type_hints

import attrs

from greenroom.core import UsageError
from greenroom.teams._protocol import (
    MESSAGES,
    SPOKEN,
    AnswerPlan,
    AnswerShutdown,
    AskShutdown,
    IdleReason,
    Message,
    Outcome,
    Spoken,
)

ProblemKind: TypeAlias = Literal["not_json", "not_an_object", "unknown_type", "missing", "invalid"]


@final
@attrs.frozen
class Problem:
    """Something that could not be read.

    Attributes:
        kind: What is wrong with it.
        text: The same on one line, for people.
    """

    kind: ProblemKind
    text: str


def read(said: str | Mapping[str, Any]) -> Message | Problem:
    """Return the message that a text, or an object, stands for; never raises."""
    return _read(said, MESSAGES)


def read_spoken(said: str | Mapping[str, Any]) -> Spoken | Problem:
    """Return what a model says with an object in the place of a text; never raises."""
    found = _read(said, SPOKEN)
    assert isinstance(found, AskShutdown | AnswerShutdown | AnswerPlan | Problem)
    return found


def write(message: Message) -> dict[str, Any]:
    """Return the wire form; what is optional there and has its default is left out."""
    written: dict[str, Any] = {"type": message.type}
    for name, wire_name, optional in _written_fields(type(message)):
        value = getattr(message, name)
        if value != optional:
            written[wire_name] = _WRITTEN[type(value)](value) if type(value) in _WRITTEN else value
    return written


def write_text(message: Message) -> str:
    """Return the wire form as it stands in an entry of an inbox."""
    return _TO_JSON(write(message))


_TO_JSON: Final = json.JSONEncoder(ensure_ascii=False).encode
_WRITTEN: Final[Mapping[type, Callable[[Any], Any]]] = {tuple: list, IdleReason: str, Outcome: str}


def _read(said: object, known: Mapping[str, type[Message]]) -> Message | Problem:
    if isinstance(said, str):
        try:
            said = json.loads(said)
        except (ValueError, RecursionError):
            return Problem("not_json", f"{_shown(said)} is no JSON")
    if not isinstance(said, Mapping):
        return Problem("not_an_object", f"{_shown(said)} is no object with a type")
    name = said.get("type")
    owner = known.get(name) if isinstance(name, str) else None
    if owner is None:
        return Problem("unknown_type", f"the type {_shown(name)} is none of {', '.join(known)}")
    keys = [key for key in said if isinstance(key, str)]
    values = {_snake(key): said[key] for key in sorted(keys, key=lambda key: key != _snake(key))}  # camelCase wins
    arguments: dict[str, Any] = {}
    for field in attrs.fields(owner):
        reader = _readers(owner)[field.name]
        found = [reader(values[one]) for one in _names(field) if values.get(one) is not None]
        usable = [one for one in found if one is not _NOTHING]
        if usable:
            arguments[field.name] = usable[0]
        elif field.default is attrs.NOTHING:
            kind: ProblemKind = "invalid" if found else "missing"
            why = "makes no sense" if found else "is missing"
            return Problem(kind, f"{owner.type}: {_wire_name(field)} {why}")
    try:
        return owner(**arguments)
    except UsageError as error:
        return Problem("invalid", f"{owner.type}: {error}")


def _wire_name(field: attrs.Attribute[Any]) -> str:
    head, *rest = str(field.metadata.get("wire", field.name)).split("_")
    return head + "".join(part.capitalize() for part in rest)


def _names(field: attrs.Attribute[Any]) -> tuple[str, ...]:
    """Return the names under which a field is looked for, in snake_case."""
    return (str(field.metadata.get("wire", field.name)), *field.metadata.get("also", ()))


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


_NOTHING: Final = object()
"""What a reader returns for a value that makes no sense."""
_SHOWN: Final = 60


def _shown(value: object) -> str:
    """Return a value as a line of a report shows it."""
    try:
        text = repr(value)
    except RecursionError:
        text = "a value that is too deep"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


_MOST: Final = 1e18


def _text(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _MOST:
        return f"{value:.0f}"  # an id, or a time
    return _NOTHING


_TRUTHS: Final = {True: True, False: False, "true": True, "false": False}


def _truth(value: object) -> object:
    if isinstance(value, str):
        value = value.strip().lower()
    return _TRUTHS.get(value, _NOTHING) if isinstance(value, bool | str) else _NOTHING


def _reason(value: object) -> object:
    return IdleReason(value) if isinstance(value, str) and value in set(IdleReason) else _NOTHING


_ALLOWING: Final = frozenset(("allow", "allowed", "approve", "approved", "success", "true"))
_DENYING: Final = frozenset(("deny", "denied", "reject", "rejected", "error", "false"))


def _outcome(value: object) -> object:
    word = str(value).strip().lower() if isinstance(value, str | bool) else ""
    return Outcome.ALLOW if word in _ALLOWING else Outcome.DENY if word in _DENYING else _NOTHING


def _mapping(value: object) -> object:
    return value if isinstance(value, Mapping) and all(isinstance(one, str) for one in value) else _NOTHING


def _sequence(value: object) -> object:
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, Sequence) else _NOTHING


_READER_OF: Final[Mapping[Any, Callable[[object], object]]] = {
    str: _text,
    bool: _truth,
    IdleReason: _reason,
    Outcome: _outcome,
    Mapping[str, Any]: _mapping,
    Mapping[str, Any] | None: _mapping,
    tuple[Any, ...]: _sequence,
}
_FIELDS: Final[dict[type, list[tuple[str, str, object]]]] = {}
_FOUND: Final[dict[type, dict[str, Callable[[object], object]]]] = {}


def _written_fields(owner: type) -> list[tuple[str, str, object]]:
    """Return the name of each field, the one it has in the wire form, and the value that is left out there."""
    if owner not in _FIELDS:
        _FIELDS[owner] = [
            (field.name, _wire_name(field), attrs.NOTHING if field.metadata.get("always") else field.default)
            for field in attrs.fields(owner)
        ]
    return _FIELDS[owner]


def _readers(owner: type) -> dict[str, Callable[[object], object]]:
    if owner not in _FOUND:
        hints = get_type_hints(owner)
        _FOUND[owner] = {field.name: _READER_OF[hints[field.name]] for field in attrs.fields(owner)}
    return _FOUND[owner]


# --- inboxes ------------------------------------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class InboxEntry:
    """One entry of an inbox, as it is exported (agents 7.28)."""

    sender: str
    text: str
    """What was said, or a message in its wire form."""
    timestamp: str = ""
    is_read: bool = False
    summary: str = ""
    color: str = ""


def read_inbox(entries: object) -> tuple[tuple[InboxEntry, ...], tuple[Problem, ...]]:
    """Return the entries of an inbox that can be read, in order, and what is wrong with each of the others."""
    if not isinstance(entries, Sequence) or isinstance(entries, str | bytes):
        return (), (Problem("invalid", f"{_shown(entries)} is no list of entries"),)
    good: list[InboxEntry] = []
    bad: list[Problem] = []
    for number, entry in enumerate(entries):
        read_one = _read_entry(entry, f"entry {number}")
        if isinstance(read_one, Problem):
            bad.append(read_one)
        else:
            good.append(read_one)
    return tuple(good), tuple(bad)


def _read_entry(entry: object, where: str) -> InboxEntry | Problem:
    if not isinstance(entry, Mapping):
        return Problem("not_an_object", f"{where}: {_shown(entry)} is no object")
    for name in ("from", "text"):
        if not isinstance(entry.get(name), str):
            kind: ProblemKind = "invalid" if entry.get(name) is not None else "missing"
            return Problem(kind, f"{where}: {name} is no text" if kind == "invalid" else f"{where}: {name} is missing")
    if not entry["from"].strip():
        return Problem("invalid", f"{where}: from is blank")
    optional = {key: _text(entry.get(key)) for key in ("timestamp", "summary", "color")}
    texts = {key: str(value) for key, value in optional.items() if value is not _NOTHING}
    return InboxEntry(
        sender=str(_text(entry["from"])),
        text=str(_text(entry["text"])),
        is_read=_truth(entry.get("read")) is True,
        **texts,
    )


def write_entry(entry: InboxEntry) -> dict[str, Any]:
    """Return an entry as it is exported."""
    written: dict[str, Any] = {"from": entry.sender, "text": entry.text, "timestamp": entry.timestamp}
    written["read"] = entry.is_read
    return written | {name: value for name, value in (("summary", entry.summary), ("color", entry.color)) if value}
