"""Ids of runs, and of the items that begin them and tell about their ends."""

from __future__ import annotations

import uuid
from typing import Final

from greenroom.core.ports import Ids

_NAMESPACE: Final = uuid.UUID("6f0d1c1e-6a5b-5f60-9a0e-0f6a3c0b7d41")


def run_item(run: str) -> str:
    """Return the id of the item that begins a run: the same after a restart."""
    return str(uuid.uuid5(_NAMESPACE, f"run:{run}"))


def announce_item(run: str) -> str:
    """Return the id of the item that tells the requester about the end of a run."""
    return str(uuid.uuid5(_NAMESPACE, f"announce:{run}"))


def run_of_item(item: str) -> str:
    """Return the id of the run that a message with a command begins, the same if it comes in again; empty for no message."""
    return str(uuid.uuid5(_NAMESPACE, f"command:{item}")) if item else ""


def new_id(ids: Ids) -> str:
    """Return a new UUID."""
    return str(uuid.UUID(int=ids.bits(128), version=4))
