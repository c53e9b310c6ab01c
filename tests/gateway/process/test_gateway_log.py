"""The log of a gateway: lines in order, masked, rotated by day and size, and never in anybody's way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.containment import Secrets
from greenroom.gateway.process import _gateway_log
from greenroom.gateway.process._gateway_log import MAX_TEXT, LogFiles, LogLevel, open_log
from greenroom.testing import VIRTUAL_START, virtual_ports
from tests.trace.disks import FillingDisk

SECRET = "planted-0123456789abcdef"


def entries(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted(folder.iterdir()) for line in path.read_bytes().splitlines()]


async def test_lines_are_json_with_their_ids_and_shown_in_words(tmp_path: Path, autojump_clock: MockClock) -> None:
    shown: list[str] = []
    async with open_log(tmp_path / "log", ports=virtual_ports(), show=shown.append) as log:
        log.note("started", port=1)
        log.alert("slow", session="agent:main:main", seconds=1.5)
        log.write(LogLevel.DEBUG, "detail")

    assert [(each["level"], each["text"]) for each in entries(tmp_path / "log")] == [
        ("info", "started"),
        ("warning", "slow"),
        ("debug", "detail"),
    ]
    assert entries(tmp_path / "log")[1]["session"] == "agent:main:main"
    assert shown == ["started", "warning: slow"]


async def test_secrets_are_masked_wherever_they_stand(tmp_path: Path, autojump_clock: MockClock) -> None:
    shown: list[str] = []
    mask = Secrets({"API_KEY": SECRET}).mask
    async with open_log(tmp_path / "log", ports=virtual_ports(), mask=mask, show=shown.append) as log:
        log.fail(SECRET, url=f"http://x/{SECRET}", nested={"a": [SECRET, ("b", SECRET)]}, other=Path(SECRET))

    content = b"".join(path.read_bytes() for path in (tmp_path / "log").iterdir())
    assert SECRET.encode() not in content
    assert SECRET not in "".join(shown)


async def test_files_are_of_one_day_and_old_ones_go(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with open_log(tmp_path / "log", ports=virtual_ports(), days=2) as log:
        for day in range(5):
            log.note(str(day))
            await trio.sleep(86_400)

    names = [path.name for path in sorted((tmp_path / "log").iterdir())]
    assert names == [f"gateway-2026-01-0{day}.jsonl" for day in (3, 4, 5)]


@given(
    sizes=st.lists(st.integers(1, 80), max_size=30), limit=st.integers(40, 200), restarts=st.sets(st.integers(0, 29))
)
def test_no_file_is_beyond_its_size_and_no_line_is_lost(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], limit: int, restarts: set[int]
) -> None:
    """Also over restarts, which go on with the last file of the day. A line that is longer than a file has one of its own."""
    folder = tmp_path_factory.mktemp("log")
    ports = virtual_ports()
    lines = [b"%d" % (number % 10) * size + b"\n" for number, size in enumerate(sizes)]
    files = LogFiles(folder, ports, max_bytes=limit, days=14)
    for number, line in enumerate(lines):
        if number in restarts:
            files = LogFiles(folder, ports, max_bytes=limit, days=14)
        files.append([(VIRTUAL_START, line)])

    found = sorted(folder.iterdir(), key=lambda path: (len(path.name), path.name))
    assert sorted(b"".join(path.read_bytes() for path in found).splitlines(True)) == sorted(lines)
    assert all(path.stat().st_size <= limit + 81 for path in found)


async def test_full_disk_loses_lines_and_counts_them(tmp_path: Path, autojump_clock: MockClock) -> None:
    disk = FillingDisk()
    ports = attrs.evolve(virtual_ports(), disk=disk)
    async with open_log(tmp_path / "log", ports=ports) as log:
        disk.is_full = True
        log.note("one")
        await trio.sleep(1)
        assert log.lost == 1
        disk.is_full = False
        log.note("two")

    assert [each["text"] for each in entries(tmp_path / "log")] == ["two"]


async def test_line_never_waits_and_is_bounded(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_gateway_log, "MAX_WAITING", 3)
    async with open_log(tmp_path / "log", ports=virtual_ports()) as log:
        for _ in range(5):
            log.note("x" * (2 * MAX_TEXT))
        assert log.lost == 2

    assert [len(each["text"]) for each in entries(tmp_path / "log")] == [MAX_TEXT] * 3
