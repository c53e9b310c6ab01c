"""Places of lanes: widths, order, loans and circles, in any order of events."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from greenroom.core import UsageError
from greenroom.gateway.lanes._places import MAX_OVERTAKEN, ClaimState, LaneModel, Rank, TurnClaim, WaitsInCircle

SESSIONS = tuple("abcdefg")
LANES = ("main", "subagent")


def states(*claims: TurnClaim) -> list[str]:
    return [claim.state.value for claim in claims]


def test_turn_beyond_the_width_waits_for_the_first_that_leaves() -> None:
    places = LaneModel({"main": 2})
    first, second, third, fourth = (places.ask(session, "main")[0] for session in "abcd")

    given = places.leave(second)

    assert given == (third,)
    assert states(first, third, fourth) == ["active", "active", "waiting"]
    assert places.ahead(fourth) == 0


def test_lane_without_a_width_has_one_place() -> None:
    places = LaneModel()
    places.ask("a", "nested")
    assert places.ask("b", "nested")[0].state is ClaimState.WAITING


@pytest.mark.parametrize("width", [0, -3])
def test_width_below_one_is_refused(width: int) -> None:
    with pytest.raises(UsageError):
        LaneModel({"main": width})


@pytest.mark.promise("A10-d")
def test_narrower_lane_gives_nothing_until_it_is_below_its_width() -> None:
    places = LaneModel({"main": 8})
    running = [places.ask(f"s{number}", "main")[0] for number in range(8)]
    waiting = places.ask("late", "main")[0]

    places.resize("main", 2)
    given = [places.leave(claim) for claim in running[:6]]

    assert given == [()] * 6
    assert places.leave(running[6]) == (waiting,)


@pytest.mark.promise("A10-d")
def test_wider_lane_gives_at_once() -> None:
    places = LaneModel({"main": 1})
    _, second = places.ask("a", "main")[0], places.ask("b", "main")[0]
    assert places.resize("main", 2) == (second,)


@pytest.mark.promise("A10-c")
def test_saturated_lane_delays_no_other() -> None:
    places = LaneModel({"main": 1, "subagent": 1})
    places.ask("a", "subagent")
    places.ask("b", "subagent")
    assert places.ask("c", "main")[0].state is ClaimState.ACTIVE


def test_chain_of_waits_ends_on_one_place() -> None:
    """A waits for B, which waits for C, in a lane of one place."""
    places = LaneModel({"main": 1})
    a = places.ask("a", "main")[0]
    first_come = places.ask("d", "main")[0]

    places.lend(a, ["b"])
    b = places.ask("b", "main")[0]
    places.lend(b, ["c"])
    c = places.ask("c", "main")[0]
    assert states(a, b, c, first_come) == ["lent", "lent", "active", "waiting"]

    assert places.leave(c) == ()
    assert places.take_back(b) == (b,)
    assert places.leave(b) == ()
    assert places.take_back(a) == (a,)
    assert places.leave(a) == (first_come,)


def test_loan_serves_a_turn_of_the_session_that_waited_before() -> None:
    """The message that is waited for stands behind another one in that session's inbox."""
    places = LaneModel({"main": 1})
    a = places.ask("a", "main")[0]
    earlier = places.ask("b", "main")[0]

    assert places.lend(a, ["b"]) == (earlier,)
    assert places.leave(earlier) == ()
    assert places.ask("b", "main")[0].state is ClaimState.ACTIVE


def test_wait_that_ends_early_gets_the_next_place_of_the_lane() -> None:
    places = LaneModel({"main": 1})
    a = places.ask("a", "main")[0]
    first_come = places.ask("d", "main")[0]
    places.lend(a, ["b"])
    b = places.ask("b", "main")[0]

    assert places.take_back(a) == ()

    assert states(a, b, first_come) == ["returning", "active", "waiting"]
    assert places.leave(b) == (a,)
    assert places.leave(a) == (first_come,)


def test_wait_in_a_circle_is_refused_and_changes_nothing() -> None:
    places = LaneModel({"main": 2})
    a, b = places.ask("a", "main")[0], places.ask("b", "main")[0]
    places.lend(a, ["b"])

    with pytest.raises(WaitsInCircle) as caught:
        places.lend(b, ["c", "a"])

    assert (caught.value.session, caught.value.target) == ("b", "a")
    assert states(a, b) == ["lent", "active"]
    with pytest.raises(WaitsInCircle):
        places.lend(b, ["b"])


def test_people_come_before_clock_work_and_overtake_within_a_bound() -> None:
    """GW-17: turns wait by rank and then by time."""
    places = LaneModel({"main": 1})
    running = places.ask("x", "main")[0]
    clock = places.ask("clock", "main", Rank.BACKGROUND)[0]
    overtook = 0
    while clock.state is ClaimState.WAITING and overtook <= MAX_OVERTAKEN:
        places.ask(f"p{overtook}", "main")
        (running,) = places.leave(running)
        overtook += running is not clock

    assert overtook == MAX_OVERTAKEN


def test_turns_that_report_a_result_come_first_in_their_order() -> None:
    places = LaneModel({"subagent": 1})
    running = places.ask("x", "subagent")[0]
    waiting = [places.ask(f"child {number}", "subagent")[0] for number in range(MAX_OVERTAKEN + 2)]
    first, second = (places.ask(session, "subagent", Rank.ENDING)[0] for session in "ab")

    assert places.ahead(waiting[0]) == 2
    order = []
    while given := places.leave(running):
        (running,) = given
        order.append(running)

    assert order == [first, second, *waiting]


@given(
    width=st.integers(1, 4),
    counts=st.lists(st.integers(0, 3), min_size=1, max_size=40),
    chance=st.randoms(use_true_random=False),
)
def test_results_are_told_while_others_wait_to_begin(width: int, counts: list[int], chance: random.Random) -> None:
    """Of the turns that have begun, at most twice the width are not told yet; turns begin in the order in which they asked."""
    places = LaneModel({"subagent": width})
    began: list[str] = []
    told: list[str] = []
    working: list[TurnClaim] = []
    asked = 0

    def take(given: Sequence[TurnClaim]) -> None:
        began.extend(claim.session for claim in given if claim.rank is Rank.PERSON)
        working.extend(given)

    for count in [*counts, *[0] * 400]:
        for _ in range(count):
            take(places.ask(f"{asked}", "subagent")[1])
            asked += 1
        if working:
            claim = working.pop(chance.randrange(len(working)))
            take(places.leave(claim))
            if claim.rank is Rank.ENDING:
                told.append(claim.session)
            else:
                take(places.ask(claim.session, "subagent", Rank.ENDING)[1])
        assert len(began) - len(told) <= 2 * width

    assert began == [str(number) for number in range(asked)]
    assert sorted(told) == sorted(began)


class LaneMachine(RuleBasedStateMachine):
    """Sessions take one turn at a time, ask each other, give up, are aborted; widths change."""

    def __init__(self) -> None:
        super().__init__()
        self.places = LaneModel()
        self.turns: dict[str, TurnClaim] = {}
        self.asked: list[tuple[TurnClaim, str]] = []
        """Turns that wait for an answer, with the session that is to give it."""
        self.widths = dict.fromkeys(LANES, 1)
        self.limits = dict.fromkeys(LANES, 1)

    @initialize(main=st.integers(1, 3), subagent=st.integers(1, 3))
    def open(self, main: int, subagent: int) -> None:
        for lane, width in zip(LANES, (main, subagent), strict=True):
            self.resize(lane, width)

    def of(self, *wanted: ClaimState) -> list[TurnClaim]:
        return [claim for claim in self.turns.values() if claim.state in wanted]

    @rule(session=st.sampled_from(SESSIONS), lane=st.sampled_from(LANES), rank=st.sampled_from(Rank))
    def begin(self, session: str, lane: str, rank: Rank) -> None:
        if session not in self.turns:
            claim, given = self.places.ask(session, lane, rank)
            self.turns[session] = claim
            assert (claim in given) == (claim.state is ClaimState.ACTIVE)

    @precondition(lambda self: self.of(ClaimState.ACTIVE))
    @rule(data=st.data(), sessions=st.sets(st.sampled_from(SESSIONS), min_size=1, max_size=3))
    def wait_for(self, data: st.DataObject, sessions: set[str]) -> None:
        claim = data.draw(st.sampled_from(self.of(ClaimState.ACTIVE)))
        try:
            self.places.lend(claim, sessions)
        except WaitsInCircle:
            assert claim.state is ClaimState.ACTIVE
        else:
            self.asked += [(claim, target) for target in sessions]

    @precondition(lambda self: self.of(ClaimState.LENT))
    @rule(data=st.data())
    def give_up_waiting(self, data: st.DataObject) -> None:
        self.end_wait(data.draw(st.sampled_from(self.of(ClaimState.LENT))))

    @precondition(lambda self: self.turns)
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        self.leave(data.draw(st.sampled_from(list(self.turns.values()))))

    @rule(lane=st.sampled_from(LANES), width=st.integers(1, 4))
    def resize(self, lane: str, width: int) -> None:
        statistics = self.places.statistics().get(lane)
        self.limits[lane] = max(width, 0 if statistics is None else statistics.active + statistics.lent)
        self.widths[lane] = width
        self.places.resize(lane, width)

    def end_wait(self, claim: TurnClaim) -> None:
        self.asked = [ask for ask in self.asked if ask[0] is not claim]
        self.places.take_back(claim)

    def leave(self, claim: TurnClaim) -> None:
        self.asked = [ask for ask in self.asked if ask[0] is not claim]
        del self.turns[claim.session]
        self.places.leave(claim)

    @invariant()
    def a_lane_gives_out_no_more_than_its_width(self) -> None:
        for lane, statistics in self.places.statistics().items():
            used = statistics.active + statistics.lent
            held = len({id(claim.place) for claim in self.turns.values() if claim.place and claim.place.lane == lane})
            assert used == held
            assert used <= max(self.widths[lane], self.limits[lane])
            self.limits[lane] = max(self.widths[lane], min(used, self.limits[lane]))

    @invariant()
    def a_free_place_and_a_turn_that_waits_never_meet(self) -> None:
        waiting = self.of(ClaimState.WAITING, ClaimState.RETURNING)
        for claim in waiting:
            statistics = self.places.statistics()[claim.lane]
            assert statistics.active + statistics.lent >= self.widths[claim.lane]
            for lender in self.of(ClaimState.LENT):
                is_unused = lender.place is not None and lender.place.user is lender
                assert not (is_unused and claim.session in lender.waits_for)

    @invariant()
    def a_place_has_one_turn_that_runs_or_none(self) -> None:
        for claim in self.turns.values():
            if claim.place is not None:
                below = claim.place.claims[:-1]
                assert all(other.state is ClaimState.LENT for other in below)
            assert (claim.state in {ClaimState.ACTIVE, ClaimState.LENT}) == (claim.place is not None)

    def teardown(self) -> None:
        """However it stands, all turns come to their end if each that runs does, and each answer is given."""
        for _ in range(200):
            if not self.turns:
                break
            running = self.of(ClaimState.ACTIVE)
            for claim, target in self.asked:
                if target not in self.turns and claim.state is ClaimState.LENT:
                    self.begin(target, "main", Rank.PERSON)
            for claim in running:
                answered = claim.session
                self.leave(claim)
                for ask in [ask for ask in self.asked if ask[1] == answered]:
                    self.asked.remove(ask)
                    if ask[0] not in {other for other, _ in self.asked} and ask[0].state is ClaimState.LENT:
                        self.end_wait(ask[0])
        assert self.turns == {}
        assert all(lane.active == lane.lent == lane.waiting == 0 for lane in self.places.statistics().values())


LaneMachine.TestCase.settings = settings(stateful_step_count=30, deadline=None)
test_places_machine = LaneMachine.TestCase
