"""The page about the journal lists every invariant, and who looks for it."""

from __future__ import annotations

from tests.docs.invariants import PAGE, held_by, insert
from tests.promises import PROMISES


def test_the_table_is_that_of_the_code() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert insert(page) == page, "run `python -m tests.docs.invariants`"


def test_every_invariant_of_the_kernel_is_in_the_table() -> None:
    assert held_by().keys() == PROMISES.keys()
