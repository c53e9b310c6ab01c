from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.tools.builtin import _walk
from greenroom.tools.builtin._walk import Walk
from tests.tools.calls import make


def walked(top: Path, *roots: Path) -> list[str]:
    walk = Walk(top, roots or (top,))
    return [file.relative_to(top).as_posix() for file in walk.files() if not isinstance(file, int)]


def test_files_come_sorted_by_their_whole_path(tmp_path: Path) -> None:
    names = ["a/x", "a-b/x", "a.py", "a0", "B", "ab/c/d", "ab/c-d", "é", ".hidden/x"]
    make(tmp_path, dict.fromkeys(names, ""))

    assert walked(tmp_path) == sorted(names)


@given(
    st.sets(
        st.lists(
            st.text("ab-./0é", min_size=1, max_size=2).filter(lambda n: "/" not in n and n.strip(".")),
            min_size=1,
            max_size=3,
        ).map("/".join),
        max_size=8,
    )
)
def test_the_order_is_that_of_the_path_texts(tmp_path_factory: pytest.TempPathFactory, names: set[str]) -> None:
    top = tmp_path_factory.mktemp("walk")
    for name in sorted(names):
        try:
            make(top, {name: ""})
        except (NotADirectoryError, IsADirectoryError, FileExistsError):
            continue  # one name of the set is the folder of another

    found = walked(top)

    assert found == sorted(found)
    assert set(found) == {path.relative_to(top).as_posix() for path in top.rglob("*") if path.is_file()}


def test_hidden_files_are_found_and_version_control_is_not(tmp_path: Path) -> None:
    make(tmp_path, {".github/ci.yml": "", ".env": "", ".git/config": "", "sub/.git": "gitdir: x", ".hg/x": "", "a": ""})

    assert walked(tmp_path) == [".env", ".github/ci.yml", "a"]


def test_links_are_neither_followed_nor_listed(tmp_path: Path) -> None:
    make(tmp_path, {"top/a/file": "", "out/secret": ""})
    (tmp_path / "top/a/up").symlink_to("..")
    (tmp_path / "top/out").symlink_to(tmp_path / "out")
    (tmp_path / "top/file").symlink_to("a/file")

    assert walked(tmp_path / "top") == ["a/file"]


def test_special_files_are_not_listed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    assert walked(tmp_path) == []


@pytest.mark.parametrize(
    ("rules", "left"),
    [
        ({".gitignore": "*.log\n"}, ["a.py", "build/x", "sub/a.py", "sub/build/y"]),
        ({".gitignore": "build/\n"}, ["a.log", "a.py", "sub/a.py", "sub/b.log"]),
        ({".gitignore": "/build\n"}, ["a.log", "a.py", "sub/a.py", "sub/b.log", "sub/build/y"]),
        ({".gitignore": "*.log\n!b.log\n"}, ["a.py", "build/x", "sub/a.py", "sub/b.log", "sub/build/y"]),
        (
            {".gitignore": "*.log", "sub/.gitignore": "!*.log"},
            ["a.py", "build/x", "sub/a.py", "sub/b.log", "sub/build/y"],
        ),
        ({"sub/.gitignore": "/a.py\n"}, ["a.log", "a.py", "build/x", "sub/b.log", "sub/build/y"]),
        ({".gitignore": "sub/\n!sub/a.py\n"}, ["a.log", "a.py", "build/x"]),
        ({".gitignore": "*.log", ".ignore": "!a.log\nbuild"}, ["a.log", "a.py", "sub/a.py"]),
        ({".gitignore": "!\n\\\n[z-a]\n*.log\r\n# *.py\n\nbuild"}, ["a.py", "sub/a.py"]),
        ({".gitignore": b"\xff\xfe\n*.log\n"}, ["a.py", "build/x", "sub/a.py", "sub/build/y"]),
        ({".gitignore": "sub/**/y\n**/*.log"}, ["a.py", "build/x", "sub/a.py"]),
        ({".gitignore/": ""}, ["a.log", "a.py", "build/x", "sub/a.py", "sub/b.log", "sub/build/y"]),
    ],
)
def test_ignore_files_hold_as_for_git(tmp_path: Path, rules: dict[str, str | bytes], left: list[str]) -> None:
    make(tmp_path, dict.fromkeys(["a.py", "a.log", "build/x", "sub/a.py", "sub/b.log", "sub/build/y"], ""))
    make(tmp_path, rules)

    assert [name for name in walked(tmp_path) if "ignore" not in name] == left


def test_ignore_files_above_hold_up_to_the_sessions_directory(tmp_path: Path) -> None:
    make(tmp_path, {".gitignore": "*.txt", "root/.gitignore": "*.log", "root/sub/a.log": "", "root/sub/b.txt": ""})

    assert walked(tmp_path / "root/sub", tmp_path / "root") == ["b.txt"]
    assert walked(tmp_path / "root/sub", tmp_path / "root/sub", tmp_path / "root") == ["b.txt"]
    assert walked(tmp_path / "root/sub", tmp_path) == []
    assert walked(tmp_path / "root/sub", tmp_path / "other") == ["a.log", "b.txt"]


def test_a_folder_that_is_named_is_walked_though_it_is_ignored(tmp_path: Path) -> None:
    """By its own rules then, not by those above it."""
    make(tmp_path, {".gitignore": "build/\n*.log", "build/sub/x": "", "build/sub/y.log": "", "build/.gitignore": "z"})
    make(tmp_path, {"build/z": "", "other/a.log": "", "other/b": ""})

    assert walked(tmp_path / "build", tmp_path) == [".gitignore", "sub/x", "sub/y.log"]
    assert walked(tmp_path / "build/sub", tmp_path) == ["x", "y.log"]
    assert walked(tmp_path / "other", tmp_path) == ["b"]


def test_lines_that_could_take_forever_or_warn_are_passed_over(tmp_path: Path) -> None:
    long = "a" * 250
    make(
        tmp_path, {".gitignore": "*a" * 20 + "b\n" + "**/a/" * 20 + "\n[[a]b\n[a&&b]c\nz", long: "", "z": "", "ab": ""}
    )

    assert walked(tmp_path) == [".gitignore", long, "ab"]


def test_an_ignore_file_that_is_a_link_out_is_not_read(tmp_path: Path) -> None:
    make(tmp_path, {"rules": "*", "top/a": ""})
    (tmp_path / "top/.gitignore").symlink_to("../rules")

    assert walked(tmp_path / "top") == ["a"]


def test_what_cannot_be_listed_is_noted(tmp_path: Path, deny: Callable[[Path], None]) -> None:
    make(tmp_path, {"a/x": "", "b/y": "", "b/.gitignore": "y"})
    deny(tmp_path / "a")
    deny(tmp_path / "b/.gitignore")
    walk = Walk(tmp_path, (tmp_path,))

    found = [file for file in walk.files() if not isinstance(file, int)]

    assert found == [tmp_path / "b/.gitignore", tmp_path / "b/y"]
    assert walk.unreadable == [(tmp_path / "a", "permission denied")]


@pytest.mark.parametrize(
    ("name", "value", "found"), [("MAX_ENTRIES", 3, ["a/b/x", "a/y"]), ("MAX_DEPTH", 1, ["a/y", "z"])]
)
def test_a_walk_has_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: int, found: list[str]
) -> None:
    make(tmp_path, dict.fromkeys(["a/b/x", "a/y", "z"], ""))
    monkeypatch.setattr(_walk, name, value + (name == "MAX_ENTRIES"))
    walk = Walk(tmp_path, (tmp_path,))

    assert [file.relative_to(tmp_path).as_posix() for file in walk.files() if not isinstance(file, int)] == found
    assert walk.is_cut
