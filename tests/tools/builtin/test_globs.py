from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.tools.builtin._globs import BadGlob, compile_glob, split_fixed


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("*.py", ["a.py", "x/y/a.py", ".py"], ["a.pyc", "a.py/b"]),
        ("a?.py", ["ab.py", "x/ab.py"], ["a.py", "abc.py"]),
        ("[a-c]x", ["ax", "q/cx"], ["dx"]),
        ("[!a]x", ["bx"], ["ax"]),
        ("src/*.py", ["src/a.py"], ["src/b/a.py", "x/src/a.py", "a.py"]),
        ("./*.py", ["a.py"], ["src/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/b/c/a.py"], ["a.py"]),
        ("**/test_*", ["test_a", "b/test_a"], ["b/atest_"]),
        ("src/**", ["src/a", "src/b/c"], ["src", "x/src/a"]),
        ("src/", ["src/a", "src/b/c"], ["src"]),
        ("**", ["a", "b/c"], []),
        ("a/**/**/b", ["a/b", "a/x/y/b"], ["b"]),
        ("*.{py,js}", ["a.py", "x/a.js"], ["a.ts"]),
        ("{src,lib}/*.{a,b}", ["src/x.a", "lib/x.b"], ["x.a"]),
        ("{*.md,src/*.py}", ["x/y.md", "src/a.py"], ["x/src/a.py"]),
        ("a{b,c{d,e}}f", ["abf", "acdf", "acef"], ["acf"]),
        ("{a}", ["{a}"], ["a"]),
        ("A*", ["Ab"], ["ab"]),
        ("a**b", ["axxb"], ["a/b"]),
        (".github/*", [".github/x"], ["github/x"]),
    ],
)
def test_a_glob_matches_these_and_not_those(pattern: str, matching: list[str], others: list[str]) -> None:
    glob = compile_glob(pattern)

    assert [path for path in matching if not glob.matches(path)] == []
    assert [path for path in others if glob.matches(path)] == []


def test_an_anchored_name_is_not_looked_for_below() -> None:
    assert compile_glob("*.py", is_anchored=True).matches("a.py")
    assert not compile_glob("*.py", is_anchored=True).matches("b/a.py")


@pytest.mark.parametrize("pattern", ["", ".", "../x", "a/../b", "x" * 1_001, "{a,b}" * 10])
def test_what_is_no_glob_is_refused(pattern: str) -> None:
    with pytest.raises(BadGlob):
        compile_glob(pattern)


def test_brackets_that_are_no_set_stand_for_themselves() -> None:
    assert compile_glob("[z-a").matches("[z-a")
    assert not compile_glob("[z-a]").matches("z")


def test_no_glob_takes_long() -> None:
    """`timeout` in the settings would end the test."""
    assert not compile_glob("*a" * 100 + "b").matches("a" * 250)
    assert not compile_glob("**/a/" * 100 + "b").matches("a/" * 100 + "c")


@pytest.mark.parametrize(
    ("pattern", "parts"),
    [
        ("*.py", ("", "*.py")),
        ("a.py", ("", "a.py")),
        ("a/b/*.py", ("a/b", "*.py")),
        ("a/{b/c,d}/e", ("a", "{b/c,d}/e")),
        ("/a/b/*.py", ("/a/b", "*.py")),
        ("/*.py", ("/", "*.py")),
        ("src/", ("src", "")),
        ("**/a", ("", "**/a")),
    ],
)
def test_a_pattern_splits_into_a_folder_and_the_rest(pattern: str, parts: tuple[str, str]) -> None:
    assert split_fixed(pattern) == parts


@given(st.text("ab*?[]{},!/.-\\^", max_size=15), st.text("ab/.", min_size=1, max_size=8))
def test_any_text_is_a_glob_or_refused(pattern: str, path: str) -> None:
    try:
        glob = compile_glob(pattern)
    except BadGlob:
        return
    assert glob.matches(path) in {True, False}
