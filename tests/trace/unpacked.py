"""Packed columns as a page has them, and a folded state as JSON."""

from __future__ import annotations

import json
from array import array
from typing import Any, Final

import attrs

from greenroom.core.texts import as_json
from greenroom.trace import World
from greenroom.trace._world_changes import subject_key

CODES: Final = {"u1": "B", "u2": "H", "u4": "I", "f8": "d"}


def sections_of(world: World) -> Any:
    """The state as `greenroom replay --at N --json` prints it."""
    return json.loads(
        as_json(
            {
                name: {
                    subject_key(subject): attrs.asdict(value) if attrs.has(type(value)) else value
                    for subject, value in subjects.items()
                }
                for name, subjects in world.sections.items()
                if subjects
            }
        )
    )


class Unpacked:
    """Packed columns as a page has them: rows by table, lists by name."""

    def __init__(self) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = {}
        self.lists: dict[str, list[Any]] = {}

    def has(self) -> dict[str, int]:
        return {name: len(rows) for name, rows in (*self.rows.items(), *self.lists.items())}

    def add(self, head: dict[str, Any], body: bytes) -> None:
        place = 0
        for name, table in head["tables"].items():
            columns = {}
            for column, width in table["columns"]:
                values = array(CODES[width])
                size = table["rows"] * values.itemsize
                values.frombytes(body[place : place + size])
                columns[column] = values
                place += size + -size % 8
            rows = self.rows.setdefault(name, [])
            assert len(rows) == table["from"]
            rows += [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        assert place == len(body)
        for name, items in head["lists"].items():
            held = self.lists.setdefault(name, [])
            assert len(held) == items["from"]
            held += items["items"]

    def last(self, table: str, actor: str, count: int) -> dict[str, Any] | None:
        """The last row of an actor among those of the first events."""
        number = self.lists["actors"].index(actor)
        fits = [row for row in self.rows[table] if row["actor"] == number and row["event"] < count]
        return fits[-1] if fits else None
