"""The worktrees of one process: who uses which, and what becomes of one that nobody uses any more.

Rule 1: a worktree has as many holds as users; only the release of the last one looks whether it can go. Rule 2: it goes
only when it is proven that nothing is lost, and never by force; whoever wants to lose something says so. Rule 3: the
intent is on record, durably, before each act. Rule 4: one act at a time; git and its files are shared.
Must not know: agents, tasks, hooks' configuration; they are handed in.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, final

import attrs
import trio

from greenroom import containment
from greenroom.core import Event, Ports, UsageError
from greenroom.worktrees._caretaker import Caretaker, Fate, Release
from greenroom.worktrees._claims import CLAIMS, Claim, Kind, Worktree, claimed_names, make_folders
from greenroom.worktrees._cleanup import Commits, Standing, look, losses
from greenroom.worktrees._errors import NoRepository, WorktreeBusy, WorktreeError, WouldLoseWork
from greenroom.worktrees._events import (
    WorktreeAdopted,
    WorktreeIntended,
    WorktreeKept,
    WorktreeMade,
    WorktreeNotMade,
    about,
)
from greenroom.worktrees._git import Git, Repository, find_repository, list_worktrees
from greenroom.worktrees._making import (
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
from greenroom.worktrees._names import agent_name, branch_of, check_name, nth_name, random_name
from greenroom.worktrees._processes import RunProcess, run_process
from greenroom.worktrees._settings import CLEANUP_TIMEOUT_S, WorktreeSettings

FOLDER: Final = Path(".greenroom", "worktrees")
_MAX_TRIES: Final = 100


@attrs.define(eq=False)
class _Held:
    worktree: Worktree
    claim: Claim
    holds: int = 0
    is_kept: bool = False
    """Whether a user who let go wanted it to stay."""


async def _keep_no_record(_: Event) -> None:
    return


@final
class Hold:
    """One user's hold on a worktree. Not made by hand; hand it on where somebody else takes over the duty to release."""

    __slots__ = ("_held", "_release", "worktree")

    def __init__(self, held: _Held, release: Callable[[_Held, bool], Awaitable[Release]]) -> None:
        self._held: _Held | None = held
        self._release = release
        self.worktree = held.worktree
        held.holds += 1

    def __repr__(self) -> str:
        return f"<Hold of {self.worktree.name}{'' if self._held else ', released'}>"

    @property
    def is_released(self) -> bool:
        """Whether it holds nothing any more."""
        return self._held is None

    def share(self) -> Hold:
        """Return a hold for another user, such as a nested child or a task that goes on in the background.

        Raises:
            UsageError: This one was released.
        """
        if self._held is None:
            raise UsageError(f"the hold of worktree {self.worktree.name!r} was released; a share of it is nothing")
        return Hold(self._held, self._release)

    async def release(self, *, keep: bool = False) -> Release:
        """Let go, once; the last one removes the worktree if nothing would be lost. Cancellation waits, at most 30 s.

        Args:
            keep: Do not even look; for a session that may come back to it.

        Raises:
            UsageError: It was released before.
        """
        held, self._held = self._held, None
        if held is None:
            raise UsageError(f"the hold of worktree {self.worktree.name!r} was released twice")
        return await self._release(held, keep)


@final
class Worktrees:
    """Makes, adopts, releases and sweeps worktrees. One per process or session.

    Args:
        settings: How they are made.
        ports: Chance names them, the clock dates them, files are touched through its threads.
        run: Runs git.
        hooks: What may make and remove them in git's place.
        record: Puts an event on record and returns when that is durable.
        calls: How git is called; by default as in a folder that nobody trusts.
    """

    def __init__(
        self,
        settings: WorktreeSettings | None = None,
        *,
        ports: Ports | None = None,
        run: RunProcess = run_process,
        hooks: WorktreeHooks | None = None,
        record: Callable[[Event], Awaitable[None]] = _keep_no_record,
        calls: containment.Git | None = None,
    ) -> None:
        self._settings = settings or WorktreeSettings()
        self._ports = ports or Ports()
        self._git = Git(run, calls or containment.Git())
        self._hooks: WorktreeHooks = hooks or NoHooks()
        self._record = record
        self._care = Caretaker(self._git, self._hooks, record, self._ports.clock, self._settings)
        self._held: dict[Path, _Held] = {}
        self._one_act = trio.Lock()

    @property
    def in_use(self) -> Mapping[Path, int]:
        """How many users each worktree of ours has."""
        return {path: held.holds for path, held in self._held.items()}

    # --- make -----------------------------------------------------------------------------------------------------

    async def open_for_agent(self, agent_id: str, *, cwd: Path) -> Hold:
        """Make a worktree for an agent, always a new one.

        Args:
            agent_id: Names it, by its first 8 characters.
            cwd: A folder of the repository.

        Raises:
            NoRepository: There is no git, repository, checkout or commit.
            WorktreeError: It could not be made; nothing is left of it.
        """
        return await self._make(agent_name(agent_id), cwd, kind=Kind.AGENT, owner=agent_id)

    async def open_for_session(self, name: str = "", *, cwd: Path, pull: int | None = None) -> Hold:
        """Make a worktree for a session, or take the one of that name again; without a name, one of two words.

        Args:
            name: What it is called.
            cwd: A folder of the repository.
            pull: Number of a pull request at `origin` to start from, in the place of a name; it is called `pr-<number>`.

        Raises:
            NoRepository: There is no git, repository, checkout or commit.
            UsageError: The name cannot be a folder and a branch, or it is an agent's.
            WorktreeBusy: Another process uses it.
            WorktreeError: It could not be made; nothing is left of it.
        """
        name = name if pull is None else f"pr-{pull}"
        if name:
            path = await self._root_of(cwd) / FOLDER / check_name(name)
            if path.is_dir():
                is_held = path in self._held
                hold = await self.adopt(path)
                if hold.worktree.kind is Kind.SESSION:
                    return hold
                await hold.release(keep=not is_held)  # else it is for its agent to say
                raise UsageError(f"the worktree {name!r} is an agent's; choose another name, or name it by its path")
        chosen = name or random_name(self._ports.chance.random)
        return await self._make(chosen, cwd, kind=Kind.SESSION, is_exact=bool(name), pull=pull)

    async def open_existing(self, path: Path, *, cwd: Path) -> Hold:
        """Take a worktree of the repository around `cwd` that is there, whoever made it.

        Raises:
            UsageError: It is no worktree of that repository.
            WorktreeBusy: Another process uses it, or an agent that runs.
        """
        root = await self._root_of(cwd)
        path = await self._ports.blocking.run(path.resolve)
        if not await self._ports.blocking.run(path.is_dir):
            raise UsageError(f"{path} is no worktree: there is no such folder")
        if await self._root_of(path) != root:
            raise UsageError(f"{path} is no worktree of {root}; `git worktree list` shows them")
        held = self._held.get(path)
        if held is not None and held.worktree.kind is Kind.AGENT:
            raise WorktreeBusy(path, "an agent that runs")
        return await self.adopt(path)

    async def adopt(self, path: Path, *, cwd: Path | None = None) -> Hold:
        """Take a worktree that is there: of an agent that is resumed, or one that a user names.

        One that is not ours has no recorded base, so it will never be removed.

        Args:
            path: Where it is.
            cwd: The folder that it was made from; only by this is one found that a hook made.

        Raises:
            UsageError: It is no worktree of a repository.
            WorktreeBusy: Another process uses it.
        """
        async with self._one_act:
            return await self._adopt(await self._ports.blocking.run(path.resolve), cwd)

    async def check_repository(self, cwd: Path) -> None:
        """Say early what would be in the way of any worktree.

        Raises:
            NoRepository: There is no git, repository, checkout or commit.
        """
        await find_repository(self._git, cwd)

    async def _root_of(self, cwd: Path) -> Path:
        try:
            return (await find_repository(self._git, cwd)).root
        except NoRepository:
            return cwd  # a hook may make worktrees where there is no repository

    async def _make(
        self, name: str, cwd: Path, *, kind: Kind, owner: str = "", is_exact: bool = False, pull: int | None = None
    ) -> Hold:
        said = await self._hooks.create(name, cwd=cwd)  # not within the one act: it may take minutes
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
            claim, name = await self._claim_free(claims, name, is_exact=is_exact, repository=repository)
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

    async def _note_made_by_hook(self, name: str, said: str, root: Path, *, kind: Kind, owner: str) -> Hold:
        path = check_hook_path(said, name=name, root=root)
        claims = await self._ports.blocking.run(make_folders, root / FOLDER)
        claim, name = await self._claim_free(claims, name, is_exact=False)
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
            raise WorktreeError(f"the worktree {worktree.path} cannot be made: {error}") from error
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
                claim.close()  # the next sweep knows of it
            else:
                claim.forget()
            raise

    async def _claim_free(
        self, claims: Path, name: str, *, is_exact: bool, repository: Repository | None = None
    ) -> tuple[Claim, str]:
        """Return a claim on a name that nothing is called by; a stale worktree is never used by somebody new.

        Without a repository it is only the claim that needs a name.
        """
        for number in range(1, 2 if is_exact else _MAX_TRIES):
            attempt = nth_name(name, number)
            claim = await self._ports.blocking.run(Claim.take, claims, attempt)
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
        raise WorktreeError(f"a worktree or branch for {name!r} is there already; remove it or choose another name")

    async def _is_free(self, path: Path, name: str, repository: Repository) -> bool:
        if _is_taken(path):
            return False
        ref = f"refs/heads/{branch_of(name)}"
        return not await self._git.text_of(repository.here, "for-each-ref", "--format=%(refname)", ref)

    # --- adopt ----------------------------------------------------------------------------------------------------

    async def _adopt(self, path: Path, cwd: Path | None) -> Hold:
        if held := self._held.get(path):
            return Hold(held, self._let_go)
        if not _is_taken(path):
            raise UsageError(f"{path} is no worktree: there is no such folder")
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
        listed = [one for one in await list_worktrees(self._git, root) if one.path == path]
        if not listed or path == root:
            raise UsageError(f"{path} is no worktree of {root}; `git worktree list` shows them")
        claim, name = await self._claim_free(claims, path.name, is_exact=False)
        worktree = Worktree(name=name, path=path, branch=listed[0].branch, base="", root=root, kind=Kind.SESSION)
        await self._ports.blocking.run(claim.write, worktree)
        return claim, worktree

    def _hold(self, worktree: Worktree, claim: Claim) -> Hold:
        held = self._held[worktree.path] = _Held(worktree, claim)
        return Hold(held, self._let_go)

    # --- let go ---------------------------------------------------------------------------------------------------

    async def _let_go(self, held: _Held, keep: bool) -> Release:  # noqa: FBT001 - Hold calls it
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

    # --- on request, and those that were forgotten ----------------------------------------------------------------

    async def remove(self, hold: Hold, *, discard_changes: bool = False) -> Release:
        """Remove a session's worktree on request, and release the hold. Without a removal the hold stays as it is.

        Args:
            hold: Its only hold.
            discard_changes: Whoever asks knows that changes and commits are lost.

        Raises:
            UsageError: It is an agent's, or was released.
            WouldLoseWork: Something would be lost that is nowhere else; so it is taken of what a hook made.
            WorktreeBusy: Others use it.
            WorktreeError: Git refused.
        """
        worktree, held = hold.worktree, self._held.get(hold.worktree.path)
        async with self._one_act:
            if held is None or worktree.kind is Kind.AGENT:
                raise UsageError(f"worktree {worktree.name!r} is not for you to remove; that of an agent ends with it")
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

    async def _remove(self, worktree: Worktree, claim: Claim, standing: Standing | None, *, force: bool) -> None:
        if worktree.is_hook_based:
            release = await self._care.remove_by_hook(worktree, claim)
            if release.fate is not Fate.REMOVED:
                raise WorktreeError(f"the worktree {worktree.path} stays: {release.why}")
            return
        tip = standing.tip if standing else ""
        if refused := await self._care.remove(worktree, claim, tip=tip, force=force):
            await self._care.lock(worktree)  # it is used on
            raise WorktreeError(refused)

    async def leave(self) -> None:
        """Let go of all that is held still, as it stands; what git has locked stays so until a sweep (agents 11.15).

        For the end of a session that is in a worktree: nobody is asked what is to become of it. Cancellation waits, at most 30 s.
        """
        try:
            with trio.move_on_after(CLEANUP_TIMEOUT_S, shield=True):
                async with self._one_act:
                    for held in list(self._held.values()):
                        if self._held.get(held.worktree.path) is held:  # else its own release has told of it meanwhile
                            await self._record(about(WorktreeKept, held.worktree, why="its session ended in it"))
        finally:
            for held in self._held.values():
                held.claim.close()
            self._held.clear()

    async def sweep(self, *, cwd: Path) -> list[Release]:
        """Clean up after agents of processes that are no more: half-made ones at once, the others when they are old.

        What holds uncommitted or unpushed work stays, and so does every worktree of a session.

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
                    continue  # somebody lives who uses it
                try:
                    if (release := await self._care.sweep_one(claim)) is not None:
                        released.append(release)
                finally:
                    claim.close()
        return released


def _is_taken(path: Path) -> bool:
    return path.exists() or path.is_symlink()
