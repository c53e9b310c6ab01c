"""Folders of old runs."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from greenroom.trace import LOCK

NOW = datetime(2026, 11, 21, tzinfo=UTC)

OLD = "20260101-000000-aaaaaa"

OTHER = "20260102-000000-bbbbbb"


def make_run(runs: Path, name: str, *, days_ago: float = 100) -> Path:
    folder = runs / name
    (folder / "transcripts").mkdir(parents=True)
    header = f'{{"v":1,"run":"{name}","greenroom":"0","python":"3","trio":"0"}}\n'
    (folder / "journal.jsonl").write_text(header, encoding="utf-8")
    (folder / LOCK).touch()
    for file in ("main.jsonl", "agent-a1.jsonl"):
        (folder / "transcripts" / file).write_bytes(b"x" * 1_000)
    age(folder, days_ago)
    return folder


def age(folder: Path, days_ago: float) -> None:
    """Set the day of everything below a folder."""
    then = (NOW - timedelta(days=days_ago)).timestamp()
    for path in [*folder.rglob("*"), folder]:
        os.utime(path, (then, then), follow_symlinks=False)
