"""What a credential means, found in a time that says nothing about any secret."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from typing import Generic, TypeAlias, TypeVar, final

T = TypeVar("T")
Judge: TypeAlias = Callable[[str], object]
"""Returns what a credential means; None if nothing. It must compare in constant time, as `Secrets.find` does."""


@final
class Secrets(Generic[T]):
    """Secrets and what each one means. A search compares with all of them, in a time that says nothing about any."""

    def __init__(self, meanings: Mapping[str, T]) -> None:
        self._meanings = tuple((_digest(secret), meaning) for secret, meaning in meanings.items())

    def find(self, secret: str) -> T | None:
        """Return the meaning of a secret; None if it has none."""
        digest = _digest(secret)
        found = None
        for known, meaning in self._meanings:
            if hmac.compare_digest(known, digest):
                found = meaning
        return found


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
