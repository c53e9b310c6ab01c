"""Rows of tests/regressions.py about sub-agents, by examples; the docstrings name the mechanism that holds them."""

from __future__ import annotations

from pathlib import Path

from trio.testing import MockClock

from greenroom.agents.subagents import AGENT_TOOLS
from greenroom.models import Message, ToolResultBlock
from greenroom.session import open_session
from greenroom.tasks import TaskState
from greenroom.testing import virtual_ports
from tools.soak.session_situations import TOOLS, ObedientModel, ordered, spawn, trouble


async def test_children_that_all_failed_are_no_success(tmp_path: Path, autojump_clock: MockClock) -> None:
    """RC-39, CL-09. Mechanism: a run that fails before it says anything makes the result of its call an error."""
    heard: list[Message] = []
    async with open_session(
        model=ObedientModel(),
        cwd=tmp_path,
        runs=tmp_path / "runs",
        tools=(*TOOLS, *AGENT_TOOLS),
        ports=virtual_ports(),
        permission_mode="bypassPermissions",
        on_message=lambda said: heard.append(said.message),
    ) as session:
        await session.run(ordered([spawn([trouble("refused")]), spawn([trouble("broken")])]))

        results = [block for line in heard for block in line.content if isinstance(block, ToolResultBlock)]
        assert [result.is_error for result in results] == [True, True]
        handle = await session.spawn("general-purpose", ordered([trouble("refused")]))
        assert (await handle.wait_finished()).state is TaskState.FAILED
