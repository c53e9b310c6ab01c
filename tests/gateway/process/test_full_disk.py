"""A disk that is full for a while: nothing is lost, nothing is said twice, and everything works again when there is room."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
import trio

from greenroom.testing import run_virtual
from greenroom.trace import JOURNAL
from tests.gateway.process.day import open_day
from tests.gateway.process.town import Line, RecordingTownDisk, Town, living, wait_quiet


class FullDisk(RecordingTownDisk):
    """A disk that refuses everything between two times."""

    def __init__(self, journal: Path, from_s: float, to_s: float) -> None:
        super().__init__(journal, lambda _: None)
        self._from_s, self._to_s = from_s, to_s

    def append(self, path: Path, content: bytes) -> None:
        """Append, or refuse."""
        if self._from_s <= trio.current_time() < self._to_s:
            raise OSError(errno.ENOSPC, "No space left on device")
        super().append(path, content)


async def run_out(town: Town, disk: FullDisk) -> list[str]:
    async with living(town, disk=disk) as gateway:
        await wait_quiet(gateway, town, until_s=300)
        assert gateway.parts.keepers.broken == {}
        return [row.outcome for row in gateway.parts.registry.services.jobs.values() if row.outcome]


@pytest.mark.promise("A28-d")
@pytest.mark.parametrize("from_s", [9.5, 10.5], ids=["before a message", "in a turn"])
def test_a_disk_that_is_full_for_a_while_loses_nothing(tmp_path: Path, from_s: float) -> None:
    """A message that could not be stored comes in again; a reply and a job that could not be recorded wait."""
    town = open_day(tmp_path)
    town.script = [
        Line(10, "plain", "ann", "good morning"),
        Line(12, "keyed", "bea", "good night"),
        Line(200, "plain", "ann", "good night"),
    ]
    config = town.folder / "gateway.json5"
    config.write_text(config.read_text().replace("2026-01-01T00:25", "2026-01-01T00:00:30"))

    outcomes = run_virtual(run_out, town, FullDisk(town.state / JOURNAL, from_s, 60)).result

    assert town.texts("plain") == ["reply to: good morning", "reply to: good night"]
    assert sorted(town.texts("keyed")) == ["reply to: good night", "reply to: job: water the plants"]
    assert outcomes == ["done"]
