"""Checks of tool schemas: a schema that a provider refuses would fail every request, not only calls of that tool."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

SCHEMA_CHARS: Final = 100_000
"""Maximum size of a schema, in characters: it is part of each request."""
MAX_LEVELS: Final = 100
"""Maximum nesting of a schema."""
_REFERENCE: Final = "$ref"
_SHOWN: Final = 60


def fault_of(name: str, schema: Mapping[str, Any]) -> str:
    """Return why a tool with this name and schema cannot be offered to a model; empty if it can."""
    if not name.strip():
        return "its name must not be blank"
    if (kind := schema.get("type", "object")) != "object":
        return f'its inputSchema must be of the type "object", got {kind!r}'[:200]
    if not isinstance(properties := schema.get("properties", {}), Mapping):
        return f"its properties must be an object, got {type(properties).__name__}"
    try:
        references = list(_references(schema, MAX_LEVELS))
    except RecursionError:
        return f"its inputSchema must be nested at most {MAX_LEVELS} levels deep"
    size = len(json.dumps(schema, ensure_ascii=False))
    if size > SCHEMA_CHARS:
        return f"its inputSchema must have at most {SCHEMA_CHARS} characters, got {size}"
    for reference in references:
        if not _leads_somewhere(reference, schema):
            return f"its inputSchema refers to {str(reference)[:_SHOWN]!r}, which is not in it"
    return ""


def _references(value: Any, levels: int) -> Iterator[Any]:
    if not levels:
        raise RecursionError
    if isinstance(value, Mapping):
        if isinstance(value.get(_REFERENCE), str):
            yield value[_REFERENCE]
        for inner in value.values():
            yield from _references(inner, levels - 1)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _references(inner, levels - 1)


def _anchors(value: Any) -> Iterator[str]:
    """Yield the anchors that parts of a schema define."""
    if isinstance(value, Mapping):
        for key, sign in (("$anchor", "#"), ("$dynamicAnchor", "#"), ("$id", "")):
            if isinstance(value.get(key), str):
                yield sign + value[key]
    for inner in value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ():
        yield from _anchors(inner)


def _leads_somewhere(reference: str, schema: Mapping[str, Any]) -> bool:
    """True if a reference resolves within its own schema: its reader has no other document."""
    if not reference.startswith("#/"):
        return reference == "#" or reference in _anchors(schema)
    place: Any = schema
    for step in reference[2:].split("/"):
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(place, Mapping) and key in place:
            place = place[key]
        elif isinstance(place, list | tuple) and key.isdecimal() and int(key) < len(place):
            place = place[int(key)]
        else:
            return False
    return True
