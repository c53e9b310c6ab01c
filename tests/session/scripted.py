"""Sessions in a project whose model follows a script, and what their conversations hold."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from greenroom.models import Message, ScriptedModel, ToolResultBlock
from greenroom.session import Session, open_session
from greenroom.testing import virtual_ports
from greenroom.tools import Tool, tool
from greenroom.tools.builtin import STANDARD_TOOLS


@tool
async def deploy(where: str) -> str:
    """Deploy it.

    Args:
        where: To which machine.
    """
    return f"deployed to {where}"


def write(path: Path, values: Mapping[str, Any] | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(values if isinstance(values, str) else json.dumps(values))
    return path


@asynccontextmanager
async def opened(
    project: Path, calls: Iterable[Any], *, tools: Iterable[Tool] = (*STANDARD_TOOLS, deploy), **options: Any
) -> AsyncIterator[Session]:
    """Open a session whose main agent makes these calls, one a round, and says `done`."""
    model = options.pop("model", None) or ScriptedModel([*calls, "done"])
    async with open_session(
        model=model, cwd=project, runs=project.parent / "runs", tools=tools, ports=virtual_ports(), **options
    ) as session:
        yield session


def results(session: Session) -> list[ToolResultBlock]:
    home = session.agents.main.home
    assert home is not None
    assert home.conversation is not None
    found = [block for message in home.conversation.messages for block in message.content]
    return [block for block in found if isinstance(block, ToolResultBlock)]


def said(session: Session) -> list[Message]:
    home = session.agents.main.home
    assert home is not None
    assert home.conversation is not None
    return list(home.conversation.messages)
