"""Whether a tool can be given to a model: a schema that a provider refuses would fail every request, not the calls of that tool alone.

Must not know: servers, the SDK.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

SCHEMA_CHARS: Final = 100_000
"""A schema with more is not given to a model: it stands in each request."""
MAX_LEVELS: Final = 100
"""How deep a schema may be nested."""
_REFERENCE: Final = "$ref"
_SHOWN: Final = 60


def fault_of(name: str, schema: Mapping[str, Any]) -> str:
    """Return why a tool with this name and schema cannot be offered to a model; empty where it can."""
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
    for one in references:
        if not _leads_somewhere(one, schema):
            return f"its inputSchema refers to {str(one)[:_SHOWN]!r}, which is not in it"
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
    """Yield what parts of a schema call themselves."""
    if isinstance(value, Mapping):
        for key, sign in (("$anchor", "#"), ("$dynamicAnchor", "#"), ("$id", "")):
            if isinstance(value.get(key), str):
                yield sign + value[key]
    for inner in value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ():
        yield from _anchors(inner)


def _leads_somewhere(reference: str, schema: Mapping[str, Any]) -> bool:
    """Say whether a reference leads to a place of its own schema: who reads it has no other document."""
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
