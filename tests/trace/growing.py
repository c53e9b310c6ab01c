"""Journals as bytes, and files that grow while they are read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from greenroom.core import JournalError, field_values
from greenroom.session import EVENTS
from greenroom.trace import Codec, Entry, Header
from greenroom.trace._follow import Follower, follow

CODEC: Final = Codec(EVENTS)
HEADER: Final = CODEC.encode_header(Header(run="r", greenroom="0", python="3", trio="0"))


def lines_of(entries: Iterable[Entry]) -> list[bytes]:
    """Return the lines of entries."""
    return [CODEC.encode((entry.seq, entry.t, type(entry.event), *field_values(entry.event)), 0.0) for entry in entries]


def journal_of(entries: Iterable[Entry], header: bytes = HEADER) -> bytes:
    """Return a journal of entries."""
    return header + b"".join(lines_of(entries))


def append(path: Path, content: bytes) -> None:
    """Append to a file."""
    with path.open("ab") as file:
        file.write(content)


def follower_of(path: Path) -> Follower:
    """Return a follower that must not wait."""
    return follow(path, EVENTS, pause=_refuse)


def _refuse() -> None:
    raise JournalError("pause", "it would wait here")


def take_all(follower: Follower) -> list[Entry]:
    """Return what is there."""
    taken: list[Entry] = []
    while entries := follower.take():
        taken += entries
    return taken


def cuts_of(content: bytes, places: Sequence[int]) -> list[bytes]:
    """Return a text in pieces, cut at these places."""
    edges = [0, *sorted(place % (len(content) + 1) for place in places), len(content)]
    return [content[begin:end] for begin, end in pairwise(edges)]
