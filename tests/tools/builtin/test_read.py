from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from greenroom.core.ports import ThreadBlocking
from greenroom.tools import InvalidInput, OutsideRoots, ToolError
from greenroom.tools.builtin import read_tool
from tests.tools.calls import call, context, make


async def test_lines_are_numbered_as_by_cat_n(tmp_path: Path) -> None:
    make(tmp_path, {"a/b.py": "import x\n\n\treturn é\n"})

    assert await call(read_tool, tmp_path, file_path="a/b.py") == "     1\timport x\n     2\t\n     3\t\treturn é"
    assert await call(read_tool, tmp_path, file_path=f"{tmp_path}/a/b.py", offset=3) == "     3\t\treturn é"


async def test_a_part_says_how_to_go_on(tmp_path: Path) -> None:
    make(tmp_path, {"f": "".join(f"{n}\n" for n in range(1, 11))})

    part = await call(read_tool, tmp_path, file_path="f", offset=4, limit=2)
    end = await call(read_tool, tmp_path, file_path="f", offset=9, limit=2)

    assert part == "     4\t4\n     5\t5\n(f goes on: read the rest with offset=6)"
    assert end == "     9\t9\n    10\t10"


async def test_a_long_file_comes_in_parts_that_together_are_the_file(tmp_path: Path) -> None:
    """By lines where they are short, by characters where they are long; a huge file is never held whole."""
    make(tmp_path, {"short": "x\n" * 5_000, "long": ("y" * 1_500 + "\n") * 200})
    for name, count in (("short", 5_000), ("long", 200)):
        numbers: list[int] = []
        parts = 0
        while len(numbers) < count:
            answer = await call(read_tool, tmp_path, file_path=name, offset=len(numbers) + 1)
            assert len(answer) < 62_000
            numbers += [int(line.split("\t")[0]) for line in answer.splitlines() if "\t" in line]
            parts += 1

        assert numbers == list(range(1, count + 1))
        assert parts > 2


async def test_a_long_line_is_cut_and_says_so(tmp_path: Path) -> None:
    make(tmp_path, {"f": "x" * 5_000 + "\n" + "y" * 300_000 + "\nend\n"})

    first, second, end = (await call(read_tool, tmp_path, file_path="f")).splitlines()

    assert first == "     1\t" + "x" * 2_000 + "... (cut: the line has 5000 characters or more)"
    assert second.startswith("     2\t" + "y" * 2_000 + "... (cut")
    assert end == "     3\tend"


async def test_line_ends_of_windows_and_a_byte_order_mark_are_not_shown(tmp_path: Path) -> None:
    make(tmp_path, {"f": b"\xef\xbb\xbfone\r\ntwo\r\n"})

    assert await call(read_tool, tmp_path, file_path="f") == "     1\tone\n     2\ttwo"


async def test_bad_encoding_is_replaced_and_told(tmp_path: Path) -> None:
    make(tmp_path, {"f": b"caf\xe9\n", "fine": "caf\ufffd\n"})

    assert await call(read_tool, tmp_path, file_path="f") == (
        "     1\tcaf\ufffd\n(f is not all UTF-8: bad bytes are shown as \ufffd)"
    )
    assert await call(read_tool, tmp_path, file_path="fine") == "     1\tcaf\ufffd"


async def test_an_empty_file_says_so(tmp_path: Path) -> None:
    make(tmp_path, {"f": ""})

    assert await call(read_tool, tmp_path, file_path="f") == "(f is empty)"


async def test_an_offset_behind_the_end_says_where_the_end_is(tmp_path: Path) -> None:
    make(tmp_path, {"f": "a\nb\n"})

    with pytest.raises(ToolError, match=r"offset 3 is past the end of f \(2 lines\)"):
        await call(read_tool, tmp_path, file_path="f", offset=3)


async def test_a_missing_file_comes_with_names_that_are_near(tmp_path: Path) -> None:
    make(tmp_path, {"src/parser.py": "", "src/lexer.py": "", "src/parsers.py": ""})

    with pytest.raises(ToolError) as caught:
        await call(read_tool, tmp_path, file_path="src/prser.py")
    assert str(caught.value) == "src/prser.py does not exist; did you mean src/parser.py or src/parsers.py?"
    with pytest.raises(ToolError, match=r"^src/zzz does not exist$"):
        await call(read_tool, tmp_path, file_path="src/zzz")
    with pytest.raises(ToolError, match="neither does its folder"):
        await call(read_tool, tmp_path, file_path="sorc/parser.py")
    with pytest.raises(ToolError, match="does not exist"):
        await call(read_tool, tmp_path, file_path="src/lexer.py/below")


async def test_a_folder_is_answered_with_the_tool_that_lists_it(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="Glob"):
        await call(read_tool, tmp_path, file_path=".")


async def test_binary_special_and_unreadable_files_are_named_as_such(
    tmp_path: Path, deny: Callable[[Path], None]
) -> None:
    make(tmp_path, {"image": b"\x89PNG\0\0", "secret": "x"})
    os.mkfifo(tmp_path / "pipe")
    deny(tmp_path / "secret")

    for name, reason in (("image", "binary"), ("pipe", "named pipe"), ("secret", "permission denied")):
        with pytest.raises(ToolError, match=f"{name} .*{reason}"):
            await call(read_tool, tmp_path, file_path=name)


async def test_a_file_that_fails_in_the_middle_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise OSError(5, "Input/output error")

    make(tmp_path, {"f": "x"})
    monkeypatch.setattr("greenroom.tools.builtin._read.blocks_of", fail)

    with pytest.raises(ToolError, match="f cannot be read: input/output error"):
        await call(read_tool, tmp_path, file_path="f")


async def test_a_link_is_followed_within_the_directories_only(tmp_path: Path) -> None:
    make(tmp_path, {"in/f": "x", "out/f": "x"})
    (tmp_path / "in/good").symlink_to("f")
    (tmp_path / "in/bad").symlink_to("../out/f")
    (tmp_path / "in/loop").symlink_to("loop")

    assert await call(read_tool, tmp_path / "in", file_path="good") == "     1\tx"
    with pytest.raises(OutsideRoots):
        await call(read_tool, tmp_path / "in", file_path="bad")
    with pytest.raises(ToolError, match="loop"):
        await call(read_tool, tmp_path / "in", file_path="loop")


@pytest.mark.parametrize("values", [{"offset": 0}, {"limit": 0}, {"limit": "5"}, {"lines": 5}])
async def test_arguments_are_checked(tmp_path: Path, values: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        await call(read_tool, tmp_path, file_path="f", **values)


async def test_progress_is_shown_and_threads_give_the_same_answer(tmp_path: Path) -> None:
    make(tmp_path, {"f": "x\n" * 400_000})
    shown: list[str] = []
    ctx = context(tmp_path, blocking=ThreadBlocking(), shown=shown)

    answer = await read_tool.call({"file_path": "f", "offset": 399_999}, ctx)

    assert answer == "399999\tx\n400000\tx"
    assert shown == ["Reading f"]
