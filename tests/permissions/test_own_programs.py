"""Programs that PATH finds where an agent may write: their names say nothing of what they do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import attrs
import pytest

from greenroom.core.ports import InlineBlocking
from greenroom.permissions import Effect, Mode, Request, check
from tests.permissions.policies import policy

SYSTEM: Final = "/usr/bin:/bin"


def make_program(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a program of its own, and ways to it from outside."""
    folder = tmp_path / "project"
    for name in ("cat", "git", "python", "cp", "sub/cat", "bin/cat", "bin/python", "other/a"):
        make_program(folder / name)
    (folder / "a.txt").write_text("x\n")
    (tmp_path / "linked").symlink_to(folder / "bin")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "cat").symlink_to(folder / "cat")
    make_program(tmp_path / "far" / "cat")
    return folder


async def effect_of(command: str, folder: Path, *, is_trusted: bool = False) -> Effect:
    held = attrs.evolve(policy(mode=Mode.ACCEPT_EDITS), is_trusted=is_trusted)
    request = Request(tool="Bash", input={"command": command}, cwd=str(folder), policy=held)
    return (await check(request, InlineBlocking())).effect


@pytest.mark.parametrize(
    "search",
    [
        ".",
        "",
        "bin",
        "./bin",
        "{project}",
        "{project}/bin",
        "{project}/../project/bin",
        "{root}/linked",
        "{root}/outside",
    ],
)
@pytest.mark.parametrize(
    "command",
    ["cat a.txt", "head -1 a.txt | cat", "time cat a.txt", "cat < a.txt", "bash -c 'cat a.txt'", "echo $(cat a.txt)"],
)
async def test_program_in_a_working_directory_is_asked_about(
    search: str, command: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{search.format(project=project, root=project.parent)}:{SYSTEM}")

    for is_trusted in (False, True):
        assert await effect_of(command, project, is_trusted=is_trusted) is Effect.ASK


@pytest.mark.parametrize("search", ["", "/usr/local/bin:", "{root}/far:", "{project}/other:", "{project}/none:"])
async def test_program_outside_is_run_unasked(search: str, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{search.format(project=project, root=project.parent)}{SYSTEM}")

    assert await effect_of("cat a.txt | head -1; echo hi", project) is Effect.ALLOW


async def test_program_of_the_system_counts_if_it_comes_first(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{SYSTEM}:{project}:.")

    assert await effect_of("cat a.txt", project) is Effect.ALLOW


@pytest.mark.parametrize("command", ["cd sub; cat a.txt", "cp a.txt b.txt", "git status"])
async def test_program_of_a_relative_folder_is_asked_about(
    command: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f".:{SYSTEM}")

    assert await effect_of(command, project) is Effect.ASK


async def test_version_of_a_trusted_environment_is_told_unasked(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{project}/bin:{SYSTEM}")

    assert await effect_of("python --version", project) is Effect.ASK
    assert await effect_of("python --version", project, is_trusted=True) is Effect.ALLOW
    assert await effect_of("echo hi; cd .; pwd", project) is Effect.ALLOW


def test_shell_is_not_that_of_the_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from greenroom.tools.builtin._bash import shell_program

    make_program(project / "bash")
    monkeypatch.chdir(project)
    for search in (".", "", "./bin"):
        monkeypatch.setenv("PATH", f"{search}{os.pathsep}{SYSTEM}")
        shell_program.cache_clear()
        assert Path(shell_program()).is_relative_to("/usr/bin") or Path(shell_program()).is_relative_to("/bin")
    shell_program.cache_clear()
