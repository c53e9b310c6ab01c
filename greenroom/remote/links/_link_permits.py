"""Permissions of a peer: what the holder of a token may do with the actors that this node has published.

Rule: a name that a peer may not find is the same to it as one that is not published. Must not know: actors, frames.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final, final

import attrs


class LinkVerb(StrEnum):
    """Something that a peer may do with an actor that it has found, or that was sent to it."""

    TELL = "tell"
    ASK = "ask"
    WATCH = "watch"
    ABORT = "abort"
    STOP = "stop"
    """`stop` and `kill`."""


ALL_VERBS: Final = frozenset(LinkVerb)


def _verbs(verbs: Iterable[str]) -> frozenset[LinkVerb]:
    known = ", ".join(LinkVerb)
    try:
        return frozenset(map(LinkVerb, [verbs] if isinstance(verbs, str) else verbs))
    except ValueError as error:
        raise ValueError(f"a permission must be one of: {known}; {error}") from None


def _names(names: Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


@final
@attrs.frozen
class LinkPermit:
    """The permissions of a peer."""

    may: frozenset[LinkVerb] = attrs.field(
        default=frozenset((LinkVerb.TELL, LinkVerb.ASK, LinkVerb.WATCH)), converter=_verbs
    )
    """`tell`, `ask`, `watch`, `abort`, `stop`; by default the first three. They count for actors that are sent to it, too."""
    names: tuple[str, ...] = attrs.field(default=("*",), converter=_names)
    """Patterns of the published names that it may find, such as `jobs/*`; by default all."""

    def may_find(self, name: str) -> bool:
        """Return True if one of the patterns fits a name."""
        return any(fnmatchcase(name, pattern) for pattern in self.names)
