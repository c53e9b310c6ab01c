"""The actor of a host, and the process that watches actors: on asyncio, with a stand-in for Ray."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from greenroom.remote.ray._ray_driver import RayDriver
from greenroom.remote.ray._ray_guest import HostGuest
from tests.remote.ray.real_ray import SERVE


def guest(folder: Path, error: str = "") -> HostGuest:
    return HostGuest(
        {
            "name": "ray-1",
            "token": "00" * 32,
            "folder": str(folder),
            "serve": SERVE,
            "arguments": {"error": error},
            "tls": None,
        }
    )


def test_a_guest_serves_on_trio_until_it_is_stopped(tmp_path: Path) -> None:
    async def on_asyncio() -> None:
        actor = guest(tmp_path)
        assert (await actor.start("127.0.0.1"))["address"] == f"ray-1 in {tmp_path.name}"
        ended = asyncio.ensure_future(actor.wait_ended())
        await asyncio.sleep(0)
        assert not ended.done()
        await actor.stop()
        assert await ended == ""

    asyncio.run(on_asyncio())


def test_a_guest_that_cannot_start_raises_its_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="it cannot start here"):
        asyncio.run(guest(tmp_path, "at once").start("127.0.0.1"))


def test_a_guest_that_fails_says_why(tmp_path: Path) -> None:
    async def on_asyncio() -> str:
        actor = guest(tmp_path, "at the end")
        await actor.start("127.0.0.1")
        await actor.stop()
        return await actor.wait_ended()

    assert "it cannot end" in asyncio.run(on_asyncio())


class ActorDied(Exception):
    pass


class ActorUnavailable(Exception):
    pass


class StandInActor:
    """The calls of an actor, which the test answers."""

    def __init__(self) -> None:
        self.calls: list[Future[str]] = []
        self.wait_ended = self.stop = SimpleNamespace(remote=self._call)

    def _call(self) -> Any:
        self.calls.append(Future())
        return SimpleNamespace(future=lambda call=self.calls[-1]: call)


@pytest.mark.promise("R8-c")
def test_a_death_is_told_and_a_host_that_is_unavailable_is_waited_for() -> None:
    exceptions = SimpleNamespace(ActorDiedError=ActorDied, ActorUnavailableError=ActorUnavailable)
    killed: list[Any] = []
    said: list[Any] = []
    driver = RayDriver(SimpleNamespace(exceptions=exceptions, kill=killed.append), {}, said.append)
    actor = driver._actors["ray-1"] = StandInActor()

    driver._wait_for("ray-1")
    actor.calls[0].set_exception(ActorUnavailable())
    driver._note_end(*driver._news.get())
    assert (said, len(actor.calls)) == ([], 2)

    actor.calls[1].set_exception(ActorDied())
    driver._note_end(*driver._news.get())
    assert said == [{"died": "ray-1", "why": "the process of the host has ended"}]
    assert killed == [actor]
