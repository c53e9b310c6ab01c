"""Branches of runs with several agents: teams with a board and mail, agents in the background, agents of agents."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from greenroom.branches import branch
from greenroom.models import AnswerLike, ModelRequest
from greenroom.session import EVENTS, FOLDS, Session
from greenroom.teams import ItemStatus
from greenroom.testing import run_virtual
from greenroom.trace import JOURNAL, check_journal, read_journal
from tests.branches.nested_agents import child, lead, record_nested
from tests.branches.recorded_runs import PORTS, cut_at, go_on, problems_of, wait_quiet
from tests.reruns.recorded_team import record_team
from tests.session.small_team import ITEMS, LEAD, MATE, playbook
from tests.session.teamwork import open_teamwork


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of a team of three."""
    return record_team(tmp_path_factory.mktemp("team"), mates=3, seed=11)


def last_of(run: Path) -> int:
    return read_journal(run / JOURNAL, EVENTS).entries[-1].seq


@pytest.mark.promise("W-cut", "W-said")
def test_a_team_is_cut_consistently_at_any_event(team: Path) -> None:
    """No receipt is without what was sent, and each conversation is one that a provider accepts."""
    events = random.Random(1).sample(range(1, last_of(team) + 1), 30)

    for at in events:
        assert problems_of(cut_at(team, at)) == [], at


async def finish(session: Session) -> tuple[ItemStatus, ...]:
    """Go on with the team of a branch until it is quiet; return the states of its items."""
    async with session.open_team("survey") as opened:
        for number in range(3):
            if f"mate-{number}" not in opened.teammates:
                await opened.spawn(f"mate-{number}", definition=MATE)
        if session.was_cut:
            await session.resume_turn()
        await session.wait_quiet()
        return tuple(item.status for item in opened.board.items())


@pytest.mark.promise("W-agents")
@pytest.mark.parametrize("share", [0.35, 0.6, 0.85])
def test_a_team_goes_on_from_the_middle(team: Path, share: float) -> None:
    """Members, board and mail are there as they were, and the rest of the work is done."""
    made = branch(team, int(last_of(team) * share), ports=PORTS)
    statuses: list[ItemStatus] = []

    async def program(session: Session) -> None:
        statuses.extend(await finish(session))

    go_on(made.folder.parent.parent / "project", made.folder, playbook(), program, main=LEAD)

    assert len(statuses) == ITEMS
    assert set(statuses) == {ItemStatus.COMPLETED}
    entries = read_journal(made.folder / JOURNAL, EVENTS).entries
    assert check_journal(entries, folds=FOLDS) == []
    created = [entry["item"] for entry in entries if entry.kind == "item.created"]
    assert len(created) == len(set(created)) == ITEMS
    for at in random.Random(2).sample(range(1, entries[-1].seq), 10):
        assert problems_of(cut_at(made.folder, at)) == [], at


# --- agents of agents ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def nested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of an agent that starts one in the background, which starts another one and waits for it."""
    folder = tmp_path_factory.mktemp("nested")
    return run_virtual(lambda: record_nested(folder)).result


@pytest.mark.promise("W-cut", "W-said")
def test_agents_two_deep_are_cut_consistently_at_any_event(nested: Path) -> None:
    for at in range(1, last_of(nested) + 1, 3):
        assert problems_of(cut_at(nested, at)) == [], at


@pytest.mark.promise("W-agents")
def test_an_agent_that_worked_goes_on_and_its_end_is_told_once(nested: Path) -> None:
    """The agent in the background continues where it stood, and the main agent hears of its end."""
    entries = read_journal(nested / JOURNAL, EVENTS).entries
    first = next(entry["agent"] for entry in entries if entry.kind == "agent.defined" and entry["call"])
    mine = [entry for entry in entries if entry.event.actor == first and entry.kind == "model.begin"]
    made = branch(nested, mine[2].seq, ports=PORTS)
    prompts: list[ModelRequest] = []

    def watched(request: ModelRequest) -> AnswerLike:
        prompts.append(request)
        return child(request)

    folder = made.folder.parent.parent

    async def run() -> list[str]:
        async with open_teamwork(folder, lead, pages={"general-purpose": watched}, resume=made.folder) as session:
            await wait_quiet(session)
            home = session.agents.main.home
            assert home is not None
            assert home.conversation is not None
            return [message.text for message in home.conversation.messages if "task-notification" in message.text]

    told = run_virtual(run).result

    assert len(told) == 1
    assert "Found." in told[0]
    assert len(prompts[0].messages) == 5
    assert all("Continue" not in message.text for message in prompts[0].messages)


@pytest.mark.promise("W-cut")
def test_a_call_that_waited_for_an_agent_is_made_again(nested: Path) -> None:
    """Its agent is left out with it: nothing of the branch comes from an agent that nobody asked for."""
    entries = read_journal(nested / JOURNAL, EVENTS).entries
    deeper = [entry for entry in entries if entry.kind == "agent.defined"][-1]
    inside = next(
        entry.seq for entry in entries if entry.event.actor == deeper.event.actor and entry.kind == "tool.end"
    )

    made = branch(nested, inside, ports=PORTS)

    assert deeper["agent"] not in {stand.agent.agent for stand in made.stands}
    assert not list((made.folder / "transcripts").glob(f"*{deeper['agent']}*"))
