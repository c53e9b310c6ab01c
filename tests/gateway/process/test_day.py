"""The scripted day, and the day with a kill at any event: the chats and the conversations are the same in the end."""

from __future__ import annotations

from pathlib import Path

from trio.testing import MockClock

from tests.gateway.process.day import DAY_S, open_day
from tests.gateway.process.town import living, wait_quiet


async def test_the_day(tmp_path: Path, autojump_clock: MockClock) -> None:
    town = open_day(tmp_path / "day")
    async with living(town) as gateway:
        await wait_quiet(gateway, town, until_s=DAY_S)
        for name in town.services:
            print(name, *town.texts(name), sep="\n   ")
        for key, row in gateway.parts.registry.sessions.items():
            print(key, row)
        print(gateway.parts.registry.services.jobs)
