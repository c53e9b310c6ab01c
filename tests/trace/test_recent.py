"""The recorder's own records are kept where something fails, and on request."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom.actors import ActorBegan, ActorExited, Behavior, Context, TurnNoted
from greenroom.core import JournalError, Level, Recorder
from greenroom.mailbox import MessageDied
from greenroom.supervisor import ChildSpec, Restart, Runtime
from greenroom.trace import RECENT, Codec, Journal, RecentMoment, read_recent
from greenroom.trace._recent import MOMENTS_KEPT, RECORDS_KEPT, RecentPast
from tests.trace.disks import MemoryDisk
from tests.trace.scenarios import EVENTS, FOLDER, run_journal

CODEC = Codec(EVENTS)
BY_ITSELF = ChildSpec(restart=Restart.TEMPORARY)


class Plain(Behavior[str]):
    """A plain behavior: the journal has its life, and none of its turns."""

    def on_message(self, message: str, ctx: Context) -> None:
        if message == "boom":
            raise ValueError("boom")


class Patient(Plain):
    """The same, and a failure ends its turn only."""

    on_failure = "continue"


class Full(Plain):
    journal = Level.FULL


def moments_of(scenario: Any) -> tuple[list[RecentMoment], MemoryDisk]:
    disk = MemoryDisk()
    run_journal(scenario, disk)
    return read_recent(FOLDER, EVENTS, disk=disk), disk


def turns_in(moment: RecentMoment, kind: type[Any] = TurnNoted) -> list[Any]:
    return [entry.event for entry in moment.entries if isinstance(entry.event, kind)]


def fail_message(recorder: Recorder, actor: str) -> None:
    recorder.emit(MessageDied(actor=actor, msg=1, lane="next", type="str", reason="failed", was_put=True))


# --- the property first ------------------------------------------------------------------------------------------------

STEPS = st.lists(st.sampled_from(["note", "end", "fail", "ask"]), max_size=60)


@given(STEPS, st.integers(1, 8))
def test_each_record_is_kept_at_most_once_in_order_and_only_of_the_last_ones(steps: list[str], ring: int) -> None:
    """A model: a list of what was noted since the last moment, of which the ring still has the latest."""
    written: list[bytes] = []
    recorder = Recorder(lambda: 0.0, capacity=ring)
    past = RecentPast(recorder, lambda record: CODEC.encode(record, 0.0), written.append)
    recorder.listen(past.look)
    held: list[tuple[str, int]] = []  # what the ring holds: a note's number, or a journal event
    fresh: list[int] = []
    expected: list[list[int]] = []
    is_due = False
    for number, step in enumerate([*steps, "end"]):  # the end of the journal keeps what is due, as its next event would
        if step == "note":
            recorder.note((recorder.number(), 0.0, TurnNoted, "a1", 1, 0, number, 0, 0.0, "completed"))
            held.append(("note", number))
            fresh.append(number)
        elif step == "end":
            recorder.emit(ActorBegan(actor="a1", inc=1))
        elif step == "fail":
            fail_message(recorder, f"a1{number}")
        else:
            past.keep("asked")
        held = (held if step in ("note", "ask") else [*held, ("event", number)])[-ring:]
        if step == "ask" or (step != "note" and is_due):
            kept = [one for what, one in held if what == "note" and one in fresh]
            expected += [kept] * bool(kept)
            fresh = [] if kept else fresh
        if step != "note":
            is_due = step == "fail"
    disk = MemoryDisk()
    disk.files[FOLDER / RECENT] = b"".join(written)
    found = read_recent(FOLDER, EVENTS, disk=disk)
    assert [[event.turn for event in turns_in(moment)] for moment in found] == expected


# --- what is kept, and when ---------------------------------------------------------------------------------------------


def test_the_turns_that_led_to_a_failure_are_kept_with_it() -> None:
    async def fail(runtime: Runtime, _: Journal) -> None:
        other = await runtime.spawn(Plain)
        plain = await runtime.spawn(Plain, spec=BY_ITSELF)
        for message in ("one", "two", "boom"):
            other.tell("seen") if message == "two" else None
            plain.tell(message)
        await plain.wait_ended()

    (moment, *more), _ = moments_of(fail)

    assert not more
    assert moment.why == ActorExited.kind
    turns = turns_in(moment)
    assert [turn.state for turn in turns] == ["completed", "completed", "completed", "failed"]
    assert len({turn.actor for turn in turns}) == 2  # what its neighbours did just before counts as much


def test_the_failure_of_a_turn_that_ends_nobody_is_kept_too() -> None:
    async def fail(runtime: Runtime, _: Journal) -> None:
        patient = await runtime.spawn(Patient)
        patient.tell("boom")
        patient.tell("fine")
        patient.drain()
        await patient.wait_ended()

    (moment,), _ = moments_of(fail)

    assert moment.why == MessageDied.kind
    assert "failed" in [turn.state for turn in turns_in(moment)]


def test_where_nothing_fails_there_is_no_file() -> None:
    async def work(runtime: Runtime, _: Journal) -> None:
        plain = await runtime.spawn(Plain)
        plain.tell("one")
        plain.drain()
        await plain.wait_ended()

    moments, disk = moments_of(work)

    assert moments == []
    assert FOLDER / RECENT not in disk.files


def test_what_the_journal_has_is_not_kept_again() -> None:
    async def fail(runtime: Runtime, _: Journal) -> None:
        full = await runtime.spawn(Full, spec=BY_ITSELF)
        for message in ("one", "boom"):
            full.tell(message)
        await full.wait_ended()

    moments, _ = moments_of(fail)

    assert [turn for moment in moments for turn in turns_in(moment)] == []


def test_somebody_who_asks_gets_what_there_is_once() -> None:
    answers: list[bool] = []

    async def ask(runtime: Runtime, journal: Journal) -> None:
        plain = await runtime.spawn(Plain)
        answers.append(journal.keep_recent("before anything"))
        plain.tell("one")
        await trio.testing.wait_all_tasks_blocked()
        answers.extend((journal.keep_recent("a look"), journal.keep_recent("another")))

    (*_, moment), _ = moments_of(ask)

    assert answers[1:] == [True, False]
    assert (moment.why, [turn.turn for turn in turns_in(moment)]) == ("a look", [1])


def test_it_is_bounded_by_records_and_by_moments() -> None:
    written: list[bytes] = []
    recorder = Recorder(lambda: 0.0)
    past = RecentPast(recorder, lambda record: CODEC.encode(record, 0.0), written.append)
    recorder.listen(past.look)
    for moment in range(MOMENTS_KEPT + 5):
        for number in range(RECORDS_KEPT + 3):
            recorder.note((recorder.number(), 0.0, TurnNoted, "a1", 1, 0, number, 0, 0.0, "completed"))
        fail_message(recorder, f"a{moment}")
    disk = MemoryDisk()
    disk.files[FOLDER / RECENT] = b"".join(written)

    found = read_recent(FOLDER, EVENTS, disk=disk)

    assert len(found) == MOMENTS_KEPT
    assert [moment.is_last for moment in found] == [False] * (MOMENTS_KEPT - 1) + [True]
    assert {len(moment.entries) for moment in found} == {RECORDS_KEPT}
    assert turns_in(found[0])[0].turn == 3  # the first three were too old


def test_a_disk_that_refuses_harms_nobody() -> None:
    def refuse(_: bytes) -> None:
        raise JournalError("here", "the journal is closed")

    recorder = Recorder(lambda: 0.0)
    past = RecentPast(recorder, lambda record: CODEC.encode(record, 0.0), refuse)
    recorder.note((recorder.number(), 0.0, TurnNoted, "a1", 1, 0, 1, 0, 0.0, "completed"))

    assert past.keep("asked") is False


@pytest.mark.parametrize(("cut", "left"), [(1, [1, 2]), (30, [1])])
def test_what_an_ended_process_left_of_a_line_spoils_no_later_moment(cut: int, left: list[int]) -> None:
    async def fail(runtime: Runtime, _: Journal) -> None:
        plain = await runtime.spawn(Plain, spec=BY_ITSELF)
        for message in ("one", "boom"):
            plain.tell(message)
        await plain.wait_ended()

    disk = MemoryDisk()
    run_journal(fail, disk)
    disk.files[FOLDER / RECENT] = disk.files[FOLDER / RECENT][:-cut]
    run_journal(fail, disk)

    first, second = read_recent(FOLDER, EVENTS, disk=disk)

    assert [turn.turn for turn in turns_in(first)] == left
    assert [turn.turn for turn in turns_in(second)] == [1, 2]
