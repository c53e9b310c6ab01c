"""The command greenroom sweep."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio

from greenroom.cli import main
from greenroom.worktrees import BaseRef, Fate, Worktrees, WorktreeSettings
from tests.session.old_runs import OLD, OTHER, make_run
from tests.worktrees.repositories import NEEDS_GIT, make_repository


def test_the_command_says_what_became_of_each_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = tmp_path / "runs"
    make_run(runs, OLD)
    young = make_run(runs, OTHER)
    (young / "report.md").touch()  # now, by the clock of the machine

    assert main(["sweep", "--runs", str(runs), "--days", "1", "--dry-run"]) == 0
    assert (runs / OLD).is_dir()
    assert f"{OLD}  would be removed: last changed" in capsys.readouterr().out
    assert main(["sweep", "--runs", str(runs), "--days", "1"]) == 0
    assert "1 run removed" in capsys.readouterr().out
    assert main(["sweep", "--runs", str(runs), "--days", "0"]) == 2
    assert "--days must be at least 1, got 0" in capsys.readouterr().err


def test_settings_files_say_how_long_runs_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A period that is unclear removes nothing."""
    runs = tmp_path / ".greenroom" / "runs"
    make_run(runs, OLD)
    (make_run(runs, OTHER) / "report.md").touch()
    settings = tmp_path / ".greenroom" / "settings.json"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GREENROOM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "their_home"))

    for text, code, said in (
        ('{"cleanupPeriodDays": 0}', 2, "cleanupPeriodDays"),
        ('{"cleanupPeriodDays": 30', 2, "no JSON"),
        ('{"cleanupPeriodDays": 100000}', 0, "0 runs removed"),
        ('{"cleanupPeriodDays": 1}', 0, "1 run removed"),
    ):
        settings.write_text(text)
        assert main(["sweep"]) == code
        printed = capsys.readouterr()
        assert said in printed.out + printed.err


@NEEDS_GIT
def test_the_command_takes_worktrees_of_agents_that_are_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Old ones without work in them."""
    project = make_repository(tmp_path / "project")
    trees = [trio.run(leave_worktree, project, agent) for agent in ("clean", "dirty")]
    (trees[0] / "new.txt").unlink()
    monkeypatch.chdir(project)
    monkeypatch.delenv("GREENROOM_RUNS", raising=False)

    assert main(["sweep"]) == 0
    assert [tree.exists() for tree in trees] == [True, True]
    for claim in (project / ".greenroom" / "worktrees").rglob("agent-*.json"):
        claim.write_text(json.dumps(json.loads(claim.read_text()) | {"made_at_s": 0}))
    assert main(["sweep", "--dry-run"]) == 0
    assert [tree.exists() for tree in trees] == [True, True]
    capsys.readouterr()

    assert main(["sweep", "--json"]) == 0

    said = {
        worktree["path"]: (worktree["fate"], worktree["why"])
        for worktree in json.loads(capsys.readouterr().out)["worktrees"]
    }
    assert said == {str(trees[0]): ("removed", ""), str(trees[1]): ("kept", "uncommitted changes: new.txt")}
    assert [tree.exists() for tree in trees] == [False, True]


async def leave_worktree(project: Path, agent: str) -> Path:
    hold = await Worktrees(WorktreeSettings(base_ref=BaseRef.HEAD)).open_for_agent(agent, cwd=project)
    (hold.worktree.path / "new.txt").write_text("new")
    assert (await hold.release()).fate is Fate.KEPT
    return hold.worktree.path
