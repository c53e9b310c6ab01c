"""Edits of the bytes of a file, as properties; the tools are in test_edit.py."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from greenroom.tools.builtin._texts import decoded, encoded, line_count, plain

PIECES = st.sampled_from(["a", "b", "é", "\r", "\n", "\r\n", "\t", "\ufeff", "𝄞", "ab"])
TEXTS = st.lists(PIECES, max_size=30).map("".join)
CONTENTS = TEXTS.map(str.encode) | st.binary(max_size=40)


@given(CONTENTS)
def test_any_content_comes_back_byte_for_byte(content: bytes) -> None:
    assert decoded(content).replaced([], "x") == content


@given(TEXTS, st.booleans())
def test_text_without_carriage_returns_is_itself(text: str, has_mark: bool) -> None:
    unix = text.replace("\r", "").lstrip("\ufeff")

    read = decoded(encoded(unix, has_mark=has_mark))

    assert (read.plain, read.has_mark, read.is_utf8, read.carriages) == (unix, has_mark, True, ())


@given(CONTENTS, st.integers(0, 40), st.integers(0, 10), TEXTS)
def test_what_is_not_replaced_stays_byte_for_byte(content: bytes, start: int, length: int, new: str) -> None:
    """For any content and any place: what was before and behind it is before and behind the new text."""
    read = decoded(content)
    start = min(start, len(read.plain))
    end = min(start + length, len(read.plain))
    before = decoded(content).replaced([(start, len(read.plain))], "")
    behind = content.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    # From the back: as many line feeds, and all that is between them.
    rest = read.plain[end:]
    tail = behind[len(behind) - len(rest) - sum(1 for at in read.carriages if at >= end) :]

    after = read.replaced([(start, end)], plain(new))

    written = plain(new).replace("\n", read.line_end).encode("utf-8")
    assert after == before + written + tail.encode("utf-8", "surrogateescape")
    assert content.startswith(before)


@given(st.lists(st.sampled_from(["a", "b", "\n"]), max_size=20).map("".join), st.text("ab\n", min_size=1, max_size=4))
def test_a_file_with_windows_line_ends_is_edited_as_its_unix_twin(text: str, old: str) -> None:
    """Edited and then turned into Windows' line ends, or the other way round: the same bytes."""
    unix, windows = decoded(text.encode()), decoded(text.replace("\n", "\r\n").encode())
    spans = unix.spans(old)

    assert windows.spans(old) == spans
    for span in spans:
        twin = unix.replaced([span], "x\ny") if "\n" in text else unix.replaced([span], "xy")
        new = "x\ny" if "\n" in text else "xy"
        assert windows.replaced([span], new) == twin.replace(b"\n", b"\r\n")


@given(TEXTS, TEXTS.filter(bool))
def test_spans_are_all_places_where_the_text_stands(text: str, wanted: str) -> None:
    read = decoded(text.encode())

    expected = [at for at in range(len(read.plain)) if read.plain.startswith(wanted, at)]

    assert [start for start, _ in read.spans(wanted)] == expected


@given(TEXTS)
def test_lines_are_counted_as_read_numbers_them(text: str) -> None:
    assert line_count(text) == len(text.removesuffix("\n").split("\n")) if text else line_count(text) == 0
