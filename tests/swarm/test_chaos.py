"""A swarm in trouble: what goes wrong on purpose changes nothing in what comes out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from greenroom.cli import main
from greenroom.models import FaultRates
from greenroom.swarm import _swarm_plan
from tests.swarm.planted import make_planted_repo


def swarm(folder: Path, runs: Path, *more: str) -> tuple[str, list[list[str]]]:
    """Run a swarm; return its report, and for each restart who was started again."""
    assert main(["swarm", str(folder), "--runs", str(runs), *more]) == 0
    (run,) = runs.glob("2*")
    events = [json.loads(line) for line in (run / "journal.jsonl").read_text("utf-8").splitlines()]
    name_of = {
        event["actor"]: event.get("path", "").rpartition("/")[2] for event in events if event.get("ev") == "actor.new"
    }
    restarts = [
        [name_of[each] for each in event["together"]] for event in events if event.get("ev") == "child.restarted"
    ]
    return (run / "report.md").read_text("utf-8"), restarts


@pytest.mark.parametrize("seed", ["1", "4"])
def test_failures_put_into_a_run_leave_its_findings_as_they_are(
    seed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    folder = tmp_path / "planted"
    make_planted_repo(folder)
    report, calm = swarm(folder, tmp_path / "calm")
    monkeypatch.setattr(_swarm_plan, "FaultRates", lambda **more: FaultRates(crash=0.3, **more))

    again, troubled = swarm(folder, tmp_path / "troubled", "--chaos", "--seed", seed)

    assert again == report
    assert calm == []
    assert len(troubled) == 2
    assert capfd.readouterr().err == "", "a crash that was asked for is no news"
    assert main(["replay", str(next((tmp_path / "troubled").glob("2*")))]) == 0
    assert "restarts  2" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("strategy", "restart", "restarted"),
    [("one_for_one", "transient", 1), ("one_for_all", "transient", 3), ("one_for_one", "temporary", 0)],
)
def test_a_recipe_says_who_is_restarted(
    strategy: str, restart: str, restarted: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setattr(
        _swarm_plan,
        "FaultRates",
        lambda **more: FaultRates(overloaded=0, cut=0, hang=0, crash=1, most_crashes=1, **more),
    )
    folder = tmp_path / "planted"
    make_planted_repo(folder)
    recipe = tmp_path / "own.toml"
    recipe.write_text(
        f'rules = "survey"\nstrategy = "{strategy}"\n[[roles]]\nname = "reader"\ncount = 3\nrestart = "{restart}"\n'
    )

    _, restarts = swarm(folder, tmp_path / "runs", "--recipe", str(recipe), "--chaos")

    assert sum(name.startswith("reader-") for together in restarts for name in together) == restarted
