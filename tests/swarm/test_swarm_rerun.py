"""A recorded swarm is done again from its record by `greenroom rerun`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from greenroom.swarm import SwarmOptions, recorded_swarm
from tests.cli.forked import run_forked
from tests.swarm.small_repo import make_small_repo


def run(*arguments: str, runs: Path) -> subprocess.CompletedProcess[str]:
    return run_forked(*arguments, environ={**os.environ, "GREENROOM_RUNS": str(runs)})


def test_a_recorded_swarm_is_equal_and_another_team_is_not(tmp_path: Path) -> None:
    """Exit codes: 0 for an equal run, 1 for a different one, 2 for a run that was not recorded."""
    folder, runs = make_small_repo(tmp_path / "repo"), tmp_path / "runs"
    assert run("swarm", str(folder), "--agents", "3", runs=runs).returncode == 0

    again = run("rerun", runs=runs)
    assert (again.returncode, again.stdout.endswith(" compared, 0 tokens\n")) == (0, True)

    beginning = next(runs.glob("*/swarm.json"))
    values = json.loads(beginning.read_text())
    beginning.write_text(json.dumps({**values, "model": ""}))
    _, of_claude = recorded_swarm("last", runs)
    assert "compaction" not in of_claude["settings"], "a run on Claude is done again as one, without a key too"
    beginning.write_text(json.dumps({**values, "agents": 2}))
    other = run("rerun", "last", "--json", runs=runs)
    assert other.returncode == 1
    said = json.loads(other.stdout)
    assert (said["is_equal"], said["tokens"]) == (False, 0)
    assert {"recorded", "now", "cause", "where"} <= said["difference"].keys()

    effects = next(runs.glob("*/effects.jsonl"))
    kept = effects.rename(effects.with_suffix(".kept"))
    refused = run("rerun", "last", runs=runs)
    assert (refused.returncode, "record one with --record" in refused.stderr) == (2, True)

    kept.rename(effects)
    beginning.unlink()
    other_session = run("rerun", "last", runs=runs)
    assert (other_session.returncode, "not a run of greenroom swarm" in other_session.stderr) == (2, True)


def test_a_missing_run_is_a_mistake_and_makes_no_folder(tmp_path: Path) -> None:
    missing = run("rerun", "last", runs=tmp_path / "runs")

    assert (missing.returncode, missing.stderr.count("\n")) == (2, 1)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("records", "resumes", "is_begun_so", "is_kept"),
    [
        (None, False, False, True),
        (False, False, False, False),
        (None, True, True, True),
        (None, True, False, False),
        (True, True, False, True),
    ],
)
def test_a_swarm_is_recorded_unless_it_was_begun_without(
    tmp_path: Path, records: bool | None, resumes: bool, is_begun_so: bool, is_kept: bool
) -> None:
    if is_begun_so:
        (tmp_path / "effects.jsonl").touch()

    options = SwarmOptions(path=tmp_path, records=records, resume=tmp_path if resumes else None)

    assert options.is_recorded is is_kept
