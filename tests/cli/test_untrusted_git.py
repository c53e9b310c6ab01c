"""An agent's own commands of git in a folder that nobody trusts: nothing that the repository names runs unasked."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from greenroom.models import Call, WrittenAnswer
from greenroom.testing import ReceivedRequest
from tests.cli.place import Place, end_of
from tests.cli.served import served
from tests.containment.planted import make_planted, ran
from tests.worktrees.repositories import NEEDS_GIT, make_repository

pytestmark = NEEDS_GIT
COMMANDS: Final = (
    *(
        "git status",
        "git diff HEAD~1 -- a.txt",
        "git log -p",
        "git log --stat",
        "git show HEAD:a.txt",
        "git blame a.txt",
    ),
    *(
        "git grep first",
        "git ls-files -m",
        "git describe --dirty",
        "git stash list",
        "git branch -a",
        "git diff-index HEAD",
    ),
    *(
        "git diff --submodule=diff",
        "git --no-pager log -1",
        "git status | head -3",
        "bash -c 'git status'",
        "time git diff",
    ),
)


def attempt(place: Place, commands: Sequence[str], *flags: str) -> list[dict[str, Any]]:
    """Run a model that tries all commands at once, and return the results that it got."""
    calls = [Call("Bash", {"command": command}, id=f"toolu_{number}") for number, command in enumerate(commands)]
    told: list[dict[str, Any]] = []

    def script(request: ReceivedRequest) -> Any:
        if len(request.body["messages"]) == 1:
            return WrittenAnswer(calls)
        told.extend(block for block in request.body["messages"][-1]["content"] if block["type"] == "tool_result")
        return "Done."

    with served(script) as server, place.started(server.url, "Look.", *flags) as process:
        assert end_of(process).code == 0
    return told


@pytest.mark.parametrize("mode", ["acceptEdits", "plan"])
def test_git_of_an_agent_runs_nothing_of_an_untrusted_repository(mode: str, place: Place, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    shutil.rmtree(place.folder)
    make_planted(place.folder, marks)
    for name in ran(marks):  # what the test's own git ran
        (marks / name).unlink()

    results = attempt(place, COMMANDS, "--permission-mode", mode)

    assert ran(marks) == []
    assert len(results) == len(COMMANDS)
    assert all(result.get("is_error") for result in results)
    assert (
        sum("the folder is not trusted (--trust" in str(result["content"]) for result in results) >= len(COMMANDS) - 1
    )


def test_git_of_an_agent_runs_unasked_where_nothing_is_named(place: Place) -> None:
    shutil.rmtree(place.folder)
    make_repository(place.folder)

    results = attempt(place, ("git status --short", "git log --oneline", "git diff HEAD", "git show HEAD:file.txt"))

    assert [result for result in results if result.get("is_error")] == []


def test_git_of_an_agent_runs_what_a_trusted_repository_names(place: Place, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    shutil.rmtree(place.folder)
    make_planted(place.folder, marks)

    attempt(place, ("git status",), "--trust")

    assert "core-fsmonitor" in ran(marks)


POISONS: Final = {
    "another repository": {"GIT_DIR": "{other}/.git", "GIT_WORK_TREE": "{other}"},
    "only its settings": {"GIT_COMMON_DIR": "{other}/.git"},
    "its index": {"GIT_INDEX_FILE": "{other}/.git/index", "GIT_OBJECT_DIRECTORY": "{other}/.git/objects"},
    "one setting": {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": "touch {marks}/env",
    },
    "settings of a command line": {"GIT_CONFIG_PARAMETERS": "'core.fsmonitor'='touch {marks}/env'"},
}


@pytest.mark.parametrize("poison", POISONS)
def test_git_of_an_agent_stays_in_its_folder_whatever_greenroom_inherits(
    poison: str, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = tmp_path / "marks"
    shutil.rmtree(place.folder)
    make_repository(place.folder)
    other = make_planted(tmp_path / "other", marks)
    (other / "theirs.txt").write_text("SECRET of theirs\n")
    for name in ran(marks):  # what the test's own git ran
        (marks / name).unlink()
    for name, value in POISONS[poison].items():
        monkeypatch.setenv(name, value.format(other=other, marks=marks))

    results = attempt(place, ("git status --short", "git log -p", "git ls-files", "git diff HEAD"))

    assert ran(marks) == []
    assert [result for result in results if result.get("is_error")] == []
    told = str([result["content"] for result in results])
    assert "file.txt" in told
    assert "theirs" not in told
    assert "b.md" not in told
