"""Sessions that write to each other, for tests."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import trio

from greenroom.agents.subagents import AGENT_TOOLS, PEER_TOOLS, SendRefused
from greenroom.models import AnswerLike, ModelRequest, PlaybookModel
from greenroom.session import Session, open_session
from greenroom.session.peers._peer_sessions import SessionMessageError
from greenroom.store._transcript_reader import read_transcript
from greenroom.testing import virtual_ports
from greenroom.tools import Tool
from greenroom.tools.builtin import STANDARD_TOOLS

ACCEPTS: Final = {"peers": {"inbound": "accept"}}
HOLDS: Final = {"peers": {"inbound": "hold"}}
OTHER: Final = "20260101-000000-aaaaaa"
SEEDS: Final = itertools.count(1)


def noted(_: ModelRequest) -> AnswerLike:
    return "Noted."


@asynccontextmanager
async def open_one(
    folder: Path,
    settings: Any = None,
    main: Any = noted,
    resume: Path | None = None,
    wait_s: float = 0.0,
    more: tuple[Tool, ...] = (),
) -> AsyncIterator[Session]:
    async with open_session(
        model=PlaybookModel({"main": main, "general-purpose": main}, wait_s=wait_s),
        cwd=folder,
        runs=folder / "runs",
        tools=(*STANDARD_TOOLS, *AGENT_TOOLS, *PEER_TOOLS, *more),
        settings=settings,
        permission_mode="bypassPermissions",
        resume=resume,
        ports=virtual_ports(next(SEEDS)),
    ) as session:
        yield session


def heard(run_folder: Path, text: str) -> list[Any]:
    if not (run_folder / "transcripts/main.jsonl").exists():
        return []
    lines = read_transcript(run_folder / "transcripts/main.jsonl")
    return [line for line in lines if text in str(line.get("message")) and line.get("type") == "user"]


async def wait_heard(session: Session, text: str) -> None:
    with trio.fail_after(30):
        while True:
            if heard(session.run_folder, text):
                return
            await trio.sleep(0.1)


async def answer(session: Session, to: str, text: str = "Hello.") -> str:
    return (await session.agents.post.send(to, text, sender=session.main.id)).answer


async def refusal(session: Session, to: str, text: str = "Hello.") -> str:
    with pytest.raises(SendRefused) as caught:
        await answer(session, to, text)
    return kind_of(caught.value)


def kind_of(error: SendRefused) -> str:
    assert "\n" not in str(error)
    assert isinstance(error.__cause__, SessionMessageError)
    return error.__cause__.kind


async def told(session: Session, to: str, text: str = "Hello.") -> str:
    """Return the answer to a letter, or the kind of its refusal."""
    try:
        return await answer(session, to, text)
    except SendRefused as error:
        return kind_of(error)
