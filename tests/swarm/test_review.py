"""The recipe `review`: what changed, as git says it, and the report on it."""

from __future__ import annotations

import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.cli import main
from greenroom.core import UsageError
from greenroom.swarm.survey._changes import ChangedFile, Changes, describe, look_at_changes, parse_changes

BEFORE = "def old(x=[]):\n    eval(x)\n    return x\n\n\ndef other():\n    return 1\n"
AFTER = (
    "def old(x=[]):\n    eval(x)\n    y = x == None\n    return x\n\n\ndef other(kept=[]):\n    # TODO: sort\n"
    "    kept.append(1)\n    return eval(kept)\n"
)


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("GREENROOM_RUNS", str(tmp_path / "runs"))
    folder = tmp_path / "repo"
    (folder / "shop").mkdir(parents=True)
    git(folder, "init", "--quiet")
    (folder / "shop" / "prices.py").write_text(BEFORE)
    (folder / "shop" / "gone.py").write_text("x = 1\n")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "one")
    return folder


def change(folder: Path) -> None:
    (folder / "shop" / "prices.py").write_text(AFTER)
    (folder / "shop" / "gone.py").unlink()
    (folder / "new file.md").write_text("[lost](lost.md)\n")


def review(folder: Path, tmp_path: Path) -> str:
    assert main(["swarm", str(folder), "--recipe", "review"]) == 0
    (report,) = (tmp_path / "runs").glob("2*/report.md")
    return report.read_text(encoding="utf-8")


def changes_of(folder: Path) -> Changes:
    found = parse_changes(look_at_changes(folder))
    assert found is not None
    return found


# --- what changed -----------------------------------------------------------------------------------------------------


def test_git_says_which_lines_of_the_working_tree_are_new(repo: Path) -> None:
    change(repo)

    found = changes_of(repo)

    assert found.what.startswith("the working tree against ")
    assert set(found.files) == {
        ChangedFile("shop/prices.py", ((3, 3), (7, 10))),
        ChangedFile("shop/gone.py", (), is_deleted=True),
        ChangedFile("new file.md", None),
    }


def test_where_nothing_changed_it_is_the_last_commit(repo: Path) -> None:
    change(repo)
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message", "two")

    found = changes_of(repo)

    assert found.what.startswith("the commit ")
    assert ChangedFile("shop/prices.py", ((3, 3), (7, 10))) in found.files
    assert ChangedFile("new file.md", ((1, 1),)) in found.files


def test_a_line_that_was_taken_away_leaves_no_new_one(repo: Path) -> None:
    (repo / "shop" / "prices.py").write_text(BEFORE.replace("    eval(x)\n", ""))

    assert changes_of(repo).files == (ChangedFile("shop/prices.py", ()),)


def test_a_folder_of_a_repository_is_reviewed_by_itself(repo: Path) -> None:
    change(repo)

    assert {one.path for one in changes_of(repo / "shop").files} == {"prices.py", "gone.py"}


def test_a_repository_without_a_commit_has_only_new_files(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "a.py").touch()

    assert changes_of(tmp_path).files == (ChangedFile("a.py", None),)


def test_nothing_that_changed_is_said(repo: Path) -> None:
    git(repo, "commit", "--quiet", "--allow-empty", "--message", "nothing")

    with pytest.raises(UsageError, match="nothing has changed"):
        look_at_changes(repo)


PATH = st.text(alphabet="ab /.-_é", min_size=1, max_size=12).filter(lambda path: path == path.strip())
SPANS = st.lists(st.tuples(st.integers(1, 99), st.integers(0, 9)), max_size=3).map(
    lambda pairs: tuple((first, first + more) for first, more in pairs)
)
FILES = st.one_of(
    st.builds(ChangedFile, PATH, SPANS | st.none()),
    st.builds(ChangedFile, PATH, st.just(()), st.just(value=True)),
)


@given(st.lists(FILES, min_size=1, max_size=5), st.text(max_size=80))
def test_what_a_lead_is_told_is_read_back(files: list[ChangedFile], diff: str) -> None:
    changes = Changes("the commit abc", tuple(files))

    assert parse_changes(f"Task: x\n\n{describe(changes, diff)}") == changes


# --- the report -------------------------------------------------------------------------------------------------------


def test_the_review_names_what_is_new_by_concern_and_nothing_else(repo: Path, tmp_path: Path) -> None:
    change(repo)

    report = review(repo, tmp_path)

    places = [
        report.index(f"\n## {title}\n") for title in ("Mistakes", "Risks", "Tests", "Upkeep", "What was looked at")
    ]
    assert places == sorted(places)
    mistakes, risks, tests, upkeep = (report[first:last] for first, last in pairwise(places))
    assert "- `shop/prices.py:7` `def other(kept=[]):`" in mistakes
    assert "- `shop/prices.py:10` `return eval(kept)`" in risks
    assert "- Code changed and no test did: `shop/prices.py`" in tests
    assert "- `shop/prices.py:3` `y = x == None`" in upkeep
    assert "- `shop/prices.py:8` is a new TODO: `sort`" in upkeep
    assert "- `new file.md:1` `lost.md`" in upkeep
    assert "`shop/prices.py:1`" not in report, "that was there before"
    assert "`shop/prices.py:2`" not in report
    assert "- `shop/gone.py`: deleted" in report


def test_changes_without_a_finding_get_a_review_that_says_so(repo: Path, tmp_path: Path) -> None:
    (repo / "logo.txt").write_text("x\n")

    report = review(repo, tmp_path)

    assert "- **Findings:** none of what was looked for." in report
    assert "- `logo.txt`: all of it is new (no Python and no Markdown: searched for keys and conflicts only)" in report


def test_reviewing_changes_nothing_in_the_repository(repo: Path, tmp_path: Path) -> None:
    change(repo)
    before = {path: path.stat().st_mtime_ns for path in repo.rglob("*")}

    review(repo, tmp_path)

    assert {path: path.stat().st_mtime_ns for path in repo.rglob("*")} == before
