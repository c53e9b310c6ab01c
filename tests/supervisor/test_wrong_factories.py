"""A factory that returns the wrong thing fails its spawn alone, and errors name the path of the actor."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from typing import Any, Final

import attrs
import pytest
import trio
from trio.testing import MockClock

from greenroom.actors import Behavior, Context, Request
from greenroom.core import (
    ActorEnded,
    AskTimedOut,
    GreenroomError,
    StartFailed,
    TurnFailed,
    TurnKilled,
    Undelivered,
    UsageError,
)
from greenroom.mailbox import MailboxPolicy
from greenroom.models import PlaybookModel
from greenroom.session import open_session
from greenroom.supervisor import ChildSpec, Runtime, open_runtime
from greenroom.testing import virtual_ports


@attrs.frozen
class Do(Request[str]):
    what: str


class Plain(Behavior[Any]):
    """Served by the dispatcher."""

    def on_message(self, message: Any, ctx: Context) -> None:
        if isinstance(message, Do) and message.what == "answer":
            ctx.reply("yes")
        elif isinstance(message, Do) and message.what == "raise":
            raise ValueError(message.what)


class Waiting(Behavior[Any]):
    """With a task of its own."""

    mailbox = MailboxPolicy(capacity=1)

    async def on_message(self, message: Any, ctx: Context) -> None:
        if isinstance(message, Do) and message.what == "raise":
            raise ValueError(message.what)
        if isinstance(message, Do) and message.what == "answer":
            ctx.reply("yes")
            return
        await trio.sleep_forever()


async def a_coroutine() -> None:
    """Return a coroutine that nobody awaits."""


USED: Final[dict[str, Any]] = {}


def used(kind: type[Behavior[Any]]) -> Any:
    return USED.setdefault(kind.__name__, kind())


def raising() -> Any:
    raise ValueError("no luck")


RETURNS: Final[dict[str, Callable[[type[Behavior[Any]]], Any]]] = {
    "a number": lambda _: 42,
    "nothing": lambda _: None,
    "text": lambda _: "actor",
    "the class": lambda kind: kind,
    "another behavior": lambda kind: Waiting() if kind is Plain else Plain(),
    "a coroutine": lambda _: a_coroutine(),
    "a used one": used,
    "an error": lambda _: raising(),
}


def factory_of(kind: type[Behavior[Any]], returns: str) -> Callable[[], Any]:
    def make() -> Any:
        return RETURNS[returns](kind)

    make.__annotations__["return"] = kind
    return make


@pytest.mark.parametrize("returns", RETURNS)
@pytest.mark.parametrize("kind", [Plain, Waiting])
@pytest.mark.parametrize("is_partial", [False, True])
async def test_a_wrong_factory_fails_its_spawn_alone(
    kind: type[Behavior[Any]], returns: str, is_partial: bool, autojump_clock: MockClock
) -> None:
    USED.clear()
    make = factory_of(kind, returns)
    async with open_runtime(ports=virtual_ports()) as runtime:
        team = await runtime.spawn_supervisor("team")
        good = await team.spawn(Plain, name="good")
        if returns == "a used one":
            await team.spawn(make, name="first")

        with pytest.raises(StartFailed) as caught:
            await team.spawn(functools.partial(make) if is_partial else make, name="bad")

        assert caught.value.path == "team/bad"
        assert "'team/bad'" in str(caught.value)
        assert "attribute" not in str(caught.value)
        assert await good.ask(Do("answer")) == "yes", "the others go on"
        again = await team.spawn(kind, name="bad")
        assert again.path == "team/bad", "and the name is free"


async def test_an_async_factory_is_refused_before_anything_starts(autojump_clock: MockClock) -> None:
    async def make() -> Plain:
        return Plain()

    async with open_runtime(ports=virtual_ports()) as runtime:
        with pytest.raises(UsageError, match="async"):
            await runtime.spawn(make, name="x")  # type: ignore[arg-type]


# --- paths in errors ----------------------------------------------------------------------------------------------------


async def fail(runtime: Runtime, how: str) -> None:
    """Make an ask of `team/asked` end in one way."""
    team = await runtime.spawn_supervisor("team")
    ref = await team.spawn(Waiting, name="asked", spec=ChildSpec(restart="temporary"))
    match how:
        case "timeout":
            await ref.ask(Do("wait"), timeout_s=1)
        case "raise":
            await ref.ask(Do("raise"))
        case "ended":
            await team.stop(ref)
            await ref.ask(Do("answer"))
        case "full":
            ref.tell("wait")
            await trio.sleep(1)
            for _ in range(3):
                ref.tell("more")
            await ref.ask(Do("answer"))


@pytest.mark.parametrize(
    ("how", "kind"), [("timeout", AskTimedOut), ("raise", TurnFailed), ("ended", ActorEnded), ("full", Undelivered)]
)
async def test_errors_of_asks_name_the_path(how: str, kind: type[Any], autojump_clock: MockClock) -> None:
    async with open_runtime(ports=virtual_ports()) as runtime:
        with pytest.raises(kind) as caught:
            await fail(runtime, how)

        assert caught.value.path == "team/asked"
        assert "'team/asked'" in str(caught.value)
        assert caught.value.actor not in str(caught.value)


async def test_a_killed_turn_and_a_down_name_the_path(autojump_clock: MockClock) -> None:
    async with open_runtime(ports=virtual_ports()) as runtime:
        team = await runtime.spawn_supervisor("team")
        ref = await team.spawn(Waiting, name="asked")
        ref.kill("enough")
        down = await ref.wait_ended()

    assert down.path == "team/asked"
    assert "'team/asked'" in repr(down)
    assert "'team/asked'" in str(TurnKilled(down.actor, who="host", why="enough", path=down.path))


# --- outside of Trio ----------------------------------------------------------------------------------------------------


async def runtime_once() -> None:
    async with open_runtime():
        pass


async def session_once() -> None:
    async with open_session(model=PlaybookModel({}), cwd="."):
        pass


@pytest.mark.parametrize(("function", "name"), [(runtime_once, "open_runtime"), (session_once, "open_session")])
def test_what_is_opened_outside_trio_says_what_to_do(function: Callable[[], Any], name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} requires Trio, but asyncio is running here; .*thread"):
        asyncio.run(function())
    coroutine = function()
    with pytest.raises(UsageError, match=f"{name} requires Trio, .*trio.run"):
        coroutine.send(None)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("model", "claude"),
        ("model", None),
        ("model", PlaybookModel),
        ("main", 5),
        ("main", None),
        ("ports", {}),
        ("settings", []),
        ("agents", "x"),
        ("worktree", 5),
        ("tools", None),
        ("tools", "Read"),
        ("tools", [5]),
        ("cwd", 5),
        ("runs", 5),
        ("added", 5),
        ("plugins", [5]),
        ("sources", 5),
        ("sources", "user"),
        ("permission_mode", 5),
        ("session_id", 5),
        ("resume", 5),
        ("setup", 5),
    ],
)
def test_wrong_arguments_of_a_session_are_named(argument: str, value: Any, tmp_path: Any) -> None:
    options: dict[str, Any] = {"model": PlaybookModel({}), "cwd": tmp_path, "runs": tmp_path / "runs", argument: value}

    async def run() -> None:
        async with open_session(**options):
            pass

    with pytest.raises(GreenroomError) as caught:
        trio.run(run)

    assert isinstance(caught.value, UsageError)
    assert argument in str(caught.value)
    assert not (tmp_path / "runs").exists()
