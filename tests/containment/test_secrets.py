"""Known secrets in texts and in files that grow."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.containment import Secrets

KEY = "sk-ant-0123456789"
QUOTED = 'p4ss"word\\é'
HELD = Secrets({"ANTHROPIC_API_KEY": KEY, "DB_PASSWORD": QUOTED, "PATH": "/usr/bin:/bin:/opt", "EMPTY_TOKEN": ""})


@given(st.lists(st.sampled_from([KEY, QUOTED, "plain ", KEY[:5], "\n", "*"]), max_size=12))
def test_no_text_holds_a_secret_after_masking(parts: list[str]) -> None:
    text = "".join(parts)

    masked = HELD.mask(text)

    assert len(masked) == len(text)
    assert KEY not in masked
    assert QUOTED not in masked
    assert HELD.mask(masked) == masked


@pytest.mark.parametrize(
    ("name", "value", "is_masked"),
    [
        ("ANTHROPIC_API_KEY", "abcdefg1", True),
        ("ANTHROPIC_API_KEY", "abcdef1", False),  # too short: it would be found everywhere
        ("PGPASSWORD", "postgres", False),  # a word of many files
        ("PGPASSWORD", "postgres1", True),
        ("API_TOKEN", "correcthorsebatterystaple", True),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/ann/key1.json", False),
        ("AWS_PROFILE", "my-profile-number-1", False),
        ("USER", "somebody-with-1-name", False),
    ],
)
def test_a_value_is_masked_if_its_name_and_form_say_so(name: str, value: str, *, is_masked: bool) -> None:
    assert (Secrets({name: value}).mask(f"<{value}>") != f"<{value}>") is is_masked


def test_masking_reaches_every_text_of_a_value() -> None:
    value = {"a": [KEY, 1, None, {"b": f"x{KEY}"}], "c": (KEY,)}

    masked = HELD.mask_value(value)

    assert KEY not in str(masked)
    assert masked["a"][1:3] == [1, None]


def test_a_secret_that_json_escapes_is_masked_in_lines() -> None:
    import json

    line = json.dumps({"error": QUOTED}).encode()
    assert HELD.mask_bytes(line) != line
    assert len(HELD.mask_bytes(line)) == len(line)
    assert json.loads(HELD.mask_bytes(line))["error"].strip("*") == ""


@given(st.lists(st.integers(0, 40), max_size=6), st.integers(0, 3))
def test_a_secret_that_comes_in_parts_is_masked_in_its_file(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], rest: int
) -> None:
    """A command writes as it likes, and the file is looked at between its writes."""
    path = tmp_path_factory.mktemp("output") / "b1.output"
    text = f"a={KEY} b={KEY}{KEY}" + "." * rest
    start = 0
    with path.open("ab") as file:
        for first, last in zip([0, *sorted(cuts)], [*sorted(cuts), len(text)], strict=True):
            file.write(text[first:last].encode())
            file.flush()
            start = HELD.mask_file(path, start)
    HELD.mask_file(path)

    assert path.read_text() == HELD.mask(text)


def test_a_secret_across_blocks_of_a_large_file_is_masked(tmp_path: Path) -> None:
    path = tmp_path / "b1.output"
    block = 1 << 20
    for shift in (0, 5, len(KEY) - 1, len(KEY)):
        text = "x" * (block - shift) + KEY + "y" * block
        path.write_text(text)
        HELD.mask_file(path)
        assert path.read_text() == HELD.mask(text)
