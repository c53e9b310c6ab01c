"""A crash is said aloud, so that nobody has to know where to look for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from greenroom.actors import Behavior, Context
from greenroom.core import PeerError
from greenroom.supervisor import open_runtime

if TYPE_CHECKING:
    import pytest
    from trio.testing import MockClock


class Fragile(Behavior[str]):
    async def on_message(self, message: str, ctx: Context) -> None:
        raise ValueError(message)


async def test_a_crash_is_logged_with_its_actor_and_its_error(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_runtime() as runtime:
        fragile = await runtime.spawn(Fragile, name="fragile")
        fragile.tell("ouch")
        await trio.sleep(1)

    (record,) = caplog.records
    assert (record.name, record.levelname, record.getMessage()) == ("greenroom", "ERROR", "actor fragile failed")
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], ValueError)


class Cut(Behavior[str]):
    async def on_message(self, message: str, ctx: Context) -> None:
        raise PeerError(message)


async def test_a_failure_of_the_world_is_logged_without_a_stack(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_runtime() as runtime:
        cut = await runtime.spawn(Cut, name="cut")
        cut.tell("the line went dead")
        await trio.sleep(1)

    (record,) = caplog.records
    assert record.getMessage() == "actor cut failed: the line went dead"
    assert record.exc_info is None


class Unspeakable(PeerError):
    """An error whose text cannot be had."""

    def __init__(self) -> None:
        super().__init__("")

    def __str__(self) -> str:
        raise ValueError


class Speechless(Behavior[str]):
    async def on_message(self, message: str, ctx: Context) -> None:
        raise Unspeakable


async def test_an_error_without_a_text_harms_neither_the_log_nor_the_supervisor(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_runtime() as runtime:
        speechless = await runtime.spawn(Speechless, name="speechless")
        speechless.tell("go on")
        await trio.sleep(1)

        assert not speechless.is_gone
    (record,) = caplog.records
    assert record.getMessage().startswith("actor speechless failed: (no text")
