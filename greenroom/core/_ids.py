"""Ids: what names what, where the characters come from, and nothing about what they are used for.

Rule 1: an id is never used again. Rule 2: no id is made from text of a model or a user.
Must not know: clock, disk, Trio. Randomness comes in through the port `Ids`.
"""

from __future__ import annotations

import random
import re
import secrets
import string
from datetime import datetime
from typing import Final, Protocol, final

ALPHABET: Final = string.digits + string.ascii_lowercase
_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SESSION: Final = re.compile(rf"\d{{8}}-\d{{6}}-[0-9a-z]{{6}}|{_UUID.pattern}")


class Ids(Protocol):
    """Where the random part of every id comes from."""

    def bits(self, count: int) -> int:
        """Return `count` random bits as a non-negative integer."""
        ...


@final
class SystemIds:
    """Ids from a generator that the operating system seeded once: unique, and 20 times cheaper than asking it each time."""

    __slots__ = ("bits",)

    def __init__(self) -> None:
        self.bits = random.Random(secrets.randbits(256)).getrandbits


@final
class SeededIds:
    """The same ids in the same order for the same seed."""

    __slots__ = ("bits",)

    def __init__(self, seed: int) -> None:
        self.bits = random.Random(seed).getrandbits


def actor_id(ids: Ids) -> str:
    """Return a new id of an actor or agent: `a` and 16 hex digits."""
    return f"a{ids.bits(64):016x}"


def task_id(ids: Ids, prefix: str) -> str:
    """Return a new id of a shell (`b`), remote agent (`r`) or call of an MCP server (`m`): the prefix and 8 of `[0-9a-z]`."""
    return prefix + _letters(ids, 8)


def session_id(ids: Ids, wall: datetime) -> str:
    """Return a new session id such as `20261120-225103-k3f9qz` (UTC); it also names the run folder.

    Ids of one machine sort by start time, to the second.
    """
    return f"{wall:%Y%m%d-%H%M%S}-{_letters(ids, 6)}"


def is_session_id(text: str) -> bool:
    """Whether `text` has the form of a session id: of one that is made here, or of a UUID, which a program may choose."""
    return _SESSION.fullmatch(text) is not None


def is_uuid(text: str) -> bool:
    """Whether `text` is a UUID in its usual form, in small letters."""
    return _UUID.fullmatch(text) is not None


def _letters(ids: Ids, count: int) -> str:
    # A modulus over 64 bits more than needed: the bias is below 2**-60.
    number = ids.bits(64 + 6 * count)
    letters = []
    for _ in range(count):
        number, rest = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[rest])
    return "".join(letters)
