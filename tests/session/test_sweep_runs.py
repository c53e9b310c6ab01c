"""Old runs are removed whole; whatever is in doubt stays, and every run is accounted for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from greenroom.core import UsageError
from greenroom.models import ScriptedModel
from greenroom.session import open_session, sweep_runs
from greenroom.store import RetentionSettings
from greenroom.trace import LOCK, hold_run, is_held
from tests.session.old_runs import NOW, OLD, OTHER, age, make_run


def outcome(runs: Path, **more: int) -> tuple[list[str], dict[str, str]]:
    report = sweep_runs(runs, RetentionSettings(keep_newest=0, **more), now=NOW)
    assert report.errors == ()
    return [one.run.id for one in report.removed], {one.run.id: one.why for one in report.kept}


def test_an_old_run_goes_with_all_that_is_in_it_and_nothing_else_does(tmp_path: Path) -> None:
    """An old session removed by the sweep also loses its agents' transcripts; memory stays.

    Behaviours (10), line 5.
    """
    runs = tmp_path / ".greenroom" / "runs"
    make_run(runs, OLD)
    young = make_run(runs, OTHER, days_ago=1)
    memory = tmp_path / ".greenroom" / "agent-memory" / "notes.md"
    for path in (memory, runs / "notes.md", runs / "mine" / "old.txt"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (0, 0))

    report = sweep_runs(runs, now=NOW)

    assert [one.run.id for one in report.removed] == [OLD]
    assert report.freed_bytes > 2_000
    assert sorted(path.name for path in runs.iterdir()) == sorted([OTHER, "mine", "notes.md"])
    assert (young / "transcripts" / "main.jsonl").is_file()
    assert memory.is_file()


def link(folder: Path) -> None:
    folder.rename(folder.parent.parent / "elsewhere")
    folder.symlink_to(folder.parent.parent / "elsewhere")


def forged_header(folder: Path) -> None:
    (folder / "journal.jsonl").write_text(f'{{"v":1,"run":"{OTHER}","greenroom":"0","python":"3","trio":"0"}}\n')


DOUBTS: dict[str, Callable[[Path], object]] = {
    "no folder": link,
    "keep": lambda folder: (folder / "keep").touch(),
    "no journal": lambda folder: (folder / "journal.jsonl").unlink(),
    "no journal that says": lambda folder: (folder / "journal.jsonl").write_text("my own notes\n"),
    "another run": forged_header,
    LOCK: lambda folder: (folder / LOCK).unlink(),
}


@pytest.mark.parametrize("doubt", DOUBTS)
def test_what_is_in_doubt_stays_and_is_told(tmp_path: Path, doubt: str) -> None:
    folder = make_run(tmp_path / "runs", OLD)
    DOUBTS[doubt](folder)
    age(folder, 100)

    removed, kept = outcome(tmp_path / "runs")

    assert removed == []
    assert doubt.removesuffix(" that says") in kept[OLD]
    assert (folder / "transcripts" / "main.jsonl").is_file()


def test_a_folder_that_cannot_be_read_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(tmp_path / "runs", OLD)
    scandir = os.scandir

    def refusing(path: str) -> object:
        if path.endswith("transcripts"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)

    assert outcome(tmp_path / "runs") == ([], {OLD: "cannot be read in full: Permission denied"})


def test_links_in_a_run_go_and_what_they_lead_to_stays(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "runs", OLD)
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "file").touch()
    (folder / "link").symlink_to(mine)
    age(folder, 100)

    assert outcome(tmp_path / "runs") == ([OLD], {})
    assert (mine / "file").is_file()


def test_what_changed_last_counts_wherever_it_lies_save_the_lock(tmp_path: Path) -> None:
    for name, file in ((OLD, "transcripts/agent-a1.jsonl"), (OTHER, LOCK)):
        os.utime(make_run(tmp_path / "runs", name) / file, (NOW.timestamp(), NOW.timestamp()))

    removed, kept = outcome(tmp_path / "runs")

    assert removed == [OTHER]
    assert kept == {OLD: "last changed 0 days ago"}


def test_the_run_of_a_living_session_stays(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "runs", OLD)

    with hold_run(folder):
        age(folder, 100)
        assert is_held(folder)
        dry = sweep_runs(tmp_path / "runs", RetentionSettings(keep_newest=0), now=NOW, is_dry_run=True)
        assert dry.removed == ()
        removed, kept = outcome(tmp_path / "runs", max_runs_bytes=1)

    assert removed == []
    assert "living" in kept[OLD]
    assert not is_held(folder)
    assert outcome(tmp_path / "runs") == ([OLD], {})


def test_a_run_that_was_resumed_since_it_was_looked_at_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_run(tmp_path / "runs", OLD)

    @contextmanager
    def hold_later(run: Path) -> Iterator[None]:
        (run / "journal.jsonl").touch()
        with hold_run(run):
            yield

    monkeypatch.setattr("greenroom.session.record._run_sweep.hold_run", hold_later)

    assert outcome(tmp_path / "runs") == ([], {OLD: "changed a moment ago"})
    assert folder.is_dir()


async def test_no_sweep_takes_what_an_open_session_writes(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    async with open_session(model=ScriptedModel(["One."]), cwd=tmp_path, runs=runs) as session:
        await session.run("Go.")
        later = datetime.now(UTC) + timedelta(days=1_000)
        kept = sweep_runs(runs, RetentionSettings(keep_newest=0), now=later)
        assert session.run_folder.is_dir()
    gone = sweep_runs(runs, RetentionSettings(keep_newest=0), now=later)

    assert [one.run.id for one in kept.kept] == [session.id]
    assert [one.run.id for one in gone.removed] == [session.id]
    assert not session.run_folder.exists()
    with pytest.raises(UsageError, match="No conversation found with session ID"):
        async with open_session(model=ScriptedModel([]), cwd=tmp_path, runs=runs, resume=session.id):
            pass


def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    make_run(runs, OLD)
    before = sorted((str(path), path.stat().st_mtime) for path in runs.rglob("*"))

    report = sweep_runs(runs, RetentionSettings(keep_newest=0), now=NOW, is_dry_run=True)

    assert [one.run.id for one in report.removed] == [OLD]
    assert sorted((str(path), path.stat().st_mtime) for path in runs.rglob("*")) == before


def test_a_sweep_that_was_cut_short_is_finished_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = tmp_path / "runs"
    make_run(runs, OLD)

    def refuse(path: Path) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", refuse)
        report = sweep_runs(runs, RetentionSettings(keep_newest=0), now=NOW)
    assert [one.run.id for one in report.removed] == [OLD]
    assert len(report.errors) == 1
    (left,) = runs.iterdir()
    assert OLD in left.name

    again = sweep_runs(runs, now=NOW)

    assert (again.leftovers, again.errors) == (1, ())
    assert list(runs.iterdir()) == []


def test_no_runs_are_nothing_to_sweep(tmp_path: Path) -> None:
    report = sweep_runs(tmp_path / "runs", now=NOW)
    assert (report.removed, report.kept, report.errors) == ((), (), ())
