"""Where runs lie and which one is meant."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from greenroom.core import UsageError
from greenroom.trace import JOURNAL, find_run, runs_folder

HEADER = b'{"v":1,"run":"r","greenroom":"0","python":"3","trio":"0"}\n'


def make_run(runs: Path, name: str, content: bytes = HEADER) -> Path:
    folder = runs / name
    folder.mkdir(parents=True)
    (folder / JOURNAL).write_bytes(content)
    return folder / JOURNAL


def test_what_was_given_wins_over_the_environment_and_that_over_the_project(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    environ = {"GREENROOM_RUNS": "elsewhere"}

    assert runs_folder(Path("given"), environ=environ, cwd=tmp_path) == tmp_path / "given"
    assert runs_folder(None, environ=environ, cwd=tmp_path) == tmp_path / "elsewhere"
    assert runs_folder(None, environ={}, cwd=tmp_path) == tmp_path / ".greenroom" / "runs"
    assert runs_folder(tmp_path / "a", environ={}, cwd=Path("/")) == tmp_path / "a"


@pytest.mark.parametrize("mark", [".git", ".greenroom"])
def test_the_nearest_project_around_the_current_folder_is_meant(mark: str, tmp_path: Path) -> None:
    """Behaviours (10), line 1."""
    inner = tmp_path / "project" / "src" / "deep"
    inner.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / "project" / mark).mkdir()

    assert runs_folder(environ={}, cwd=inner) == tmp_path / "project" / ".greenroom" / "runs"


def test_without_a_project_the_current_folder_is_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("greenroom.trace._runs.PROJECT_MARKS", (".no-such-mark",))
    assert runs_folder(environ={}) == tmp_path / ".greenroom" / "runs"


def test_a_run_is_found_by_folder_file_or_id(tmp_path: Path) -> None:
    journal = make_run(tmp_path, "20261120-225103-k3f9qz")
    for run in (str(journal), str(journal.parent), "20261120-225103-k3f9qz"):
        assert find_run(run, tmp_path) == journal


@pytest.mark.parametrize(("started", "is_last"), [("2026-11-21T00:00:00+00:00", True), ("2026-11-19T23:59:59Z", False)])
def test_when_a_run_with_a_chosen_id_began_is_in_its_journal(tmp_path: Path, started: str, is_last: bool) -> None:
    """Such an id says nothing of the time."""
    header = HEADER.replace(b"}", f',"started":"{started}"}}'.encode())
    chosen = make_run(tmp_path, "fedcba98-e89b-42d3-a456-426614174000", header)
    other = make_run(tmp_path, "20261120-225103-k3f9qz")
    make_run(tmp_path, "00000000-e89b-42d3-a456-426614174000")

    assert find_run("last", tmp_path) == (chosen if is_last else other)


def test_last_is_the_greatest_session_id_with_a_whole_header(tmp_path: Path) -> None:
    make_run(tmp_path, "20261120-225103-k3f9qz")
    wanted = make_run(tmp_path, "20261121-000000-aaaaaa")
    make_run(tmp_path, "20261122-000000-aaaaaa", HEADER[:-1])
    make_run(tmp_path, "20261123-000000-aaaaaa", b"garbage\n")
    make_run(tmp_path, "zzz-not-a-session")
    (tmp_path / "20261124-000000-aaaaaa").mkdir()
    (tmp_path / "20261125-000000-aaaaaa").touch()

    assert find_run("last", tmp_path) == wanted


@pytest.mark.parametrize("later", ["aaaaaa", "zzzzzz"])
def test_of_two_runs_of_one_second_the_last_is_the_one_that_was_written_last(tmp_path: Path, later: str) -> None:
    other = make_run(tmp_path, "20261121-000000-mmmmmm")
    wanted = make_run(tmp_path, f"20261121-000000-{later}")
    os.utime(other, ns=(10**18, 10**18))
    os.utime(wanted, ns=(10**18, 10**18 + 1))

    assert find_run("last", tmp_path) == wanted


@pytest.mark.parametrize("run", ["last", "nothing", "20261120-225103-k3f9qz", ""])
def test_what_is_not_there_is_a_mistake_of_the_caller(run: str, tmp_path: Path) -> None:
    for runs in (tmp_path, tmp_path / "missing"):
        with pytest.raises(UsageError):
            find_run(run, runs)
