"""Actors of a node under the names by which other nodes find them."""

from __future__ import annotations

from typing import Any, final

from greenroom.actors import Ref
from greenroom.core import UsageError


@final
class PublishedActors:
    """The actors of a node that others may reach, by the name under which they were published."""

    def __init__(self) -> None:
        self._refs: dict[str, Ref[Any]] = {}

    def publish(self, name: str, ref: Ref[Any]) -> None:
        """Publish an actor, so that other nodes can find it.

        Raises:
            UsageError: Another living actor is published under that name.
        """
        known = self._refs.get(name)
        if known is not None and known != ref and not known.cell.is_gone:
            raise UsageError(f"{name!r} is published already, as {known.path!r}")
        self._refs[name] = ref

    def withdraw(self, name: str) -> Ref[Any] | None:
        """Remove an actor, so that nobody finds it under that name any more; return it, or None if there is none."""
        return self._refs.pop(name, None)

    def has(self, ref: Ref[Any]) -> bool:
        """Return True if an actor is published under any name."""
        return ref in self._refs.values()

    def find(self, name: str) -> Ref[Any] | None:
        """Return the actor that was published under a name; None if there is none, or it has ended."""
        ref = self._refs.get(name)
        return None if ref is None or ref.cell.is_gone else ref
