"""The how-to on recipes: its files are read and run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from greenroom.cli import main
from greenroom.swarm.recipes import BUILTINS, find_recipe
from greenroom.swarm.recipes._finding import _ITEM, _LEAD, _RECIPE, _ROLE

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "recipes.md"


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return str(found)


def test_the_recipe_in_toml_is_one(tmp_path: Path) -> None:
    path = tmp_path / "documentation.toml"
    path.write_text(block("toml"), encoding="utf-8")

    recipe = find_recipe(str(path))

    assert [name for name, _ in recipe.mates(4)] == ["writer-1", "writer-2", "critic"]
    assert recipe.items[1].blocked_by == ("commands",)


def test_the_recipe_in_python_counts_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    (tmp_path / "imports.py").write_text(block("python"), encoding="utf-8")
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "a.py").write_text("import os\nimport sys\n", encoding="utf-8")

    assert main(["swarm", str(folder), "--recipe", str(tmp_path / "imports.py"), "--runs", str(tmp_path / "runs")]) == 0

    (report,) = (tmp_path / "runs").glob("2*/report.md")
    assert report.read_text(encoding="utf-8") == "# Imports\n\nFOUND a.py:2\n"


def test_every_key_is_named() -> None:
    page = PAGE.read_text(encoding="utf-8")

    for key in {*_RECIPE, *_ROLE, *_LEAD, *_ITEM} - {"lead", "roles", "items"}:
        assert f"`{key}`" in page, key
    for name in BUILTINS:
        assert f"`{name}`" in page
