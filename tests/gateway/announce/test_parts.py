"""Parts of a long text: whole, within the limit, with closed fences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import UsageError
from greenroom.gateway.announce._parts import Measure, cut_parts, utf8_bytes, utf16_units

SCRIPTS = st.text(st.sampled_from("aä漢🙂é\u0301\u200d🏽🇩🇪\n \r`~>") | st.characters(codec="utf-8"))
PIECES = st.lists(
    SCRIPTS | st.sampled_from(("```python\n", "```\n", "> ```\n", "\n\n", "~~~\n", "word " * 9, "\n")), max_size=40
)


@pytest.mark.promise("A26-d")
@given(PIECES, st.integers(4, 120), st.sampled_from((len, utf8_bytes, utf16_units)))
def test_parts_are_the_text_and_within_the_limit(pieces: list[str], limit: int, measure: Measure) -> None:
    text = "".join(pieces)

    parts = cut_parts(text, limit, measure)

    assert "".join(part.body for part in parts) == text
    assert all(measure(part.text) <= limit for part in parts)
    assert all(part.body for part in parts)


def test_a_text_is_cut_between_paragraphs_then_lines_then_characters() -> None:
    assert [part.body for part in cut_parts("one\n\ntwo three\nfour", 12)] == ["one\n\n", "two three\n", "four"]
    assert [part.body for part in cut_parts("a" * 25, 10)] == ["a" * 10, "a" * 10, "a" * 5]


def test_no_character_is_cut() -> None:
    family = "👨\u200d👩\u200d👧"
    parts = cut_parts("e\u0301" * 5 + family + "🇩🇪", 7)

    assert all(not part.body.startswith(("\u0301", "\u200d", "🇪")) for part in parts)


def test_a_fence_is_closed_and_opened_again() -> None:
    code = "\n".join(f"print({number})" for number in range(12))
    parts = cut_parts(f"before\n\n```python\n{code}\n```\nafter\nStats: 1", 80)

    assert len(parts) > 2
    assert [part.text.count("```") % 2 for part in parts] == [0] * len(parts)
    assert parts[1].text.startswith("```python\nprint(")


@pytest.mark.promise("A6-j")
def test_the_last_line_stands_on_the_last_part_only() -> None:
    stats = "Stats: runtime 5m12s"
    parts = cut_parts("\n".join(["line " * 5] * 30) + "\n" + stats, 120)

    assert [stats in part.text for part in parts] == [False] * (len(parts) - 1) + [True]


def test_a_limit_below_a_character_is_refused() -> None:
    with pytest.raises(UsageError):
        cut_parts("🙂🙂", 3, utf8_bytes)
