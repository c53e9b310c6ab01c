"""Hooks that are commands: settings with them, and what they are passed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import trio

from greenroom.hooks import HookRan
from greenroom.models import ScriptedModel
from greenroom.session import EventStream, open_session
from greenroom.tools.builtin import STANDARD_TOOLS
from tests.session.scripted import write

ALL = {"permissions": {"allow": ["Write", "Bash"]}}


def hook(event: str, *commands: str, matcher: str = "", more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return settings with commands for one event."""
    handlers = [{"type": "command", "command": command, **(more or {})} for command in commands]
    return {**ALL, "hooks": {event: [{"matcher": matcher, "hooks": handlers}]}}


def answering(project: Path, answer: dict[str, Any]) -> str:
    """Return a command that appends what it is told to `told` and prints an answer."""
    path = write(project / f"hook-{len(list(project.iterdir()))}.json", answer)
    return f"cat >> {project}/told; echo >> {project}/told; cat {path}"


def told(project: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (project / "told").read_text().splitlines() if line]


async def run(project: Path, script: list[Any], settings: dict[str, Any], **options: Any) -> Any:
    """Run one turn, and return the session that has ended."""
    model = ScriptedModel(script, keeps_requests=True)
    async with open_session(
        model=model, cwd=project, runs=project.parent / "runs", tools=STANDARD_TOOLS, settings=settings, **options
    ) as session:
        answer = await session.run("Go.")
        assert answer.text == "done"
    return session


async def wait_ran(events: EventStream, event: str) -> None:
    """Return when a hook of that event has ended."""
    with trio.fail_after(10):
        async for each_event in events:
            if isinstance(each_event, HookRan) and each_event.event == event:
                return
