"""The linter: its findings beside those of the rules, once each, with its rule as the source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from greenroom.swarm.survey._facts import FileFacts, Placed, Spotted, TreeFacts
from greenroom.swarm.survey._findings import findings_of
from greenroom.swarm.survey._linter import MISSING, MORE, PROGRAM, SAME, find_linter, read_linter, run_linter
from greenroom.swarm.survey._listing import Listing
from greenroom.swarm.survey._report import write_report
from greenroom.swarm.survey._survey import Survey

FIND = find_linter  # the fixture of this folder hides the linter from all other tests


def output(*entries: tuple[str, str, int]) -> str:
    return json.dumps(
        [{"code": code, "filename": path, "location": {"row": row}, "message": "said"} for code, path, row in entries]
    )


def surveyed(*placed: Placed, notes: tuple[str, ...] = (), linter: str = "") -> Survey:
    listing = Listing(total=1, paths=("a.py",), python={"a.py": 9}, others={})
    facts = FileFacts(path="a.py", lines=9, spotted=(Spotted(2, "shell", "run(x)"),), spotted_count=1)
    return Survey.gather("shop", listing, [facts, TreeFacts(found=placed, linter=linter, notes=notes)], ())


def test_only_known_rules_are_read_and_tests_may_do_what_products_may_not() -> None:
    text = output(
        ("F821", "/x/a.py", 1), ("F401", "/x/a.py", 2), ("F401", "/x/tests/test_a.py", 2), ("E501", "/x/a.py", 3)
    )

    found = list(read_linter(text, Path("/x")))

    assert [(finding.rule, finding.placed.kind, finding.placed.path) for finding in found] == [
        ("F821", "undefined-name", "a.py"),
        ("F401", "unused-import", "a.py"),
    ]


@pytest.mark.promise("SV-4")
def test_rule_that_agrees_is_a_source_and_not_a_second_finding() -> None:
    confirmed = Placed("shell", "a.py", 2, "said (ruff S602)")
    not_seen = Placed("shell", "a.py", 7, "said (ruff S602)")
    added = Placed("undefined-name", "a.py", 5, "Undefined name `y` (ruff F821)")

    found = findings_of(surveyed(confirmed, not_seen, added, linter="ruff 1"))

    assert [(finding.kind, finding.line, finding.text, finding.rule) for finding in found] == [
        ("undefined-name", 5, "Undefined name `y`", "(ruff F821)"),
        ("shell", 2, "run(x)", "(ruff S602)"),
    ]
    report = write_report(surveyed(confirmed, added, linter="ruff 1"))
    assert "- `a.py:2` `run(x)` (ruff S602)" in report
    assert "ruff 1 looked at the Python files too" in report


def test_report_names_a_linter_that_is_missing() -> None:
    assert f"- {MISSING}" in write_report(surveyed(notes=(MISSING,)))


@pytest.mark.parametrize("text", ["", "{}", "[{}]", '[{"code": 1}]'])
def test_output_that_is_not_the_linters_is_refused(text: str) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        list(read_linter(text, Path("/x")))


@pytest.mark.promise("SV-4")
def test_linter_is_run_without_a_trace_in_the_folder(tmp_path: Path) -> None:
    program = FIND()
    if program is None:
        pytest.skip("ruff is not installed")
    (tmp_path / "pyproject.toml").write_text('[tool.ruff.lint.per-file-ignores]\n"*.py" = ["F821"]\n', "utf-8")
    (tmp_path / "a.py").write_text("import os\n\n\ndef f(x):\n    return eval(x), y\n", encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))

    found = run_linter(program, tmp_path, ["a.py"])

    assert {finding.rule for finding in found} == {"F401", "F821", "S307"}
    assert {finding.placed.path for finding in found} == {"a.py"}
    assert all(finding.placed.text.endswith(f"({PROGRAM} {finding.rule})") for finding in found)
    assert sorted(tmp_path.rglob("*")) == before


def test_linter_that_cannot_be_started_or_fails_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        run_linter(tmp_path / "ruff", tmp_path, ["a.py"])


def test_no_rule_stands_for_two_kinds() -> None:
    assert MORE.keys().isdisjoint(SAME.keys())
