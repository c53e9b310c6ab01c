"""The page about the gateway's record shows the tables of the code."""

from __future__ import annotations

from tests.docs.gateway import PAGE, insert


def test_the_tables_are_those_of_the_code() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert insert(page) == page, "run `python -m tests.docs.gateway`"
