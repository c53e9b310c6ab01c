"""Plans that are kept as histories: what is done in a run, with the choices of the schedule under which it failed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import attrs


class Kept:
    """What a plan of plain JSON fields can do on disk; plans are attrs classes."""

    __slots__ = ()

    @classmethod
    def loaded(cls, path: Path) -> tuple[Self, list[int]]:
        """Read a history: a plan, and the choices of the schedule under which it failed."""
        values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        fields: Any = cls
        known = {field.name: values[field.name] for field in attrs.fields(fields) if field.name in values}
        return cls(**known), values["choices"]

    def save(self, path: Path, choices: Sequence[int], *, why: str) -> None:
        """Write a history, to be kept with the fix of what it shows."""
        plan: Any = self
        values = {**attrs.asdict(plan), "choices": list(choices), "why": why}
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
