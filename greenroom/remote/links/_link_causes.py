"""Causes across links: what led to an event, through the journals of several nodes.

Rule: a check of journals reads kinds and fields of events only. Must not know: runtimes, connections.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from greenroom.core import UsageError
from greenroom.trace import Entry


def causes_across(journals: Mapping[str, Sequence[Entry]], label: str, seq: int) -> list[tuple[str, Entry]]:
    """Return what led to an event, the latest first: the journal of each event, and the event. It ends where a journal is missing.

    Args:
        journals: The journal of each node, by any label.
        label: The journal of the event.
        seq: Its number.

    Raises:
        UsageError: There is no such event.
    """
    by_seq = {name: {entry.seq: entry for entry in entries} for name, entries in journals.items()}
    linked = {
        (name, entry["link"]) for name, entries in journals.items() for entry in entries if entry.kind == "link.state"
    }
    entry = by_seq.get(label, {}).get(seq)
    if entry is None:
        raise UsageError(f"there is no event {seq} in the journal {label!r}")
    found: list[tuple[str, Entry]] = []
    while True:
        if entry.kind == "link.caused":
            link = entry["link"]
            others = [name for name, its in sorted(linked) if its == link and name != label]
            label, seq = (others[0] if others else ""), entry["cause"]
        else:
            seq = entry.event.parent
        entry = by_seq.get(label, {}).get(seq)
        if entry is None or (label, entry) in found:  # a node may name any event of another one
            return found
        found.append((label, entry))
