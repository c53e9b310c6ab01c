"""Text that can be written down: without lone surrogates.

A provider that cuts inside a UTF-16 pair sends half of a character. Half a character cannot be encoded, so that writing
the transcript, or sending the next request, would fail much later. It is replaced where it comes in, and once more where
text goes out, because tools and users can bring it too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, final


def clean(text: str) -> str:
    """Return `text` with the halves of pairs joined, and each lone surrogate replaced by U+FFFD."""
    if text.isascii():  # known without looking
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


_WITHOUT_TEXT: Final = frozenset({int, float, bool, type(None)})


def clean_json(value: Any) -> Any:
    """Return JSON-like `value` with every text clean, every mapping a dict and every sequence a list."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict | Mapping):  # the abstract class alone is dear to ask
        return {
            clean_json(key): item if type(item) in _WITHOUT_TEXT else clean_json(item) for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [item if type(item) in _WITHOUT_TEXT else clean_json(item) for item in value]
    return value


_TO_JSON: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""`json.dumps` with options makes a new encoder at each call, for half of its price."""
_SAME_IN_BOTH: Final = frozenset({str, int, bool, type(None)})
"""What the faster writer and reader write and read as those of the standard library do, or refuse; floats they do not."""


def is_simple(value: object) -> bool:
    """Whether a value is a dict of texts, integers, truth values and nulls only, as most inputs of tools are."""
    return type(value) is dict and _SAME_IN_BOTH.issuperset(map(type, value.values()))


def to_json(value: Mapping[str, Any]) -> str:
    """Return a tool's input as the JSON text in which a model would send it."""
    import orjson

    if is_simple(value):
        try:
            return orjson.dumps(value).decode()
        except TypeError:  # half a character, a key that is no text, an integer of more than 64 bits
            pass
    return _TO_JSON(clean_json(value))


def json_size(value: Mapping[str, Any]) -> int:
    """Return the characters of `to_json`; what is plain is counted with the faster writer, ten times as fast."""
    import orjson

    try:
        return len(orjson.dumps(value).decode())
    except TypeError:
        return len(to_json(value))


@final
class Joiner:
    """Cleans a text that comes in pieces; a pair that was cut between two pieces is put together again."""

    __slots__ = ("_half",)

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        """Return the clean text that is certain after `piece`; a first half at the end waits for what follows."""
        piece = self._half + piece
        self._half = ""
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            piece, self._half = piece[:-1], piece[-1]
        return clean(piece)

    def end(self) -> str:
        """Return what a half that was never completed stands for."""
        rest, self._half = clean(self._half), ""
        return rest
