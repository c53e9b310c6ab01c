"""A start after an earlier process: nothing is read twice, nothing is lost, and cut turns are resumed when asked."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import attrs
import pytest
import trio
from trio.testing import MockClock

from greenroom.actors import ActorCreated, TurnBegan
from greenroom.core import PeerError
from greenroom.gateway.keepers._agent_setup import sessions_folder
from greenroom.gateway.keepers._seams import TurnEnd
from greenroom.gateway.keepers._turn_fold import TurnFold, TurnOutcome
from greenroom.gateway.keepers._turn_lookup import ItemFate, look_up
from greenroom.gateway.record import EVENTS
from greenroom.gateway.record._machines import EndCause
from greenroom.inbox import InboxTaken
from greenroom.models import ModelRequest
from greenroom.tasks import TaskState
from greenroom.trace import JOURNAL, read_journal
from tests.gateway.keepers.keeping import MAIN, Watcher, opened, uuid
from tests.gateway.keepers.standins import AGENT, ended


class Stuck(Watcher):
    async def turn_ended(self, end: TurnEnd) -> None:
        await trio.sleep_forever()


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


async def test_a_cut_turn_is_looked_for_once_and_starts_nothing_before_it_is_resumed(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """A gateway with many sessions is up again sooner: the files of each are read once, and no keeper comes and goes."""
    async with opened(tmp_path, lambda _: "Late.", wait_s=100) as gateway:
        await gateway.say("Work.", uuid(1))
        await gateway.watcher.wait_began(1)
    looked: list[str] = []

    def find_fate(run_folder: Path, item: str) -> ItemFate:
        looked.append(item)
        return look_up(run_folder, item)

    async with opened(tmp_path, lambda _: "Resumed.", find_fate=find_fate) as gateway:
        await gateway.keepers.recover()
        await trio.sleep(5)
        gateway.keepers.resume_cut(str(MAIN))
        await gateway.watcher.wait_ends(1)

        assert looked == [uuid(1)]
    entries = read_journal(gateway.state / JOURNAL, EVENTS).entries
    keepers = [
        entry for entry in entries if isinstance(entry.event, ActorCreated) and entry.event.behavior == "KeeperActor"
    ]
    assert len(keepers) == 2


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


@pytest.mark.parametrize("end", ["answered", "failed", "reopened"])
async def test_a_cut_turn_that_the_next_turn_has_read_ends_with_it(
    end: str, tmp_path: Path, autojump_clock: MockClock
) -> None:
    """The next request has all of the conversation: another one would answer twice, and be taken for the answer of that turn."""
    asked: list[int] = []

    def answer(request: ModelRequest) -> str:
        asked.append(len(request.messages))
        if end == "failed":
            raise PeerError("the model is broken")
        return "Both."

    async with opened(tmp_path, lambda _: "Late.", wait_s=100) as gateway:
        await gateway.say("Work.", uuid(1))
        await gateway.watcher.wait_began(1)

    ends: list[TurnEnd] = []
    async with opened(tmp_path, answer, watcher=Stuck() if end == "reopened" else None) as gateway:
        await gateway.say("More.", uuid(2))
        assert await gateway.keepers.recover() == (str(MAIN),)
        gateway.keepers.resume_cut(str(MAIN))
        await trio.sleep(5)
        ends += gateway.watcher.ends
    if end == "reopened":
        async with opened(tmp_path, answer) as gateway:
            assert await gateway.keepers.recover() == ()
            ends += gateway.watcher.ends

    assert len(asked) == 1
    assert gateway.record.registry.inbound == {}
    assert Counter(item for each in ends for item in each.items) == {uuid(1): 1, uuid(2): 1}
    assert len({(each.state, each.line, each.reply) for each in ends}) == 1
    assert ends[0].reply == ("" if end == "failed" else "Both.")


@pytest.mark.parametrize("ends_by", ["own", "ancestor"])
@pytest.mark.parametrize("taken", [(), (uuid(2),)])
def test_a_turn_that_ended_before_it_read_anything_ends_no_other(ends_by: str, taken: tuple[str, ...]) -> None:
    fold = TurnFold(AGENT)
    fold.take(TurnBegan(actor=AGENT, turn=1, msg=1))
    for item in taken:
        fold.take(InboxTaken(item=item))
    over = fold.take(attrs.evolve(ended("killed", None), by=ends_by))

    assert isinstance(over, TurnOutcome)
    assert (over.has_read, over.is_cut) == (bool(taken), ends_by == "ancestor")


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
