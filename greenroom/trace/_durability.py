"""The failures that a journal survives."""

from __future__ import annotations

from typing import Literal, TypeAlias

Durability: TypeAlias = Literal["process", "power"]
"""`process`: written before it is reported, synced every second; survives kill -9. `power`: synced before it is
reported.
"""
