"""The worktrees of one process: their users, and their removal.

Rule 1: a worktree has one hold per user; only the release of the last one considers its removal. Rule 2: it is removed
only if it is proven that nothing is lost, and never by force unless requested. Rule 3: the intent is recorded durably
before each act. Rule 4: one act at a time; git and its files are shared. This module must not know of agents, tasks, or
the configuration of hooks.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, final

import trio

from greenroom import containment
from greenroom.core import Event, UsageError
from greenroom.core.ports import Ports
from greenroom.worktrees._caretaker import Caretaker, Fate, Release
from greenroom.worktrees._claims import CLAIMS, Claim, Worktree, WorktreeKind, claimed_names, make_folders
from greenroom.worktrees._cleanup import Commits, WorktreeState, look, losses
from greenroom.worktrees._creation import (
    NoHooks,
    WorktreeHooks,
    add_by_git,
    base_commit,
    check_hook_path,
    check_identity,
    copy_files,
    included,
    pull_commit,
    undo,
)
from greenroom.worktrees._free_names import FreeNames, is_taken
from greenroom.worktrees._git_runner import GitRunner, Repository, find_repository, list_worktrees
from greenroom.worktrees._holds import HeldWorktree, Hold
from greenroom.worktrees._run_process import RunProcess, run_process
from greenroom.worktrees._worktree_errors import NoRepository, WorktreeBusy, WorktreeError, WouldLoseWork
from greenroom.worktrees._worktree_events import (
    WorktreeAdopted,
    WorktreeIntended,
    WorktreeKept,
    WorktreeMade,
    WorktreeNotMade,
    about,
)
from greenroom.worktrees._worktree_names import agent_name, branch_of, check_name, random_name
from greenroom.worktrees._worktree_settings import CLEANUP_TIMEOUT_S, WorktreeSettings

FOLDER: Final = Path(".greenroom", "worktrees")


async def _keep_no_record(_: Event) -> None:
    return


@final
class Worktrees:
    """Creates, adopts, releases and cleans up worktrees. One per process or session.

    Args:
        settings: The settings.
        ports: Chance for names, the clock for dates, threads for files.
        run: Runs git.
        hooks: Hooks that replace git for creation and removal.
        record: Records an event and returns when that is durable.
        calls: Git invocations; by default as in an untrusted folder.
    """

    def __init__(
        self,
        settings: WorktreeSettings | None = None,
        *,
        ports: Ports | None = None,
        run: RunProcess = run_process,
        hooks: WorktreeHooks | None = None,
        record: Callable[[Event], Awaitable[None]] = _keep_no_record,
        calls: containment.GitCalls | None = None,
    ) -> None:
        self._settings = settings or WorktreeSettings()
        self._ports = ports or Ports()
        self._git = GitRunner(run, calls or containment.GitCalls())
        self._hooks: WorktreeHooks = hooks or NoHooks()
        self._record = record
        self._care = Caretaker(self._git, self._hooks, record, self._ports.clock, self._settings)
        self._free_names = FreeNames(self._git, self._ports.blocking)
        self._held: dict[Path, HeldWorktree] = {}
        self._one_act = trio.Lock()

    @property
    def in_use(self) -> Mapping[Path, int]:
        """Number of users of each worktree of this process."""
        return {path: held.holds for path, held in self._held.items()}

    # --- creation -------------------------------------------------------------------------------------------------

    async def open_for_agent(self, agent_id: str, *, cwd: Path) -> Hold:
        """Create a new worktree for an agent.

        Args:
            agent_id: Its first 8 characters become the name.
            cwd: A folder of the repository.

        Raises:
            NoRepository: There is no git, repository, checkout or commit.
            WorktreeError: It could not be created; nothing is left of it.
        """
        return await self._make(agent_name(agent_id), cwd, kind=WorktreeKind.AGENT, owner=agent_id)

    async def open_for_session(self, name: str = "", *, cwd: Path, pull: int | None = None) -> Hold:
        """Create a worktree for a session, or reuse the one of that name; without a name, one of two words.

        Args:
            name: Its name.
            cwd: A folder of the repository.
            pull: Number of a pull request at `origin` to start from, in place of a name; its name is `pr-<number>`.

        Raises:
            NoRepository: There is no git, repository, checkout or commit.
            UsageError: The name cannot be a folder and a branch, or it is an agent's.
            WorktreeBusy: Another process uses it.
            WorktreeError: It could not be created; nothing is left of it.
        """
        name = name if pull is None else f"pr-{pull}"
        if name:
            path = await self._root_of(cwd) / FOLDER / check_name(name)
            if path.is_dir():
                is_held = path in self._held
                hold = await self.adopt(path)
                if hold.worktree.kind is WorktreeKind.SESSION:
                    return hold
                await hold.release(keep=not is_held)  # otherwise its agent decides
                raise UsageError(f"the worktree {name!r} belongs to an agent; choose another name, or use its path")
        chosen = name or random_name(self._ports.chance.random)
        return await self._make(chosen, cwd, kind=WorktreeKind.SESSION, is_exact=bool(name), pull=pull)

    async def open_existing(self, path: Path, *, cwd: Path) -> Hold:
        """Reuse an existing worktree of the repository around `cwd`, even one that others created.

        Raises:
            UsageError: It is not a worktree of that repository.
            WorktreeBusy: Another process uses it, or a running agent.
        """
        root = await self._root_of(cwd)
        path = await self._ports.blocking.run(path.resolve)
        if not await self._ports.blocking.run(path.is_dir):
            raise UsageError(f"{path} is not a worktree: the folder does not exist")
        if await self._root_of(path) != root:
            raise UsageError(f"{path} is not a worktree of {root}; see `git worktree list`")
        held = self._held.get(path)
        if held is not None and held.worktree.kind is WorktreeKind.AGENT:
            raise WorktreeBusy(path, "a running agent")
        return await self.adopt(path)

    async def adopt(self, path: Path, *, cwd: Path | None = None) -> Hold:
        """Reuse an existing worktree: of a resumed agent, or one that a user names.

        A foreign one has no recorded base, so it will never be removed.

        Args:
            path: Its folder.
            cwd: The folder that it was created from; needed to find one made by a hook.

        Raises:
            UsageError: It is not a worktree of a repository.
            WorktreeBusy: Another process uses it.
        """
        async with self._one_act:
            return await self._adopt(await self._ports.blocking.run(path.resolve), cwd)

    async def check_repository(self, cwd: Path) -> None:
        """Check early for anything that prevents creating worktrees.

        Raises:
            NoRepository: There is no git, repository, checkout or commit.
        """
        await find_repository(self._git, cwd)

    async def _root_of(self, cwd: Path) -> Path:
        try:
            return (await find_repository(self._git, cwd)).root
        except NoRepository:
            return cwd  # a hook may create worktrees outside of repositories

    async def _make(
        self,
        name: str,
        cwd: Path,
        *,
        kind: WorktreeKind,
        owner: str = "",
        is_exact: bool = False,
        pull: int | None = None,
    ) -> Hold:
        said = await self._hooks.create(name, cwd=cwd)  # outside the lock: it may take minutes
        async with self._one_act:
            if said is not None:
                return await self._note_made_by_hook(name, said, await self._root_of(cwd), kind=kind, owner=owner)
            repository = await find_repository(self._git, cwd)
            now = self._ports.clock.wall()
            if pull is None:
                base = await base_commit(self._git, repository, self._settings, now)
            else:
                base = await pull_commit(self._git, repository, pull)
            claims = await self._ports.blocking.run(make_folders, repository.root / FOLDER)
            claim, name = await self._free_names.claim(claims, name, is_exact=is_exact, repository=repository)
            worktree = Worktree(
                name=name,
                path=repository.root / FOLDER / name,
                branch=branch_of(name),
                base=base,
                root=repository.root,
                kind=kind,
                owner=owner,
                used_sparse_paths=bool(self._settings.sparse_paths),
                made_at_s=now.timestamp(),
                notes=repository.notes,
            )
            return await self._carry_out(worktree, claim, repository)

    async def _note_made_by_hook(self, name: str, said: str, root: Path, *, kind: WorktreeKind, owner: str) -> Hold:
        path = check_hook_path(said, name=name, root=root)
        claims = await self._ports.blocking.run(make_folders, root / FOLDER)
        claim, name = await self._free_names.claim(claims, name, is_exact=False)
        worktree = Worktree(
            name=name,
            path=path,
            branch="",
            base="",
            root=root,
            kind=kind,
            owner=owner,
            is_hook_based=True,
            made_at_s=self._ports.clock.wall().timestamp(),
        )
        return await self._carry_out(worktree, claim, None)

    async def _carry_out(self, worktree: Worktree, claim: Claim, repository: Repository | None) -> Hold:
        try:
            await self._act(worktree, claim, repository)
        except OSError as error:
            raise WorktreeError(f"cannot create the worktree {worktree.path}: {error}") from error
        return self._hold(worktree, claim)

    async def _act(self, worktree: Worktree, claim: Claim, repository: Repository | None) -> None:
        try:
            await self._ports.blocking.run(claim.write, worktree)
            await self._record(about(WorktreeIntended, worktree, base=worktree.base))
            if repository is not None:
                await add_by_git(self._git, worktree, self._settings)
                names = await included(self._git, repository)
                await self._ports.blocking.run(copy_files, names, repository.here, worktree.path)
            await self._record(about(WorktreeMade, worktree))
        except BaseException as error:
            with trio.move_on_after(CLEANUP_TIMEOUT_S, shield=True):
                if repository is not None:
                    await undo(self._git, worktree)
                await self._record(about(WorktreeNotMade, worktree, error=str(error) or type(error).__name__))
            if worktree.path.exists():
                claim.close()  # the next clean-up finds it
            else:
                claim.forget()
            raise

    # --- adopt ----------------------------------------------------------------------------------------------------

    async def _adopt(self, path: Path, cwd: Path | None) -> Hold:
        if held := self._held.get(path):
            return Hold(held, self._let_go)
        if not is_taken(path):
            raise UsageError(f"{path} is not a worktree: the folder does not exist")
        claim, worktree = await self._claim_of(path, cwd)
        try:
            if not worktree.is_hook_based:
                await check_identity(self._git, worktree)
                await self._care.lock(worktree)
            await self._record(about(WorktreeAdopted, worktree))
        except BaseException:
            claim.close()
            raise
        return self._hold(worktree, claim)

    async def _claim_of(self, path: Path, cwd: Path | None) -> tuple[Claim, Worktree]:
        root = path.parents[len(FOLDER.parts)] if path.parent.parts[-2:] == FOLDER.parts else None
        if root is None and cwd is not None:  # a hook's may be in no repository, or in one of its own
            root = await self._root_of(cwd)
            root = root if (root / FOLDER / CLAIMS).is_dir() else None
        if root is None:  # a foreign one
            root = (await find_repository(self._git, path)).root
        claims = await self._ports.blocking.run(make_folders, root / FOLDER)
        for name in dict.fromkeys((path.name, *claimed_names(claims))):
            known = (claims / f"{name}.json").exists()
            claim = await self._ports.blocking.run(Claim.take, claims, name) if known else None
            if known and claim is None and name == path.name:
                raise WorktreeBusy(path, "another process")
            worktree = claim.read() if claim else None
            if claim and worktree and worktree.path == path:
                return claim, worktree
            if claim:
                claim.close()
        return await self._foreign(path, root, claims)

    async def _foreign(self, path: Path, root: Path, claims: Path) -> tuple[Claim, Worktree]:
        listed = [registered for registered in await list_worktrees(self._git, root) if registered.path == path]
        if not listed or path == root:
            raise UsageError(f"{path} is not a worktree of {root}; see `git worktree list`")
        claim, name = await self._free_names.claim(claims, path.name, is_exact=False)
        worktree = Worktree(
            name=name, path=path, branch=listed[0].branch, base="", root=root, kind=WorktreeKind.SESSION
        )
        await self._ports.blocking.run(claim.write, worktree)
        return claim, worktree

    def _hold(self, worktree: Worktree, claim: Claim) -> Hold:
        held = self._held[worktree.path] = HeldWorktree(worktree, claim)
        return Hold(held, self._let_go)

    # --- release --------------------------------------------------------------------------------------------------

    async def _let_go(self, held: HeldWorktree, keep: bool) -> Release:  # noqa: FBT001 - Hold calls it
        held.holds -= 1
        held.is_kept = held.is_kept or keep
        worktree = held.worktree
        with trio.move_on_after(CLEANUP_TIMEOUT_S, shield=True):
            async with self._one_act:
                if held.holds or self._held.get(worktree.path) is not held:
                    return Release(worktree=worktree, fate=Fate.IN_USE)
                del self._held[worktree.path]
                try:
                    return await self._care.clean_up(worktree, held.claim, keep=held.is_kept)
                finally:
                    held.claim.close()
        why = f"cleaning up took more than {CLEANUP_TIMEOUT_S:g} s"
        if not held.holds and self._held.get(worktree.path) is held:
            del self._held[worktree.path]
            held.claim.close()
        with trio.CancelScope(shield=True):
            await self._record(about(WorktreeKept, worktree, why=why))
        return Release(worktree=worktree, fate=Fate.KEPT, why=why)

    # --- removal on request, and clean-up ---------------------------------------------------------------------------

    async def remove(self, hold: Hold, *, discard_changes: bool = False) -> Release:
        """Remove a session's worktree on request, and release the hold; on failure the hold stays.

        Args:
            hold: Its only hold.
            discard_changes: True if the requester accepts that changes and commits are lost.

        Raises:
            UsageError: It belongs to an agent, or was released.
            WouldLoseWork: Work would be lost; always assumed of one made by a hook.
            WorktreeBusy: It has other users.
            WorktreeError: Git refused.
        """
        worktree, held = hold.worktree, self._held.get(hold.worktree.path)
        async with self._one_act:
            if held is None or worktree.kind is WorktreeKind.AGENT:
                raise UsageError(f"cannot remove worktree {worktree.name!r}: it belongs to an agent and ends with it")
            if held.holds > 1:
                raise WorktreeBusy(worktree.path, f"{held.holds - 1} more")
            standing = None if worktree.is_hook_based else await look(self._git, worktree, counting=Commits.UNIQUE)
            lost = losses(standing)
            if lost and not discard_changes:
                raise WouldLoseWork(worktree.path, lost)
            with trio.CancelScope(shield=True):
                await self._remove(worktree, held.claim, standing, force=bool(lost))
                del self._held[worktree.path]
                hold._held = None  # released by this
        return Release(worktree=worktree, fate=Fate.REMOVED, why="; ".join(lost), standing=standing)

    async def _remove(self, worktree: Worktree, claim: Claim, standing: WorktreeState | None, *, force: bool) -> None:
        if worktree.is_hook_based:
            release = await self._care.remove_by_hook(worktree, claim)
            if release.fate is not Fate.REMOVED:
                raise WorktreeError(f"the worktree {worktree.path} was kept: {release.why}")
            return
        tip = standing.tip if standing else ""
        if refused := await self._care.remove(worktree, claim, tip=tip, force=force):
            await self._care.lock(worktree)  # it is still used
            raise WorktreeError(refused)

    async def leave(self) -> None:
        """Release all remaining holds without removing anything; git's locks stay until a clean-up.

        For the end of a session that is in a worktree: nobody is asked about it. Cancellation waits up to 30 s.
        """
        try:
            with trio.move_on_after(CLEANUP_TIMEOUT_S, shield=True):
                async with self._one_act:
                    for held in list(self._held.values()):
                        if (
                            self._held.get(held.worktree.path) is held
                        ):  # otherwise its own release has recorded it meanwhile
                            await self._record(about(WorktreeKept, held.worktree, why="its session ended in it"))
        finally:
            for held in self._held.values():
                held.claim.close()
            self._held.clear()

    async def sweep(self, *, cwd: Path) -> list[Release]:
        """Clean up after agents of ended processes: incomplete worktrees at once, the others when they are old.

        Worktrees with uncommitted or unpushed work are kept, and so is every worktree of a session.

        Raises:
            NoRepository: There is no repository around `cwd`.
        """
        repository = await find_repository(self._git, cwd)
        claims = repository.root / FOLDER / CLAIMS
        released = []
        for name in claimed_names(claims):
            async with self._one_act:
                claim = await self._ports.blocking.run(Claim.take, claims, name)
                if claim is None:
                    continue  # a living process uses it
                try:
                    if (release := await self._care.sweep_one(claim)) is not None:
                        released.append(release)
                finally:
                    claim.close()
        return released
