"""The record of a remote agent in the folder of its run: lines of JSON beside its output, for later processes of the run.

Rule 1: the order is on disk before it is sent, and a stop before it is. Rule 2: the end is on disk before the event that tells it. Rule 3: a
record is settled when the host needs no more messages about the agent. Must not know: links, tasks, the clock.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, final

import attrs

from greenroom.core import Cause
from greenroom.remote.hosts._host_messages import LaunchAgent

TAKEN: Final[Mapping[str, Any]] = {"taken": True}
"""The host has the order."""
SETTLED: Final[Mapping[str, Any]] = {"settled": True}
"""The host needs no more messages about the agent."""


@final
@attrs.frozen(kw_only=True)
class RemoteRecord:
    """The state of a remote agent as its run has recorded it."""

    host: str
    order: LaunchAgent
    is_taken: bool = False
    """True if the host has the order."""
    stop: Cause | None = None
    """The requested end."""
    end: Mapping[str, Any] = attrs.field(factory=dict)
    """Result and usage; empty as long as the host has told none."""
    is_settled: bool = False


def remote_record_path(outputs: Path, task: str) -> Path:
    """Return the file with the record of a remote agent, beside its output."""
    return outputs / f"{task}.remote.jsonl"


def record_line(values: Mapping[str, Any]) -> bytes:
    """Return a line of a record."""
    return json.dumps(values).encode() + b"\n"


def order_line(host: str, order: LaunchAgent) -> bytes:
    """Return the first line of a record."""
    return record_line({"host": host, "order": attrs.asdict(order)})


def read_remote_record(content: bytes) -> RemoteRecord | None:
    """Return what a record says; None if its order was not written completely, so that it was never sent."""
    values: dict[str, Any] = {}
    for line in content.splitlines():
        with suppress(ValueError):  # the process ended while it was written
            values |= json.loads(line)
    if "order" not in values:
        return None
    return RemoteRecord(
        host=values["host"],
        order=LaunchAgent(**values["order"]),
        is_taken=values.get("taken", False),
        stop=Cause(*values["stop"]) if "stop" in values else None,
        end=values.get("end", {}),
        is_settled=values.get("settled", False),
    )
