"""Every promise has a test, and every id that a test names is a promise."""

from __future__ import annotations

from greenroom.trace import CHECKS
from greenroom.trace._checks import AT_THE_END, WITH_FOLDS
from greenroom.trace._compare import COMPARED
from tests.promise_tags import named_in_tests, named_promises
from tests.promises import CHECKS_OF_THE_GATEWAY, NOT_IN_A_JOURNAL, NOT_YET, PROMISES, UNHELD_CHECKS


def test_every_promise_is_held_by_a_test() -> None:
    assert sorted(set(PROMISES) - set(named_in_tests())) == []


def test_every_id_that_a_test_names_is_a_promise() -> None:
    assert {name: files for name, files in named_in_tests().items() if name not in PROMISES} == {}


def test_each_invariant_of_the_kernel_is_either_held_or_said_to_be_missing() -> None:
    assert set(PROMISES) & set(NOT_YET) == set()
    assert {f"I-{number}" for number in range(1, 53)} <= set(PROMISES) | set(NOT_YET)


def test_each_check_of_the_gateway_is_held_or_said_to_be_missing() -> None:
    checks = {f"{part}-{letter}" for part, letters in CHECKS_OF_THE_GATEWAY.items() for letter in letters}

    assert sorted(checks - set(PROMISES)) == sorted(UNHELD_CHECKS)


def test_each_promise_is_checked_in_a_journal_or_in_two_or_is_said_to_be_in_none() -> None:
    checked = [*(check.id for check in CHECKS), WITH_FOLDS[0], AT_THE_END[0]]

    assert sorted([*checked, *COMPARED, *NOT_IN_A_JOURNAL], key=number_of) == sorted(PROMISES, key=number_of)


def test_what_is_in_no_journal_is_held_by_the_modules_that_are_named() -> None:
    named = named_in_tests()

    assert [(id_, test) for id_, one in NOT_IN_A_JOURNAL.items() for test in one.tests if test not in named[id_]] == []


def number_of(promise: str) -> tuple[str, int, str]:
    """Return the order of ids: `I-9` before `I-10`, `R11-a` behind them."""
    kind, _, place = promise.partition("-")
    return (kind, int(place), "") if place.isdigit() else (kind, 0, place)


def test_ids_are_found_in_every_form_of_the_mark() -> None:
    source = """
@pytest.mark.promise("I-1", "I-2")
def test(): ...

pytestmark = [pytest.mark.promise(*("I-3", "I-4"), "I-5")]
"""
    assert sorted(named_promises(source)) == ["I-1", "I-2", "I-3", "I-4", "I-5"]
