"""Teams under drawn plans and schedules: whatever a program does, in the end every mate that lives is idle and can be handed work."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import trio
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from greenroom.agents import AgentDefinition, Note
from greenroom.core import InternalError, ProviderError
from greenroom.mailbox import Lane
from greenroom.models import AnswerLike, Call, ModelRequest
from greenroom.session import EVENTS, Session
from greenroom.teams import (
    ItemStatus,
    MemberStatus,
    Team,
    TeammateIdled,
    TeammateJoined,
    TeammateLeft,
    TeammateParked,
    TeammateWoke,
)
from greenroom.teams._board_messages import CreateItem
from greenroom.teams._teammate_events import TeammateEvent
from greenroom.teams._teammate_status import Availability
from greenroom.testing import run_virtual
from greenroom.trace import JOURNAL, read_journal
from tests.agents.pages import in_order
from tests.session.teamwork import open_teamwork, violations

MATE = AgentDefinition(name="mate", system_prompt="You help.")
ACTS = ("tell", "peer", "item", "abort", "kill", "pause", "reopen")
ANSWERS = ("text", "tool", "fail", "crash")
Step: TypeAlias = tuple[str, int]

STEPS = st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 2)), max_size=14)
PLAYS = st.lists(st.sampled_from(ANSWERS), max_size=12)
FOLLOWS: dict[type[TeammateEvent], tuple[type[TeammateEvent], ...]] = {
    TeammateJoined: (TeammateWoke, TeammateParked, TeammateLeft),
    TeammateWoke: (TeammateIdled, TeammateParked, TeammateLeft),
    TeammateIdled: (TeammateWoke, TeammateParked, TeammateLeft),
    TeammateParked: (TeammateJoined,),
    TeammateLeft: (),
}
"""What may be put on record about a mate behind what."""


def played(plays: Sequence[str]) -> object:
    left = list(plays)

    def mate(request: ModelRequest) -> AnswerLike:
        last = request.messages[-1]
        play = left.pop(0) if left else "text"
        if play == "crash":
            raise InternalError("a promise does not hold")
        if play == "fail":
            raise ProviderError("too much", kind="overloaded_error", status=529)
        if last.text.startswith("Task #"):
            return Call("TaskUpdate", {"taskId": last.text[6:].split()[0], "status": "completed"})
        return Call("TaskList", {}) if play == "tool" else "Hm."

    return mate


async def act(team: Team, step: Step) -> None:
    what, number = step
    mates = list(team.teammates.values())
    mate = mates[number % len(mates)]
    match what:
        case "tell":
            mate.tell("And now?")
        case "peer":
            mate.ref.tell(Note("Hello.", "somebody"), Lane.LATER)
        case "item":
            await team.board.ref.ask(CreateItem(subject="one", description="", by="host"))
        case "abort":
            mate.abort_turn()
        case "kill":
            mate.kill()
        case _:
            await trio.sleep(0.3 * number)


def check_rest(team: Team) -> None:
    """Everybody who lives is idle, on the board as such, and has no item that it would have to be handed again."""
    known = team.roster.home.availability
    waiting = {name for name, now in known.items() if now in {Availability.READY, Availability.HOLDING}}
    assert {teammate.name for teammate in team.roster.teammates} <= waiting
    assert {teammate.status for teammate in team.roster.teammates} <= {MemberStatus.IDLE}
    assert all(not teammate.item for teammate in team.roster.teammates)
    there = {teammate.name for teammate in team.roster.teammates}
    for item in team.board.items():
        assert item.status is ItemStatus.COMPLETED or item.owner in {"", *there}


async def scenario(steps: Sequence[Step], plays: Sequence[str]) -> Session:
    with tempfile.TemporaryDirectory() as name:
        folder, rest = Path(name), list(steps)
        pages = {"mate": played(plays)}
        async with open_teamwork(folder, in_order(), pages=pages, wait_s=0.2) as session:  # type: ignore[arg-type]
            while True:
                async with session.open_team("crew") as team:
                    for mate in ("ann", "bob", "cid"):
                        if mate not in team.teammates:
                            await team.spawn(mate, definition=MATE)
                    while rest and rest[0][0] != "reopen":
                        await act(team, rest.pop(0))
                    with trio.fail_after(600):
                        await session.wait_quiet()
                    check_rest(team)
                if not rest:
                    break
                rest.pop(0)
        assert violations(session) == []
        journal = read_journal(session.run_folder / JOURNAL, EVENTS)
        before: dict[str, type[TeammateEvent]] = {}
        for entry in journal.entries:
            event = entry.event
            if isinstance(event, TeammateEvent):
                kind = before.get(event.name)
                assert type(event) is TeammateJoined if kind is None else type(event) in FOLLOWS[kind], (event, kind)
                before[event.name] = type(event)
        return session


@example(steps=[("item", 0), ("pause", 1), ("tell", 0), ("tell", 1), ("tell", 2)], plays=["crash"], seed=0)
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS, plays=PLAYS, seed=st.integers(0, 1_000))
def test_whatever_happens_who_lives_is_idle_in_the_end_and_nothing_waits_forever(
    steps: Sequence[Step], plays: Sequence[str], seed: int
) -> None:
    """RC-49, CL-20: no wake is lost, no item is stuck with somebody who is not there, and the record tells it in order."""
    run_virtual(scenario, steps, plays, choices=seed)
