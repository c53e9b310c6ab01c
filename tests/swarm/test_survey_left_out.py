"""The top of a report: files that were not read."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from greenroom.cli import main
from greenroom.swarm.survey import _listing
from greenroom.swarm.survey._facts import FileFacts, TextFacts
from greenroom.swarm.survey._listing import Listing, next_looks, read_listing
from greenroom.swarm.survey._report import write_report
from greenroom.swarm.survey._survey import Survey
from greenroom.swarm.survey._survey_conversation import SurveyConversation, ToolCall


def summary_of(report: str) -> str:
    return report[report.index("## Summary") : report.index("\n## ", report.index("## Summary") + 1)]


def survey(files: int, *, is_cut: bool = False, unreadable: int = 0) -> Survey:
    paths = [f"f{n:04}.py" for n in range(files)]
    listing = Listing(
        total=files + 3,
        paths=tuple(paths),
        python=dict.fromkeys(paths, 1),
        others={},
        is_python_cut=is_cut,
        python_total=90 * is_cut,
    )
    facts = [FileFacts(path=path, lines=1, problem="cannot be read" * (n < unreadable)) for n, path in enumerate(paths)]
    return Survey.gather("small", listing, [*facts, TextFacts(path="README.md")], ())


def test_report_of_cut_tree_says_so_in_its_summary() -> None:
    summary = summary_of(write_report(survey(20, is_cut=True)))

    assert "the first 20 Python files by path of 90, and no more," in summary
    assert "- **Left out:** Python files after `f0019.py`" in summary


@pytest.mark.parametrize(("unreadable", "more"), [(1, ""), (2, "and 1 more"), (9, "and 8 more, listed at the end")])
def test_summary_counts_what_it_does_not_name(unreadable: int, more: str) -> None:
    summary = summary_of(write_report(survey(20, unreadable=unreadable)))

    assert "- **Left out:** `f0000.py`: cannot be read; " in summary
    assert more in summary


@pytest.mark.parametrize("arguments", [[], ["--task", 'Look for "needle".']])
def test_special_files_are_named_in_summary_and_section(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, runs = tmp_path / "small", tmp_path / "runs"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.py").write_text("needle = 1\n", encoding="utf-8")
    os.mkfifo(folder / "README.md")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(folder / "deep" / "door.py"))
        assert main(["swarm", str(folder), "--model", "playbook", "--runs", str(runs), *arguments]) == 0

    (path,) = runs.glob("2*/report.md")
    report = path.read_text(encoding="utf-8")
    named = "Not a regular file: 2 files (README.md, deep/door.py)"
    assert f"- **Left out:** {named}" in summary_of(report)
    assert f"- {named}" in report[report.index("## What was left out") :]


def test_of_a_cut_tree_the_number_of_python_files_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_listing, "MAX_FILES", 2)
    page = "a.py:1\nb.py:1\n(there is more: go on with offset=2, or narrow the search)"
    calls: list[ToolCall] = []
    answers = {"Glob": "(the first 2 of 90 files; there are more)\n", "Grep": page}
    while looks := next_looks(SurveyConversation(tuple(calls), ())):
        assert len(calls) < 9
        calls += [
            ToolCall(len(calls) + n, look.name, look.input, answers[look.name], is_error=False)
            for n, look in enumerate(looks)
        ]

    listing = read_listing(SurveyConversation(tuple(calls), ()))

    assert calls[-1].input["pattern"] == "**/*.{py,pyi}"
    assert (listing.is_python_cut, listing.python_total, len(listing.python)) == (True, 90, 2)
