"""Rules for messages that channels push: the attributes that they may have, and how many are taken.

Rule 1: the names of attributes are identifiers, so that none can end a tag or begin another one; their values are texts. Rule 2:
no attribute has the name under which the runtime states the channel. Rule 3: in any time, a channel gets a burst and its rate through,
and nothing more. This module must not depend on the clock, the disk, Trio, or the protocol of a server.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final, TypeAlias, final

import attrs

Attributes: TypeAlias = tuple[tuple[str, str], ...]
"""Names and values, in order."""

SOURCE: Final = "source"
"""The attribute that names the channel; only the runtime writes it."""
MAX_ATTRIBUTE_CHARS: Final = 3_000
"""Maximum size of the attributes of a message as JSON, in characters; further ones are left out."""
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


def attributes_of(values: object) -> Attributes:
    """Return the usable entries of a mapping: those with an identifier as the name, and text as the value."""
    kept: dict[str, str] = {}
    size = 0
    for name, value in values.items() if isinstance(values, Mapping) else ():
        if not (isinstance(name, str) and _NAME.fullmatch(name) and name.lower() != SOURCE and isinstance(value, str)):
            continue
        written = len(json.dumps({name: value}))
        if is_text(value) and size + written <= MAX_ATTRIBUTE_CHARS:
            kept[name] = value
            size += written
    return tuple(kept.items())


def is_text(value: str) -> bool:
    """True if a text can be written as UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


@final
@attrs.define(eq=False)
class PushRate:
    """The number of messages that a channel may push now: a burst, which fills again at its rate.

    Args:
        per_minute: Messages that it gains in a minute.
        burst: Maximum number of messages at once.
    """

    per_minute: int
    burst: int
    _left: float = attrs.field(init=False)
    _at_s: float = attrs.field(init=False, default=0.0)

    def __attrs_post_init__(self) -> None:
        self._left = float(self.burst)

    def take(self, now_s: float) -> bool:
        """Count a message at a time; False if it is one too many."""
        gained = max(0.0, now_s - self._at_s) * self.per_minute / 60.0
        self._left, self._at_s = min(float(self.burst), self._left + gained), now_s
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True
