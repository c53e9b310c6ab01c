"""Git commands and their results.

A command names its folder, and the environment of the process cannot redirect it. It never prompts. Names are separated
by NUL, never by lines.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import final

import attrs

from greenroom import containment
from greenroom.containment import GitCall, GitTooOld
from greenroom.worktrees._run_process import ProgramResult, RunProcess
from greenroom.worktrees._worktree_errors import GitFailed, NoRepository, WorktreeError


@final
class GitRunner:
    """Runs git in given folders."""

    def __init__(self, run: RunProcess, calls: containment.GitCalls) -> None:
        self._run = run
        self._calls = calls

    @property
    def asks_remotes(self) -> bool:
        """True if remotes of the repository may be contacted."""
        return self._calls.is_trusted

    async def end_of(
        self, folder: Path, *arguments: str, stdin: bytes = b"", visited: Sequence[Path] = ()
    ) -> ProgramResult:
        """Run git in a folder and return its end.

        Args:
            folder: The working folder.
            arguments: A git command and its arguments.
            stdin: Its input.
            visited: Further folders that the command enters, whose settings apply there.

        Raises:
            NoRepository: No usable git is installed.
            WorktreeError: The folder is gone, or git cannot be started.
        """
        settings = b""
        for each in (folder, *visited):
            listed = await self._end_of(self._calls.listing(each), each)
            if listed.returncode and each is folder:  # a visited one may be gone, or git will refuse it later
                return listed
            settings += listed.stdout
        try:
            return await self._end_of(self._calls.call(folder, *arguments, settings=settings), folder, stdin)
        except GitTooOld as error:
            raise NoRepository(str(error)) from None

    async def _end_of(self, call: GitCall, folder: Path, stdin: bytes = b"") -> ProgramResult:
        try:
            return await self._run(call.command, cwd=Path(folder.anchor), environment=call.environment, stdin=stdin)
        except FileNotFoundError:
            raise NoRepository("git was not found; install it, or work without isolation") from None
        except OSError as error:
            raise WorktreeError(f"cannot start git: {error.strerror or error}") from error

    async def bytes_of(self, folder: Path, *arguments: str, stdin: bytes = b"", visited: Sequence[Path] = ()) -> bytes:
        """Run git in a folder and return its output.

        Raises:
            GitFailed: It ended with an error.
        """
        end = await self.end_of(folder, *arguments, stdin=stdin, visited=visited)
        if end.returncode:
            raise GitFailed(arguments, end.returncode, last_line(end.stderr))
        return end.stdout

    async def text_of(self, folder: Path, *arguments: str, stdin: bytes = b"") -> str:
        """Run git in a folder and return its output as text, without the final newline."""
        return os.fsdecode(await self.bytes_of(folder, *arguments, stdin=stdin)).removesuffix("\n")

    async def items_of(self, folder: Path, *arguments: str, stdin: bytes = b"") -> list[str]:
        """Run git in a folder and return its NUL-separated output."""
        return [
            os.fsdecode(item) for item in (await self.bytes_of(folder, *arguments, stdin=stdin)).split(b"\0") if item
        ]


def last_line(text: bytes) -> str:
    """Return the last non-empty line, shortened."""
    lines = [line.strip() for line in text.decode(errors="replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


@final
@attrs.frozen(kw_only=True)
class Repository:
    """The repository around a folder."""

    root: Path
    """Its main checkout; if it is bare, the checkout that the folder is in."""
    here: Path
    """The checkout that the folder is in."""
    head: str
    """The commit that is checked out here."""
    branch: str
    """The branch that is checked out here; empty for a detached head."""
    changed: int
    """Number of files here with uncommitted changes; a worktree does not get them."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the requester of a worktree."""
        notes = []
        if self.changed:
            files = "1 uncommitted file" if self.changed == 1 else f"{self.changed} uncommitted files"
            notes.append(f"{self.here} has {files}; the worktree does not have these changes")
        if not self.branch:
            notes.append(f"{self.here} has a detached head at {self.head[:12]}")
        return tuple(notes)


@final
@attrs.frozen(kw_only=True)
class Registered:
    """An entry of git's list of worktrees."""

    path: Path
    branch: str
    is_bare: bool
    lock: str | None
    """Reason of its lock; None if it is not locked."""


async def find_repository(git: GitRunner, folder: Path) -> Repository:
    """Return the repository around a folder.

    Raises:
        NoRepository: There is none, or it has no checkout or no commit.
    """
    end = await git.end_of(
        folder, "rev-parse", "--path-format=absolute", "--is-bare-repository", "--git-dir", "--git-common-dir"
    )
    if end.returncode:
        said = last_line(end.stderr)
        why = "is not in a git repository" if "not a git repository" in said else f"cannot be used by git: {said}"
        raise NoRepository(f"{folder} {why}; an isolated agent needs one (git init, then commit)")
    is_bare, own, common = os.fsdecode(end.stdout).splitlines()
    top = await git.end_of(folder, "rev-parse", "--path-format=absolute", "--show-toplevel")
    if is_bare == "true" or top.returncode:
        raise NoRepository(f"{folder} is not a checkout of its repository; name a folder of a checkout")
    here = Path(os.fsdecode(top.stdout).removesuffix("\n"))
    head = await git.end_of(here, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if head.returncode:
        raise NoRepository(f"the repository {here} has no commit yet; commit something first")
    branch = await git.end_of(here, "symbolic-ref", "--quiet", "--short", "HEAD")
    changes = await git.items_of(here, "status", "--porcelain=v1", "-z", "--untracked-files=normal", "--no-renames")
    return Repository(
        root=here if own == common else await _main_checkout(git, here),
        here=here,
        head=os.fsdecode(head.stdout).strip(),
        branch=os.fsdecode(branch.stdout).strip(),
        changed=len(changes),
    )


async def _main_checkout(git: GitRunner, here: Path) -> Path:
    first = (await list_worktrees(git, here))[0]
    return here if first.is_bare or not (first.path / ".git").exists() else first.path


async def list_worktrees(git: GitRunner, folder: Path) -> list[Registered]:
    """Return the worktrees of a repository, the main one first."""
    text = os.fsdecode(await git.bytes_of(folder, "worktree", "list", "--porcelain", "-z"))
    found = []
    for block in text.split("\0\0"):
        words = dict(line.partition(" ")[::2] for line in block.split("\0") if line)
        if "worktree" in words:
            found.append(
                Registered(
                    path=Path(words["worktree"]),
                    branch=words.get("branch", "").removeprefix("refs/heads/"),
                    is_bare="bare" in words,
                    lock=words.get("locked"),
                )
            )
    return found
