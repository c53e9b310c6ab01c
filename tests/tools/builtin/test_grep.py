from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core.ports import ThreadBlocking
from greenroom.tools import OutsideRoots, ToolError
from greenroom.tools.builtin import READ_ONLY_TOOLS, _grep, grep_tool
from greenroom.tools.builtin._automaton import SearchBudget
from greenroom.tools.builtin._programs import BadPattern
from tests.tools.calls import call, context, make

P = ParamSpec("P")
T = TypeVar("T")

CODE = {
    "README.md": "# Title\nTODO: write\n",
    "src/a.py": "import x\n\ndef f(a):\n    return a  # TODO one\n\ndef g():\n    pass\n",
    "src/b.js": "function f() {}\n// todo two\n",
    "tests/test_a.py": "from src import a\n",
}


@pytest.fixture
def code(tmp_path: Path) -> Path:
    return make(tmp_path, dict(CODE))


async def grep(folder: Path, pattern: str, **options: Any) -> list[str]:
    """Grep with `_A=1` for `-A`."""
    named = {name.replace("_", "-", 1) if name.startswith("_") else name: value for name, value in options.items()}
    return (await call(grep_tool, folder, pattern=pattern, **named)).split("\n")


async def content(folder: Path, pattern: str, **options: Any) -> list[str]:
    return await grep(folder, pattern, output_mode="content", **options)


async def test_by_default_the_files_are_listed_sorted_by_path(code: Path) -> None:
    assert await grep(code, "TODO") == ["README.md", "src/a.py"]


async def test_content_shows_path_number_and_line(code: Path) -> None:
    assert await content(code, r"def \w+") == ["src/a.py:3:def f(a):", "src/a.py:6:def g():"]
    assert await content(code, r"def \w+", _n=False) == ["src/a.py:def f(a):", "src/a.py:def g():"]


async def test_count_counts_matching_lines(code: Path) -> None:
    assert await grep(code, "f", output_mode="count") == ["src/a.py:2", "src/b.js:1", "tests/test_a.py:1"]


async def test_case_can_be_ignored(code: Path) -> None:
    assert await grep(code, "todo") == ["src/b.js"]
    assert await grep(code, "todo", _i=True) == ["README.md", "src/a.py", "src/b.js"]


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"glob": "*.py"}, ["src/a.py", "tests/test_a.py"]),
        ({"glob": "src/*"}, ["src/a.py", "src/b.js"]),
        ({"glob": "!*.py"}, ["README.md", "src/b.js"]),
        ({"type": "py"}, ["src/a.py", "tests/test_a.py"]),
        ({"type": "py", "glob": "test_*"}, ["tests/test_a.py"]),
        ({"path": "src"}, ["src/a.py", "src/b.js"]),
        ({"path": "src", "glob": "*.js"}, ["src/b.js"]),
        ({"path": "README.md"}, ["README.md"]),
        ({"path": "README.md", "glob": "*.py"}, ["README.md"]),
        ({"glob": None, "type": None}, ["README.md", "src/a.py", "src/b.js", "tests/test_a.py"]),
    ],
)
async def test_files_can_be_chosen(code: Path, options: dict[str, Any], found: list[str]) -> None:
    """A file that is named is searched, whatever the filters say."""
    assert await grep(code, "", **options) == found


async def test_context_is_marked_and_groups_are_set_apart(tmp_path: Path) -> None:
    make(tmp_path, {"f": "".join(f"{n}\n" for n in range(1, 13)), "g": "5\n"})

    assert await content(tmp_path, r"^5$|^6$|^11$", _C=1, path="f") == [
        *("f-4-4", "f:5:5", "f:6:6", "f-7-7", "--", "f-10-10", "f:11:11", "f-12-12")
    ]
    assert await content(tmp_path, "^5$", _A=2, path="f") == ["f:5:5", "f-6-6", "f-7-7"]
    assert await content(tmp_path, "^5$", _B=1, _C=3, path="f") == ["f-4-4", "f:5:5", "f-6-6", "f-7-7", "f-8-8"]
    assert await content(tmp_path, "^5$", _B=1) == ["f-4-4", "f:5:5", "--", "g:1:5"]
    assert await content(tmp_path, r"^5$|^7$", _C=1, path="f") == ["f-4-4", "f:5:5", "f-6-6", "f:7:7", "f-8-8"]
    assert await content(tmp_path, r"^1$|^4$", _C=1, path="f") == ["f:1:1", "f-2-2", "f-3-3", "f:4:4", "f-5-5"]


@given(
    st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=30),
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(1, 9),
)
async def test_context_is_the_same_wherever_blocks_end(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], before: int, after: int, size: int
) -> None:
    folder = make(tmp_path_factory.mktemp("grep"), {"f": "\n".join(lines) + "\n"})
    matching = {at for at, line in enumerate(lines) if line == "a"}
    shown = {near for at in matching for near in range(at - before, at + after + 1) if 0 <= near < len(lines)}
    expected: list[str] = []
    for at in sorted(shown):
        if expected and at - 1 not in shown and (before or after):
            expected.append("--")
        mark = ":" if at in matching else "-"
        expected.append(f"f{mark}{at + 1}{mark}{lines[at]}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("greenroom.tools.builtin._file_reader.BLOCK_BYTES", size)
        found = await content(folder, "a", _B=before, _A=after)

    assert found == (expected or ["(no match for 'a' in .; 1 files searched)"])


@pytest.mark.parametrize("mode", ["content", "count", "files_with_matches"])
async def test_a_cut_answer_goes_on_where_it_ended(tmp_path: Path, mode: str) -> None:
    make(tmp_path, {f"f{n}": "x\ny\nx\n" for n in range(10)})
    whole = await grep(tmp_path, "x", output_mode=mode)
    parts: list[str] = []
    while len(parts) < len(whole):
        part = await grep(tmp_path, "x", output_mode=mode, head_limit=3, offset=len(parts))
        parts += part[:3]
        more = [f"(there is more: go on with offset={len(parts)}, or narrow the search)"]
        assert part[3:] == (more if len(parts) < len(whole) else [])

    assert parts == whole


async def test_the_default_limit_and_no_limit(tmp_path: Path) -> None:
    make(tmp_path, {"f": "x\n" * 1_000})

    assert len(await content(tmp_path, "x")) == 251
    assert len(await content(tmp_path, "x", head_limit=0)) == 1_000


async def test_no_answer_is_longer_than_one_may_be(tmp_path: Path) -> None:
    make(tmp_path, {"f": ("x" * 400 + "\n") * 1_000})

    lines = await content(tmp_path, "x", head_limit=0)

    assert sum(map(len, lines)) < 61_000
    assert lines[-1] == f"(there is more: go on with offset={len(lines) - 1}, or narrow the search)"


async def test_an_offset_behind_the_end_says_so(code: Path) -> None:
    assert await grep(code, "TODO", offset=5) == [
        "(nothing more: the search for 'TODO' in . has fewer than 6 lines of output)"
    ]


async def test_no_match_is_an_answer(code: Path) -> None:
    assert await grep(code, "nowhere", path="src") == ["(no match for 'nowhere' in src; 2 files searched)"]


async def test_what_is_passed_over_is_named(code: Path, deny: Callable[[Path], None]) -> None:
    make(code, {"image.png": b"\x89PNG\0TODO", "secret": "TODO", "latin": b"caf\xe9 TODO\n", "closed/x": "TODO"})
    os.mkfifo(code / "pipe")
    deny(code / "secret")
    deny(code / "closed")

    assert await grep(code, "TODO") == [
        "README.md",
        "latin",
        "src/a.py",
        "(skipped, binary: image.png)",
        "(skipped, cannot be read: secret: permission denied)",
        "(not all UTF-8, bad bytes replaced: latin)",
        "(folders that cannot be listed: closed: permission denied)",
        "(skipped, not a regular file: pipe)",
    ]


async def test_of_many_files_passed_over_a_few_are_named(tmp_path: Path) -> None:
    make(tmp_path, {f"f{n}": b"\0" for n in range(9)})

    assert await grep(tmp_path, "x") == [
        "(no match for 'x' in .; 0 files searched)",
        "(skipped, binary: f0, f1, f2, f3, f4, and 4 more)",
    ]


async def test_a_file_that_fails_in_the_middle_is_named(code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(_grep, "blocks_of", fail)

    assert await grep(code, "x", path="src/a.py") == [
        "(no match for 'x' in src/a.py; 0 files searched)",
        "(skipped, cannot be read: src/a.py: input/output error)",
    ]


async def test_ignored_files_are_left_out_and_hidden_ones_are_not(code: Path) -> None:
    make(code, {".gitignore": "build/\n", "build/x": "TODO", ".env": "TODO", ".git/x": "TODO"})

    assert await grep(code, "TODO") == [".env", "README.md", "src/a.py"]
    assert await grep(code, "TODO", path="build") == ["build/x"]


async def test_line_ends_of_windows_are_no_part_of_a_line(tmp_path: Path) -> None:
    make(tmp_path, {"f": "one\r\ntwo\r\n"})

    assert await content(tmp_path, "e$") == ["f:1:one"]


async def test_long_lines_are_searched_at_their_start_and_shown_shortly(tmp_path: Path) -> None:
    make(tmp_path, {"f": "x" * 2_000 + "here\n" + "y" * 200_000 + "there\n"})

    assert await content(tmp_path, "here") == [
        "f:1:" + "x" * 500 + "... (cut: the line has 2004 characters or more)",
        "(very long lines, searched only at their start: 1)",
    ]


async def test_multiline_matches_run_over_lines(code: Path) -> None:
    assert await content(code, r"def f.*?return \w", multiline=True) == [
        "src/a.py:3:def f(a):",
        "src/a.py:4:    return a  # TODO one",
    ]
    assert await grep(code, r"\)\s+pass$", multiline=True) == ["(no match for '\\)\\s+pass$' in .; 4 files searched)"]
    assert await grep(code, r":\s+pass$", multiline=True, output_mode="count") == ["src/a.py:2"]
    assert await content(code, r"^import x\n\ndef", multiline=True) == [
        "src/a.py:1:import x",
        "src/a.py:2:",
        "src/a.py:3:def f(a):",
    ]


async def test_files_too_large_for_multiline_are_named(code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_grep, "MULTILINE_BYTES", 40)

    assert await grep(code, "TODO", multiline=True) == ["README.md", "(skipped, too large for multiline: src/a.py)"]


@pytest.mark.parametrize("multiline", [False, True])
async def test_a_pattern_that_hangs_re_is_answered(tmp_path: Path, multiline: bool) -> None:
    make(tmp_path, {"f": ("a" * 60 + "!\n") * 500})

    assert (await grep(tmp_path, "(a+)+$", multiline=multiline))[0].startswith("(no match")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"pattern": "("}, "cannot be searched for: missing \\)"),
        ({"pattern": "(?=x)"}, "look-around"),
        ({"pattern": "x", "path": "nowhere"}, "nowhere cannot be searched: it does not exist"),
        ({"pattern": "x", "type": "cobol"}, "unknown file type 'cobol'; expected one of: c, "),
        ({"pattern": "x", "glob": "../*"}, "climbs"),
        ({"pattern": "x", "-A": -1}, "-A: expected an integer or null of at least 0"),
        ({"pattern": "x", "output_mode": "lines"}, "one of 'content'"),
        ({"pattern": "x", "-x": True}, "no argument of this name"),
    ],
)
async def test_what_cannot_be_done_is_told(code: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ToolError, match=words):
        await grep_tool.call(options, context(code))


async def test_a_search_that_costs_too_much_ends_with_words(code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise BadPattern("spent")

    monkeypatch.setattr(SearchBudget, "spend", refuse)

    with pytest.raises(ToolError, match="spent"):
        await grep(code, "(f.*)+x")


async def test_a_special_file_that_is_named_is_passed_over(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    assert await grep(tmp_path, "x", path="pipe") == [
        "(no match for 'x' in pipe; 0 files searched)",
        "(skipped, cannot be read: pipe: it is a named pipe)",
    ]


async def test_a_search_stays_within_the_directories(code: Path) -> None:
    (code / "src/up").symlink_to(code / "README.md")

    assert await grep(code / "src", "Title") == ["(no match for 'Title' in .; 2 files searched)"]
    for path in ("..", "/etc", "up"):
        with pytest.raises(OutsideRoots):
            await grep(code / "src", "x", path=path)


async def test_a_search_can_be_cancelled_between_files(tmp_path: Path) -> None:
    make(tmp_path, {f"f{n}": "y\n" * 200_000 for n in range(4)})
    shown: list[str] = []
    scope = trio.CancelScope()

    class Cancelling:
        async def run(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
            if len(shown) == 2:
                scope.cancel()
            return await ThreadBlocking().run(function, *args, **kwargs)

    with scope:
        await grep_tool.call({"pattern": "x"}, context(tmp_path, blocking=Cancelling(), shown=shown))

    assert scope.cancelled_caught
    assert shown[0] == "Searching for x"
    assert len(shown) == 2


def test_importing_the_tools_loads_no_matcher_of_ignore_files() -> None:
    """It is loaded by the first search of a folder that has an ignore file."""
    code = "import sys, greenroom.tools.builtin; sys.exit('pathspec' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=30).returncode == 0


def test_all_three_only_read() -> None:
    assert [tool.name for tool in READ_ONLY_TOOLS] == ["Read", "Glob", "Grep"]
    assert all(tool.is_read_only for tool in READ_ONLY_TOOLS)
