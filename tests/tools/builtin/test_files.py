from __future__ import annotations

import io
import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.tools.builtin import _file_reader
from greenroom.tools.builtin._file_reader import (
    LINE_BYTES,
    Binary,
    Block,
    Missing,
    Unreadable,
    blocks_of,
    kind_of,
    open_regular,
    refuse_binary,
    shown_path,
)


def blocks(content: bytes) -> list[Block]:
    return list(blocks_of(io.BytesIO(content)))


def lines(content: bytes) -> list[str]:
    return [line for block in blocks(content) for line in block.lines]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\n\nb", ["a", "", "b"]),
        (b"\n", [""]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\rb\n", ["a\rb"]),
        (b"a\x0cb\xe2\x80\xa8c\n", ["a\x0cb\u2028c"]),
        (b"a\xff\nb", ["a\ufffd", "b"]),
        (b"a\0b", ["a\ufffdb"]),
    ],
)
def test_only_line_feeds_end_lines(content: bytes, expected: list[str]) -> None:
    assert lines(content) == expected


@given(st.lists(st.text("aé\r€\U0001f600", max_size=9), max_size=12), st.integers(1, 7), st.booleans())
def test_blocks_never_change_the_lines(written: list[str], size: int, has_end: bool) -> None:
    """Wherever a block ends, in the middle of a character too."""
    content = "\n".join(written) + ("\n" if has_end and written else "")
    expected = [line.removesuffix("\r") for line in content.removesuffix("\n").split("\n")] if content else []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_file_reader, "BLOCK_BYTES", size)
        found = blocks(content.encode())

    assert [line for block in found for line in block.lines] == expected
    assert all(block.is_utf8 and block.count == len(block.lines) for block in found)


@pytest.mark.parametrize("character", ["a", "é", "€", "\U0001f600"])
@pytest.mark.parametrize("shift", range(4))
def test_of_a_very_long_line_the_start_is_kept_in_whole_characters(character: str, shift: int) -> None:
    long = "x" * shift + character * LINE_BYTES * 3

    found = blocks(f"first\n{long}\nlast\n".encode())

    first, kept, last = (line for block in found for line in block.lines)
    assert (first, last) == ("first", "last")
    assert long.startswith(kept)
    assert LINE_BYTES - 4 <= len(kept.encode()) <= LINE_BYTES
    assert sum(block.cut for block in found) == 1
    assert all(block.is_utf8 for block in found)


def test_bad_bytes_are_told() -> None:
    assert [block.is_utf8 for block in blocks(b"caf\xe9\n")] == [False]
    assert [block.is_utf8 for block in blocks("caf\ufffd\n".encode())] == [True]


def test_only_the_first_bytes_make_a_file_binary() -> None:
    with pytest.raises(Binary):
        refuse_binary(io.BytesIO(b"\x89PNG\0"))
    late = io.BytesIO(b"x" * 8192 + b"\0")
    refuse_binary(late)
    assert late.tell() == 0


def test_what_is_no_regular_file_is_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening a pipe would wait for its writer, opening a device may do something."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket")

    def no_opening(*_: object) -> int:
        raise AssertionError("opened")

    monkeypatch.setattr(os, "open", no_opening)
    for path, kind in [("pipe", "a named pipe"), ("socket", "a socket"), ("link", "a link"), (".", "a folder")]:
        with pytest.raises(Unreadable) as caught, open_regular(tmp_path / path):
            pass
        assert caught.value.reason == f"it is {kind}"
    with pytest.raises(Unreadable, match="a device"), open_regular(Path("/dev/null")):
        pass


def test_a_file_that_is_swapped_for_a_pipe_does_not_hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look and the opening anything may happen."""
    target = tmp_path / "file"
    target.write_text("x")
    seen = os.lstat(target)
    target.unlink()
    os.mkfifo(target)
    monkeypatch.setattr(os, "lstat", lambda _: seen)

    with pytest.raises(Unreadable), open_regular(target):
        pass


def test_kinds_and_reasons(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")

    assert kind_of(tmp_path) == "a folder"
    assert kind_of(tmp_path / "file") == "a file"
    for missing in ("nothing", "file/below"):
        with pytest.raises(Missing):
            kind_of(tmp_path / missing)
    with pytest.raises(Unreadable, match="levels of symbolic links"):
        kind_of(tmp_path / "loop")
    with pytest.raises(Unreadable, match="too long"):
        kind_of(tmp_path / ("x" * 300))


def test_paths_are_shown_relative_and_on_one_line() -> None:
    cwd = Path("/a/b")

    assert shown_path(Path("/a/b/c/d.py"), cwd) == "c/d.py"
    assert shown_path(Path("/a/c"), cwd) == "/a/c"
    assert shown_path(cwd, cwd) == "."
    assert shown_path(Path("/a/b/x\ny\udcff"), cwd) == r"x\ny\udcff"
