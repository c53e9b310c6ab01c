"""The worktree that a session is in: from its beginning, or again when it is resumed.

Rule 1: what was asked for and cannot be had ends the opening. Rule 2: what an earlier process left and is not there any more is
said, and the session goes on in its folder.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Final

from greenroom.agents import AgentState
from greenroom.agents.subagents import EnteredWorktreeRecord, EnteredWorktrees
from greenroom.core import UsageError
from greenroom.core.ports import Blocking, Ports
from greenroom.hooks import HookEvent, merge_hooks
from greenroom.session.assembly._session_plan import Plan
from greenroom.session.record._recovery import entries_of
from greenroom.trace import JOURNAL, Codec
from greenroom.worktrees import WorktreeEntered, WorktreeLeft, Worktrees, check_name

_PULL: Final = re.compile(r"#([1-9][0-9]{0,8})")


def read_wish(worktree: str) -> tuple[str, int | None]:
    """Return the name of a worktree, empty for one that is made up, and the number of a pull request to start from.

    Raises:
        UsageError: It is neither a name nor `#` with a number.
    """
    if not worktree.startswith("#"):
        return (check_name(worktree) if worktree else ""), None
    found = _PULL.fullmatch(worktree)
    if found is None:
        raise UsageError(f"a pull request is named by its number, such as '#12', not {worktree!r}")
    return "", int(found[1])


def read_stay(run_folder: Path) -> EnteredWorktreeRecord | None:
    """Return the worktree that the main agent of a run was in when it ended; None for none. It looks at the disk."""
    stay: EnteredWorktreeRecord | None = None
    for entry in entries_of(run_folder / JOURNAL, b'"worktree.', Codec((WorktreeEntered, WorktreeLeft))):
        event = entry.event
        if event.actor:
            continue  # a sub-agent's
        if isinstance(event, WorktreeEntered):
            stay = EnteredWorktreeRecord(
                path=Path(event.path),
                branch=event.branch,
                original_cwd=Path(event.original_cwd),
                was_there=event.was_there,
            )
        elif isinstance(event, WorktreeLeft):
            stay = None
    return stay


async def check_worktree(plan: Plan, ports: Ports) -> None:
    """Check that the session can begin in the worktree that its program wants, if it wants one.

    Raises:
        UsageError: Its name is invalid, or there is no repository to make it from and no hook that makes it.
    """
    worktree = plan.spec.worktree
    if worktree is None:
        return
    read_wish(worktree)
    if not merge_hooks(plan.settings.hooks).has(HookEvent.WORKTREE_CREATE):
        await Worktrees(ports=ports, calls=plan.calls).check_repository(plan.cwd)


async def settle(
    home: AgentState, entered_worktrees: EnteredWorktrees, plan: Plan, problems: list[str], blocking: Blocking
) -> None:
    """Bring the main agent of a session to the worktree that was asked for, or that its run was in.

    Args:
        home: The agent's.
        stays: The worktrees of the session.
        plan: Says which one; None there: that of the run.
        problems: Where is said what could not be gone back to.
        blocking: Reads it.

    Raises:
        UsageError: There is no repository, or the name cannot be used.
        WorktreeError: It cannot be made, or is used by others.
    """
    if plan.spec.worktree is not None:
        name, pull = read_wish(plan.spec.worktree)
        await entered_worktrees.enter(home, name=name, pull=pull)
        return
    earlier = plan.run.earlier
    stay = None if earlier is None else await blocking.run(partial(read_stay, earlier))
    if stay is None:
        return
    why = await entered_worktrees.reenter(home, stay)
    if why:
        problems.append(f"{why}; it goes on in {home.cwd}")
        text = f"{why[0].upper()}{why[1:]}. You work in {home.cwd} again; files may differ from what you read."
        home.pending.remind(text)
