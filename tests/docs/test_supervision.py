"""The page about supervision shows what the code does."""

from __future__ import annotations

from tests.docs.supervision import PAGE, insert


def test_the_figures_are_those_of_the_code() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert insert(page) == page, "run `python -m tests.docs.supervision`"
