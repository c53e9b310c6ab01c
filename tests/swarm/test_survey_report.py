"""The report on a repository with planted findings: each of them at its line, and nothing else."""

from __future__ import annotations

import re

import pytest

from greenroom.cli import main
from greenroom.swarm.survey import _linter
from greenroom.swarm.survey._kinds import KINDS, WEIGHTS
from tests.swarm.planted import Planted, make_planted_repo

_PLACE = re.compile(r"- `([^`]+):(\d+)`")


@pytest.fixture(scope="module")
def surveyed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, set[Planted]]:
    """Return the report on the planted repository, and what was planted."""
    folder = tmp_path_factory.mktemp("planted")
    runs = tmp_path_factory.mktemp("runs")
    planted = make_planted_repo(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("ANTHROPIC_API_KEY", raising=False)
        patch.setattr(_linter, "find_linter", lambda: None)
        assert main(["swarm", str(folder), "--runs", str(runs)]) == 0
    (report,) = runs.glob("2*/report.md")
    return report.read_text(encoding="utf-8"), planted


def found_in(report: str) -> set[Planted]:
    """Read the findings back: the kind by its title, the places below it."""
    kind_of = {kind.title: name for name, kind in KINDS.items()}
    found = set()
    name = ""
    for line in report.splitlines():
        if line.startswith("#"):
            title = re.sub(r" \([\d,]+(, [\d,]+ in tests)?\)$", "", line.lstrip("# "))
            name = kind_of.get(title, "") if line.startswith("### ") else ""
        place = _PLACE.match(line)
        if name and place:
            found.add((name, place[1], int(place[2])))
    return found


@pytest.mark.promise("SV-5")
def test_every_planted_finding_is_reported_at_its_line_and_no_decoy_is(surveyed: tuple[str, set[Planted]]) -> None:
    report, planted = surveyed

    found = found_in(report)

    assert found - planted == set(), "decoys"
    assert planted - found == set(), "missed"


def test_every_kind_is_planted(surveyed: tuple[str, set[Planted]]) -> None:
    """What packaging can lack in a file that is otherwise right or wrong has its tests with the documents."""
    _, planted = surveyed

    assert {kind for kind, _, _ in planted} == KINDS.keys() - {"no-toml", "no-readme"} - {*_linter.MORE.values()}


def test_findings_are_grouped_by_weight_and_say_why_and_what_to_do(surveyed: tuple[str, set[Planted]]) -> None:
    report, planted = surveyed

    places = [report.index(f"\n## {title}\n") for title in WEIGHTS.values()]
    assert places == sorted(places)
    assert places[-1] < report.index("## Size and shape")
    for kind in {kind for kind, _, _ in planted}:
        known = KINDS[kind]
        start = report.index(f"\n### {known.title} (")
        assert f"{known.why} {known.fix}" in report[start : start + 600]
    heaviest = sum(KINDS[kind].weight == 3 for kind, _, _ in planted)
    assert f"- **Findings:** {heaviest} places to mend first, " in report


def test_the_report_says_what_was_looked_at_and_what_was_not(surveyed: tuple[str, set[Planted]]) -> None:
    report, _ = surveyed
    looked_at = report[report.index("## What was looked at") : report.index("## What was left out")]
    left_out = report[report.index("## What was left out") :]

    assert "6 documents read, with 8 links to files beside them" in looked_at
    assert "Looked for and not found: `pyproject.toml` does not parse; " in looked_at
    assert "- `tests/data/python2.py`: not parsed: line 1: " in left_out
    assert "- `shop/latin.py`: not UTF-8: the bytes that are not were replaced" in left_out
    assert "- Binary: 1 file (docs/shot one.png)" in left_out
