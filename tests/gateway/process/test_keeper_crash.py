"""A keeper that crashes in a whole gateway: its session is closed, opened again, and its person answered."""

from __future__ import annotations

from pathlib import Path

import pytest

from greenroom.gateway._gateway import Gateway
from greenroom.gateway.keepers._seams import TurnEnd
from greenroom.testing import run_virtual
from tests.gateway.process.day import open_day
from tests.gateway.process.town import Line, Town, living, wait_quiet


async def run_out(town: Town, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run a town whose first turn cannot be reported, and return the number of tries."""
    ends: list[TurnEnd] = []

    def break_first_report(gateway: Gateway) -> None:
        runs = gateway.parts.runs
        report = runs.turn_ended

        async def turn_ended(end: TurnEnd) -> None:
            ends.append(end)
            if len(ends) == 1:
                raise RuntimeError("a bug")
            await report(end)

        monkeypatch.setattr(runs, "turn_ended", turn_ended)

    async with living(town, on_open=break_first_report) as gateway:
        await wait_quiet(gateway, town, until_s=60)
    return len(ends)


def test_a_crash_of_a_keeper_leaves_its_person_with_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    town = open_day(tmp_path)
    town.script = [Line(10, "plain", "ann", "good morning")]

    assert run_virtual(run_out, town, monkeypatch).result == 2
    assert town.texts("plain") == ["reply to: good morning"]
