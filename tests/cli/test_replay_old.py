"""Journals of an older version replay, and are as sound as that version found them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from greenroom.cli import main

HISTORIES: Final = Path(__file__).resolve().parents[1] / "histories"


@pytest.mark.parametrize("name", ["old-run", "old-swarm-killed", "old-swarm-restarted"])
def test_old_journal_is_sound(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", "--check", str(HISTORIES / f"{name}.jsonl")]) == 0
    assert capsys.readouterr().out.startswith("sound: ")


@pytest.mark.parametrize("name", ["old-run", "old-swarm-killed", "old-swarm-restarted"])
def test_old_journal_is_shown(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(HISTORIES / f"{name}.jsonl")]) == 0
    assert "unreadable" not in capsys.readouterr().out
