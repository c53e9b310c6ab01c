"""Commands and edits of an agent in a worktree: not in the main checkout, nor with its git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.containment._git_calls import clean_environment
from greenroom.worktrees import Worktree, WorktreeKind, confine_path, why_refused

ROOT = Path("/nowhere/main")
TREE = ROOT / ".greenroom" / "worktrees" / "one"
WORKTREE = Worktree(name="one", path=TREE, branch="worktree-one", base="", root=ROOT, kind=WorktreeKind.AGENT)

REFUSED = [
    "cd /nowhere/main && git reset --hard",
    "cd ../../.. && rm -r sub",
    "cd ..; cd ..; ls",
    "(cd ../../..; make)",
    "true\ncd /nowhere/main\nls",
    "pushd /nowhere/main",
    "cd /nowhere/main/.greenroom/worktrees/two",
    "cd -",
    "cd $HOME/x",
    "cd `pwd`/../../..",
    "cd ~other",
    "git -C /nowhere/main reset --hard",
    "git -C .. -C ../.. status",
    "git -c color.ui=never -C /nowhere/main log",
    "git --git-dir=/nowhere/main/.git log",
    "git --git-dir /nowhere/main/.git --work-tree . checkout .",
    "git --work-tree=../../.. checkout .",
    "git --git-dir=$(git rev-parse --git-common-dir) log",
    "git -c core.worktree=/nowhere/main checkout .",
    "git -c alias.x='!cd /nowhere/main' x",
    "GIT_DIR=/nowhere/main/.git git log",
    "GIT_WORK_TREE=../../.. git checkout .",
    "GIT_DIR=$X git log",
    "env GIT_DIR=/nowhere/main/.git git log",
    "export GIT_DIR=/nowhere/main/.git",
    "env -C /nowhere/main make",
    "sudo -n git -C /nowhere/main gc",
    "sh -c 'cd /nowhere/main; make'",
    'bash -lc "git -C ../../.. reset"',
    "echo $(cd /nowhere/main && git stash)",
    "echo `git -C /nowhere/main stash`",
    "make -C /nowhere/main install",
    "make -C/nowhere/main",
    "tar --directory=/nowhere/main -xf x.tar",
    "echo x > /nowhere/main/file.txt",
    "echo x >> ../../../file.txt",
    "echo x 2>/nowhere/main/err",
    "echo x > $TARGET",
    "ln -s /nowhere/main there",
    "if true; then cd /nowhere/main; fi",
    "true | (cd /nowhere/main && tee x)",
    "eval cd /nowhere/main",
    "source script.sh",
    "$CMD x",
    "echo 'cd /' | sh",
    "bash <<X\ncd /nowhere/main\nX",
    "echo 'open",
    "CDPATH=/nowhere cd main",
    "HOME=/nowhere/main cd",
]
ALLOWED = [
    "",
    "ls -la",
    "git status && git commit -am 'cd /nowhere/main'",
    "cd sub && make -j2 test",
    "cd /nowhere/main/.greenroom/worktrees/one/sub",
    "cd sub; cd ..; git log",
    "cd /tmp && ls",
    "git -C sub log --oneline",
    "git -C /tmp/other status",
    "GIT_AUTHOR_NAME=x git commit",
    "FOO=bar python -m pytest 'a b' 2>&1 | tail -3",
    "for f in *.py; do echo $f; done",
    "if [ -f x ]; then cat x; fi",
    "echo x > out.txt 2>/dev/null",
    "cat /nowhere/main/README.md",
    "/nowhere/main/.venv/bin/python -m pytest",
    "sh -c 'cd sub && ls'",
    "sh script.sh",
    "echo $(git rev-parse HEAD)",
    "make -C sub",
    "git log -- '*.py'",
    "grep -rn 'a|b;c' .",
]


@pytest.mark.parametrize("command", REFUSED)
def test_refused(command: str) -> None:
    """CL-43; Behaviours (11), line 3."""
    why = why_refused(command, cwd=TREE, worktree=WORKTREE)

    assert str(TREE) in why
    assert "\n" not in why


@pytest.mark.parametrize("command", ALLOWED)
def test_allowed(command: str) -> None:
    assert why_refused(command, cwd=TREE, worktree=WORKTREE) == ""


def test_where_it_starts_counts() -> None:
    assert why_refused("ls", cwd=ROOT / "sub", worktree=WORKTREE)
    assert not why_refused("ls", cwd=TREE / "sub", worktree=WORKTREE)


@given(st.lists(st.sampled_from(["..", ".", "sub", "a", "main", ".greenroom", "worktrees", "one"]), max_size=9))
def test_a_folder_is_refused_exactly_when_the_shell_would_be_in_the_main_checkout(parts: list[str]) -> None:
    """CL-43."""
    target = os.path.normpath(TREE / "/".join(parts))
    in_main = Path(target).is_relative_to(ROOT) and not Path(target).is_relative_to(TREE)

    for command in (
        f"cd './{'/'.join(parts)}'",
        *([f"cd ./{part}" for part in parts] and [";".join(f"cd ./{p}" for p in parts)]),
    ):
        refused = bool(why_refused(command, cwd=TREE, worktree=WORKTREE))
        # One step at a time may pass through the main checkout on its way.
        assert refused if in_main else (not refused or ";" in command or not parts)


@given(st.text(max_size=60))
def test_any_text_gets_an_answer(command: str) -> None:
    assert isinstance(why_refused(command, cwd=TREE, worktree=WORKTREE), str)


@given(
    st.lists(
        st.sampled_from(["cd", "git", "-C", "..", "/nowhere/main", "&&", ";", "'", "(", ")", "$(", "x", ">", "\n"])
    )
)
def test_what_names_the_main_checkout_alone_never_passes_as_a_place(words: list[str]) -> None:
    command = " ".join([*words, "; cd /nowhere/main"])

    assert why_refused(command, cwd=TREE, worktree=WORKTREE)


def test_links_are_resolved(tmp_path: Path) -> None:
    main, own = tmp_path / "main", tmp_path / "main" / ".greenroom" / "worktrees" / "one"
    own.mkdir(parents=True)
    (own / "link").symlink_to(main)
    worktree = Worktree(name="one", path=own, branch="b", base="", root=main, kind=WorktreeKind.AGENT)

    assert why_refused("cd link", cwd=own, worktree=worktree)
    assert confine_path(own / "link" / "file.txt", worktree)
    assert confine_path(main / "file.txt", worktree)
    assert not confine_path(own / "file.txt", worktree)
    assert not confine_path(tmp_path / "elsewhere", worktree)


def test_a_clean_environment_has_nothing_that_redirects_git(tmp_path: Path) -> None:
    names = subprocess.run(
        ["git", "rev-parse", "--local-env-vars"], check=True, capture_output=True, text=True, timeout=30
    ).stdout.split()

    assert clean_environment(dict.fromkeys([*names, "PATH", "GIT_SSH_COMMAND"], "x")) == {
        "PATH": "x",
        "GIT_SSH_COMMAND": "x",
    }
