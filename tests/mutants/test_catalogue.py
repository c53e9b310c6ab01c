"""The mutants fit the code, and every promise has one; `make mutants` runs them."""

from __future__ import annotations

from pathlib import Path

import pytest

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


def test_a_patch_that_no_longer_fits_says_so() -> None:
    mutant = Mutant("stale", (), "greenroom.actors._cell", "no such text", "")

    with pytest.raises(LookupError, match="stale: its text is 0 times"):
        mutant.applied_to("source")
