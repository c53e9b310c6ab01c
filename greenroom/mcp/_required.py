"""Servers without which an agent does not start: whether to wait for them, and what is missing. Pure.

A pattern means every server whose name it is a part of, in any case.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from greenroom.mcp._lifecycle import ServerStatus
from greenroom.mcp._server import ServerState


def is_meant(pattern: str, server: str) -> bool:
    """Say whether a pattern means a server."""
    return pattern.casefold() in server.casefold()


def has_to_wait(patterns: Collection[str], states: Iterable[ServerState]) -> bool:
    """Say whether waiting may help: one that is meant is being connected, and none that is meant has failed."""
    meant = [one.status for one in states if any(is_meant(pattern, one.name) for pattern in patterns)]
    return ServerStatus.PENDING in meant and ServerStatus.FAILED not in meant


def missing(patterns: Iterable[str], states: Collection[ServerState]) -> tuple[str, ...]:
    """Return the patterns that no tools are there for: being connected alone does not mean that they may be used."""
    usable = [one.name for one in states if one.tools]
    return tuple(pattern for pattern in patterns if not any(is_meant(pattern, name) for name in usable))


def why_missing(patterns: Collection[str], states: Iterable[ServerState]) -> Mapping[str, str]:
    """Return what is known of each server that a pattern means and that has no tools."""
    return {
        one.name: one.why or ("it has no tools" if one.status is ServerStatus.CONNECTED else "it is being connected")
        for one in states
        if not one.tools and any(is_meant(pattern, one.name) for pattern in patterns)
    }
