"""Extraction of JSON objects from what a hook printed. Never raises.

Text around the JSON (a byte order mark, blanks, NULs, a fence, the greeting of a shell) is ignored. Of several objects
the first that refuses counts, else the last. Text that looks like JSON, cannot be parsed and states a refusal counts as
one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, final

import attrs

_MAX_DEPTH: Final = 100
_PROBLEM_CHARS: Final = 80
_AROUND: Final = " \t\r\n\f\v\0\ufeff"
_DECIDING: Final = frozenset(("decision", "continue", "hookSpecificOutput", "async"))
_QUOTE: Final = r"""\\*["']"""
_REFUSES: Final = re.compile(
    rf"{_QUOTE}(?:decision|permissionDecision|behavior){_QUOTE}\s*:\s*{_QUOTE}(?:block|deny|defer|ask){_QUOTE}"
    rf"|{_QUOTE}continue{_QUOTE}\s*:\s*[Ff]alse"
)
_STARTS: Final = ("{", "[", '"', "`", "'")


@final
@attrs.frozen(kw_only=True)
class Objects:
    """The JSON found in a text."""

    values: Mapping[str, Any] | None = None
    """The object that is used; None if there is none."""
    problem: str = ""
    """The problem of the text as JSON; empty for text that is not meant as JSON."""
    refuses: bool = False
    """True if it cannot be parsed but states a refusal."""


def objects_in(text: str) -> Objects:
    """Return the JSON object that a text is or contains, and what is wrong with it."""
    text = text.strip(_AROUND)
    tries = text.startswith(_STARTS)
    if not text.startswith("{"):
        found = [values for values in _embedded(text) if _DECIDING & values.keys()]
    else:
        try:
            found = list(_values(text))
        except (ValueError, RecursionError) as error:
            why = f"it printed malformed JSON ({str(error)[:_PROBLEM_CHARS]})"
            return Objects(problem=why, refuses=_REFUSES.search(text) is not None)
    found = found[1:] if len(found) > 1 and is_async(found[0]) else found
    if not found:
        if tries and _REFUSES.search(text):
            return Objects(problem="it printed a refusal that is not a JSON object", refuses=True)
        return Objects()
    chosen = next((values for values in found if _REFUSES.search(json.dumps(values))), found[-1])
    problem = (
        "" if len(found) == 1 else f"it printed {len(found)} JSON objects; the first that refuses counts, else the last"
    )
    return Objects(values=chosen, problem=problem)


def says_async(text: str) -> bool:
    """True if the output of a hook begins with the object that detaches it."""
    try:
        value, _ = json.JSONDecoder().raw_decode(text.lstrip(_AROUND))
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and is_async(value)


def is_async(values: Mapping[str, Any]) -> bool:
    """True if an object is the one with which a hook detaches itself."""
    return values.get("async") is True


def async_limit_s(text: str, usual_s: float) -> float:
    """Return the time limit of a detached hook, in seconds: the one it requests, or the usual."""
    value, _ = json.JSONDecoder().raw_decode(text.lstrip(_AROUND))
    limit = value.get("asyncTimeout")
    is_number = isinstance(limit, int | float) and not isinstance(limit, bool) and 0 < limit < 1e12
    return limit / 1000 if is_number else usual_s


def _values(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a text that begins with one; other text after them is ignored."""
    decoder, at = json.JSONDecoder(), 0
    while text.startswith("{", at):
        value, at = decoder.raw_decode(text, at)
        yield _clean(value, _MAX_DEPTH)
        at = _next(text, at)


def _next(text: str, at: int) -> int:
    """Return where the next line of JSON begins, or the end."""
    found = re.compile(r"[\s\0\ufeff]*(?=\{)").match(text, at)
    if found is not None:
        return found.end()
    line = text.find("\n{", at)
    return len(text) if line < 0 else line + 1


def _embedded(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects at the beginning of lines, or in a list."""
    try:
        listed = json.loads(text) if text.startswith("[") else ()
    except (ValueError, RecursionError):
        listed = ()
    try:
        if isinstance(listed, list):
            yield from (_clean(entry, _MAX_DEPTH) for entry in listed if isinstance(entry, dict))
        at = text.find("\n{")
        if at >= 0:
            yield from _values(text[at + 1 :])
    except (ValueError, RecursionError):
        return


def _clean(value: Any, depth: int) -> Any:
    """Return a value without lone surrogates, which transcripts and providers reject."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode(errors="replace").decode()
    if not isinstance(value, dict | list):
        return value
    if not depth:
        raise ValueError(f"more than {_MAX_DEPTH} levels")
    if isinstance(value, list):
        return [_clean(inner, depth - 1) for inner in value]
    return {_clean(key, depth): _clean(inner, depth - 1) for key, inner in value.items()}
