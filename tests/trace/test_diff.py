"""Comparing runs: times, ids and interleavings do not count; the first thing that does is shown."""

from __future__ import annotations

from typing import Any, Final

import attrs
import pytest

from greenroom.actors import ActorCreated, TurnBegan
from greenroom.core import Cause, Event
from greenroom.trace import Entry, UnknownEvent, diff_runs
from tests.trace.scenarios import SCENARIOS, Scenario, ends, run_entries, work

WORK: Final = run_entries(work)


def created(actor: str, path: str, *, behavior: str = "Worker", supervisor: str = "") -> ActorCreated:
    return ActorCreated(
        actor=actor, inc=1, path=path, behavior=behavior, supervisor=supervisor, descent="", journal="full"
    )


def entries_of(*events: Event) -> list[Entry]:
    return [Entry(seq, seq / 10, event.kind, event) for seq, event in enumerate(events, 1)]


def id_of(number: int) -> str:
    return f"a{number:016x}"


def test_a_run_is_the_same_as_itself() -> None:
    assert diff_runs(WORK, WORK) is None
    assert diff_runs([], []) is None


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_other_ids_and_other_jitter_make_no_difference(scenario: Scenario) -> None:
    """The seed changes every id and every back-off; what happens in these scenarios hangs on neither."""
    one, other = run_entries(scenario, seed=1), run_entries(scenario, seed=5)

    assert {entry.event.actor for entry in one}.isdisjoint(entry.event.actor for entry in other)
    assert diff_runs(one, other) is None


def test_how_actors_interleave_makes_no_difference() -> None:
    first, second = created(id_of(1), "first"), created(id_of(2), "second")
    turns = [TurnBegan(actor=id_of(1), inc=1, turn=1, msg=1, parent=1), TurnBegan(actor=id_of(2), inc=1, turn=1, msg=1)]

    one = entries_of(first, second, *turns)
    other = entries_of(second, first, turns[1], attrs.evolve(turns[0], parent=2))

    assert diff_runs(one, other) is None


def test_unnamed_siblings_are_matched_in_the_order_in_which_they_appeared() -> None:
    def run(one: int, other: int) -> list[Entry]:
        pool, child, deeper = id_of(90 + one), id_of(one), id_of(other)
        return entries_of(
            created(pool, pool, behavior="Pool"),
            created(child, f"{pool}/{child}", supervisor=pool),
            created(deeper, f"{pool}/{deeper}", supervisor=pool),
            TurnBegan(actor=deeper, inc=1, turn=1, msg=1),
        )

    assert diff_runs(run(1, 2), run(7, 3)) is None
    found = diff_runs(run(1, 2), run(1, 2)[:-1])
    assert found is not None
    assert found.actor == "Pool~1/Worker~2"


def test_two_actors_of_one_path_are_told_apart() -> None:
    one = entries_of(
        created(id_of(1), "mate"), created(id_of(2), "mate"), TurnBegan(actor=id_of(2), inc=1, turn=1, msg=1)
    )
    other = [*one[:2], Entry(3, 0.3, "turn.begin", TurnBegan(actor=id_of(2), inc=1, turn=1, msg=9))]

    found = diff_runs(one, other)

    assert found is not None
    assert found.actor == "mate (2)"


def test_the_first_divergence_is_shown_with_what_came_before() -> None:
    where = [place for place, entry in enumerate(WORK) if entry.kind == "turn.end"][6]
    event: Any = WORK[where].event
    changed = attrs.evolve(WORK[where], event=attrs.evolve(event, error="planted"))

    found = diff_runs(WORK, [*WORK[:where], changed, *WORK[where + 1 :]])

    assert found is not None
    assert (found.left_seq, found.right_seq) == (WORK[where].seq, WORK[where].seq)
    assert len(found.context) == 3
    assert "planted" in found.right
    assert "planted" not in found.left


def test_the_divergence_that_comes_first_in_the_run_wins() -> None:
    places = [place for place, entry in enumerate(WORK) if entry.kind == "actor.begin"]
    other = list(WORK)
    for where in (places[-1], places[0]):
        other[where] = attrs.evolve(WORK[where], event=attrs.evolve(WORK[where].event, inc=50))

    found = diff_runs(WORK, other)

    assert found is not None
    assert found.left_seq == WORK[places[0]].seq


@pytest.mark.parametrize("is_swapped", [False, True])
def test_a_run_that_goes_on_differs_where_the_other_ends(is_swapped: bool) -> None:
    runs = [WORK, WORK[:-2]]
    found = diff_runs(*(reversed(runs) if is_swapped else runs))

    assert found is not None
    assert (found.left == "", found.right == "") == (is_swapped, not is_swapped)
    assert (found.left_seq == 0, found.right_seq == 0) == (is_swapped, not is_swapped)


def test_another_run_altogether_differs() -> None:
    assert diff_runs(WORK, run_entries(ends)) is not None


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ({"took_s": 1.5}, {"took_s": 2.5}, True),
        ({"began_t": 1.5}, {"began_t": 2.5}, True),
        ({"task": "b0a1b2c3d"}, {"task": "b9z8y7x6w"}, True),
        ({"session": "20261120-225103-k3f9qz"}, {"session": "20261121-000000-aaaaaa"}, True),
        ({"file": "runs/20261120-225103-k3f9qz/report.md"}, {"file": "runs/20261121-000000-aaaaaa/report.md"}, True),
        ({"tasks": ["b0a1b2c3d", "b0a1b2c3d"]}, {"tasks": ["b9z8y7x6w", "b5z8y7x6w"]}, False),
        ({"word": "buildings"}, {"word": "resources"}, False),
        ({"cause": Cause("host", "x")}, {"cause": Cause("host", "y")}, False),
        ({"deep": {"a": [1, {"b": 2}]}}, {"deep": {"a": [1, {"b": 3}]}}, False),
        ({"tokens": 5}, {"tokens": 6}, False),
    ],
)
def test_what_counts_as_a_difference(one: dict[str, Any], other: dict[str, Any], is_same: bool) -> None:
    left, right = (entries_of(UnknownEvent(name="x.happened", fields=fields)) for fields in (one, other))
    assert (diff_runs(left, right) is None) == is_same
