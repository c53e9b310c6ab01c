"""Worktrees over real git: made, shared, adopted, removed when nothing is lost, kept otherwise."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import attrs
import pytest
import trio

from greenroom.containment import GitCalls
from greenroom.core import Event, UsageError
from greenroom.core.ports import Ports, SystemClock
from greenroom.worktrees import (
    BaseRef,
    Fate,
    Hold,
    NoRepository,
    UnsafeWorktree,
    WorktreeBusy,
    WorktreeError,
    WorktreeIntended,
    WorktreeKept,
    WorktreeMade,
    WorktreeRemovalIntended,
    WorktreeRemoved,
    Worktrees,
    WorktreeSettings,
    WouldLoseWork,
    run_process,
)
from greenroom.worktrees._run_process import ProgramResult
from tests.worktrees.repositories import NEEDS_GIT, branches, commit, git, listed, make_repository

pytestmark = NEEDS_GIT
HEAD = WorktreeSettings(base_ref=BaseRef.HEAD)
TRUSTED = GitCalls(environ=os.environ, is_trusted=True)
AGENT = "a0123456789abcdef"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "main")


def keep(events: list[Event]) -> Callable[[Event], Awaitable[None]]:
    async def record(event: Event) -> None:
        await trio.lowlevel.checkpoint()
        events.append(event)

    return record


def nothing_left(repository: Path) -> bool:
    left = [path.name for path in (repository / ".greenroom" / "worktrees").iterdir() if path.name != ".gitignore"]
    claims = list((repository / ".greenroom" / "worktrees" / ".claims").iterdir())
    return (
        left == [".claims"]
        and not claims
        and branches(repository) == ["main"]
        and listed(repository).count("HEAD") == 1
    )


async def test_an_unchanged_worktree_is_removed_with_its_branch(repository: Path) -> None:
    """RC-79; Behaviours (11), line 1."""
    events: list[Event] = []
    worktrees = Worktrees(HEAD, record=keep(events))

    hold = await worktrees.open_for_agent(AGENT, cwd=repository / "sub")

    worktree = hold.worktree
    assert worktree.path == repository / ".greenroom" / "worktrees" / "agent-a0123456"
    assert git(worktree.path, "branch", "--show-current") == worktree.branch == "worktree-agent-a0123456"
    assert (worktree.path / "sub" / "other.txt").read_text() == "two\n"
    assert f"locked greenroom: in use by process {os.getpid()}" in listed(repository)
    assert git(repository, "status", "--porcelain") == ""
    release = await hold.release()
    assert (release.fate, release.why) == (Fate.REMOVED, "")
    assert nothing_left(repository)
    assert worktrees.in_use == {}
    assert [type(event) for event in events] == [
        WorktreeIntended,
        WorktreeMade,
        WorktreeRemovalIntended,
        WorktreeRemoved,
    ]


def modify(path: Path) -> None:
    (path / "file.txt").write_text("changed")


def add_untracked(path: Path) -> None:
    git(path, "config", "status.showUntrackedFiles", "no")
    (path / "new.txt").write_text("new")


def stage(path: Path) -> None:
    modify(path)
    git(path, "add", "file.txt")


def delete(path: Path) -> None:
    (path / "file.txt").unlink()


def commit_change(path: Path) -> None:
    modify(path)
    commit(path, "work")


def commit_detached(path: Path) -> None:
    git(path, "checkout", "--quiet", "--detach")
    commit_change(path)


def commit_elsewhere_and_come_back(path: Path) -> None:
    commit_change(path)
    git(path, "checkout", "--quiet", "--detach", "HEAD~1")


def hide(path: Path) -> None:
    git(path, "update-index", "--assume-unchanged", "file.txt")
    modify(path)


def skip(path: Path) -> None:
    git(path, "update-index", "--skip-worktree", "file.txt")
    modify(path)


def begin_merge(path: Path) -> None:
    git(path, "update-ref", "MERGE_HEAD", "HEAD")


def nest_repository(path: Path) -> None:
    make_repository(path / "vendor")


def lock(path: Path) -> None:
    git(path, "worktree", "unlock", str(path))
    git(path, "worktree", "lock", "--reason", "mine", str(path))


def change_branch(path: Path) -> None:
    git(path, "checkout", "--quiet", "-b", "mine")


@pytest.mark.parametrize(
    "dirty",
    [
        modify,
        add_untracked,
        stage,
        delete,
        commit_change,
        commit_detached,
        commit_elsewhere_and_come_back,
        hide,
        skip,
        begin_merge,
        nest_repository,
        lock,
        change_branch,
    ],
)
async def test_no_kind_of_work_is_removed(repository: Path, dirty: Callable[[Path], None]) -> None:
    """RC-75: modified, staged, untracked, committed, hidden: whatever is there stays, and is said.

    Behaviours (11), line 2.
    """
    events: list[Event] = []
    hold = await Worktrees(HEAD, record=keep(events)).open_for_agent(AGENT, cwd=repository)
    path = hold.worktree.path
    dirty(path)
    before = {each: each.read_bytes() for each in path.rglob("*") if each.is_file()}
    tips = git(repository, "for-each-ref", "refs/heads")

    release = await hold.release()

    assert release.fate is Fate.KEPT
    assert release.why
    assert {each: each.read_bytes() for each in path.rglob("*") if each.is_file()} == before
    assert git(repository, "for-each-ref", "refs/heads") == tips
    assert "locked greenroom" not in listed(repository)
    assert isinstance(events[-1], WorktreeKept)
    assert events[-1].why == release.why


async def test_ignored_files_are_no_work(repository: Path) -> None:
    hold = await Worktrees(HEAD).open_for_agent(AGENT, cwd=repository)
    (hold.worktree.path / "build.log").write_text("x")

    assert (await hold.release()).fate is Fate.REMOVED


async def test_a_branch_set_back_before_its_base_goes_too(repository: Path) -> None:
    (repository / "file.txt").write_text("second")
    commit(repository, "second")
    hold = await Worktrees(HEAD).open_for_agent(AGENT, cwd=repository)
    git(hold.worktree.path, "reset", "--quiet", "--hard", "HEAD~1")

    assert (await hold.release()).fate is Fate.REMOVED
    assert nothing_left(repository)


async def test_it_goes_only_with_its_last_user(repository: Path) -> None:
    """RC-77: the parent ends, the nested child continues."""
    worktrees = Worktrees(HEAD)
    parent = await worktrees.open_for_agent(AGENT, cwd=repository)
    child, adopted = parent.share(), await worktrees.adopt(parent.worktree.path)
    assert worktrees.in_use == {parent.worktree.path: 3}

    assert (await parent.release()).fate is Fate.IN_USE
    assert (await adopted.release()).fate is Fate.IN_USE
    assert child.worktree.path.exists()
    assert (await child.release()).fate is Fate.REMOVED

    with pytest.raises(UsageError):
        child.share()
    with pytest.raises(UsageError):
        await child.release()


async def test_a_tree_that_was_taken_up_again_is_not_removed(repository: Path) -> None:
    """CL-42: whoever let go of it before has no say any more."""
    worktrees = Worktrees(HEAD)
    hold = await worktrees.open_for_agent(AGENT, cwd=repository)

    adopted = await worktrees.adopt(hold.worktree.path)

    assert (await hold.release()).fate is Fate.IN_USE
    assert adopted.worktree.path.exists()
    assert (await adopted.release()).fate is Fate.REMOVED


@pytest.mark.parametrize("is_dirty", [False, True], ids=["goes", "stays"])
async def test_an_adoption_that_comes_during_a_release_never_gets_a_tree_that_goes(
    repository: Path, *, is_dirty: bool
) -> None:
    """CL-42: a tree just resumed is not removed. Mechanism: one act at a time; the adoption waits, and finds it gone or there."""
    looks = trio.Event()

    async def slow(command: list[str], **options: object) -> ProgramResult:
        if "status" in command:
            looks.set()
            await trio.testing.wait_all_tasks_blocked()
        return await run_process(command, **options)  # type: ignore[arg-type]

    worktrees = Worktrees(HEAD, run=slow)  # type: ignore[arg-type]
    hold = await worktrees.open_for_agent(AGENT, cwd=repository)
    path = hold.worktree.path
    if is_dirty:
        (path / "new.txt").write_text("work")
    adopted: list[Hold] = []

    async def adopt() -> None:
        await looks.wait()
        try:
            adopted.append(await worktrees.adopt(path))
        except UsageError:
            assert not path.exists()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(adopt)
        nursery.start_soon(hold.release)

    assert path.exists() is is_dirty
    assert [one.worktree.path for one in adopted] == [path] * is_dirty
    for one in adopted:
        await one.release()


async def test_two_at_once_edit_the_same_file(repository: Path) -> None:
    """Behaviours (11), line 7."""
    worktrees = Worktrees(HEAD)
    holds = []

    async def open_one(agent: str) -> None:
        holds.append(await worktrees.open_for_agent(agent, cwd=repository))

    async with trio.open_nursery() as nursery:
        for agent in ("a000000011", "a000000022", "a111"):
            nursery.start_soon(open_one, agent)

    for hold in holds:
        (hold.worktree.path / "file.txt").write_text(hold.worktree.owner)
    assert sorted(hold.worktree.name for hold in holds) == ["agent-a0000000", "agent-a0000000-2", "agent-a111"]
    assert (repository / "file.txt").read_text() == "one\n"
    for hold in holds:
        release = await hold.release()
        assert (release.fate, release.why) == (Fate.KEPT, "uncommitted changes: file.txt")


async def test_a_stale_worktree_is_never_used_by_a_later_agent(repository: Path) -> None:
    first = await Worktrees(HEAD).open_for_agent(AGENT, cwd=repository)
    modify(first.worktree.path)
    await first.release()

    second = await Worktrees(HEAD).open_for_agent(AGENT, cwd=repository)

    assert second.worktree.name == "agent-a0123456-2"
    assert (second.worktree.path / "file.txt").read_text() == "one\n"
    await second.release()


async def test_a_resumed_agent_adopts_its_worktree_and_its_base(repository: Path) -> None:
    first = await Worktrees(HEAD).open_for_agent(AGENT, cwd=repository)
    commit_change(first.worktree.path)
    assert (await first.release()).why == "1 new commit"

    again = await Worktrees(HEAD).adopt(first.worktree.path)

    assert again.worktree == first.worktree
    assert "locked greenroom" in listed(repository)
    git(again.worktree.path, "reset", "--quiet", "--hard", "HEAD~1")
    assert (await again.release()).fate is Fate.REMOVED


async def test_a_foreign_worktree_is_adopted_and_never_removed(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "--quiet", "-b", "theirs", str(tmp_path / "theirs"))
    worktrees = Worktrees(HEAD)

    hold = await worktrees.adopt(tmp_path / "theirs")

    assert (hold.worktree.branch, hold.worktree.base) == ("theirs", "")
    assert (await hold.release()).fate is Fate.KEPT
    assert (tmp_path / "theirs" / "file.txt").exists()
    for no_worktree in (repository, repository / "sub", tmp_path / "nowhere"):
        with pytest.raises(UsageError):
            await worktrees.adopt(no_worktree)


async def test_another_users_claim_is_respected(repository: Path) -> None:
    """Two sets of worktrees, as in two processes: the lock is of the system, not of the set."""
    hold = await Worktrees(HEAD).open_for_agent(AGENT, cwd=repository)
    other = Worktrees(HEAD, ports=Ports(clock=LaterClock(days=1000)))

    with pytest.raises(WorktreeBusy):
        await other.adopt(hold.worktree.path)
    assert await other.sweep(cwd=repository) == []

    assert (await hold.release()).fate is Fate.REMOVED


@attrs.frozen
class LaterClock(SystemClock):  # type: ignore[misc]
    days: float = 0

    def wall(self) -> datetime:
        return datetime.now(UTC) + timedelta(days=self.days)


KILLED = """
import os, sys, trio
from pathlib import Path
from greenroom.worktrees import *
async def main():
    async def stop(event):
        if type(event).__name__ == sys.argv[2]:
            print("at", flush=True)
            await trio.sleep_forever()
    worktrees = Worktrees(WorktreeSettings(base_ref=BaseRef.HEAD), record=stop)
    hold = await worktrees.open_for_agent("a0123456789abcdef", cwd=Path(sys.argv[1]))
    print("at", flush=True)
    await trio.sleep_forever()
trio.run(main)
"""


def kill_at(repository: Path, event: str) -> None:
    with subprocess.Popen([sys.executable, "-c", KILLED, str(repository), event], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"at\n"
        process.send_signal(signal.SIGKILL)


async def test_what_a_killed_process_intended_is_taken_back(repository: Path) -> None:
    kill_at(repository, "WorktreeIntended")

    [release] = await Worktrees(HEAD).sweep(cwd=repository)

    assert release.fate is Fate.REMOVED
    assert nothing_left(repository)


async def test_the_worktree_of_a_killed_process_is_unlocked_and_swept_when_it_is_old(repository: Path) -> None:
    kill_at(repository, "")
    assert "locked greenroom" in listed(repository)
    assert await Worktrees(HEAD).sweep(cwd=repository) == []
    assert "locked" not in listed(repository)

    old = Worktrees(HEAD, ports=Ports(clock=LaterClock(days=31)))
    path = repository / ".greenroom" / "worktrees" / "agent-a0123456"
    (path / "new.txt").write_text("work")
    assert [result.fate for result in await old.sweep(cwd=repository)] == [Fate.KEPT]
    (path / "new.txt").unlink()
    assert [result.fate for result in await old.sweep(cwd=repository)] == [Fate.REMOVED]
    assert nothing_left(repository)


async def test_a_sweep_takes_what_was_pushed_and_leaves_sessions_alone(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", str(repository), "remote.git")
    git(repository, "remote", "add", "origin", str(tmp_path / "remote.git"))
    hold = await Worktrees(HEAD).open_for_agent(AGENT, cwd=repository)
    commit_change(hold.worktree.path)
    await hold.release()
    session = await Worktrees(HEAD).open_for_session("mine", cwd=repository)
    assert (await session.release()).fate is Fate.KEPT
    old = Worktrees(HEAD, ports=Ports(clock=LaterClock(days=31)))

    assert [result.why for result in await old.sweep(cwd=repository)] == ["1 new commit"]
    git(hold.worktree.path, "push", "--quiet", "origin", hold.worktree.branch)
    assert [result.fate for result in await old.sweep(cwd=repository)] == [Fate.REMOVED]
    assert session.worktree.path.exists()


async def test_a_session_comes_back_to_its_worktree_and_removes_it_on_request(repository: Path) -> None:
    worktrees = Worktrees(HEAD)
    first = await worktrees.open_for_session("my-work", cwd=repository)
    modify(first.worktree.path)
    await first.release()
    hold = await worktrees.open_for_session("my-work", cwd=repository)
    assert hold.worktree == first.worktree

    with pytest.raises(UsageError, match=r"file\.txt"):
        await worktrees.remove(hold)
    second = hold.share()
    with pytest.raises(WorktreeBusy):
        await worktrees.remove(hold, discard_changes=True)
    await second.release()
    release = await worktrees.remove(hold, discard_changes=True)

    assert release.why == "1 uncommitted file (file.txt)"
    assert nothing_left(repository)
    with pytest.raises(UsageError):
        await hold.release()


@pytest.mark.parametrize(
    ("dirty", "lost"),
    [
        (modify, "1 uncommitted file (file.txt)"),
        (add_untracked, "1 uncommitted file (new.txt)"),
        (stage, "1 uncommitted file (file.txt)"),
        (delete, "1 uncommitted file (file.txt)"),
        (commit_change, "1 commit that is on no other branch"),
        (commit_detached, "1 commit that is on no other branch"),
        (commit_elsewhere_and_come_back, "1 commit that is on no other branch"),
        (hide, "1 file whose changes git does not look at (file.txt)"),
        (skip, "1 file whose changes git does not look at (file.txt)"),
        (begin_merge, "a merge that is not finished"),
        (nest_repository, "another repository in it (vendor/)"),
    ],
)
async def test_nothing_is_lost_on_request_unless_that_is_said(
    repository: Path, dirty: Callable[[Path], None], lost: str
) -> None:
    """RC-75. Mechanism: `losses`."""
    worktrees = Worktrees(HEAD)
    hold = await worktrees.open_for_session("mine", cwd=repository)
    path = hold.worktree.path
    dirty(path)
    before = {each: each.read_bytes() for each in path.rglob("*") if each.is_file()}

    with pytest.raises(WouldLoseWork) as caught:
        await worktrees.remove(hold)

    assert (caught.value.path, caught.value.lost) == (path, (lost,))
    assert {each: each.read_bytes() for each in path.rglob("*") if each.is_file()} == before
    assert "locked greenroom" in listed(repository)  # it is used on
    release = await worktrees.remove(hold, discard_changes=True)
    assert (release.fate, release.why) == (Fate.REMOVED, lost)
    assert nothing_left(repository)


async def test_all_that_would_be_lost_is_said_at_once(repository: Path) -> None:
    worktrees = Worktrees(HEAD)
    hold = await worktrees.open_for_session("mine", cwd=repository)
    commit_change(hold.worktree.path)
    for number in range(5):
        (hold.worktree.path / f"{number}.txt").write_text("new")

    with pytest.raises(WouldLoseWork, match=r"5 uncommitted files \(0.txt, 1.txt, 2.txt and 2 more\); 1 commit that"):
        await worktrees.remove(hold)


async def test_what_git_refuses_to_remove_is_used_on_and_locked(repository: Path) -> None:
    """RC-76: nothing else is tried; who is in it is in it still."""

    async def refuse(command: list[str], **options: object) -> ProgramResult:
        if "remove" in command:
            return ProgramResult(returncode=255, stdout=b"", stderr=b"error: failed to delete: Directory not empty\n")
        return await run_process(command, **options)  # type: ignore[arg-type]

    worktrees = Worktrees(HEAD, run=refuse)  # type: ignore[arg-type]
    hold = await worktrees.open_for_session("mine", cwd=repository)

    with pytest.raises(WorktreeError, match="Directory not empty"):
        await worktrees.remove(hold, discard_changes=True)

    assert "locked greenroom" in listed(repository)
    assert not hold.is_released
    assert (await hold.release()).fate is Fate.KEPT


async def test_nobody_is_put_into_the_worktree_of_an_agent_that_runs(repository: Path) -> None:
    """An agent's is its own until its end; kept, it is entered by its path, and never taken for a session's."""
    worktrees = Worktrees(HEAD)
    hold = await worktrees.open_for_agent(AGENT, cwd=repository)
    tree = hold.worktree

    with pytest.raises(WorktreeBusy, match="a running agent"):
        await worktrees.open_existing(tree.path, cwd=repository)
    modify(tree.path)
    await hold.release()
    with pytest.raises(UsageError, match="belongs to an agent"):
        await worktrees.open_for_session(tree.name, cwd=repository)
    entered = await worktrees.open_existing(tree.path, cwd=repository)
    with pytest.raises(UsageError, match="belongs to an agent and ends with it"):
        await worktrees.remove(entered, discard_changes=True)
    git(tree.path, "checkout", "--quiet", "file.txt")
    assert (await entered.release(keep=True)).fate is Fate.KEPT
    assert tree.path.exists()


async def test_a_hold_that_is_let_go_of_while_all_are_left_spoils_nothing(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its clean-up waits for the end of the others, and gives up waiting."""
    kept: list[str] = []
    holds: list[Hold] = []

    async def record(event: Event) -> None:
        await trio.lowlevel.checkpoint()
        if isinstance(event, WorktreeKept):
            kept.append(event.why)
            if len(kept) == 1:
                monkeypatch.setattr("greenroom.worktrees._worktrees.CLEANUP_TIMEOUT_S", 0.01)
                async with trio.open_nursery() as nursery:  # noqa: ASYNC112 - this task has the lock that it waits for
                    nursery.start_soon(holds[1].release)

    worktrees = Worktrees(HEAD, record=record)
    holds += [await worktrees.open_for_session(name, cwd=repository) for name in ("one", "two", "three")]

    await worktrees.leave()

    assert worktrees.in_use == {}
    assert sorted(kept) == ["cleaning up took more than 0.01 s", *["its session ended in it"] * 2]


async def test_what_is_left_at_the_end_stays_locked_until_a_sweep(repository: Path) -> None:
    """The lock is let go of when its holder is no more, and the worktree stays whatever its age."""
    events: list[Event] = []
    worktrees = Worktrees(HEAD, record=keep(events))
    hold = await worktrees.open_for_session("mine", cwd=repository)
    other = Worktrees(HEAD, ports=Ports(clock=LaterClock(days=365)))
    await other.sweep(cwd=repository)
    assert "locked greenroom" in listed(repository)  # its holder lives

    await worktrees.leave()

    assert "locked greenroom" in listed(repository)
    assert isinstance(events[-1], WorktreeKept)
    assert await other.sweep(cwd=repository) == []
    assert "locked" not in listed(repository)
    assert hold.worktree.path.exists()
    assert "worktree-mine" in branches(repository)


async def test_an_agents_worktree_is_not_removed_on_request(repository: Path) -> None:
    worktrees = Worktrees(HEAD)
    hold = await worktrees.open_for_agent(AGENT, cwd=repository)

    with pytest.raises(UsageError):
        await worktrees.remove(hold, discard_changes=True)

    assert (await hold.release()).fate is Fate.REMOVED


async def test_head_sees_unpushed_commits_and_fresh_does_not(repository: Path, tmp_path: Path) -> None:
    """Behaviours (11), line 4."""
    git(tmp_path, "clone", "--quiet", str(repository), "clone")
    clone = (tmp_path / "clone").resolve()
    (clone / "file.txt").write_text("unpushed")
    commit(clone, "unpushed")
    (repository / "file.txt").write_text("newer at the remote")
    commit(repository, "newer")

    fresh = await Worktrees(calls=TRUSTED).open_for_agent("fresh", cwd=clone)
    head = await Worktrees(HEAD).open_for_agent("head", cwd=clone)

    assert (fresh.worktree.path / "file.txt").read_text() == "newer at the remote"
    assert (head.worktree.path / "file.txt").read_text() == "unpushed"
    assert [(await hold.release()).fate for hold in (fresh, head)] == [Fate.REMOVED] * 2


async def test_within_a_worktree_the_next_one_is_its_neighbour_and_head_is_its_own(repository: Path) -> None:
    worktrees = Worktrees(HEAD)
    outer = await worktrees.open_for_agent("outer", cwd=repository)
    commit_change(outer.worktree.path)

    inner = await worktrees.open_for_agent("inner", cwd=outer.worktree.path / "sub")

    assert inner.worktree.path == repository / ".greenroom" / "worktrees" / "agent-inner"
    assert inner.worktree.root == repository
    assert (inner.worktree.path / "file.txt").read_text() == "changed"
    assert (await inner.release()).fate is Fate.REMOVED
    assert (await outer.release()).fate is Fate.KEPT


async def test_included_files_come_along_and_sparse_paths_narrow(repository: Path) -> None:
    (repository / ".env").write_text("SECRET=1")
    (repository / "noise.log").write_text("noise")
    (repository / "link.log").symlink_to("/etc/hostname")
    (repository / "untracked.txt").write_text("not ignored")
    (repository / ".worktreeinclude").write_text(".env\nlink.log\nuntracked.txt\n")
    (repository / "big").mkdir()
    (repository / "big" / "blob").write_text("x")
    commit(repository, "more")
    (repository / "untracked2.txt").write_text("not ignored")

    settings = WorktreeSettings(base_ref=BaseRef.HEAD, sparse_paths=("sub",))
    hold = await Worktrees(settings).open_for_agent(AGENT, cwd=repository)

    path = hold.worktree.path
    assert hold.worktree.used_sparse_paths
    assert (path / "sub" / "other.txt").exists()
    assert not (path / "big").exists()
    assert (path / ".env").read_text() == "SECRET=1"
    assert (path / "link.log").is_symlink()
    assert not (path / "noise.log").exists()
    assert not (path / "untracked2.txt").exists()
    assert (await hold.release()).fate is Fate.REMOVED
    assert (repository / ".env").exists()


async def test_notes_say_what_the_worktree_does_not_have(repository: Path) -> None:
    modify(repository)
    git(repository, "checkout", "--quiet", "--detach")

    hold = await Worktrees(HEAD).open_for_agent(AGENT, cwd=repository)

    dirty, detached = hold.worktree.notes
    assert "1 uncommitted file" in dirty
    assert "detached head" in detached
    await hold.release()


async def no_git(*_: object, **__: object) -> ProgramResult:
    raise FileNotFoundError(2, "No such file", "git")


async def test_folder_without_repository_is_reported_in_one_line(tmp_path: Path, repository: Path) -> None:
    """Behaviours (11), line 6."""
    (tmp_path / "plain").mkdir()
    (tmp_path / "empty").mkdir()
    git(tmp_path / "empty", "init", "--quiet")
    git(tmp_path, "clone", "--quiet", "--bare", str(repository), "bare.git")
    said = []
    for cwd in (tmp_path / "plain", tmp_path / "empty", tmp_path / "bare.git", repository / ".git"):
        with pytest.raises(NoRepository) as caught:
            await Worktrees().open_for_agent(AGENT, cwd=cwd)
        said.append(str(caught.value))
    with pytest.raises(NoRepository, match="git was not found"):
        await Worktrees(run=no_git).open_for_agent(AGENT, cwd=repository)

    assert ["not in a git repository" in said[0], "no commit yet" in said[1], "not a checkout" in said[2]] == [True] * 3
    assert all("\n" not in line for line in said)
    assert list((tmp_path / "plain").iterdir()) == []


async def test_our_own_environment_cannot_redirect_git(repository: Path, tmp_path: Path) -> None:
    other = make_repository(tmp_path / "other")
    environment = dict(os.environ) | {"GIT_DIR": str(other / ".git"), "GIT_WORK_TREE": str(other)}

    hold = await Worktrees(HEAD, calls=GitCalls(environ=environment)).open_for_agent(AGENT, cwd=repository)

    assert hold.worktree.root == repository
    assert branches(other) == ["main"]
    await hold.release()


async def test_links_where_folders_belong_are_refused(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (repository / ".greenroom").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(WorktreeError, match="is a link"):
        await Worktrees(HEAD).open_for_agent(AGENT, cwd=repository)

    assert list((tmp_path / "elsewhere").iterdir()) == []


async def test_a_failed_or_cancelled_creation_leaves_nothing(repository: Path) -> None:
    async def fail(event: Event) -> None:
        if isinstance(event, WorktreeMade):
            raise OSError("the disk is full")

    with pytest.raises(WorktreeError, match="the disk is full"):
        await Worktrees(HEAD, record=fail).open_for_agent(AGENT, cwd=repository)
    assert nothing_left(repository)

    with trio.CancelScope() as scope:

        async def cancel(event: Event) -> None:
            if isinstance(event, WorktreeMade):
                scope.cancel()
                await trio.lowlevel.checkpoint()

        await Worktrees(HEAD, record=cancel).open_for_agent(AGENT, cwd=repository)
    assert scope.cancelled_caught
    assert nothing_left(repository)


async def test_a_cancelled_release_is_carried_out(repository: Path) -> None:
    hold = await Worktrees(HEAD).open_for_agent(AGENT, cwd=repository)

    with trio.CancelScope() as scope:
        scope.cancel()
        await hold.release()

    assert nothing_left(repository)


async def test_a_refused_removal_keeps_the_tree_and_says_so(repository: Path) -> None:
    """RC-76: no recursive delete of ours after git's refusal."""

    async def refuse(command: list[str], **options: object) -> ProgramResult:
        if "remove" in command:
            return ProgramResult(returncode=255, stdout=b"", stderr=b"error: failed to delete: Directory not empty\n")
        return await run_process(command, **options)  # type: ignore[arg-type]

    hold = await Worktrees(HEAD, run=refuse).open_for_agent(AGENT, cwd=repository)  # type: ignore[arg-type]
    release = await hold.release()

    assert release.fate is Fate.KEPT
    assert "Directory not empty" in release.why
    assert (hold.worktree.path / "file.txt").exists()
    assert hold.worktree.branch in branches(repository)


async def test_work_that_comes_while_it_is_removed_is_not_lost(repository: Path) -> None:
    """RC-76: git refuses what has changed since it was looked at, and nothing is forced."""

    async def late(command: list[str], **options: object) -> ProgramResult:
        if "remove" in command:
            (hold.worktree.path / "late.txt").write_text("work")
        return await run_process(command, **options)  # type: ignore[arg-type]

    hold = await Worktrees(HEAD, run=late).open_for_agent(AGENT, cwd=repository)  # type: ignore[arg-type]
    release = await hold.release()

    assert release.fate is Fate.KEPT
    assert "late.txt" in release.why or "untracked" in release.why
    assert (hold.worktree.path / "late.txt").read_text() == "work"
    assert hold.worktree.branch in branches(repository)


async def test_a_clean_up_that_hangs_ends_at_its_deadline(repository: Path, autojump_clock: object) -> None:
    """CL-02."""
    hanging = False

    async def hang(command: list[str], **options: object) -> ProgramResult:
        if hanging:
            await trio.sleep_forever()
        return await run_process(command, **options)  # type: ignore[arg-type]

    worktrees = Worktrees(HEAD, run=hang)  # type: ignore[arg-type]
    hold = await worktrees.open_for_agent(AGENT, cwd=repository)
    hanging = True

    release = await hold.release()

    assert (release.fate, worktrees.in_use) == (Fate.KEPT, {})


@attrs.define
class Hooks:
    said: str
    removes: bool = True
    removed: list[Path] = attrs.field(factory=list)

    async def create(self, name: str, *, cwd: Path) -> str | None:
        return self.said

    async def remove(self, path: Path) -> bool:
        self.removed.append(path)
        return self.removes


async def test_hooks_replace_git(tmp_path: Path) -> None:
    """Behaviours (11), line 5."""
    project, made = tmp_path / "plain", tmp_path / "made"
    project.mkdir()
    made.mkdir()
    hooks = Hooks(f"{made}\n")
    worktrees = Worktrees(hooks=hooks)

    hold = await worktrees.open_for_agent(AGENT, cwd=project)

    assert (hold.worktree.path, hold.worktree.is_hook_based) == (made, True)
    assert (await hold.release()).fate is Fate.REMOVED
    assert hooks.removed == [made]
    kept = await Worktrees(hooks=Hooks(str(made), removes=False)).open_for_agent(AGENT, cwd=project)
    assert (await kept.release()).fate is Fate.KEPT


async def test_unsafe_paths_of_hooks_are_refused(repository: Path) -> None:
    """Behaviours (11), line 5."""
    (repository / "link").symlink_to(repository / "sub")
    (repository / "real").mkdir()
    for said in ("", "sub/../real", "link", "nowhere", str(repository), str(repository.parent), "file.txt"):
        with pytest.raises((UnsafeWorktree, WorktreeError)):
            await Worktrees(hooks=Hooks(said)).open_for_agent(AGENT, cwd=repository)


async def test_what_a_hook_made_for_a_session_goes_only_on_request(tmp_path: Path) -> None:
    """RC-75: who let go of it with `keep` is not the last to do so; the hook would throw away what it holds."""
    made = tmp_path / "made"
    made.mkdir()
    hooks = Hooks(str(made))
    worktrees = Worktrees(hooks=hooks)
    hold = await worktrees.open_for_session("x", cwd=tmp_path)
    shared = hold.share()

    await hold.release(keep=True)
    release = await shared.release()

    assert (release.fate, hooks.removed) == (Fate.KEPT, [])
    on_request = await worktrees.open_for_session("x", cwd=tmp_path)
    with pytest.raises(WouldLoseWork):
        await worktrees.remove(on_request)
    assert (await worktrees.remove(on_request, discard_changes=True)).fate is Fate.REMOVED
    assert hooks.removed == [made]


async def test_what_one_user_wants_to_keep_does_not_go_with_the_last(repository: Path) -> None:
    """`keep` leaves it as it is, whoever works there still. Mechanism: `_Held.is_kept`."""
    worktrees = Worktrees(HEAD)
    hold = await worktrees.open_for_agent(AGENT, cwd=repository)
    (hold.worktree.path / "new.txt").write_text("new", encoding="utf-8")
    await hold.release()
    (hold.worktree.path / "new.txt").unlink()
    entered = await worktrees.open_existing(hold.worktree.path, cwd=repository)
    shared = entered.share()

    await entered.release(keep=True)

    assert (await shared.release()).fate is Fate.KEPT
    assert hold.worktree.path.exists()


async def test_a_name_that_is_a_running_agents_changes_nothing_for_it(repository: Path) -> None:
    worktrees = Worktrees(HEAD)
    hold = await worktrees.open_for_agent(AGENT, cwd=repository)
    with pytest.raises(UsageError, match="belongs to an agent"):
        await worktrees.open_for_session(hold.worktree.name, cwd=repository)
    assert (await hold.release()).fate is Fate.REMOVED
