"""Changes and columns: what they say of any moment of any run is what the fold says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greenroom.actors import ActorBegan, ActorCreated
from greenroom.session import EVENTS, FOLDS, SessionBegan
from greenroom.trace import Entry, Header, World, fold
from greenroom.trace._column_tables import ColumnTable
from greenroom.trace._columns import FLAGS, REQUESTS, SHOWN_WHOLE, STATES, Columns
from greenroom.trace._world_changes import Patch, Sections, apply_patch, changes
from greenroom.trace.exports._entry_source import EntryWindow, source_of_entries
from greenroom.trace.exports._slices import Slices
from tests.trace.journals import journals
from tests.trace.scenarios import SCENARIOS, Scenario, run_entries
from tests.trace.unpacked import Unpacked, sections_of

LANES: Final = ("now", "next", "later", "leased", "postponed")


def columns_of(entries: list[Entry]) -> Columns:
    columns = Columns(EVENTS)
    for change in changes(entries, FOLDS):
        columns.take(change.entry, change.subjects)
    return columns


@settings(max_examples=60)
@given(journals())
def test_changes_applied_to_nothing_give_the_fold_at_every_event(entries: list[Entry]) -> None:
    sections: Sections = {}
    world = World(FOLDS)
    for change in changes(entries, FOLDS):
        for patch in change.patches():
            apply_patch(sections, patch)
        world.apply(change.entry)

        assert {name: subjects for name, subjects in sections.items() if subjects} == sections_of(world)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_changes_of_a_run_give_its_state(scenario: Scenario) -> None:
    sections: Sections = {}
    entries = run_entries(scenario)
    for change in changes(entries, FOLDS):
        for patch in change.patches():
            apply_patch(sections, patch)

    assert {name: subjects for name, subjects in sections.items() if subjects} == sections_of(fold(entries, FOLDS))


@settings(max_examples=60)
@given(journals(), st.integers(0, 200), st.integers(1, 50))
def test_the_columns_say_of_every_actor_at_any_event_what_the_fold_says(
    entries: list[Entry], place: int, max_rows: int
) -> None:
    columns, page = columns_of(entries), Unpacked()
    while page.has() != columns.rows():
        page.add(*columns.pack(page.has(), max_rows=max_rows))
    count = min(place, len(entries))
    world = fold(entries[:count], FOLDS)

    for actor in page.lists["actors"][1:]:
        compare(page, world, actor, count)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_the_columns_of_a_run_say_what_the_fold_says(scenario: Scenario) -> None:
    entries = run_entries(scenario)
    page, patched = Unpacked(), Sections()
    page.add(*columns_of(entries).pack({}))
    for _, patch in page.lists["patches"]:
        apply_patch(patched, Patch(*patch))
    assert {name: subjects for name, subjects in patched.items() if subjects} == {
        name: subjects for name, subjects in sections_of(fold(entries, FOLDS)).items() if name not in SHOWN_WHOLE
    }
    for count in range(0, len(entries), 7):
        world = fold(entries[:count], FOLDS)
        for actor in page.lists["actors"][1:]:
            compare(page, world, actor, count)


def compare(page: Unpacked, world: World, actor: str, count: int) -> None:
    """Assert that the rows of an actor say of it what the folded state says."""
    state, view = page.last("states", actor, count), world.section("actors").get(actor)
    if state is None or view is None:
        assert state is view is None
    else:
        flags = {name for bit, name in enumerate((*FLAGS, *REQUESTS)) if state["flags"] >> bit & 1}
        assert STATES[state["state"]] == view.state
        assert flags == {name for name in FLAGS if getattr(view, name)} | ({view.request} - {""})
        assert page.lists["actors"][state["supervisor"]] == view.supervisor
        assert (state["incarnation"], state["turn"]) == (view.incarnation, view.turn)
    mail, box = page.last("mail", actor, count), world.section("mailboxes").get(actor)
    if mail is None or box is None:
        assert mail is box is None
    else:
        assert {lane: mail[lane] for lane in LANES} == {lane: len(getattr(box, lane)) for lane in LANES}
    usage, agent = page.last("usage", actor, count), world.section("agents").get(actor)
    if usage is None or agent is None:
        assert usage is None
        assert agent is None or (agent.requests, agent.tool_calls) == (0, 0)
    else:
        used = agent.usage
        assert (usage["requests"], usage["failed_requests"]) == (agent.requests, agent.failed_requests)
        assert (usage["calls"], usage["failed_calls"]) == (agent.tool_calls, agent.failed_calls)
        assert (usage["input"], usage["output"]) == (used.input_tokens, used.output_tokens)
        assert (usage["cache_write"], usage["cache_read"]) == (
            used.cache_creation_input_tokens,
            used.cache_read_input_tokens,
        )


@given(journals())
def test_the_slices_of_the_columns_are_those_of_the_exports(entries: list[Entry]) -> None:
    page = Unpacked()
    page.add(*columns_of(entries).pack({}))
    kinds, events = page.lists["kinds"], page.rows["events"]
    ends = {row["slice"]: row for row in page.rows["ends"]}
    drawn = sorted(
        (
            events[row["event"]]["seq"],
            kinds[row["what"]],
            page.lists["actors"][row["actor"]],
            kinds[ends[number]["outcome"]] if number in ends else "open",
            events[ends[number]["event"]]["t"] if number in ends else entries[-1].t,
        )
        for number, row in enumerate(page.rows["slices"])
    )

    source = source_of_entries(entries, Header(run="r1", greenroom="1", python="3", trio="0"))
    parts = [step.begun for step in Slices(source).walk(EntryWindow(source)) if step.begun is not None]
    assert drawn == sorted(
        (part.begin.seq, part.what, part.begin.event.actor, part.outcome, part.end_t) for part in parts
    )


def test_what_a_process_had_open_ends_with_it() -> None:
    told: dict[str, Any] = {"path": "p", "behavior": "B", "supervisor": "", "descent": "", "journal": "full"}
    events = [
        SessionBegan(session="s", model="m", cwd="."),
        ActorCreated(actor="a1", inc=1, **told),
        ActorBegan(actor="a1", inc=1),
        SessionBegan(session="s", model="m", cwd="."),
    ]
    entries = [Entry(seq, float(seq), event.kind, event) for seq, event in enumerate(events, 1)]
    page, sections = Unpacked(), Sections()
    page.add(*columns_of(entries).pack({}))
    for change in changes(entries, FOLDS):
        for patch in change.patches():
            apply_patch(sections, patch)

    assert sections == sections_of(fold(entries, FOLDS))
    compare(page, fold(entries, FOLDS), "a1", 4)
    assert [(row["slice"], row["event"]) for row in page.rows["ends"]] == [(0, 2), (1, 2)]
    assert {page.lists["kinds"][row["outcome"]] for row in page.rows["ends"]} == {"open"}


def test_a_number_that_does_not_fit_is_the_nearest_that_does() -> None:
    event = ActorBegan(actor="a1", inc=1, parent=-5)
    page = Unpacked()
    page.add(*columns_of([Entry(2**63, 1.5, event.kind, event)]).pack({}))

    assert (page.rows["events"][0]["seq"], page.rows["events"][0]["parent"]) == (2**32 - 1, 0)


def test_rows_that_come_while_rows_move_into_the_columns_are_kept() -> None:
    """Another thread appends while one reads."""
    table = ColumnTable((("number", "u4"), ("place", "u1")))

    class Row(tuple[float, ...]):
        __slots__ = ()

        def __iter__(self) -> Iterator[float]:
            table.rows.append((2, 20))
            return super().__iter__()

    table.rows.append(Row((1, 10)))

    assert (list(table.columns["number"]), len(table)) == ([1], 2)
    assert (list(table.columns["number"]), list(table.columns["place"])) == ([1, 2], [10, 20])
