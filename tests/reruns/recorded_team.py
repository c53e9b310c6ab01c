"""Recordings of small teams whose models answer after random times."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, final

import trio

from greenroom.agents import AgentDefinition
from greenroom.models import Model, ModelRequest, ModelStream
from greenroom.session import MAIN, Session, open_session
from greenroom.testing import run_virtual, virtual_ports
from greenroom.tools import Tool
from greenroom.tools.builtin import READ_ONLY_TOOLS
from tests.session.small_team import LEAD, make_folder, playbook, survey


@final
class SlowModel:
    """A model that answers after a random time of up to 3 s."""

    def __init__(self, model: Model, seed: int) -> None:
        self._model = model
        self._random = random.Random(seed)
        self.name = model.name
        self.open = model.open

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[ModelStream]:
        """Wait, and answer."""
        return self._stream(request)

    @asynccontextmanager
    async def _stream(self, request: ModelRequest) -> AsyncIterator[ModelStream]:
        await trio.sleep(3 * self._random.random())
        async with self._model.stream(request) as stream:
            yield stream


def record_team(tmp_path: Path, *, mates: int, seed: int) -> Path:
    """Record a team of that many mates and return its run folder."""
    folder = make_folder(tmp_path / "project")

    async def run() -> Path:
        async with open_session(
            model=SlowModel(playbook(), seed),
            cwd=folder,
            runs=tmp_path / "runs",
            main=LEAD,
            settings={"record": "effects"},
            ports=virtual_ports(seed),
        ) as session:
            await survey(session, mates=mates)
        return session.run_folder

    return run_virtual(run, choices=seed).result


def record_agent(
    folder: Path,
    model: Model,
    prompt: str = "Begin.",
    *,
    main: AgentDefinition = MAIN,
    tools: tuple[Tool, ...] = READ_ONLY_TOOLS,
    settings: Mapping[str, Any] | None = None,
) -> Path:
    """Record one agent on a prompt and return its run folder."""

    async def run() -> Path:
        async with open_session(
            model=model,
            cwd=folder,
            runs=folder / "runs",
            tools=tools,
            settings={"record": "effects", **(settings or {})},
            ports=virtual_ports(),
            main=main,
        ) as session:
            await asking(prompt)(session)
        return session.run_folder

    return run_virtual(run).result


def asking(*prompts: str) -> Any:
    """Return a program that runs these prompts one after another."""

    async def program(session: Session) -> None:
        for prompt in prompts:
            await session.run(prompt)

    return program
