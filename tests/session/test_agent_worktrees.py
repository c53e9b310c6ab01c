"""A call that a session refuses leaves no worktree; with real git."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from tests.agents.pages import agent, in_order
from tests.session.teamwork import main_messages, open_teamwork
from tests.worktrees.repositories import NEEDS_GIT, branches, make_repository

pytestmark = NEEDS_GIT


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "project")


def trees(project: Path) -> list[Path]:
    folder = project / ".greenroom" / "worktrees"
    return [path for path in folder.iterdir() if not path.name.startswith(".")] if folder.is_dir() else []


@pytest.mark.parametrize(
    ("more", "settings", "why"),
    [
        ({"subagent_type": "Explore"}, {"permissions": {"deny": ["Agent(Explore)"]}}, "denies Agent"),
        ({"subagent_type": "nobody"}, {}, "no agent is called 'nobody'"),
        ({"subagent_type": "tooless"}, {}, "zero tools"),
        ({"subagent_type": "needy"}, {}, "nowhere"),
        ({}, {"delegation": {"max_total": 0}}, "Subagent limit of this session reached"),
        ({"cwd": "sub"}, {}, "either a folder or a worktree"),
    ],
)
async def test_a_refused_call_leaves_nothing_behind(
    more: dict[str, str], settings: dict[str, object], why: str, tmp_path: Path, project: Path
) -> None:
    """Behaviours (20), line 5: neither worktree nor branch, task or name."""
    agents = {
        "tooless": {"description": "None", "prompt": "None.", "tools": ["Grpe"]},
        "needy": {"description": "Needs", "prompt": "Needs.", "requiredMcpServers": ["nowhere"]},
    }
    main = in_order(agent("go", isolation="worktree", name="one", **more))
    async with open_teamwork(tmp_path, main, wait_s=0, settings=settings, agents=agents) as session:
        with trio.fail_after(60):
            await session.run("go")
        pool = session.agents.pool
        assert (pool.spawned, pool.running, dict(pool.names), session.tasks.all()) == (0, 0, {}, [])

    assert why in main_messages(session)[2]
    assert trees(project) == []
    assert branches(project) == ["main"]
