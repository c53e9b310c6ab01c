from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from greenroom.core.ports import ThreadBlocking
from greenroom.tools import OutsideRoots, ToolError
from greenroom.tools.builtin import _glob, _walk, glob_tool
from tests.tools.calls import call, context, make

TREE = ["README.md", "src/a.py", "src/deep/b.py", "src/deep/c.js", "tests/test_a.py", ".github/ci.yml"]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return make(tmp_path, dict.fromkeys(TREE, ""))


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("**", ".", sorted(TREE)),
        ("*.py", ".", ["src/a.py", "src/deep/b.py", "tests/test_a.py"]),
        ("src/*.py", ".", ["src/a.py"]),
        ("src/**/*.{py,js}", ".", ["src/a.py", "src/deep/b.py", "src/deep/c.js"]),
        ("src/", ".", ["src/a.py", "src/deep/b.py", "src/deep/c.js"]),
        ("*.py", "src", ["src/a.py", "src/deep/b.py"]),
        ("deep/*", "src", ["src/deep/b.py", "src/deep/c.js"]),
        ("../tests/*", "src", ["tests/test_a.py"]),
        ("README.md", ".", ["README.md"]),
        ("src/a.py", ".", ["src/a.py"]),
        ("*.yml", ".", [".github/ci.yml"]),
    ],
)
async def test_files_are_found_by_name_sorted_by_path(tree: Path, pattern: str, path: str, found: list[str]) -> None:
    assert (await call(glob_tool, tree, pattern=pattern, path=path)).split("\n") == found
    assert (await call(glob_tool, tree, pattern=f"{tree}/{path}/{pattern}")).split("\n") == found or "/" not in pattern


async def test_an_absolute_pattern_names_its_own_folder(tree: Path) -> None:
    assert await call(glob_tool, tree, pattern=f"{tree}/src/deep/*.py", path="tests") == "src/deep/b.py"


async def test_paths_outside_of_the_current_folder_are_absolute(tree: Path) -> None:
    ctx = context(tree / "src", tree)

    assert await glob_tool.call({"pattern": "*.md", "path": ".."}, ctx) == f"{tree}/README.md"


async def test_nothing_found_is_an_answer(tree: Path) -> None:
    assert await call(glob_tool, tree, pattern="*.rs", path="src") == "(no file matches '*.rs' in src)"
    assert await call(glob_tool, tree, pattern="lib/*.rs") == "(no file matches 'lib/*.rs' in .)"
    assert "no file matches" in await call(glob_tool, make(tree, {"empty/": ""}), pattern="**", path="empty")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"pattern": "*", "path": "nowhere"}, "nowhere cannot be searched: it does not exist"),
        ({"pattern": "*", "path": "README.md"}, "README.md is a file, not a folder"),
        ({"pattern": ""}, "empty"),
        ({"pattern": "**/../x"}, "climbs"),
    ],
)
async def test_what_cannot_be_searched_is_told(tree: Path, arguments: dict[str, str], words: str) -> None:
    with pytest.raises(ToolError, match=words):
        await call(glob_tool, tree, **arguments)


@pytest.mark.parametrize("arguments", [{"pattern": "/etc/*"}, {"pattern": "../*"}, {"pattern": "*", "path": ".."}])
async def test_no_pattern_leads_out(tree: Path, arguments: dict[str, str]) -> None:
    with pytest.raises(OutsideRoots):
        await call(glob_tool, tree / "src", **arguments)


async def test_a_long_list_is_cut_and_says_so(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_glob, "MAX_FILES", 2)

    assert (await call(glob_tool, tree, pattern="*.py")).split("\n") == [
        "src/a.py",
        "src/deep/b.py",
        "(the first 2 of 3 files; narrow the pattern or the path for the others)",
    ]


async def test_a_list_of_long_names_is_cut_too(tmp_path: Path) -> None:
    make(tmp_path, {f"{'x' * 200}/{'y' * 200}{n}": "" for n in range(200)})

    answer = await call(glob_tool, tmp_path, pattern="**")

    assert len(answer) < 61_000
    assert "of 200 files" in answer


async def test_a_walk_that_is_cut_says_so(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_walk, "MAX_ENTRIES", 3)

    assert "too large to see all of it" in await call(glob_tool, tree, pattern="*.py")


async def test_folders_that_cannot_be_listed_are_named(tree: Path, deny: Callable[[Path], None]) -> None:
    deny(tree / "src/deep")

    assert (await call(glob_tool, tree, pattern="src/**/*.py")).split("\n") == [
        "src/a.py",
        "(folders that cannot be listed: src/deep: permission denied)",
    ]


async def test_strange_names_stay_on_their_line(tmp_path: Path) -> None:
    make(tmp_path, {"a\nb": "", "c\udcff": ""})

    assert await call(glob_tool, tmp_path, pattern="*") == "a\\nb\nc\\udcff"


async def test_threads_give_the_same_answer_and_show_progress(tree: Path) -> None:
    shown: list[str] = []

    answer = await glob_tool.call({"pattern": "*.md"}, context(tree, blocking=ThreadBlocking(), shown=shown))

    assert answer == "README.md"
    assert shown == ["Looking for *.md"]
