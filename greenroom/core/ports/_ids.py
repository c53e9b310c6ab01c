"""Ids of actors, tasks and sessions.

Rule 1: an id is never reused. Rule 2: no id is made from text of a model or a user. This module must not depend on the
clock, the disk or Trio; randomness comes in through the port `Ids`.
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
    """Source of the random part of every id."""

    def bits(self, count: int) -> int:
        """Return `count` random bits as a non-negative integer."""
        ...


@final
class SystemIds:
    """Ids from a generator that is seeded once by the operating system: unique, and 20 times cheaper than asking it
    each time.
    """

    __slots__ = ("bits",)

    def __init__(self) -> None:
        self.bits = random.Random(secrets.randbits(256)).getrandbits


@final
class SeededIds:
    """Reproducible ids: the same seed gives the same ids in the same order."""

    __slots__ = ("bits",)

    def __init__(self, seed: int) -> None:
        self.bits = random.Random(seed).getrandbits


def actor_id(ids: Ids) -> str:
    """Return a new id of an actor or agent: `a` and 16 hex digits."""
    return f"a{ids.bits(64):016x}"


def task_id(ids: Ids, prefix: str) -> str:
    """Return a new task id: a prefix (`b` shell, `r` remote agent, `m` MCP call) and 8 characters of `[0-9a-z]`."""
    return prefix + _letters(ids, 8)


def session_id(ids: Ids, wall: datetime) -> str:
    """Return a new session id such as `20261120-225103-k3f9qz` (UTC); it also names the run folder.

    Ids made on one machine sort by start time, to the second.
    """
    return f"{wall:%Y%m%d-%H%M%S}-{_letters(ids, 6)}"


def is_session_id(text: str) -> bool:
    """True if `text` is a session id: one of the generated form, or a UUID, which a program may choose."""
    return _SESSION.fullmatch(text) is not None


def is_uuid(text: str) -> bool:
    """True if `text` is a UUID in its usual form, in lower case."""
    return _UUID.fullmatch(text) is not None


def _letters(ids: Ids, count: int) -> str:
    # A modulus over 64 bits more than needed: the bias is below 2**-60.
    number = ids.bits(64 + 6 * count)
    letters = []
    for _ in range(count):
        number, rest = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[rest])
    return "".join(letters)
