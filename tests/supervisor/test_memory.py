"""Ended actors hold nothing: neither the arguments of a child, nor its message, nor the frames of its error."""

from __future__ import annotations

import gc
import logging
import weakref

import pytest
import trio

from greenroom.actors import Behavior, Context, Down, Ref, Request
from greenroom.supervisor import ChildSpec, Restart, open_runtime
from greenroom.testing import virtual_ports
from tests.collector import uncollected


class Load:
    """Something large."""


class Crashes(Behavior[Load]):
    """Fails while its frames hold what it was made with and what it was told."""

    def __init__(self, made_with: Load) -> None:
        self._made_with = made_with

    async def on_message(self, message: Load, ctx: Context) -> None:
        """Fail, in a frame that holds both."""
        held = (self._made_with, message)
        raise ValueError(len(held))


class CrashesPlainly(Crashes):
    """The same on the dispatcher."""

    def on_message(self, message: Load, ctx: Context) -> None:  # type: ignore[override]
        """Fail."""
        held = (self._made_with, message)
        raise ValueError(len(held))


class Watches(Behavior[Ref[Load]]):
    """Keeps what it is told of ends."""

    def __init__(self, downs: list[Down]) -> None:
        self._downs = downs

    async def on_message(self, message: Ref[Load], ctx: Context) -> None:
        """Watch."""
        ctx.watch(message)

    async def on_signal(self, signal: object, ctx: Context) -> None:
        """Keep it."""
        if isinstance(signal, Down):
            self._downs.append(signal)


@pytest.mark.parametrize("behavior", [Crashes, CrashesPlainly])
@pytest.mark.parametrize("keeps_ref", [False, True])
@pytest.mark.parametrize("restart", [Restart.TEMPORARY, Restart.TRANSIENT])
async def test_crashed_children_leave_nothing_alive(
    behavior: type[Crashes],
    keeps_ref: bool,
    restart: Restart,
    autojump_clock: trio.testing.MockClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.CRITICAL, logger="greenroom")  # pytest would keep the errors that are logged
    kept, alive = [], list[weakref.ref[Load]]()
    downs: list[Down] = []

    async with open_runtime(ports=virtual_ports()) as runtime:
        watcher = await runtime.spawn(Watches, downs)
        for _ in range(3):
            made_with, message = Load(), Load()
            alive.append(weakref.ref(message))
            if restart is Restart.TEMPORARY:  # else it lives on, with its arguments
                alive.append(weakref.ref(made_with))
            child = await runtime.spawn(behavior, made_with, spec=ChildSpec(restart=restart))
            watcher.tell(child)
            await trio.sleep(1)
            child.tell(message)
            await trio.sleep(60)
            if keeps_ref:
                kept.append(child)
            del child, made_with, message
        gc.collect()

        letters = [letter.message for letter in runtime.dead_letters.latest()]  # the last 1,000 are kept, as documented
        assert [load for ref in alive if (load := ref()) is not None and load not in letters] == []
        assert [str(down.error) for down in downs] == (["2"] * 3 if restart is Restart.TEMPORARY else [])


class Ping(Request[bool]):
    """Is answered."""


class Answers(Behavior[Ping]):
    """Answers each message."""

    async def on_message(self, message: Ping, ctx: Context) -> None:
        """Answer."""
        ctx.reply(True)


class AnswersPlainly(Answers):
    """The same on the dispatcher."""

    def on_message(self, message: Ping, ctx: Context) -> None:  # type: ignore[override]
        """Answer."""
        ctx.reply(True)


@pytest.mark.parametrize("behavior", [Answers, AnswersPlainly])
async def test_turns_leave_no_cycles_and_an_actor_a_few_objects(
    behavior: type[Answers], autojump_clock: trio.testing.MockClock
) -> None:
    async with open_runtime(ports=virtual_ports()) as runtime:
        actor: Ref[Ping] = await runtime.spawn(behavior)
        with uncollected() as of_turns:
            for _ in range(20):
                await actor.ask(Ping(), timeout_s=60)
        with uncollected() as of_actor:
            actor.stop()
            await actor.wait_ended()
            await trio.sleep(1)
            del actor

    assert of_turns == []
    assert len(of_actor) < 20
    assert behavior.__name__ not in of_actor
