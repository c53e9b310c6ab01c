"""The table of invariants in docs/explanation/journal.md, from the code: `python -m tests.docs.invariants` writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from greenroom.trace import CHECKS
from greenroom.trace._checks import AT_THE_END, WITH_FOLDS
from greenroom.trace._compare import COMPARED
from tests.promises import NOT_IN_A_JOURNAL, NOT_YET, PROMISES

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "journal.md"
BEGIN: Final = "<!-- invariants -->\n"
END: Final = "<!-- end of invariants -->"


def held_by() -> dict[str, str]:
    """Return for each invariant what looks for it."""
    found = {one: "" for one, _ in (WITH_FOLDS, AT_THE_END)}
    found = {check.id: check.needs.words if check.needs is not None else "" for check in CHECKS} | found
    checked = {id_: f"`--check`; needs: {needed}" if needed else "`--check`" for id_, needed in found.items()}
    compared = {id_: f'two runs: `COMPARED["{id_}"]`' for id_ in COMPARED}
    tests = {id_: f"tests: {one.why}" for id_, one in NOT_IN_A_JOURNAL.items()}
    missing = {id_: f"not yet: {why}" for id_, why in NOT_YET.items()}
    return {**missing, **tests, **compared, **checked}


def table() -> str:
    """Return the table, one line for each invariant."""
    by = held_by()
    said = {id_: promise.sentence.rstrip(".") for id_, promise in PROMISES.items()}
    rows = [f"| {id_} | {said.get(id_, '')} | {by[id_]} |" for id_ in sorted(by, key=_number)]
    return "\n".join(["| id | promise | held by |", "| --- | --- | --- |", *rows, ""])


def _number(promise: str) -> tuple[str, int, str]:
    """Return the order of ids: `I-9` before `I-10`, `R11-a` behind them."""
    kind, _, place = promise.partition("-")
    return (kind, int(place), "") if place.isdigit() else (kind, 0, place)


def insert(page: str) -> str:
    """Return the page with the table between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table()}{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(insert(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
