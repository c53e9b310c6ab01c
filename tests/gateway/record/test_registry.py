"""The registry: the fold of the gateway's journal, its machines, and its snapshot."""

from __future__ import annotations

import attrs
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greenroom.core import Event, IllegalTransition
from greenroom.gateway.record._gateway_events import (
    EVENTS,
    GatewayBegan,
    GatewayEnded,
    GatewaySnapshot,
    RpcDone,
    SessionArchived,
    SessionMade,
    SessionOpened,
)
from greenroom.gateway.record._machines import (
    DELIVERY,
    DELIVERY_ENDS,
    SESSION,
    WORDS,
    DeliveryState,
    EndCause,
    EndWords,
)
from greenroom.gateway.record._registry import MAX_RECENT, Registry
from greenroom.gateway.record._rows import completion_delivery
from greenroom.gateway.record._run_events import (
    CompletionComposed,
    DeliveryBegan,
    DeliveryDue,
    DeliveryEnded,
    GatewayEvent,
    InboundAccepted,
    InboundSettled,
    RunBegan,
    RunEnded,
)
from greenroom.gateway.record._service_state import CHAT_CALLS
from greenroom.tasks import TERMINAL, TaskState
from greenroom.trace import Codec, UnknownEvent
from tests.gateway.record.histories import HISTORY_POOL, ROUTE, SESSIONS, START, ended, events, histories, registered

STARTED = (*START, registered(), RunBegan(at_s=1e9 + 1, run="r1"))


def folded(*more: Event) -> Registry:
    return Registry().fold_all((*START, *more))


# --- one end, one completion ------------------------------------------------------------------------------------------


@pytest.mark.promise("A5-a", "A5-b")
@given(histories())
def test_every_run_has_one_end_and_one_completion(history: list[GatewayEvent]) -> None:
    """GW-06: there is one terminal event, which makes the one completion; nothing else can make one."""
    registry, completed = Registry(), []
    for event in history:
        before = set(registry.completions) | set(registry.recent)
        registry.fold(event)
        completed += [run for run in {*registry.completions, *registry.recent} if run not in before]
    terminal = [event.run for event in history if isinstance(event, RunEnded)]

    assert completed == terminal
    assert len(terminal) == len(set(terminal))
    assert {run.id for run in registry.runs.values() if run.is_ended} == set(registry.completions)


@pytest.mark.promise("A5-e")
@given(histories(), events())
def test_an_impossible_event_raises_and_changes_nothing(history: list[GatewayEvent], event: GatewayEvent) -> None:
    registry = Registry().fold_all(history)
    before = registry.snapshot()

    try:
        registry.fold(event)
    except IllegalTransition:
        assert registry.snapshot() == before


@pytest.mark.promise("A5-c")
def test_ends_are_told_apart_by_cause_and_words() -> None:
    """GW-18: the words are read from the terminal event of the run, by one table."""
    found = {}
    for (state, cause), words in WORDS.items():
        run = Registry().fold_all((*STARTED, ended(state=state, cause=cause))).runs["r1"]
        assert run.words == words
        found[run.state, run.cause] = run.words

    assert found[TaskState.KILLED, EndCause.STOP] == EndWords("error", "error", "stopped")
    assert found[TaskState.KILLED, EndCause.TIMEOUT] == EndWords("timeout", "timeout", "timeout")
    assert {cause for _, cause in WORDS} == set(EndCause)
    assert {state for state, _ in WORDS} == TERMINAL


@pytest.mark.promise("A5-c")
def test_a_success_that_is_called_a_timeout_is_refused() -> None:
    """GW-18: no end has words that its state does not have."""
    registry = Registry().fold_all(STARTED)

    with pytest.raises(IllegalTransition):
        registry.fold(ended(state="completed", cause="timeout"))
    assert registry.runs["r1"].state is TaskState.RUNNING


def test_every_state_of_a_machine_has_a_row_and_is_reached() -> None:
    for table in (DELIVERY, SESSION):
        reached = {target for row in table.values() for target in row.values()}
        assert reached | {next(iter(table))} == set(table)
    assert {DeliveryState.DELIVERED, DeliveryState.SKIPPED, DeliveryState.DISMISSED} == DELIVERY_ENDS


# --- restarts ---------------------------------------------------------------------------------------------------------


@pytest.mark.promise("A5-d")
def test_a_run_is_restored_from_the_journal_alone() -> None:
    history = [*STARTED[:-2], registered(label="count", limit_s=60.0), STARTED[-1], ended(archive_at_s=1e9 + 3610)]
    lines = [Codec(EVENTS).encode((n, 0.0, type(event), *values(event)), 0.0) for n, event in enumerate(history, 1)]

    read = [Codec(EVENTS).decode(orjson.loads(line)).event for line in lines]
    run = Registry().fold_all(read).runs["r1"]

    assert run == Registry().fold_all(history).runs["r1"]
    assert (run.id, run.route, run.label, run.created_s, run.ended_s) == ("r1", ROUTE, "count", 1e9, 1e9 + 10)


def values(event: Event) -> tuple[object, ...]:
    return tuple(getattr(event, field.name) for field in attrs.fields(type(event)))


@pytest.mark.promise("A28-c")
@given(histories(), st.data())
def test_a_snapshot_and_the_rest_are_the_whole(history: list[GatewayEvent], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(history)))
    state = orjson.loads(orjson.dumps(Registry().fold_all(history[:cut]).snapshot()))

    rest = Registry().fold_all([GatewaySnapshot(at_s=0.0, state=state), *history[cut:]])

    assert rest == Registry().fold_all(history)


@pytest.mark.promise("A28-c")
def test_unknown_events_are_kept_in_a_snapshot() -> None:
    registry = folded(UnknownEvent(name="run.paused", fields={"run": "r1"}))

    assert Registry.from_snapshot(registry.snapshot()).unknown == [{"name": "run.paused", "run": "r1"}]


def test_a_value_that_is_not_a_snapshot_is_refused() -> None:
    with pytest.raises(ValueError, match="not a snapshot"):
        Registry.from_snapshot({"sessions": {"a": {"key": "a"}}})


def test_a_crash_counts_as_a_cut_and_an_orderly_end_does_not() -> None:
    again = GatewayBegan(at_s=1e9 + 5, process=2)
    crashed = folded(*STARTED[3:], again).runs["r1"]
    stopped = folded(*STARTED[3:], GatewayEnded(at_s=1e9 + 4, why="asked"), again).runs["r1"]

    assert (crashed.cuts, crashed.is_cut, crashed.cut_s) == (1, True, 1e9 + 1)
    assert (stopped.cuts, stopped.is_cut, stopped.spent_s) == (0, True, 3.0)


def test_time_without_a_process_does_not_count_as_work() -> None:
    registry = folded(
        registered(),
        RunBegan(at_s=1e9 + 10, run="r1"),
        GatewayEnded(at_s=1e9 + 14, why="asked"),
        GatewayBegan(at_s=1e9 + 1000, process=2),
        RunBegan(at_s=1e9 + 1010, run="r1"),
    )

    assert registry.runs["r1"].worked_s(1e9 + 1013) == 7.0
    assert registry.runs["r1"].began_s == 1e9 + 10


# --- growth -----------------------------------------------------------------------------------------------------------


def test_what_has_ended_leaves_the_registry() -> None:
    registry = folded()
    for number in range(MAX_RECENT + 50):
        item, reply, run = f"i{number}", f"reply:{number}", f"r{number}"
        registry.fold(InboundAccepted(at_s=1e9, item=item, session=SESSIONS[0], route=ROUTE))
        registry.fold(InboundSettled(at_s=1e9, item=item, why="answered"))
        registry.fold_all(sent(reply))
        registry.fold_all((registered(run, announce="none"), RunBegan(at_s=1e9, run=run), ended(run)))

    assert (registry.inbound, registry.replies, registry.runs, registry.completions) == ({}, {}, {}, {})
    assert len(registry.recent) == MAX_RECENT


def sent(delivery: str) -> tuple[GatewayEvent, ...]:
    return (
        DeliveryDue(at_s=1e9, delivery=delivery, session=SESSIONS[0], route=ROUTE, text="yes"),
        DeliveryBegan(at_s=1e9, delivery=delivery, part=1, parts=1, key="k", digest="d"),
        DeliveryEnded(at_s=1e9, delivery=delivery, part=1, result="taken"),
    )


def test_a_result_that_its_requester_has_is_told_by_one_event() -> None:
    """Between two events a kill would leave a text that is due to a chat."""
    told = DeliveryEnded(at_s=1e9, delivery=completion_delivery("r1"), part=0, result="taken", why="it was told")
    registry = Registry().fold_all((*STARTED, ended()))
    with pytest.raises(IllegalTransition):
        registry.fold(told)

    registry.fold_all((CompletionComposed(at_s=1e9, run="r1", text="done"), told))

    assert registry.completions["r1"].delivery.state is DeliveryState.DELIVERED
    with pytest.raises(IllegalTransition):
        registry.fold(told)


def test_a_session_whose_run_was_never_on_record_is_forgotten_at_a_start() -> None:
    child = SessionMade(at_s=1e9, session="agent:main:subagent:x", session_id="x", spawned_by=SESSIONS[0])
    registry = Registry().fold_all((*STARTED, child, GatewayBegan(at_s=1e9, process=2)))

    assert set(registry.sessions) == set(SESSIONS)


def test_the_answer_to_a_message_says_that_it_is_done() -> None:
    due = DeliveryDue(at_s=1e9, delivery="post:i1", route=ROUTE, text="done", call="i1")

    assert folded(due).services.answer(CHAT_CALLS, "i1", 1e9) is not None


def test_a_run_leaves_with_the_archive_of_its_session() -> None:
    delivered = (ended(), CompletionComposed(at_s=1e9, run="r1", text="done"), *sent(completion_delivery("r1")))
    registry = Registry().fold_all((*STARTED, *delivered))
    assert "r1" in registry.runs

    registry.fold(SessionArchived(at_s=1e9 + 3600, session=SESSIONS[1]))

    assert ("r1" in registry.runs, registry.completions) == (False, {})


def test_a_session_that_works_is_not_archived() -> None:
    registry = Registry().fold_all(STARTED)

    with pytest.raises(IllegalTransition):
        registry.fold(SessionArchived(at_s=1e9, session=SESSIONS[1]))


def test_an_archived_session_takes_nothing() -> None:
    registry = folded(SessionArchived(at_s=1e9, session=SESSIONS[1]))

    for event in (
        registered(),
        SessionOpened(at_s=1e9, session=SESSIONS[1]),
        InboundAccepted(at_s=1e9, item="i", session=SESSIONS[1]),
    ):
        with pytest.raises(IllegalTransition):
            registry.fold(event)


def test_answers_of_calls_are_remembered_for_a_day() -> None:
    registry = folded(RpcDone(at_s=1e9, token="t", key="k", digest="d", answer={"run": "r1"}))

    known = registry.services.answer("t", "k", 1e9 + 86_000)
    assert known is not None
    assert known.answer == {"run": "r1"}
    assert registry.services.answer("t", "k", 1e9 + 86_500) is None
    registry.fold(RpcDone(at_s=1e9 + 90_000, token="t", key="other", digest="d"))
    assert list(registry.services.answers["t"]) == ["other"]


def test_a_row_of_a_closed_session_is_small() -> None:
    """GW-16: a closed session is one row."""
    row = folded(SessionMade(at_s=1e9, session="agent:main:irc:dm:ada", session_id="0" * 36)).snapshot()

    assert len(orjson.dumps(row["sessions"]["agent:main:irc:dm:ada"])) < 2048


def test_parts_are_sent_in_order_and_none_twice() -> None:
    registry = folded(*sent("reply:1")[:1])
    began = DeliveryBegan(at_s=1e9, delivery="reply:1", part=1, parts=2, key="k1", digest="d")
    taken = DeliveryEnded(at_s=1e9, delivery="reply:1", part=1, result="taken")

    with pytest.raises(IllegalTransition):
        registry.fold(attrs.evolve(began, part=2))
    registry.fold_all((began, taken))
    with pytest.raises(IllegalTransition):
        registry.fold(began)
    registry.fold_all((attrs.evolve(began, part=2), attrs.evolve(taken, part=2)))

    assert registry.replies == {}


def test_random_histories_hold_every_kind_of_event() -> None:
    """The generator is worth something: what it leaves out, no property has seen."""
    seen: set[str] = set()

    @settings(max_examples=100, deadline=None, database=None)
    @given(histories())
    def look(history: list[GatewayEvent]) -> None:
        seen.update(event.kind for event in history)

    look()
    assert {event.kind for event in HISTORY_POOL} - seen == set()
