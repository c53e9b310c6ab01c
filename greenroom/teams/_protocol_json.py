"""The wire form of protocol messages and inbox entries: reading and writing.

Rule 1: if a required field is missing or invalid, the message is not read; an invalid optional field is ignored. Rule
2: names are written in camelCase; snake_case is read as well. Rule 3: reading never raises, and one invalid entry of a
list does not affect the others. This module must not depend on actors, the clock, or who may send what to whom.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, final, get_type_hints

import attrs

from greenroom.core import UsageError
from greenroom.teams._idle_reasons import IdleReason
from greenroom.teams._team_protocol import (
    MESSAGES,
    SPOKEN,
    AnswerPlan,
    AnswerShutdown,
    AskShutdown,
    CallDecision,
    ProtocolMessage,
    Spoken,
)

ProblemKind: TypeAlias = Literal["not_json", "not_an_object", "unknown_type", "missing", "invalid"]


@final
@attrs.frozen
class WireProblem:
    """Something that could not be read.

    Attributes:
        kind: Kind of problem.
        text: The problem on one line, for people.
    """

    kind: ProblemKind
    text: str


def read(said: str | Mapping[str, Any]) -> ProtocolMessage | WireProblem:
    """Return the message of a text or an object; never raises."""
    return _read(said, MESSAGES)


def read_spoken(said: str | Mapping[str, Any]) -> Spoken | WireProblem:
    """Return the protocol message that a model sends in place of a text; never raises."""
    found = _read(said, SPOKEN)
    assert isinstance(found, AskShutdown | AnswerShutdown | AnswerPlan | WireProblem)
    return found


def write(message: ProtocolMessage) -> dict[str, Any]:
    """Return the wire form; optional fields with their default are left out."""
    written: dict[str, Any] = {"type": message.type}
    for name, wire_name, optional in _written_fields(type(message)):
        value = getattr(message, name)
        if value != optional:
            written[wire_name] = _WRITTEN[type(value)](value) if type(value) in _WRITTEN else value
    return written


def write_text(message: ProtocolMessage) -> str:
    """Return the wire form as text for an inbox entry."""
    return _TO_JSON(write(message))


_TO_JSON: Final = json.JSONEncoder(ensure_ascii=False).encode
_WRITTEN: Final[Mapping[type, Callable[[Any], Any]]] = {tuple: list, IdleReason: str, CallDecision: str}


def _read(said: object, known: Mapping[str, type[ProtocolMessage]]) -> ProtocolMessage | WireProblem:
    if isinstance(said, str):
        try:
            said = json.loads(said)
        except (ValueError, RecursionError):
            return WireProblem("not_json", f"{_shown(said)} is not valid JSON")
    if not isinstance(said, Mapping):
        return WireProblem("not_an_object", f"{_shown(said)} is not an object with a type")
    name = said.get("type")
    owner = known.get(name) if isinstance(name, str) else None
    if owner is None:
        return WireProblem("unknown_type", f"unknown type {_shown(name)}; expected one of {', '.join(known)}")
    keys = [key for key in said if isinstance(key, str)]
    values = {_snake(key): said[key] for key in sorted(keys, key=lambda key: key != _snake(key))}  # camelCase wins
    arguments: dict[str, Any] = {}
    for field in attrs.fields(owner):
        reader = _readers(owner)[field.name]
        found = [reader(values[key]) for key in _names(field) if values.get(key) is not None]
        usable = [value for value in found if value is not _NOTHING]
        if usable:
            arguments[field.name] = usable[0]
        elif field.default is attrs.NOTHING:
            kind: ProblemKind = "invalid" if found else "missing"
            why = "is invalid" if found else "is missing"
            return WireProblem(kind, f"{owner.type}: {_wire_name(field)} {why}")
    try:
        return owner(**arguments)
    except UsageError as error:
        return WireProblem("invalid", f"{owner.type}: {error}")


def _wire_name(field: attrs.Attribute[Any]) -> str:
    head, *rest = str(field.metadata.get("wire", field.name)).split("_")
    return head + "".join(part.capitalize() for part in rest)


def _names(field: attrs.Attribute[Any]) -> tuple[str, ...]:
    """Return the names under which a field is read, in snake_case."""
    return (str(field.metadata.get("wire", field.name)), *field.metadata.get("also", ()))


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


_NOTHING: Final = object()
"""Result of a reader for an invalid value."""
_SHOWN: Final = 60


def _shown(value: object) -> str:
    """Return a value for a line of a report."""
    try:
        text = repr(value)
    except RecursionError:
        text = "a value that is nested too deeply"
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
    return CallDecision.ALLOW if word in _ALLOWING else CallDecision.DENY if word in _DENYING else _NOTHING


def _mapping(value: object) -> object:
    return value if isinstance(value, Mapping) and all(isinstance(key, str) for key in value) else _NOTHING


def _sequence(value: object) -> object:
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, Sequence) else _NOTHING


_READER_OF: Final[Mapping[Any, Callable[[object], object]]] = {
    str: _text,
    bool: _truth,
    IdleReason: _reason,
    CallDecision: _outcome,
    Mapping[str, Any]: _mapping,
    Mapping[str, Any] | None: _mapping,
    tuple[Any, ...]: _sequence,
}
_FIELDS: Final[dict[type, list[tuple[str, str, object]]]] = {}
_FOUND: Final[dict[type, dict[str, Callable[[object], object]]]] = {}


def _written_fields(owner: type) -> list[tuple[str, str, object]]:
    """Return the name of each field, its wire name, and the value that is left out."""
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
    """One entry of an exported inbox."""

    sender: str
    text: str
    """A text, or a protocol message in its wire form."""
    timestamp: str = ""
    is_read: bool = False
    summary: str = ""
    color: str = ""


def read_inbox(entries: object) -> tuple[tuple[InboxEntry, ...], tuple[WireProblem, ...]]:
    """Return the readable entries of an inbox, in order, and the problems of the others."""
    if not isinstance(entries, Sequence) or isinstance(entries, str | bytes):
        return (), (WireProblem("invalid", f"{_shown(entries)} is not a list of entries"),)
    good: list[InboxEntry] = []
    bad: list[WireProblem] = []
    for number, entry in enumerate(entries):
        read_one = _read_entry(entry, f"entry {number}")
        if isinstance(read_one, WireProblem):
            bad.append(read_one)
        else:
            good.append(read_one)
    return tuple(good), tuple(bad)


def _read_entry(entry: object, where: str) -> InboxEntry | WireProblem:
    if not isinstance(entry, Mapping):
        return WireProblem("not_an_object", f"{where}: {_shown(entry)} is not an object")
    for name in ("from", "text"):
        if not isinstance(entry.get(name), str):
            kind: ProblemKind = "invalid" if entry.get(name) is not None else "missing"
            return WireProblem(
                kind, f"{where}: {name} is not text" if kind == "invalid" else f"{where}: {name} is missing"
            )
    if not entry["from"].strip():
        return WireProblem("invalid", f"{where}: from must not be blank")
    optional = {key: _text(entry.get(key)) for key in ("timestamp", "summary", "color")}
    texts = {key: str(value) for key, value in optional.items() if value is not _NOTHING}
    return InboxEntry(
        sender=str(_text(entry["from"])),
        text=str(_text(entry["text"])),
        is_read=_truth(entry.get("read")) is True,
        **texts,
    )


def write_entry(entry: InboxEntry) -> dict[str, Any]:
    """Return an entry in its exported form."""
    written: dict[str, Any] = {"from": entry.sender, "text": entry.text, "timestamp": entry.timestamp}
    written["read"] = entry.is_read
    return written | {name: value for name, value in (("summary", entry.summary), ("color", entry.color)) if value}
