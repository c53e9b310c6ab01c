"""A start after an earlier process: nothing is read twice, nothing is lost, and cut turns are resumed when asked."""

from __future__ import annotations

from pathlib import Path

import trio
from trio.testing import MockClock

from greenroom.gateway.keepers._seams import TurnEnd
from greenroom.gateway.record._machines import EndCause
from greenroom.tasks import TaskState
from tests.gateway.keepers.keeping import MAIN, Watcher, opened, uuid


async def test_a_cut_turn_is_resumed_behind_what_was_said_since(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with opened(tmp_path, lambda _: "Late.", wait_s=100) as gateway:
        await gateway.say("Work.", uuid(1))
        await gateway.watcher.wait_began(1)
        assert gateway.watcher.ends == []

    async with opened(tmp_path, lambda _: "Resumed.", wait_s=1) as gateway:
        assert await gateway.keepers.recover() == (str(MAIN),)
        await trio.sleep(5)
        assert gateway.watcher.began == []
        gateway.keepers.resume_cut(str(MAIN))
        await gateway.watcher.wait_ends(1)

        (end,) = gateway.watcher.ends
        assert (end.items, end.state, end.reply) == ((uuid(1),), TaskState.COMPLETED, "Resumed.")
        assert gateway.watcher.began == [(str(MAIN), (uuid(1),))]
        assert gateway.record.registry.inbound == {}


async def test_a_cut_turn_that_is_dropped_is_not_read_again(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with opened(tmp_path, lambda _: "Late.", wait_s=100) as gateway:
        await gateway.say("Work.", uuid(1))
        await gateway.watcher.wait_began(1)

    async with opened(tmp_path, lambda request: f"{len(request.messages)} messages") as gateway:
        await gateway.keepers.recover()
        assert gateway.keepers.drop_cut(str(MAIN), "too old") == (uuid(1),)
        await gateway.say("And now?", uuid(2))
        await gateway.watcher.wait_ends(1)

        assert [end.items for end in gateway.watcher.ends] == [(uuid(2),)]
        assert gateway.record.registry.inbound == {}


async def test_what_waited_is_read_by_the_next_process(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with (
        opened(tmp_path, lambda _: "Late.", wait_s=100, widths={"main": 1}) as gateway,
        gateway.lanes.place("other", "main"),
    ):
        await gateway.say("Work.", uuid(1))
        await gateway.say("More.", uuid(2), queue="collect")
        await trio.sleep(5)
        assert gateway.watcher.began == []

    async with opened(tmp_path, lambda _: "Done.") as gateway:
        assert await gateway.keepers.recover() == ()
        await gateway.watcher.wait_ends(2)

        assert [end.items for end in gateway.watcher.ends] == [(uuid(1),), (uuid(2),)]
        assert {end.state for end in gateway.watcher.ends} == {TaskState.COMPLETED}


async def test_a_turn_that_ended_unreported_is_reported_by_the_next_process(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    class Stuck(Watcher):
        async def turn_ended(self, end: TurnEnd) -> None:
            await trio.sleep_forever()

    async with opened(tmp_path, lambda _: "Said.", watcher=Stuck()) as gateway:
        await gateway.say("Work.", uuid(1))
        await trio.sleep(5)

    async with opened(tmp_path, lambda _: "Never asked.") as gateway:
        assert await gateway.keepers.recover() == ()

        (end,) = gateway.watcher.ends
        assert (end.items, end.state, end.cause, end.reply) == (
            (uuid(1),),
            TaskState.COMPLETED,
            EndCause.ITSELF,
            "Said.",
        )
        assert end.line
        assert [request.model for request in end.requests] == ["playbook"]
        assert gateway.record.registry.inbound == {}
