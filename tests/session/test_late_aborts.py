"""An interrupt that comes in the very step in which a turn has done its work still ends it (I-29)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from trio.testing import MockClock

from greenroom.agents import _intake
from greenroom.agents._turn_hooks import Hooking
from greenroom.core import TurnKilled
from greenroom.hooks import HookEvent
from greenroom.models import ScriptedModel
from greenroom.session import EVENTS, FOLDS, Session, open_session
from greenroom.testing import virtual_ports
from greenroom.tools.builtin import STANDARD_TOOLS
from greenroom.trace import JOURNAL, check_journal, read_journal
from tests.session.skills import skill


@asynccontextmanager
async def opened(project: Path, *script: str) -> AsyncIterator[Session]:
    """Open a session; when it has ended, its journal has to be sound."""
    skill(project, "audit-auth", "context: fork\n", "Audit.")
    async with open_session(
        model=ScriptedModel(list(script)),
        cwd=project,
        runs=project.parent / "runs",
        tools=STANDARD_TOOLS,
        sources=["project"],
        is_trusted=True,
        ports=virtual_ports(),
    ) as session:
        yield session
    assert check_journal(read_journal(session.run_folder / JOURNAL, EVENTS).entries, folds=FOLDS) == []


async def test_a_compaction_that_is_interrupted_at_the_last_moment_changes_nothing(
    project: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(project, "Well.", "<summary>We spoke.</summary>") as session:
        await session.run("Go.")
        main = session.agents.main.home
        assert main is not None
        assert main.conversation is not None
        before = list(main.conversation.messages)

        async def renew(*_: object) -> str:
            session.interrupt()
            return "You lead."

        monkeypatch.setattr(type(main.ports), "renew_prompt", renew)
        with pytest.raises(TurnKilled):
            await session.compact()

        assert list(main.conversation.messages) == before


async def test_a_compaction_that_is_interrupted_by_the_last_of_its_hooks_is_no_turn_that_was_completed(
    project: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(project, "Well.", "<summary>We spoke.</summary>") as session:
        await session.run("Go.")

        async def run(*_: object) -> None:
            session.interrupt()

        monkeypatch.setattr(Hooking, "has", lambda _, event: event is HookEvent.POST_COMPACT)
        monkeypatch.setattr(Hooking, "run", run)
        with pytest.raises(TurnKilled):
            await session.compact()


async def test_a_command_line_that_is_interrupted_at_the_last_moment_is_no_turn_that_was_completed(
    project: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(project) as session:

        class Late:
            @staticmethod
            async def call(*_: Any) -> str:
                session.interrupt()
                return "done"

        monkeypatch.setattr(_intake, "bash_tool", Late)
        session.send("!true")
        await session.wait_quiet()


async def test_a_skill_that_is_interrupted_at_the_last_moment_is_no_turn_that_was_completed(
    project: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(project) as session:
        main = session.agents.main.home
        assert main is not None

        async def run_skill(*_: object) -> str:
            session.interrupt()
            return "audited"

        monkeypatch.setattr(type(main.ports), "run_skill", run_skill)
        with pytest.raises(TurnKilled):
            await session.run("/audit-auth")
