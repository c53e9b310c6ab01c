"""Switches in the environment: a variable that says yes or no. Must not know: where variables come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_OFF: Final = frozenset({"0", "false", "no", "off"})


def read_switch(environ: Mapping[str, str], name: str) -> bool | None:
    """Return whether a switch is on or off: any word but `0`, `false`, `no` and `off` is on. None where nothing is said."""
    word = environ.get(name, "").strip().lower()
    return word not in _OFF if word else None
