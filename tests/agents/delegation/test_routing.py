"""Which way a call of the tool Agent takes, and what refuses it."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.agents import AgentDefinition
from greenroom.agents.definitions import GENERAL_PURPOSE, Definitions
from greenroom.agents.definitions._builtin_definitions import BUILTINS
from greenroom.agents.delegation import AgentCall, SpawnRefused, TeammateRoute, Teams, route
from greenroom.agents.delegation._routing import ForkRoute, NamedRoute, RemoteRoute
from greenroom.agents.delegation._situation import Caller, DelegationLimits, Situation
from greenroom.core.sources import Diagnostic, Kind

REVIEWER = AgentDefinition(name="code-reviewer")
NIGHTLY = AgentDefinition(name="nightly", is_background=True)
ISOLATED = AgentDefinition(name="isolated", isolation="worktree")
FAR = AgentDefinition(name="far", isolation="remote")
ALL = (*BUILTINS, REVIEWER, NIGHTLY, ISOLATED, FAR)
TEAM = Teams(are_on=True, team="red")
IMPLICIT = Teams(are_on=True, team="session-1", is_implicit=True)
LEAD = Caller(has_team_context=True)
MATE = Caller(depth=1, is_main=False, is_teammate=True, has_team_context=True)
CHILD = Caller(depth=1, is_main=False)


def definitions(*some: AgentDefinition) -> Definitions:
    return Definitions(by_name={one.name: one for one in some})


def situation(**facts: Any) -> Situation:
    return Situation(**{"definitions": definitions(*ALL), **facts})


def call(kind: str | None = None, **fields: Any) -> AgentCall:
    return AgentCall(description="d", prompt="p", subagent_type=kind, **fields)


def refusal(one: AgentCall, where: Situation) -> SpawnRefused:
    with pytest.raises(SpawnRefused) as caught:
        route(one, where)
    return caught.value


def named(one: AgentCall, where: Situation) -> NamedRoute:
    found = route(one, where)
    assert isinstance(found, NamedRoute)
    return found


def is_background(one: AgentCall, where: Situation) -> bool:
    return named(one, where).is_background


maybe = st.booleans()
callers = st.builds(
    Caller,
    depth=st.integers(0, 4),
    is_main=maybe,
    is_fork=maybe,
    has_fork_tag=maybe,
    is_teammate=maybe,
    has_team_context=maybe,
    is_user=maybe,
)
situations = st.builds(
    Situation,
    definitions=st.lists(st.sampled_from(ALL), unique_by=lambda one: one.name).map(lambda some: definitions(*some)),
    denied_types=st.sampled_from([{}, {"Explore": "Agent(Explore)"}, {"fork": "Agent(fork)"}, {"*": "Agent(*)"}]),
    allowed_types=st.none() | st.lists(st.sampled_from([one.name for one in ALL])).map(tuple),
    fork=st.sampled_from(["off", "when_type_omitted", "explicit"]),
    is_interactive=maybe,
    is_coordinator=maybe,
    is_assistant=maybe,
    is_proactive=maybe,
    background_by_default=maybe,
    background_enabled=maybe,
    has_remote_hosts=maybe,
    caller=callers,
    limits=st.builds(
        DelegationLimits,
        running=st.integers(0, 25),
        spawned=st.integers(0, 5),
        max_total=st.none() | st.integers(1, 5),
        has_budget=maybe,
    ),
    teams=st.builds(Teams, are_on=maybe, team=st.none() | st.just("red"), is_implicit=maybe),
)
calls = st.builds(
    call,
    st.none() | st.sampled_from([*(one.name for one in ALL), "Code Reviewer", "fork", "nobody"]),
    name=st.none() | st.just("scout"),
    team_name=st.none() | st.sampled_from(["red", "blue"]),
    run_in_background=st.none() | maybe,
    isolation=st.sampled_from([None, "worktree", "remote"]),
    mode=st.none() | st.just("plan"),
)


@given(calls, situations)
def test_a_route_keeps_every_promise(one: AgentCall, where: Situation) -> None:
    try:
        found = route(one, where)
    except SpawnRefused as error:
        found, told = None, str(error)
    else:
        told = "nothing"
    assert told
    caller = where.caller
    if found is not None:
        assert where.limits.has_budget
    match found:
        case TeammateRoute():
            assert one.name == found.name
            assert caller.is_main
            assert not caller.is_teammate
            assert found.team == where.teams.team
        case ForkRoute():
            assert where.is_fork_open
            assert not where.is_coordinator
            assert not caller.is_fork
            assert not caller.has_fork_tag
        case NamedRoute() | RemoteRoute():
            assert found.definition.name in where.definitions
            assert found.definition.name not in where.denied_types
            assert one.subagent_type is not None or found.definition is GENERAL_PURPOSE
            assert isinstance(found, NamedRoute) or where.has_remote_hosts
    if isinstance(found, NamedRoute | ForkRoute):
        assert not found.is_background or (where.background_enabled and not caller.is_teammate)
        assert caller.depth < where.limits.max_depth
        assert where.limits.running < where.limits.max_running or caller.is_user


@given(calls, situations)
def test_the_same_call_takes_the_same_way(one: AgentCall, where: Situation) -> None:
    def once() -> object:
        try:
            return route(one, where)
        except SpawnRefused as error:
            return error.kind, str(error)

    assert once() == once()


@given(calls, situations)
def test_denied_type_never_starts_as_another_type(one: AgentCall, where: Situation) -> None:
    """Behaviours (1), line 2: no fallback."""
    denied = attrs.evolve(where, denied_types={"*": "Agent(*)"})

    if one.subagent_type is not None or not (denied.teams.are_on and one.name):
        assert refusal(one, denied).kind not in {"running", "depth", "total", "no_remote_host"}


# --- types ------------------------------------------------------------------------------------------------------------


def test_a_call_without_a_type_runs_the_general_agent_in_the_foreground() -> None:
    """Behaviours (1), line 1."""
    assert route(call(), situation()) == NamedRoute(definition=GENERAL_PURPOSE, is_background=False)
    assert is_background(call(), situation(background_by_default=True))


@pytest.mark.parametrize("asked", ["Code Reviewer", "code_reviewer", "CODE-REVIEWER", " code  reviewer "])
def test_types_match_whatever_their_case_and_separators(asked: str) -> None:
    """Behaviours (1), line 2."""
    assert named(call(asked), situation()).definition is REVIEWER
    error = refusal(call(asked), situation(denied_types={"code-reviewer": "Agent(code-reviewer)"}))
    assert error.kind == "denied_type"
    assert "Agent(code-reviewer)" in str(error)


@pytest.mark.parametrize("rule", ["code-*", "Code Reviewer", "*"])
def test_a_rule_may_name_a_type_loosely(rule: str) -> None:
    assert refusal(call("code-reviewer"), situation(denied_types={rule: f"Agent({rule})"})).kind == "denied_type"


def test_the_fallback_is_held_by_a_rule_too() -> None:
    denied = {"general-purpose": "Agent(general-purpose)"}
    assert refusal(call(), situation(denied_types=denied)).kind == "denied_type"


def test_an_unknown_type_is_told_what_there_is_and_what_is_near() -> None:
    denied = {"Plan": "Agent(Plan)"}
    error = refusal(call("code-reviewr"), situation(denied_types=denied))

    assert error.kind == "unknown_type"
    assert "general-purpose, Explore, statusline-setup" in str(error)
    assert "Plan" not in str(error)
    assert str(error).endswith("did you mean code-reviewer?")


def test_an_unknown_type_is_told_of_files_that_could_not_be_read() -> None:
    broken = Diagnostic(kind=Kind.BROKEN, source="agents/tester.md", text="no description")
    where = situation(definitions=Definitions(by_name={"a": REVIEWER}, diagnostics=(broken,)))
    assert "agents/tester.md" in str(refusal(call("tester"), where))


def test_a_type_that_may_be_two_is_asked_for_by_its_name() -> None:
    two = definitions(AgentDefinition(name="code_reviewer"), REVIEWER)
    assert refusal(call("Code Reviewer"), situation(definitions=two)).kind == "ambiguous_type"
    assert named(call("code-reviewer"), situation(definitions=two)).definition is REVIEWER


def test_without_the_general_agent_a_type_is_required() -> None:
    error = refusal(call(), situation(definitions=definitions(REVIEWER, NIGHTLY)))

    assert error.kind == "no_type"
    assert str(error) == (
        "subagent_type is required: the general-purpose agent is not available in this session. "
        "Available agents: code-reviewer, nightly"
    )


def test_the_list_of_types_holds_for_the_sessions_own_agent_only() -> None:
    allowed = ("Code Reviewer", "nightly")
    assert named(call("code-reviewer"), situation(allowed_types=allowed)).definition is REVIEWER
    error = refusal(call("Explore"), situation(allowed_types=allowed))
    assert error.kind == "type_not_allowed"
    assert str(error).endswith("Available agents: code-reviewer, nightly")
    assert refusal(call(), situation(allowed_types=allowed)).kind == "no_type"
    assert named(call("Explore"), situation(allowed_types=allowed, caller=CHILD)).definition.name == "Explore"


# --- forks ------------------------------------------------------------------------------------------------------------


def test_an_open_gate_forks_where_the_type_is_left_out() -> None:
    """Behaviours (20), line 1."""
    where = situation(fork="when_type_omitted")
    assert route(call(), where) == ForkRoute()
    assert route(call(name="left"), where) == ForkRoute()


def test_an_open_gate_makes_every_spawn_asynchronous() -> None:
    """Behaviours (20), line 3."""
    for setting in ("when_type_omitted", "explicit"):
        assert is_background(call("Explore"), situation(fork=setting))
        assert is_background(call("Explore", run_in_background=False), situation(fork=setting))


@pytest.mark.parametrize("closed", [{"is_interactive": False}, {"is_coordinator": True}])
def test_a_closed_gate_falls_back_without_a_word(closed: dict[str, bool]) -> None:
    """Behaviours (20), line 4; the same for coordinators."""
    assert named(call(), situation(fork="when_type_omitted", **closed)).definition is GENERAL_PURPOSE


def test_forks_by_name_leave_the_fallback_alone() -> None:
    where = situation(fork="explicit")
    assert named(call(), where).definition is GENERAL_PURPOSE
    assert route(call("Fork"), where) == ForkRoute()
    assert route(call("fork"), situation(fork="explicit", is_interactive=False)) == ForkRoute()
    error = refusal(call("fork"), situation(fork="explicit", is_coordinator=True))
    assert error.kind == "unknown_type"
    assert "forks are not available here" in str(error)


def test_a_definition_called_fork_stands_for_itself() -> None:
    own = AgentDefinition(name="fork")
    assert named(call("fork"), situation(fork="explicit", definitions=definitions(own))).definition is own


@pytest.mark.parametrize("guard", [{"is_fork": True}, {"has_fork_tag": True}])
@pytest.mark.parametrize(("setting", "kind"), [("when_type_omitted", None), ("explicit", "fork")])
def test_a_fork_does_not_fork(guard: dict[str, bool], setting: str, kind: str | None) -> None:
    """Behaviours (20), line 10."""
    where = situation(fork=setting, caller=Caller(depth=1, is_main=False, **guard))
    error = refusal(call(kind), where)

    assert error.kind == "fork_in_fork"
    assert str(error).startswith("Fork is not available inside a forked worker.")
    assert is_background(call("Explore"), where)


def test_a_rule_can_deny_forks_and_the_list_of_types_does_not() -> None:
    where = situation(fork="when_type_omitted", allowed_types=("Explore",))
    assert route(call(), where) == ForkRoute()
    assert refusal(call(), attrs.evolve(where, denied_types={"fork": "Agent(fork)"})).kind == "denied_type"


def test_forks_count_for_depth_and_do_not_leave_the_machine() -> None:
    where = situation(fork="when_type_omitted", caller=Caller(depth=3, is_main=False))
    assert refusal(call(), where).kind == "depth"
    assert refusal(call(isolation="remote"), situation(fork="when_type_omitted")).kind == "fork_remote"


# --- foreground and background ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("facts", [{"is_coordinator": True}, {"is_assistant": True}, {"is_proactive": True}])
def test_sessions_of_these_kinds_wait_for_no_child(facts: dict[str, bool]) -> None:
    """Not even where the call asks for it."""
    assert is_background(call("Explore", run_in_background=False), situation(**facts))
    assert named(call("Explore"), situation(**facts)).is_coordinated is ("is_coordinator" in facts)


@pytest.mark.parametrize(
    ("asked", "by_default", "expected"),
    [
        (None, False, False),
        (True, False, True),
        (False, False, False),
        (None, True, True),
        (True, True, True),
        (False, True, False),
    ],
)
def test_the_call_decides_and_else_the_setting(asked: bool | None, by_default: bool, expected: bool) -> None:
    where = situation(background_by_default=by_default)
    assert is_background(call("Explore", run_in_background=asked), where) is expected
    assert is_background(call("nightly", run_in_background=asked), where)
    assert not is_background(call("nightly", run_in_background=asked), attrs.evolve(where, background_enabled=False))


def test_without_background_tasks_even_a_fork_is_waited_for() -> None:
    where = situation(fork="when_type_omitted", background_enabled=False)
    assert route(call(), where) == ForkRoute(is_background=False)
    mate = situation(fork="when_type_omitted", caller=MATE, teams=TEAM)
    assert route(call(), mate) == ForkRoute(is_background=False)


def test_a_teammate_waits_for_its_agents() -> None:
    where = situation(caller=MATE, teams=TEAM, background_by_default=True, is_assistant=True)
    assert not is_background(call("Explore"), where)
    for one in (call("nightly"), call("Explore", run_in_background=True)):
        error = refusal(one, where)
        assert error.kind == "teammate_background"
        assert str(error).startswith("In-process teammates cannot spawn agents")
    with_forks = attrs.evolve(where, fork="explicit")
    assert not is_background(call("Explore", run_in_background=True), with_forks)


# --- limits -----------------------------------------------------------------------------------------------------------


def test_the_twenty_first_is_refused_until_one_has_ended() -> None:
    """Behaviours (1), line 6."""
    error = refusal(call("Explore"), situation(limits=DelegationLimits(running=20)))

    assert error.kind == "running"
    assert "Concurrent subagent limit reached" in str(error)
    assert "Do not retry" in str(error)
    named(call("Explore"), situation(limits=DelegationLimits(running=19)))


def test_a_person_is_never_refused_for_slots() -> None:
    where = situation(fork="when_type_omitted", limits=DelegationLimits(running=25), caller=Caller(is_user=True))
    assert route(call(), where) == ForkRoute()


@pytest.mark.parametrize(
    ("depth", "most", "fits"), [(0, 3, True), (2, 3, True), (3, 3, False), (1, 1, False), (0, 1, True)]
)
def test_agents_go_so_many_levels_down(depth: int, most: int, fits: bool) -> None:
    """Behaviours (1), line 7: the call of an agent that has the tool although it is at the limit."""
    where = situation(caller=Caller(depth=depth, is_main=depth == 0), limits=DelegationLimits(max_depth=most))
    if fits:
        named(call("Explore"), where)
    else:
        assert refusal(call("Explore"), where).kind == "depth"


def test_a_spent_budget_and_a_full_session_start_nothing() -> None:
    spent = situation(limits=DelegationLimits(has_budget=False), teams=TEAM, caller=LEAD)
    assert "Budget limit reached" in str(refusal(call("Explore"), spent))
    assert refusal(call(name="scout"), spent).kind == "budget"
    assert refusal(call("Explore"), situation(limits=DelegationLimits(spawned=5, max_total=5))).kind == "total"


def test_a_wrong_type_is_told_before_a_limit() -> None:
    assert refusal(call("nobody"), situation(limits=DelegationLimits(running=20))).kind == "unknown_type"


# --- remote -----------------------------------------------------------------------------------------------------------


def test_a_call_beats_its_definition_in_where_to_run() -> None:
    where = situation(has_remote_hosts=True)
    assert route(call("far"), where) == RemoteRoute(definition=FAR)
    assert route(call("isolated", isolation="remote"), where) == RemoteRoute(definition=ISOLATED)
    assert named(call("far", isolation="worktree"), where).definition is FAR


def test_without_a_remote_host_nothing_runs_remotely() -> None:
    assert refusal(call("Explore", isolation="remote"), situation()).kind == "no_remote_host"
    assert "'far'" in str(refusal(call("far"), situation()))


# --- teammates --------------------------------------------------------------------------------------------------------


def test_a_name_and_a_team_make_a_teammate() -> None:
    where = situation(teams=TEAM, caller=LEAD)
    assert route(call(name="scout"), where) == TeammateRoute(name="scout", team="red")
    assert route(call("Code Reviewer", name="scout", team_name="red", mode="plan"), where) == TeammateRoute(
        name="scout", team="red", definition=REVIEWER, is_plan_required=True
    )


def test_a_name_alone_is_only_a_name_without_a_team() -> None:
    named(call(name="scout"), situation())
    named(call(name="scout"), situation(teams=TEAM))
    named(call(name="scout", team_name="red"), situation(teams=Teams(team="red")))
    named(call(name="scout"), situation(teams=TEAM, caller=CHILD))


def test_a_team_that_is_not_there_is_not_made_up() -> None:
    assert "'red'" in str(refusal(call(name="scout", team_name="blue"), situation(teams=TEAM, caller=LEAD)))
    assert "TeamCreate" in str(refusal(call(name="scout", team_name="blue"), situation(teams=Teams(are_on=True))))


def test_a_teammate_goes_before_a_fork_of_the_older_kind() -> None:
    where = situation(teams=TEAM, caller=LEAD, fork="when_type_omitted")
    assert route(call(name="scout"), where) == TeammateRoute(name="scout", team="red")
    by_name = attrs.evolve(where, fork="explicit")
    assert route(call("fork", name="scout"), by_name) == ForkRoute()


@pytest.mark.parametrize("teams", [TEAM, IMPLICIT])
def test_only_the_lead_adds_teammates(teams: Teams) -> None:
    error = refusal(call(name="scout"), situation(teams=teams, caller=MATE))

    assert error.kind == "teammate_spawn"
    assert str(error).startswith("In-process teammates cannot spawn agents")


def test_a_sub_agent_adds_none_either() -> None:
    assert refusal(call(name="x", team_name="red"), situation(teams=TEAM, caller=CHILD)).kind == "teammate_spawn"


def test_in_an_implicit_team_a_name_is_enough() -> None:
    where = situation(teams=IMPLICIT)
    mate = TeammateRoute(name="scout", team="session-1")

    assert route(call(name="scout"), where) == mate
    assert route(call(name="scout", team_name="other", mode="plan"), where) == mate
    assert route(call("isolated", name="scout"), where) == attrs.evolve(mate, definition=ISOLATED)
    named(call(name="scout", isolation="worktree"), where)
    named(call(name="scout"), attrs.evolve(where, is_interactive=False))
    named(call(name="scout"), attrs.evolve(where, caller=CHILD))
    assert route(call("fork", name="scout"), attrs.evolve(where, fork="explicit")) == ForkRoute()
    assert route(call(name="scout"), attrs.evolve(where, fork="when_type_omitted")) == ForkRoute()


def test_a_teammates_type_is_held_to_the_rules() -> None:
    where = situation(teams=TEAM, caller=LEAD, denied_types={"Explore": "Agent(Explore)"})
    assert refusal(call("Explore", name="scout"), where).kind == "denied_type"
    assert refusal(call("nobody", name="scout"), where).kind == "unknown_type"
