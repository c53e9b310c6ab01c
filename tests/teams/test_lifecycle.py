"""Where a teammate stands, what it takes next, and what is news: the tables, against models that say the same otherwise."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import IllegalTransition
from greenroom.mailbox import Lane
from greenroom.teams import MemberStatus
from greenroom.teams._idle_reasons import IdleReason
from greenroom.teams._teammate_status import (
    LANE_OF,
    TRANSITIONS,
    Idling,
    TeammateStep,
    WorkSource,
    is_news,
    plan_next,
    step,
    takes,
)

STEPS = st.lists(st.sampled_from(TeammateStep), max_size=30)
SOURCES = st.lists(st.sampled_from(WorkSource), max_size=12)


@given(STEPS)
def test_what_has_ended_stays_ended_and_a_refused_step_changes_nothing(steps: list[TeammateStep]) -> None:
    status = MemberStatus.IDLE
    for each_step in steps:
        before = status
        try:
            status = step(status, each_step)
        except IllegalTransition:
            assert each_step not in TRANSITIONS[before]
            assert status is before
        else:
            assert before is not MemberStatus.ENDED


@given(STEPS)
def test_who_was_asked_to_end_counts_as_active_until_it_refuses_or_ends(steps: list[TeammateStep]) -> None:
    """RC-52: an answer that is no refusal, or no answer at all, makes nobody idle."""
    status = MemberStatus.SHUTDOWN_REQUESTED
    for each_step in steps:
        if each_step in {TeammateStep.SHUTDOWN_REFUSED, TeammateStep.LIFE_ENDED}:
            break
        status = step(status, each_step)
        assert status is MemberStatus.SHUTDOWN_REQUESTED


def test_every_way_ends() -> None:
    assert all(
        TeammateStep.LIFE_ENDED in row for status, row in TRANSITIONS.items() if status is not MemberStatus.ENDED
    )


@given(SOURCES)
def test_what_waits_is_taken_by_rank_and_within_one_in_order(sources: list[WorkSource]) -> None:
    """A request to shut down, the lead, peers in order, an item."""
    waiting = list(enumerate(sources))
    taken = []
    while (place := plan_next(MemberStatus.IDLE, [source for _, source in waiting])) is not None:
        taken.append(waiting.pop(place))

    order = list(WorkSource)
    assert not waiting
    assert taken == sorted(enumerate(sources), key=lambda one: (order.index(one[1]), one[0]))


@given(SOURCES)
def test_a_mate_whose_plan_waits_takes_the_leads_word_or_a_shutdown_and_leaves_the_rest(
    sources: list[WorkSource],
) -> None:
    place = plan_next(MemberStatus.AWAITING_PLAN, sources)

    heard = [source for source in sources if source in {WorkSource.SHUTDOWN, WorkSource.LEAD}]
    assert (place is None) == (not heard)
    if place is not None:
        assert sources[place] is min(heard, key=list(WorkSource).index)
    assert plan_next(MemberStatus.ENDED, sources) is None


def test_lanes_say_the_same_as_the_ranks() -> None:
    """The mailbox hands out lane by lane, so that no rank may be in a lane behind a later one."""
    lanes = [LANE_OF[source] for source in WorkSource]
    assert lanes == sorted(lanes, key=list(Lane).index)
    assert all(takes(MemberStatus.IDLE, source) for source in WorkSource)


IDLINGS = st.builds(
    Idling,
    reason=st.sampled_from(IdleReason),
    item=st.sampled_from(["", "1", "2"]),
    failure=st.sampled_from(["", "overloaded"]),
)


@given(st.lists(st.tuples(IDLINGS, st.booleans(), st.booleans()), max_size=40))
def test_the_lead_is_told_at_most_once_per_change(ends: list[tuple[Idling, bool, bool]]) -> None:
    told: Idling | None = None
    notices = changes = 0
    last: Idling | None = None
    for idling, was_active, was_asked in ends:
        changes += was_active or was_asked or idling != last
        last = idling
        if is_news(told, idling, was_active=was_active, was_asked=was_asked):
            notices += 1
            told = idling
    assert notices <= changes


@pytest.mark.parametrize("turns", [1, 100])
def test_turns_in_which_nothing_is_done_are_told_once(turns: int) -> None:
    """RC-49."""
    told: Idling | None = None
    notices = 0
    for _ in range(turns):
        now = Idling(reason=IdleReason.AVAILABLE)
        if is_news(told, now, was_active=False, was_asked=False):
            told, notices = now, notices + 1
    assert notices == 1
