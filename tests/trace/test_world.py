"""Folding: the state from the journal is the live state, at every event, however it is folded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.actors import ActorBegan, ActorCreated, NameRegistered, State
from greenroom.core import Event, Level, Record, Recorder, altered
from greenroom.mailbox import MessagePut
from greenroom.session import SessionBegan
from greenroom.supervisor import Runtime, TreeNode, open_runtime
from greenroom.trace import Entry, Fold, World, fold
from greenroom.trace._entries import entry_of
from greenroom.views import ActorView, MailboxView
from tests.trace.scenarios import FOLDS, SCENARIOS, Scenario, fixed_schedule, make_ports, run_entries, together, work

LEVEL_WITH_TURNS = {Level.TURNS.name.lower(), Level.FULL.name.lower()}


def nodes_of(node: TreeNode) -> Iterator[TreeNode]:
    yield node
    for child in node.children:
        yield from nodes_of(child)


def compare(runtime: Runtime, world: World) -> None:
    """Assert that the live tree is what the folded state says."""
    for node in nodes_of(runtime.tree()):
        view: ActorView = world.section("actors")[node.id]
        assert (view.state, view.incarnation, view.behavior) == (node.state, node.incarnation, node.behavior)
        if view.journal in LEVEL_WITH_TURNS:
            assert (view.is_busy, view.turn) == (node.is_busy, node.turn), node.path


def compare_mail(runtime: Runtime, world: World) -> None:
    for node in nodes_of(runtime.tree()):
        view: ActorView = world.section("actors")[node.id]
        if view.journal == "full":
            mail = world.section("mailboxes").get(node.id, MailboxView())
            live = node.mailbox
            assert (len(mail.now), len(mail.next), len(mail.later)) == (live.now, live.next, live.later)
            assert (len(mail.leased), mail.accepted, mail.acked) == (live.leased, live.accepted, live.acked)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_the_folded_state_is_the_live_state_at_every_event(scenario: Scenario) -> None:
    compared = [0, 0]

    async def sample(runtime: Runtime, world: World) -> None:
        """Between steps, mail agrees too; within a step it may be on its way from one place to the other."""
        while True:
            await trio.sleep(0.03)
            compare_mail(runtime, world)
            compared[1] += 1

    async def main() -> None:
        ports = make_ports()
        recorder = Recorder(ports.clock.bind())
        world = World(FOLDS)
        live: list[Runtime] = []

        def hear(record: Record) -> None:
            world.apply(entry_of(record))
            if live:
                compare(live[0], world)
                compared[0] += 1

        recorder.listen(hear)
        async with open_runtime(ports=ports, recorder=recorder) as runtime, trio.open_nursery() as nursery:
            live.append(runtime)
            nursery.start_soon(sample, runtime, world)
            await scenario(runtime)
            nursery.cancel_scope.cancel()
        assert world.faults == []

    with fixed_schedule():
        trio.run(main, clock=MockClock(autojump_threshold=0))
    assert compared[0] > 30
    assert compared[1] > 10


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_nothing_fails_in_a_scenario_but_what_is_told_to(scenario: Scenario) -> None:
    """Else the other tests would look at a run that nobody meant."""
    assert {entry["error"] for entry in run_entries(scenario) if entry.kind == "turn.end"} <= {"", "ValueError: boom"}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_after_a_run_nothing_lives_and_no_name_is_taken(scenario: Scenario) -> None:
    world = fold(run_entries(scenario), FOLDS)

    assert all(view.is_gone for view in world.section("actors").values())
    assert not world.section("names")
    assert all(view.depth == 0 and not view.leased for view in world.section("mailboxes").values())
    for actor, view in world.section("mailboxes").items():
        if world.section("actors")[actor].journal == "full":  # below, only deaths are on record
            assert view.accepted == view.acked + view.died


def test_what_was_counted_is_what_happened() -> None:
    entries = run_entries(work)
    world = fold(entries, FOLDS)

    for view in world.section("actors").values():
        ends = [entry for entry in entries if entry.kind == "turn.end" and entry.event.actor == view.id]
        assert view.turns.total == len(ends)
        assert view.turns.killed == sum(entry["state"] == "killed" for entry in ends)
    assert sum(world.section("dead_letters").values()) == sum(entry.kind == "message.died" for entry in entries)


def test_supervisors_remember_their_decisions() -> None:
    world = fold(run_entries(together), FOLDS)

    [gave_up] = [view for view in world.section("supervisors").values() if view.gave_up_on]
    assert gave_up.restarts == 2


# --- the fold itself --------------------------------------------------------------------------------------------------

ENTRIES = run_entries(work)


@given(st.integers(0, len(ENTRIES)))
def test_folding_in_two_parts_is_folding_at_once(middle: int) -> None:
    first = fold(ENTRIES[:middle], FOLDS)
    rest = first.copy()
    for entry in ENTRIES[middle:]:
        rest.apply(entry)

    assert rest == fold(ENTRIES, FOLDS)
    assert first == fold(ENTRIES[:middle], FOLDS) == fold(ENTRIES, FOLDS, at=middle)


def test_an_illegal_move_is_a_fault_and_changes_nothing() -> None:
    world = fold(ENTRIES, FOLDS)
    before = world.copy()
    actor = ENTRIES[0].event.actor

    world.apply(Entry(1_000, 5.0, "actor.begin", ActorBegan(actor=actor, inc=1)))
    world.apply(Entry(1_001, 5.0, "actor.begin", ActorBegan(actor="nobody", inc=1)))

    assert [fault.seq for fault in world.faults] == [1_000, 1_001]
    assert world.sections == before.sections
    assert world != before


def test_a_subject_may_be_named_by_several_fields() -> None:
    def put(before: int | None, event: Event) -> int:
        return (before or 0) + 1

    world = World((("lanes", MessagePut, ("actor", "lane"), put),))
    for lane in ("now", "next", "now"):
        world.apply(Entry(1, 0.0, "message.put", MessagePut(actor="a1", msg=1, lane=lane, type="int")))

    assert world.sections == {"lanes": {("a1", "now"): 2, ("a1", "next"): 1}}
    assert world.section("unknown") == {}


def created(actor: str, **fields: Any) -> ActorCreated:
    event = ActorCreated(actor=actor, inc=1, path=actor, behavior="B", supervisor="", descent="", journal="full")
    return attrs.evolve(event, **fields)


def test_what_lived_in_a_process_that_ended_is_lost_when_the_next_begins() -> None:
    events: list[Event] = [
        SessionBegan(session="s", model="m", cwd="."),
        created("a1"),
        NameRegistered(actor="a1", inc=1, name="one"),
        ActorBegan(actor="a1", inc=1),
        MessagePut(actor="a1", inc=1, msg=1, lane="next", type="int"),
        SessionBegan(session="s", model="m", cwd="."),
    ]
    entries = [Entry(seq, 0.0, event.kind, event) for seq, event in enumerate(events, 1)]
    world = fold(entries, FOLDS)

    view = world.section("actors")["a1"]
    assert (view.state, view.is_lost) == (State.RUNNING, True)
    assert world.section("names") == {}
    assert world.section("mailboxes")["a1"] == MailboxView(accepted=1)

    world.apply(Entry(7, 0.0, "actor.new", created("a1")))  # the same id comes back in another process
    assert world.section("actors")["a1"].state is State.PENDING


@attrs.frozen
class Counted:
    """A value that counts how often its process has ended."""

    losses: int = 0

    def lost(self) -> Counted:
        return Counted(self.losses + 1)


def test_what_one_process_left_is_lost_once_however_many_follow() -> None:
    """A journal that many processes wrote costs what its events cost, not what all its subjects cost at each start."""
    folds: list[Fold] = [
        ("counted", ActorCreated, "actor", lambda _before, _event: Counted()),
        ("counted", SessionBegan, "session", lambda _before, _event: None),
    ]
    began = SessionBegan(session="s", model="m", cwd=".")
    events: list[Event] = [began, created("a1"), began, began, created("a2"), began, began]
    entries = [Entry(seq, 0.0, event.kind, event) for seq, event in enumerate(events, 1)]
    world = fold(entries[:3], folds).copy()
    for entry in entries[3:]:
        world.apply(entry)

    assert world.section("counted") == {"a1": Counted(1), "a2": Counted(1)}
    assert not world.faults


@attrs.frozen(kw_only=True)
class Base:
    name: str


@attrs.frozen(kw_only=True)
class Longer(Base):
    sizes: tuple[int, ...] = ()
    more: int = 0


@pytest.mark.parametrize(
    ("record", "values"),
    [(Base(name="a"), {"name": "b"}), (Longer(name="a", sizes=(2,)), {"name": "b", "more": 3}), (Longer(name="a"), {})],
    ids=str,
)
def test_an_altered_record_is_that_of_attrs_and_the_given_one_stays(record: Any, values: dict[str, Any]) -> None:
    before = attrs.asdict(record)

    assert altered(record, **values) == attrs.evolve(record, **values)
    assert attrs.asdict(record) == before
    with pytest.raises(KeyError):
        altered(record, absent=1)
