"""Lines with a mark are found in long files as a reader of every line would find them."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.session.record import _json_lines
from greenroom.session.record._json_lines import objects_of

MARKS = (b'"a"', b'"b')
LINES = st.sampled_from(
    (b'{"a":1}', b'{"b1":2,"a":3}', b'{"c":"long enough to be cut"}', b"", b"[1]", b'{"a":', b'"b"')
)


def read_every_line(content: bytes) -> list[object]:
    found: list[object] = []
    for line in content.split(b"\n"):
        if any(mark in line for mark in MARKS):
            try:
                values = json.loads(line)
            except ValueError:
                continue
            found += [values] if isinstance(values, dict) else []
    return found


@given(lines=st.lists(LINES, max_size=8), is_torn=st.booleans(), block=st.integers(1, 40))
def test_marked_lines_are_found_wherever_a_block_ends(lines: list[bytes], block: int, *, is_torn: bool) -> None:
    content = b"\n".join(lines) + b"\n" * (not is_torn)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_json_lines, "BLOCK_BYTES", block)
        patched.setattr(Path, "open", lambda *_: BytesIO(content))
        assert list(objects_of(Path("any"), *MARKS)) == read_every_line(content)


def test_a_missing_file_has_no_lines(tmp_path: Path) -> None:
    assert list(objects_of(tmp_path / "none", *MARKS)) == []
