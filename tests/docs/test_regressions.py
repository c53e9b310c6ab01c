"""Every row has a test or says what is missing, and every id that a test names is a row."""

from __future__ import annotations

from tests.docs.regressions import PAGE, SECTIONS, holders, ids_in, page
from tests.regressions import BEHAVIOURS, ROWS

EVERY = {**ROWS, **BEHAVIOURS}


def test_every_row_is_held_by_a_test() -> None:
    assert [id_ for id_, row in EVERY.items() if not row.open and id_ not in holders()] == []


def test_every_id_that_a_test_names_is_a_row() -> None:
    assert {id_: tests for id_, tests in holders().items() if id_ not in EVERY} == {}


def test_the_page_is_what_the_tests_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tests.docs`"
    assert {id_.partition(".")[0] for id_ in BEHAVIOURS} == set(SECTIONS)


def test_ids_are_found_in_names_and_docstrings() -> None:
    said = "RC-1, and CL-02: because. Behaviours (3), lines 1, 2 and 10; Behaviours (5), line 4."

    assert list(ids_in("test_rc_101_without_an_answer", said)) == [
        "RC-1",
        "CL-02",
        "RC-101",
        "3.1",
        "3.2",
        "3.10",
        "5.4",
    ]
    assert list(ids_in("test_13_2_json", "Nothing of RC.")) == []
