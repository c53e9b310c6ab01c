"""Repositories that name programs wherever git lets a repository name one; each leaves a mark when it runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from tests.worktrees.repositories import commit, git, make_repository

HOOKS: Final = (
    *("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman"),
    *("post-commit", "pre-commit", "post-merge", "pre-push", "post-rewrite"),
)
FILTER: Final = 'a=b "c" d'
"""A name that no `-c` on a command line could carry."""
SETTINGS: Final = {
    "core.fsmonitor": "{}",
    "core.pager": "{}; cat",
    "core.editor": "{}",
    "core.askPass": "{}",
    "core.sshCommand": "{}",
    "core.gitProxy": "{}",
    "core.alternateRefsCommand": "{}",
    "sequence.editor": "{}",
    "credential.helper": "!{}",
    "diff.external": "{}",
    "diff.submodule": "log",
    "status.submoduleSummary": "true",
    "submodule.recurse": "true",
    "log.showSignature": "true",
    "gpg.program": "{}",
    "gpg.ssh.program": "{}",
    "gpg.x509.program": "{}",
    "gpg.ssh.defaultKeyCommand": "{}",
    "protocol.ext.allow": "always",
    "protocol.allow": "always",
    "remote.origin.url": "ext::{}",
    "remote.origin.promisor": "true",
    "remote.origin.partialclonefilter": "blob:none",
    "remote.origin.uploadpack": "{}",
    "remote.origin.fetch": "+refs/heads/*:refs/remotes/origin/*",
    "pager.status": "{}; cat",
    "pager.log": "{}; cat",
    "alias.status": "!{}",
    "alias.rev-parse": "!{}",
    "alias.worktree": "!{}",
    "uploadpack.packObjectsHook": "{}",
    "interactive.diffFilter": "{}; cat",
    "merge.evil.driver": "{}",
    "diff.evil.command": "{}",
    "diff.evil.textconv": "{}; cat",
    "filter.evil.process": "{}",
    f"filter.{FILTER}.clean": "{}; cat",
    f"filter.{FILTER}.smudge": "{}; cat",
    f"filter.{FILTER}.required": "true",
    "filter.plain.clean": "{}; cat",
    "filter.plain.smudge": "{}; cat",
}


def mark(folder: Path, name: str) -> str:
    """Return a command that leaves a mark of this name."""
    safe = "".join(char if char.isalnum() else "-" for char in name)
    return f"touch {folder / safe}"


def make_planted(folder: Path, marks: Path) -> Path:
    """Return a repository with a commit and changes whose every program leaves a file in `marks`."""
    marks.mkdir()
    repository = make_repository(folder)
    attributes = "*.txt filter=plain diff=evil merge=evil\n*.md filter=evil diff=evil\n*.py filter=named\n"
    (repository / ".gitattributes").write_text(attributes)
    for name in ("a.txt", "b.md", "c.py", "d.dat"):
        (repository / name).write_text("first\n")
    inner = make_repository(repository / "inner")
    git(repository, "add", "--all")
    commit(repository, "second")
    plant(repository, marks)
    for name in ("a.txt", "b.md", "c.py", "d.dat"):
        (repository / name).write_text("other\n")  # of the same length: only the content tells
    # A submodule with programs of its own, and one that counts on the branches of worktrees alone.
    git(inner, "config", "core.fsmonitor", mark(marks, "inner-fsmonitor"))
    git(inner, "config", "filter.plain.clean", f"{mark(marks, 'inner-clean')}; cat")
    (inner / ".gitattributes").write_text("* filter=plain\n")
    (inner / "file.txt").write_text("two\n")
    return repository


def plant(repository: Path, marks: Path) -> None:
    """Name a program in every place of a repository's configuration."""
    for name, value in SETTINGS.items():
        git(repository, "config", name, value.format(mark(marks, name)))
    # The attribute of a file cannot name a filter with blanks: the one of that name is chosen where git lets it.
    (repository / ".git" / "info" / "attributes").write_text("*.dat filter=later\n")
    for number, condition in enumerate(
        ("onbranch:**", f"gitdir:{repository}/.git/worktrees/**", "onbranch:greenroom/**")
    ):
        included = repository / ".git" / f"later{number}"
        clean, smudge = (mark(marks, f"included-{number}-{verb}") for verb in ("clean", "smudge"))
        included.write_text(f'[filter "later"]\n\tclean = {clean}; cat\n\tsmudge = {smudge}; cat\n')
        git(repository, "config", f"includeIf.{condition}.path", str(included))
    git(repository, "config", "filter.named.smudge", f"{mark(marks, 'named-smudge')}; cat")
    git(repository, "config", "filter.named.clean", f"{mark(marks, 'named-clean')}; cat")
    hooks = repository / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in HOOKS:
        hook = hooks / name
        hook.write_text(f"#!/bin/sh\n{mark(marks, f'hook-{name}')}\n")
        hook.chmod(0o755)


def ran(marks: Path) -> list[str]:
    """Return which of the planted programs ran."""
    return sorted(os.listdir(marks))  # noqa: PTH208 - names alone
