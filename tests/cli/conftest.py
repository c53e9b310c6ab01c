"""What tests of commands share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.place import Place


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Place:
    made = Place(tmp_path, monkeypatch, capfd)
    made.folder.mkdir()
    (tmp_path / "home").mkdir()
    (made.folder / "a.txt").write_text("the answer is 42\n", encoding="utf-8")
    return made
