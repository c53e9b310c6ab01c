"""The export in Perfetto's own format, read with its published schema: nesting, flows, names, arguments."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any, Final

import pytest
from hypothesis import given, settings
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

from greenroom.actors import ActorCreated, TurnBegan, TurnEnded
from greenroom.mailbox import MessagePut
from greenroom.trace import Entry
from tests.trace.crafted import FLAGS, NEW
from tests.trace.exporting import Facts, chrome_object, journal_facts, micro, perfetto_bytes
from tests.trace.journals import journals
from tests.trace.planting import run
from tests.trace.scenarios import SCENARIOS, Scenario, run_entries, work

BEGIN: Final = TrackEvent.TYPE_SLICE_BEGIN
END: Final = TrackEvent.TYPE_SLICE_END


def read(content: bytes) -> Any:
    """Return a trace; the schema knows every field of it, which its length shows."""
    trace = Trace()
    trace.ParseFromString(content)
    known = Trace()
    known.CopyFrom(trace)
    known.DiscardUnknownFields()
    assert known.ByteSize() == trace.ByteSize() == len(content)
    return trace


def check(content: bytes, entries: list[Entry]) -> None:
    """Slices nest on each track, each flow has both ends, times never fall, and each slice is one of the journal."""
    names: dict[str, dict[int, str]] = defaultdict(dict)
    tracks: set[int] = set()
    stacks: defaultdict[int, list[tuple[dict[str, Any], str, int]]] = defaultdict(list)
    flows: Counter[int] = Counter()
    lasted: dict[int, tuple[str, str, int]] = {}
    latest = 0
    meant = journal_facts(entries)
    for packet in read(content).packet:
        for name in packet.interned_data.event_names:
            names["event"][name.iid] = name.name
        for name in packet.interned_data.debug_annotation_names:
            names["argument"][name.iid] = name.name
        if packet.HasField("track_descriptor"):
            described = packet.track_descriptor
            assert described.uuid not in tracks
            assert not described.parent_uuid or described.parent_uuid in tracks
            tracks.add(described.uuid)
        if not packet.HasField("track_event"):
            continue
        assert packet.timestamp >= latest
        latest = packet.timestamp
        event = packet.track_event
        assert event.track_uuid in tracks
        flows.update(event.flow_ids)
        for flow in event.terminating_flow_ids:
            assert flows[flow] == 1
            flows[flow] += 1
        if event.type == BEGIN:
            said = {names["argument"][each.name_iid]: each for each in event.debug_annotations}
            stacks[event.track_uuid].append((said, names["event"][event.name_iid], packet.timestamp))
        elif event.type == END:
            said, _, began = stacks[event.track_uuid].pop()
            seq, took = said["seq"].int_value, packet.timestamp - began
            if seq in meant.lasted:
                lasted[seq] = meant.lasted[seq][0], said["outcome"].string_value, took // 1_000
            assert said["parent"].int_value == meant.causes[seq] if "parent" in said else not meant.causes[seq]
    assert not any(stacks.values())
    assert set(flows.values()) <= {2}
    assert Facts(lasted, {}) == Facts(meant.lasted, {})


@pytest.mark.promise("X-perfetto")
@settings(max_examples=60)
@given(journals())
def test_slices_nest_and_flows_have_two_ends(entries: list[Entry]) -> None:
    check(perfetto_bytes(entries), entries)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_real_runs_keep_their_slices(scenario: Scenario) -> None:
    entries = run_entries(scenario)

    check(perfetto_bytes(entries), entries)


def test_each_delivered_message_with_a_sender_is_a_flow() -> None:
    entries = run_entries(work)
    handled = {(entry.event.actor, entry["msg"]) for entry in entries if entry.kind == "turn.begin"}
    puts = [entry for entry in entries if entry.kind == "message.put" and (entry.event.actor, entry["msg"]) in handled]

    begun = [flow for packet in read(perfetto_bytes(entries)).packet for flow in packet.track_event.flow_ids]

    assert begun
    assert set(begun) == {put.seq for put in puts if put.event.parent}


@pytest.mark.promise("X-perfetto")
def test_a_message_that_is_handled_twice_is_one_flow_to_its_first_turn() -> None:
    lead: dict[str, Any] = {"actor": "a1", "inc": 1}
    mate: dict[str, Any] = {"actor": "a2", "inc": 1}
    ended: dict[str, Any] = {"state": "completed", "by": "own", "cause": None, "error": "", **FLAGS}
    entries = run(
        ActorCreated(**{**NEW, "supervisor": "", "path": "lead"}, actor="a1"),
        ActorCreated(**{**NEW, "supervisor": "", "path": "mate"}, actor="a2"),
        TurnBegan(**lead, turn=1, msg=1),
        MessagePut(**mate, msg=1, lane="next", type="Task", parent=3),
        TurnBegan(**mate, turn=1, msg=1),
        TurnEnded(**mate, turn=1, msg=1, parent=5, **ended),
        TurnBegan(**mate, turn=2, msg=1),
        TurnEnded(**mate, turn=2, msg=1, parent=7, **ended),
    )

    events = [packet.track_event for packet in read(perfetto_bytes(entries)).packet]

    assert [flow for event in events for flow in event.flow_ids] == [4]
    assert [flow for event in events for flow in event.terminating_flow_ids] == [4]


def test_actors_are_tracks_below_their_supervisors_and_lanes_are_counters() -> None:
    described = [
        packet.track_descriptor
        for packet in read(perfetto_bytes(run_entries(SCENARIOS[1]))).packet
        if packet.HasField("track_descriptor")
    ]
    name_of = {each.uuid: each.name for each in described}
    above = {each.name: name_of.get(each.parent_uuid, "") for each in described if not each.HasField("counter")}
    counters = {(name_of[each.parent_uuid], each.name) for each in described if each.HasField("counter")}

    assert above == {"run r1": "", "(root)": "run r1", "team": "(root)", "first": "team", "second": "team"}
    assert {lane for _, lane in counters} <= {"now", "next", "later"}


def test_the_wall_clock_of_the_beginning_is_in_the_file() -> None:
    [snapshot] = [
        packet.clock_snapshot
        for packet in read(perfetto_bytes(run_entries(work))).packet
        if packet.HasField("clock_snapshot")
    ]

    assert {clock.clock_id: clock.timestamp for clock in snapshot.clocks} == {6: 0, 1: 1_795_262_400 * 10**9}


def test_the_file_is_smaller_than_that_for_chrome() -> None:
    entries = run_entries(work)

    assert len(perfetto_bytes(entries)) < len(str(chrome_object(entries)))


def test_times_are_nanoseconds_since_the_run_began() -> None:
    entries = run_entries(work)
    first = next(packet for packet in read(perfetto_bytes(entries)).packet if packet.track_event.type == BEGIN)

    assert first.timestamp == micro(entries[0].t) * 1_000
