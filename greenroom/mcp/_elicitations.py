"""Questions of an MCP server to a person in the middle of a call, their answers, and the validation of answers.

Rule 1: only an answer that matches the question reaches a server. Rule 2: a question is shown to a person, answered by
a delegate whom the person trusts, or declined; nothing else counts as consent.

Must not know: the SDK, who is asked, how it is shown.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import date, datetime
from typing import Any, Final, Literal, TypeAlias, final
from urllib.parse import urlsplit

import attrs

from greenroom.mcp._elicitation_actions import ElicitationAction
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
    """Its message for the person."""
    mode: Literal["form", "url"] = "form"
    """A form to fill in, or a URL to open where the person enters what no one else should see."""
    schema: Mapping[str, Any] | None = None
    """JSON Schema of an object of plain fields; for a form."""
    url: str = ""
    """The URL to open. Show it, and open it only when the person has agreed."""
    id: str = ""
    """The server's id for it; empty if it has none."""


@final
@attrs.frozen(kw_only=True)
class ElicitationAnswer:
    """The answer for the server."""

    action: ElicitationAction = attrs.field(converter=ElicitationAction)
    content: Mapping[str, Any] | None = None
    """The fields of an accepted form."""


Elicit: TypeAlias = Callable[[Elicitation], Awaitable[ElicitationAnswer | None]]
"""Asks a person and returns the answer; None if no person is available. On cancellation, the question is withdrawn.

For a URL, to accept means that the person has agreed to open it; the server reports later whether the action is done.
"""


def misfit(asked: Elicitation, answer: ElicitationAnswer) -> str:
    """Return on one line why an answer does not match the question; empty if it does.

    Checked are types, choices, lengths, limits, and the formats of the protocol (`email`, `uri`, `date`, `date-time`).
    """
    if answer.action is not ElicitationAction.ACCEPT:
        return ""
    content = answer.content
    if asked.mode == "url":
        return "an answer to a URL must have no content" if content else ""
    if not isinstance(content, Mapping):
        return "an accepted form must have content, an object of its fields"
    schema = asked.schema or {}
    fields = schema.get("properties")
    fields = fields if isinstance(fields, Mapping) else {}
    required = schema.get("required")
    missing = [name for name in required if name not in content] if isinstance(required, list) else []
    problems = [f"{name}: it is missing" for name in missing]
    for name, value in content.items():
        if name not in fields:
            problems.append(f"{name}: unknown field (expected one of: {', '.join(map(str, fields)) or 'none'})")
        else:
            problems += _misfits_of(str(name), fields[name], value)
    return "; ".join(problems)[:_MAX_TOLD]


def _misfits_of(name: str, field: object, value: Any) -> list[str]:
    """Return the problems of one field's value."""
    if not _is_plain(value):
        return [f"{name}: must be a string, number, boolean, null or list of strings"]
    problems = [str(problem) for problem in validate(_checkable(field), value, name)]
    if problems or not isinstance(value, str) or not isinstance(field, Mapping):
        return problems
    least, most = field.get("minLength"), field.get("maxLength")
    if isinstance(least, int) and len(value) < least:
        return [f"{name}: must have at least {least} characters, got {len(value)}"]
    if isinstance(most, int) and len(value) > most:
        return [f"{name}: must have at most {most} characters, got {len(value)}"]
    wanted = field.get("format")
    check = _FORMATS.get(wanted) if isinstance(wanted, str) else None
    return [] if check is None or check(value) else [f"{name}: {value[:60]!r} is not a valid {wanted}"]


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(item, str) for item in value)
    return value is None or isinstance(value, str | int | float)


def _checkable(field: object) -> dict[str, Any]:
    """Return the part of a field's schema that `validate` supports, which is the vocabulary of our own schemas."""
    if not isinstance(field, Mapping):
        return {}
    choices = field.get("oneOf", field.get("anyOf"))
    if isinstance(choices, list) and choices:
        return {"anyOf": [_checkable(allowed) for allowed in choices]}
    made: dict[str, Any] = {}
    kind = field.get("type")
    if isinstance(kind, str) or (isinstance(kind, list) and all(isinstance(option, str) for option in kind)):
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
