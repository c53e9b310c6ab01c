"""Teams that models make: TeamCreate, the tool Agent with a name, TeamDelete; and the team that a session is by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from greenroom.agents.events import AgentDefined
from greenroom.core import UsageError
from greenroom.models import AnswerLike, Call, ModelRequest
from greenroom.session import EVENTS, Session
from greenroom.teams import TeamClosed, TeammateJoined, TeamOpened
from greenroom.trace import JOURNAL, read_journal
from tests.agents.pages import agent, answers_in, asked, in_order, last_texts
from tests.session.teamwork import main_messages, open_teamwork, structured, violations

ON: dict[str, Any] = {"teams": {"enabled": True}}
IMPLICIT: dict[str, Any] = {"teams": {"enabled": True, "implicit": True}, "delegation": {"interactive": True}}


def events_of(session: Session, *kinds: type) -> list[Any]:
    journal = read_journal(session.run_folder / JOURNAL, EVENTS)
    return [entry.event for entry in journal.entries if isinstance(entry.event, kinds)]


def create(name: str = "crew", **more: Any) -> Call:
    return Call("TeamCreate", {"team_name": name, **more})


async def test_a_model_makes_a_team_and_closes_it(tmp_path: Path, autojump_clock: MockClock) -> None:
    main = in_order(
        create(description="to look"),
        agent("look around", name="ann", team_name="crew", subagent_type="Explore"),
        "It looks.",
        Call("TeamDelete", {}),
        "It is over.",
    )
    async with open_teamwork(tmp_path, main, settings=ON) as session:
        await session.run("Go.")
        await session.wait_quiet()
        await session.run("Close it.")
        await session.wait_quiet()
        assert session.teams.current is None
        assert "TaskList" not in session.tools
        assert {"TeamCreate", "TeamDelete"} <= set(session.tools)

    made, joined, closed = structured(session)[:3]
    assert made == {"team_name": "crew", "lead_agent_id": "team-lead@crew"}
    assert (joined["status"], joined["agent_id"], joined["name"]) == ("teammate_spawned", "ann@crew", "ann")
    assert closed["success"]
    assert [event.team for event in events_of(session, TeamOpened, TeamClosed)] == ["crew", "crew"]
    assert violations(session) == []


async def test_a_teammate_is_there_within_the_call_and_knows_nothing_of_the_leads_conversation(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Behaviours (7), line 1."""
    seen: list[ModelRequest] = []

    def explorer(request: ModelRequest) -> AnswerLike:
        seen.append(request)
        return "REPORT"

    main = in_order(create(), agent("look around", name="ann", subagent_type="Explore", model="haiku"), "It looks.")
    async with open_teamwork(tmp_path, main, pages={"Explore": explorer}, settings=ON, wait_s=5.0) as session:
        began = trio.current_time()
        await session.run("SECRET of the lead")
        assert trio.current_time() - began <= 16, "three answers of the lead, and no wait for the mate"
        assert session.teams.current is not None
        assert list(session.teams.current.teammates) == ["ann"]
        await session.wait_quiet()

    assert asked(seen[0]) == "look around"
    assert "SECRET" not in str(seen[0].messages) + str(seen[0].system)
    assert "You are ann, a teammate in the team crew" in str(seen[0].system)
    assert "haiku" in (seen[0].model or "")
    assert [event.model for event in events_of(session, AgentDefined)][1:] == [seen[0].model]
    assert "REPORT" not in "\n".join(text for text in (str(result) for result in structured(session)))


async def test_without_teams_a_name_is_only_a_name(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (7), line 1."""
    main = in_order(agent("look", name="ann", run_in_background=True), "It looks.")
    async with open_teamwork(tmp_path, main) as session:
        await session.run("Go.")
        await session.wait_quiet()
        assert session.teams.current is None
        assert "TeamCreate" not in session.tools
        assert session.tasks.handle("ann").id

    assert structured(session)[0]["status"] == "async_launched"


async def test_a_name_that_was_taken_comes_back_as_another(tmp_path: Path, autojump_clock: MockClock) -> None:
    main = in_order(create("my crew!"), create(), Call("TeamDelete", {}), create("my crew!"), "Made.")
    async with open_teamwork(tmp_path, main, settings=ON) as session:
        await session.run("Go.")

    names = [result["team_name"] for result in structured(session) if "lead_agent_id" in result]
    assert names == ["my-crew", "my-crew-2"]
    assert any("you lead the team 'my-crew' already" in text for text in main_messages(session))


async def test_a_team_whose_members_work_is_not_closed(tmp_path: Path, autojump_clock: MockClock) -> None:
    refusals: list[str] = []
    works = in_order(*[Call("Glob", {"pattern": "*"})] * 6)

    def main(request: ModelRequest) -> AnswerLike:
        said = answers_in(request)
        if said == 3:
            refusals.append(last_texts(request))
        calls: list[AnswerLike] = [
            create(),
            [agent("look", name=name, subagent_type="Explore") for name in ("ann", "bob")],
            Call("TeamDelete", {}),
        ]
        return calls[said] if said < len(calls) else "Then later."

    async with open_teamwork(tmp_path, main, settings=ON, wait_s=0.1, pages={"Explore": works}) as session:
        await session.run("Go.")
        await session.wait_quiet()

    (refusal,) = refusals
    names = ("ann, bob", "bob, ann")
    assert refusal in {
        f"Cannot cleanup team with 2 active member(s): {name}. Use requestShutdown to gracefully terminate teammates first."
        for name in names
    }


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (agent("x", name="lead"), "the name is reserved"),
        (agent("x", name="two words"), "use letters, digits"),
        (agent("x", name="ann", team_name="other"), "there is no team 'other'"),
        (agent("x", name="ann", subagent_type="nobody"), "nobody"),
    ],
)
async def test_what_cannot_join_is_refused_in_words(
    call: Call, why: str, tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with open_teamwork(tmp_path, in_order(create(), call, "Hm."), settings=ON) as session:
        await session.run("Go.")
        assert session.teams.current is not None
        assert not session.teams.current.teammates
        assert any(why in text for text in main_messages(session))


async def test_the_programs_team_is_the_programs_to_close(tmp_path: Path, autojump_clock: MockClock) -> None:
    main = in_order(Call("TeamDelete", {}), create(), "Hm.")
    async with open_teamwork(tmp_path, main, settings=ON) as session:
        async with session.open_team("crew") as team:
            await session.run("Go.")
            assert session.teams.current is team
        texts = "\n".join(main_messages(session))
        assert "opened by the program" in texts
        assert "you lead the team 'crew' already" in texts


async def test_a_session_that_is_a_team_by_itself(tmp_path: Path, autojump_clock: MockClock) -> None:
    """An agent that is given a name joins it, and there is nothing to make or to close."""
    main = in_order(agent("look around", name="ann", subagent_type="Explore"), "It looks.")
    async with open_teamwork(tmp_path, main, settings=IMPLICIT) as session:
        team = session.teams.current
        assert team is not None
        assert team.name == f"session-{session.id[:8]}"
        assert not {"TeamCreate", "TeamDelete"} & set(session.tools)
        assert {"TaskCreate", "SendMessage"} <= set(session.tools)
        await session.run("Go.")
        await session.wait_quiet()
        assert list(team.teammates) == ["ann"]
        with pytest.raises(UsageError):
            async with session.open_team("another"):
                pass

    assert [event.name for event in events_of(session, TeammateJoined)] == ["ann"]
    assert violations(session) == []


async def test_a_mate_whose_plan_is_required_is_asked_for_one(tmp_path: Path, autojump_clock: MockClock) -> None:
    main = in_order(create(), agent("look", name="ann", mode="plan"), "Hm.")
    async with open_teamwork(tmp_path, main, settings=ON) as session:
        await session.run("Go.")

    (joined,) = events_of(session, TeammateJoined)
    assert joined.is_plan_required


async def test_the_environment_switches_teams_on(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GREENROOM_EXPERIMENTAL_AGENT_TEAMS", "1")
    monkeypatch.setenv("GREENROOM_TEAM_TEARDOWN_PARK_TIMEOUT_MS", "2500")
    async with open_teamwork(tmp_path, in_order()) as session:
        assert "TeamCreate" in session.tools
        assert session.teams.settings.teardown_s == 2.5
    monkeypatch.setenv("GREENROOM_TEAM_TEARDOWN_PARK_TIMEOUT_MS", "soon")
    with pytest.raises(UsageError, match="1000 to 60000"):
        async with open_teamwork(tmp_path, in_order()):
            pass


async def test_a_team_ends_within_its_deadline(tmp_path: Path, autojump_clock: MockClock) -> None:
    settings = {"teams": {"teardown_s": 2.0}}
    pages = {"Explore": in_order(otherwise="Late.")}
    async with open_teamwork(tmp_path, in_order(), pages=pages, settings=settings, wait_s=1_000.0) as session:
        async with session.open_team("crew") as team:
            for number in range(3):
                await team.spawn(f"m{number}", definition="Explore", prompt="Look.")
            await trio.sleep(1)
            began = trio.current_time()
        assert trio.current_time() - began <= 5

    assert violations(session) == []
    assert json.loads((session.run_folder / JOURNAL).read_text().splitlines()[-1])["ev"] == "session.end"
