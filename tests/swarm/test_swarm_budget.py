"""Budgets of a swarm: the ordered stop, its exit code, and usage that counts over resumed runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from greenroom.cli import main
from greenroom.core.sources import find_places
from greenroom.swarm._swarm_budget import model_settings
from greenroom.trace import find_run
from tests.swarm.small_repo import make_small_repo


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home" / ".greenroom").mkdir(parents=True)
    return tmp_path / "home"


def settle(home: Path, **models: object) -> None:
    (home / ".greenroom" / "settings.json").write_text(json.dumps({"models": models}), encoding="utf-8")


def tokens_of(out: str) -> int:
    tokens: int = json.loads(out.splitlines()[-1])["input_tokens"]
    return tokens


@pytest.mark.promise("S-partial")
@pytest.mark.parametrize("calls", [1, 5, 9])
def test_swarm_at_its_budget_stops_in_order_and_fails(
    calls: int, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repo, runs = make_small_repo(tmp_path / "small"), tmp_path / "runs"
    settle(home, budget={"calls": calls})

    code = main(["swarm", str(repo), "--model", "playbook", "--runs", str(runs)])

    out, err = capsys.readouterr()
    assert (code, err) == (1, "")
    assert f"Why:    Budget limit reached: {calls} of {calls} model calls" in out
    assert re.search(r"^Report: .*partial-report\.md$", out, re.MULTILINE)
    report = (find_run("last", runs).parent / "partial-report.md").read_text("utf-8")
    assert report.startswith("# Partial report: small\n\n**This report is not complete.** Budget limit reached: ")
    assert main(["replay", str(find_run("last", runs).parent), "--check"]) == 0


def test_resumed_swarm_counts_usage_of_all_its_processes(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repo, runs = make_small_repo(tmp_path / "small"), tmp_path / "runs"
    settle(home, budget={"calls": 8})  # the items are on the board by then
    main(["swarm", str(repo), "--model", "playbook", "--runs", str(runs), "--json"])
    used = tokens_of(capsys.readouterr().out)

    resume = ["swarm", "--resume", "last", "--model", "playbook", "--runs", str(runs), "--json"]
    code = main(resume)
    assert (code, tokens_of(capsys.readouterr().out)) == (1, used), "the budget holds for the run, not for a process"

    settle(home)
    assert main(resume) == 0
    out = capsys.readouterr().out
    assert '"state":"done"' in out
    assert not (find_run("last", runs).parent / "partial-report.md").exists()
    assert tokens_of(out) > used


@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf"])
def test_swarm_budget_that_is_not_positive_is_refused(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["swarm", "--max-budget-usd", value]) == 2

    assert "--max-budget-usd must be a number above 0" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("settings", "max_usd", "is_rule_based", "expected"),
    [
        ({}, None, False, {"models": {"budget": {}}}),
        ({}, None, True, {}),
        ({}, 2.0, True, {}),
        ({}, 2.0, False, {"models": {"budget": {"usd": 2.0}}}),
        (
            {"budget": {"usd": 9, "calls": 7}, "name": "claude-opus-5"},
            2.0,
            False,
            {"models": {"budget": {"usd": 2.0, "calls": 7}}},
        ),
        (
            {"budget": {"usd": 9, "calls": 7}},
            None,
            True,
            {"models": {"budget": {"calls": 7}, "retries": {"attempts": 1}}},
        ),
        (
            {"deadlines": {"first_token_s": 5}},
            None,
            False,
            {"models": {"deadlines": {"first_token_s": 5}, "budget": {}}},
        ),
    ],
)
def test_swarm_budget_combines_flag_and_user_settings(
    settings: dict[str, object],
    max_usd: float | None,
    is_rule_based: bool,
    expected: dict[str, object],
    home: Path,
    tmp_path: Path,
) -> None:
    settle(home, **settings)

    assert model_settings(find_places(tmp_path), max_usd=max_usd, is_rule_based=is_rule_based) == expected
