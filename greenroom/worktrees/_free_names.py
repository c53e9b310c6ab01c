"""Claims on names of new worktrees: neither a folder, a branch nor a claim has the name."""

from __future__ import annotations

from pathlib import Path
from typing import Final, final

import attrs

from greenroom.core.ports import Blocking
from greenroom.worktrees._claims import Claim
from greenroom.worktrees._git_runner import GitRunner, Repository
from greenroom.worktrees._worktree_errors import WorktreeError
from greenroom.worktrees._worktree_names import branch_of, nth_name

_MAX_TRIES: Final = 100


@final
@attrs.frozen
class FreeNames:
    """The search for a free name; a stale worktree is never given to a new user."""

    git: GitRunner
    blocking: Blocking

    async def claim(
        self, claims: Path, name: str, *, is_exact: bool, repository: Repository | None = None
    ) -> tuple[Claim, str]:
        """Return a claim on a free name, and the name.

        Args:
            claims: Folder of the claims.
            name: The wanted name.
            is_exact: True to refuse variants of the name.
            repository: The repository of the worktree; without one only the claim needs the name.

        Raises:
            WorktreeError: No name is free.
        """
        for number in range(1, 2 if is_exact else _MAX_TRIES):
            attempt = nth_name(name, number)
            claim = await self.blocking.run(Claim.take, claims, attempt)
            if claim is None:
                continue
            try:
                is_new = claim.read() is None
                if is_new and (repository is None or await self._is_free(claims.parent / attempt, attempt, repository)):
                    return claim, attempt
            except BaseException:
                claim.close()
                raise
            if is_new:
                claim.forget()
            claim.close()
        raise WorktreeError(f"a worktree or branch for {name!r} already exists; remove it or choose another name")

    async def _is_free(self, path: Path, name: str, repository: Repository) -> bool:
        if is_taken(path):
            return False
        ref = f"refs/heads/{branch_of(name)}"
        return not await self.git.text_of(repository.here, "for-each-ref", "--format=%(refname)", ref)


def is_taken(path: Path) -> bool:
    """Return True if something has that path, even a broken link."""
    return path.exists() or path.is_symlink()
