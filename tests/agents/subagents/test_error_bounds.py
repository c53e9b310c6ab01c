"""The text of an error is cut wherever it is recorded, whoever raised it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from trio.testing import MockClock

from greenroom.actors import Behavior, Context
from greenroom.core import ProviderError, TurnFailed
from greenroom.models import AnswerLike, Call, ModelRequest
from greenroom.tools import tool
from tests.agents.crews import open_crew
from tests.agents.pages import agent, in_order

HUGE = 1_000_000
MOST = 300_000
"""Bytes of a whole run folder of these scenarios; an error that is not cut would be far more."""


class Crashes(Behavior[str]):
    """Fails with a huge text."""

    async def on_message(self, message: str, ctx: Context) -> None:
        """Fail."""
        raise ValueError(message * HUGE)


@tool
async def explode() -> str:
    """Fail with a huge text."""
    raise ValueError("x" * HUGE)


def broken(request: ModelRequest) -> AnswerLike:
    """Fail as a provider does, with a huge text."""
    raise ProviderError("y" * HUGE, kind="invalid")


def buggy(request: ModelRequest) -> AnswerLike:
    """Fail as a bug in a model's adapter does."""
    raise ValueError("z" * HUGE)


def bytes_of(folder: Path) -> int:
    """Return how much all files below a folder hold."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("where", ["tool", "provider", "adapter", "child", "background child", "actor"])
async def test_run_folder_stays_small_whoever_fails(where: str, tmp_path: Path, autojump_clock: MockClock) -> None:
    start = {
        "tool": Call(explode.name, {}),
        "child": agent("general-purpose"),
        "background child": agent("general-purpose", run_in_background=True),
    }
    main = {"provider": broken, "adapter": buggy}.get(where) or in_order(*filter(None, [start.get(where)]), "Done.")
    async with open_crew(tmp_path, main, pages={"general-purpose": broken}, tools=(explode,)) as crew:
        if where == "actor":
            actor = await crew.runtime.spawn(Crashes)
            for _ in range(3):
                actor.tell("w")
        with suppress(TurnFailed):
            await crew.run("Go.")
        await crew.wait_quiet()

    assert 1_000 < bytes_of(tmp_path / "runs") < MOST
