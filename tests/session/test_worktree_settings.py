"""Settings of the worktrees of a session's agents: hooks that make them in git's place, and where git starts from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from greenroom.core import SettingsError
from greenroom.models import Call
from tests.agents.pages import agent, in_order
from tests.session.teamwork import main_messages, open_teamwork, violations
from tests.worktrees.repositories import NEEDS_GIT, branches, commit, git, make_repository

pytestmark = NEEDS_GIT
WORK = {"general-purpose": in_order(Call("Write", {"file_path": "new.txt", "content": "new"}), "Written.")}


def hooks(**commands: str) -> dict[str, Any]:
    """Return settings with one command for each event."""
    return {"hooks": {name: [{"hooks": [{"type": "command", "command": one}]}] for name, one in commands.items()}}


async def run_isolated(folder: Path, settings: Mapping[str, Any]) -> tuple[str, int]:
    """Start an agent in a worktree; return the result of the call and the number of agents that were started."""
    main = in_order(agent("write", isolation="worktree"))
    async with open_teamwork(folder, main, pages=WORK, wait_s=0, settings=settings) as session:
        with trio.fail_after(30):
            await session.run("go")
        spawned = session.agents.pool.spawned
    assert violations(session) == []
    return main_messages(session)[2], spawned


@pytest.mark.parametrize("is_removed", [False, True], ids=["no_remove_hook", "remove_hook"])
async def test_a_hook_makes_the_folder_and_another_removes_it(*, is_removed: bool, tmp_path: Path) -> None:
    """Behaviours (11), line 5: there need be no repository. Mechanism: `SettingsWorktreeHooks`."""
    made, told = tmp_path / "made", tmp_path / "told"
    create = f"cat > {told}; mkdir {made} && echo making >&2 && echo 'a line' && echo {made}"
    remove = {"WorktreeRemove": f"cat > {told}; rm -r {made}"} if is_removed else {}

    said, spawned = await run_isolated(tmp_path, hooks(WorktreeCreate=create, **remove))

    assert spawned == 1
    assert made.exists() is not is_removed
    assert (str(made) in said) is not is_removed
    assert not (tmp_path / "project" / "new.txt").exists()
    heard = json.loads(told.read_text())
    if is_removed:
        assert (heard["hook_event_name"], heard["worktree_path"]) == ("WorktreeRemove", str(made))
    else:
        assert (made / "new.txt").read_text() == "new"
        assert heard["hook_event_name"] == "WorktreeCreate"
        assert heard["name"].startswith("agent-")
        assert heard["cwd"] == str(tmp_path / "project")


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("echo /tmp; echo no room >&2; exit 1", "no room"),
        ("exit 2", "the WorktreeCreate hook made no worktree"),
        ("true", "printed no path"),
        ("echo nowhere", "it is not a directory"),
        ("echo ..", "it goes through '..'"),
        ("""echo '{"continue": false, "stopReason": "closed today"}'""", "closed today"),
    ],
)
async def test_a_hook_that_makes_none_fails_the_call(command: str, why: str, tmp_path: Path) -> None:
    """Behaviours (11), line 5: git makes none in its place, and no agent starts."""
    project = make_repository(tmp_path / "project")

    said, spawned = await run_isolated(tmp_path, hooks(WorktreeCreate=command))

    assert why in said
    assert (spawned, branches(project)) == (0, ["main"])


async def test_a_remove_hook_that_fails_leaves_the_folder_and_says_so(tmp_path: Path) -> None:
    made = tmp_path / "made"
    said, _ = await run_isolated(
        tmp_path, hooks(WorktreeCreate=f"mkdir {made}; echo {made}", WorktreeRemove="echo busy >&2; exit 1")
    )

    assert made.exists()
    assert str(made) in said


@pytest.mark.parametrize(("base", "found"), [("head", "unpushed"), ("fresh", "one\n")])
async def test_the_setting_says_what_git_starts_from(base: str, found: str, tmp_path: Path) -> None:
    """Behaviours (11), line 4."""
    make_repository(tmp_path / "remote")
    git(tmp_path, "clone", "--quiet", str(tmp_path / "remote"), "project")
    (tmp_path / "project" / "file.txt").write_text("unpushed")
    commit(tmp_path / "project", "unpushed")

    await run_isolated(tmp_path, {"worktree": {"baseRef": base, "sparsePaths": ["none"]}})

    (tree,) = (tmp_path / "project" / ".greenroom" / "worktrees").glob("agent-*")
    assert (tree / "file.txt").read_text() == found
    assert not (tree / "sub").exists()


@pytest.mark.parametrize(
    ("said", "why"),
    [({"baseRef": "HEAD"}, "worktree.baseRef"), ({"sparsePaths": ["../x"]}, "worktree"), ([], "worktree")],
)
async def test_a_setting_that_cannot_be_used_is_refused(said: object, why: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        await run_isolated(tmp_path, {"worktree": said})

    assert why in str(caught.value)
