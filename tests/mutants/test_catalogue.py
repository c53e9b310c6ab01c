"""The mutants fit the code, and every promise has one; `make mutants` runs them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.promise_tags import named_in_tests
from tests.promises import PROMISES
from tools.mutants.all_mutants import MUTANTS
from tools.mutants.catalogue import Mutant

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_its_patch_fits_and_is_a_program(mutant: Mutant) -> None:
    source = (ROOT / (mutant.module.replace(".", "/") + ".py")).read_text(encoding="utf-8")

    broken = mutant.applied_to(source)

    assert broken != source
    compile(broken, mutant.module, "exec")


def test_names_are_unique() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


def test_every_promise_has_a_mutant() -> None:
    broken = {name for mutant in MUTANTS for name in mutant.promises}

    assert sorted(set(PROMISES) - broken) == []
    assert sorted(broken - set(PROMISES)) == []


def test_every_mutant_is_run_against_a_test_of_its_promises() -> None:
    """Where tests are listed, only those of the promises run."""
    without = []
    for mutant in MUTANTS:
        named = {name for name, files in named_in_tests().items() for file in files if is_in(file, mutant.tests)}
        if mutant.promises and mutant.tests and not named & set(mutant.promises):
            without.append(mutant.name)

    assert without == []


def is_in(file: str, places: Sequence[str]) -> bool:
    return any(f"tests/{file}" == place or f"tests/{file}".startswith(f"{place}/") for place in places)


def test_a_patch_that_no_longer_fits_says_so() -> None:
    mutant = Mutant("stale", (), "greenroom.actors._cell", "no such text", "")

    with pytest.raises(LookupError, match="stale: its text is 0 times"):
        mutant.applied_to("source")
