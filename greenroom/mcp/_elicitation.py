"""What an MCP server asks a person in the middle of a call: the question, the answer, and whether the answer fits.

Rule 1: only an answer that fits what was asked reaches a server. Rule 2: a question is put before a person, answered in its place by
somebody whom it trusted with that, or declined; nothing else stands for consent.
Must not know: the SDK, who is asked, how it is shown.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import date, datetime
from enum import StrEnum
from typing import Any, Final, Literal, TypeAlias, final
from urllib.parse import urlsplit

import attrs

from greenroom.tools import validate

_LIMITS: Final = ("minimum", "maximum", "minItems", "maxItems")
_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+")
_MAX_TOLD: Final = 300


@final
@attrs.frozen(kw_only=True)
class Elicitation:
    """A question of a server."""

    server: str
    """Its name."""
    message: str
    """What it says to the person."""
    mode: Literal["form", "url"] = "form"
    """Whether it wants fields filled in, or an address opened, where the person gives it what nobody else should see."""
    schema: Mapping[str, Any] | None = None
    """JSON Schema of an object of plain fields; of a form."""
    url: str = ""
    """What is to be opened. Show it, and open it only when the person has agreed."""
    id: str = ""
    """What the server calls it; empty where it does not."""


class ElicitationAction(StrEnum):
    """What a person did about a question."""

    ACCEPT = "accept"
    DECLINE = "decline"
    CANCEL = "cancel"
    """It was put away without an answer."""


@final
@attrs.frozen(kw_only=True)
class ElicitationAnswer:
    """What a server is told."""

    action: ElicitationAction = attrs.field(converter=ElicitationAction)
    content: Mapping[str, Any] | None = None
    """The fields of an accepted form."""


Elicit: TypeAlias = Callable[[Elicitation], Awaitable[ElicitationAnswer | None]]
"""Puts a question before a person and returns the answer; None where nobody can be asked. Cancelled, it takes the question back.

Of an address, to accept means that the person has agreed to open it; whether it is done there, the server says later.
"""


def misfit(asked: Elicitation, answer: ElicitationAnswer) -> str:
    """Return why an answer is none to what was asked, in one line; empty where it is one.

    Looked at are types, choices, lengths, limits, and the formats of the protocol (`email`, `uri`, `date`, `date-time`).
    """
    if answer.action is not ElicitationAction.ACCEPT:
        return ""
    content = answer.content
    if asked.mode == "url":
        return "an address takes no content" if content else ""
    if not isinstance(content, Mapping):
        return "an accepted form needs content, an object of its fields"
    schema = asked.schema or {}
    fields = schema.get("properties")
    fields = fields if isinstance(fields, Mapping) else {}
    required = schema.get("required")
    missing = [one for one in required if one not in content] if isinstance(required, list) else []
    problems = [f"{one}: it is missing" for one in missing]
    for name, value in content.items():
        if name not in fields:
            problems.append(
                f"{name}: there is no field of this name (there are: {', '.join(map(str, fields)) or 'none'})"
            )
        else:
            problems += _misfits_of(str(name), fields[name], value)
    return "; ".join(problems)[:_MAX_TOLD]


def _misfits_of(name: str, field: object, value: Any) -> list[str]:
    """Return what is wrong with the value of one field."""
    if not _is_plain(value):
        return [f"{name}: a form takes texts, numbers, true, false, null, and lists of texts"]
    problems = [str(one) for one in validate(_checkable(field), value, name)]
    if problems or not isinstance(value, str) or not isinstance(field, Mapping):
        return problems
    least, most = field.get("minLength"), field.get("maxLength")
    if isinstance(least, int) and len(value) < least:
        return [f"{name}: it has {len(value)} characters, and has to have {least} at least"]
    if isinstance(most, int) and len(value) > most:
        return [f"{name}: it has {len(value)} characters, and may have {most} at most"]
    wanted = field.get("format")
    check = _FORMATS.get(wanted) if isinstance(wanted, str) else None
    return [] if check is None or check(value) else [f"{name}: {value[:60]!r} is no {wanted}"]


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(one, str) for one in value)
    return value is None or isinstance(value, str | int | float)


def _checkable(field: object) -> dict[str, Any]:
    """Return what of the schema of a field `validate` can check; it knows the words of our own schemas only."""
    if not isinstance(field, Mapping):
        return {}
    choices = field.get("oneOf", field.get("anyOf"))
    if isinstance(choices, list) and choices:
        return {"anyOf": [_checkable(one) for one in choices]}
    made: dict[str, Any] = {}
    kind = field.get("type")
    if isinstance(kind, str) or (isinstance(kind, list) and all(isinstance(one, str) for one in kind)):
        made["type"] = kind
    if isinstance(field.get("enum"), list):
        made["enum"] = field["enum"]
    elif "const" in field:
        made["enum"] = [field["const"]]
    if "items" in field:
        made["items"] = _checkable(field["items"])
    return made | {word: field[word] for word in _LIMITS if isinstance(field.get(word), int | float)}


def _is_uri(text: str) -> bool:
    try:
        return bool(urlsplit(text).scheme) and not re.search(r"\s", text)
    except ValueError:
        return False


def _reads(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


_FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "date": lambda text: _reads(date.fromisoformat, text),
    "date-time": lambda text: _reads(datetime.fromisoformat, text) and "T" in text.upper(),
    "email": lambda text: _EMAIL.fullmatch(text) is not None,
    "uri": _is_uri,
}
