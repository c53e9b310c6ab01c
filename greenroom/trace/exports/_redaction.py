"""The words that an export holds: texts of people, models and tools are left out, cut or whole, and secrets are masked.

Must not know: the formats, the disk. With `none` a text is kept only if its field is known to hold none: an id, a name, a state.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final, final

from greenroom.containment import Secrets

SHORT_CHARS: Final = 160
_FORMS: Final = re.compile(
    r"\bsk-(?:ant-)?[A-Za-z0-9_-]{20,}|\bgh[pousr]_[A-Za-z0-9]{30,}|\bAKIA[0-9A-Z]{16}\b|\bxox[abprs]-[A-Za-z0-9-]{20,}"
    r"|\bBearer [A-Za-z0-9._~+/-]{20,}=*|-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----[\s\S]*?-----END (?:[A-Z]+ )?PRIVATE KEY-----"
)
_NAMES: Final = frozenset({"id", "blocked_by", "returned_by"})
"""Fields of a folded state that hold ids."""
_BASE: Final = frozenset({"ev", "actor"})
"""Texts that every event has."""
_MAX_KNOWN: Final = 20_000
_KNOWN_CHARS: Final = 80


class Content(StrEnum):
    """The share of the words of people, models and tools that an export holds."""

    NONE = "none"
    SHORT = "short"
    ALL = "all"

    @property
    def meaning(self) -> str:
        """The share in words."""
        return _MEANINGS[self]


_MEANINGS: Final = {
    Content.NONE: "no texts and no conversations",
    Content.SHORT: f"texts of at most {SHORT_CHARS} characters",
    Content.ALL: "all texts and conversations",
}


@final
class Redaction:
    """The rules of what a file holds: secrets are masked with stars, and texts are cut or left out.

    Attributes:
        count: Number of secrets that were masked.

    Args:
        content: The words that are kept.
        environ: Variables; the values of those that hold secrets are masked.
        content_fields: Returns the fields of a kind of event that hold words.
        is_label: Returns True if a field of this name holds no words.
    """

    def __init__(
        self,
        content: Content,
        environ: Mapping[str, str],
        *,
        content_fields: Callable[[str], frozenset[str]],
        is_label: Callable[[str], bool],
    ) -> None:
        self.content: Final = content
        self._content_fields = content_fields
        self._is_label = is_label
        self._secrets = Secrets(environ, has_forms=True)
        self._words: dict[str, frozenset[str]] = {}
        """Fields with words of each kind that was asked for."""
        self._harmless: set[str] = set()
        """Short texts without secrets: names and ids come again and again."""
        self.count = 0

    def event(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Return an event's line."""
        return self.event_fields(str(raw.get("ev", "")), raw)

    def event_fields(self, kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return some fields of an event, as JSON values."""
        words = self._words.get(kind)
        if words is None:
            words = self._words[kind] = self._content_fields(kind)
        return {
            name: self._field(value, is_words=name in words)
            for name, value in fields.items()
            if self._keeps(name, value, words)
        }

    def fields(self, values: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """Return the fields of a patch or a card; without content, a text is kept only if its name says that it holds no words."""
        if values is None:
            return None
        is_none = self.content is Content.NONE
        return {
            name: self._field(value, is_words=True)
            for name, value in values.items()
            if not is_none or name in _NAMES or self._is_label(name) or not _holds_text(value)
        }

    def value(self, value: Any) -> Any:
        """Return a JSON value of a conversation."""
        return self._field(value, is_words=True)

    def words(self, text: str) -> str:
        """Return a text of a person, a model or a tool; empty without content."""
        return "" if self.content is Content.NONE else str(self._field(text, is_words=True))

    def labels(self, value: Any) -> Any:
        """Return names, ids and numbers."""
        return self._field(value, is_words=False)

    def _keeps(self, name: str, value: Any, words: frozenset[str]) -> bool:
        if self.content is not Content.NONE:
            return True
        return name not in words and (name in _BASE or self._is_label(name) or not _holds_text(value))

    def _field(self, value: Any, *, is_words: bool) -> Any:
        if isinstance(value, str):
            text = self._masked(value)
            is_long = is_words and self.content is Content.SHORT and len(text) > SHORT_CHARS
            return f"{text[: SHORT_CHARS - 1]}…" if is_long else text
        if isinstance(value, Mapping):
            return {self._masked(str(name)): self._field(each, is_words=is_words) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [self._field(each, is_words=is_words) for each in value]
        return value

    def _masked(self, text: str) -> str:
        if text in self._harmless:
            return text
        masked, count = _FORMS.subn(lambda found: "*" * len(found[0]), text)
        known = self._secrets.mask(masked)
        self.count += count + (known != masked)
        if known == text and len(text) <= _KNOWN_CHARS and len(self._harmless) < _MAX_KNOWN:
            self._harmless.add(text)
        return known


def _holds_text(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_holds_text, value.values()))
    return any(map(_holds_text, value)) if isinstance(value, list | tuple) else isinstance(value, str) and value != ""
