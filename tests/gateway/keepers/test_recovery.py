"""A start after an earlier process: nothing is read twice, nothing is lost, and cut turns are resumed when asked."""

from __future__ import annotations

from pathlib import Path

import trio
from trio.testing import MockClock

from greenroom.gateway.keepers._agent_setup import sessions_folder
from greenroom.gateway.keepers._seams import TurnEnd
from greenroom.gateway.record._machines import EndCause
from greenroom.tasks import TaskState
from greenroom.trace import JOURNAL
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


async def test_a_message_before_the_recovery_waits_for_it(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Else the session would be open when its former turn is looked for, and that would be forgotten."""
    async with opened(tmp_path, lambda _: "Late.", wait_s=100) as gateway:
        await gateway.say("Work.", uuid(1))
        await gateway.watcher.wait_began(1)

    async with opened(tmp_path, lambda _: "Done.") as gateway:
        await gateway.say("More.", uuid(2))
        await trio.sleep(5)
        assert gateway.watcher.began == []
        assert await gateway.keepers.recover() == (str(MAIN),)
        gateway.keepers.resume_cut(str(MAIN))
        await gateway.watcher.wait_ends(2)

        assert {end.items for end in gateway.watcher.ends} == {(uuid(1),), (uuid(2),)}


async def test_an_answer_of_an_earlier_process_is_not_asked_for_again(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with opened(tmp_path, ["Found.", "Summary."]) as gateway:
        await gateway.say("Work.", uuid(1))
        await gateway.watcher.wait_ends(1)
        reply = await gateway.keepers.ask_aside(str(MAIN), "Summarize.", within_s=60, max_requests=2)
        assert (reply.text, len(reply.requests)) == ("Summary.", 1)

    async with opened(tmp_path) as gateway:
        again = await gateway.keepers.ask_aside(str(MAIN), "Summarize.", within_s=60, max_requests=2, is_again=True)
        session_id = gateway.record.registry.sessions[str(MAIN)].session_id
        past = await gateway.keepers.find_turn(str(MAIN), session_id, uuid(1))

        assert again.text == "Summary."
        assert (past.said, len(past.requests)) == ("Found.", 2)


async def test_a_turn_of_which_only_the_transcript_knows_was_cut(tmp_path: Path, autojump_clock: MockClock) -> None:
    """A transcript is written before the events that point into it; a kill in between leaves a message without an answer."""
    async with opened(tmp_path, lambda _: "Said.", wait_s=10) as gateway:
        await gateway.say("First.", uuid(1))
        await gateway.watcher.wait_ends(1)
        await gateway.say("Second.", uuid(2))
        await gateway.watcher.wait_began(2)
        row = gateway.record.registry.sessions[str(MAIN)]
    journal = sessions_folder(tmp_path / "state", MAIN) / row.session_id / JOURNAL
    lines = journal.read_bytes().splitlines(keepends=True)
    taken = max(at for at, line in enumerate(lines) if b'"inbox.taken"' in line)
    journal.write_bytes(b"".join(lines[:taken]))

    async with opened(tmp_path, lambda _: "Done.") as gateway:
        assert await gateway.keepers.recover() == (str(MAIN),)
        assert gateway.watcher.ends == []


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
