"""Whoever is cut, by whatever verb, with calls in flight: nothing hangs, nothing is lost, and everything is told once.

A part of the sweep; `python -m tools.soak.ends` carries out all of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
import trio
from trio.testing import MockClock

from greenroom.actors import State, TurnEnded
from greenroom.agents import AgentDefinition
from greenroom.agents.events import ToolBegan, ToolEnded
from greenroom.core import TurnKilled
from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel
from greenroom.session import EVENTS, FOLDS, open_session
from greenroom.testing import virtual_ports
from greenroom.trace import JOURNAL, check_journal, read_journal
from tests.agents.pages import last_texts
from tests.session.teamwork import open_teamwork, told
from tools.soak.strikes import CALLS, SUBJECTS, TOOLS, Case, strike

OF_TEAMS: Final = ("I-53", "I-54")
STRIKES: Final = 6
"""Events of each kind of run that this part of the sweep strikes at."""
HISTORY: Final = Path(__file__).resolve().parents[1] / "histories" / "abandoned-item.jsonl"


@pytest.mark.promise("I-53", "I-54")
@pytest.mark.parametrize("who", ["mate", "foreground"])
def test_agent_aborted_with_two_calls_leaves_nothing_open(who: str) -> None:
    case = Case(who, "abort", 2)
    runs = [strike(case, event) for event in range(18, strike(case, None).count - 14, 2)]

    assert [problem for run in runs for problem in run.problems] == []
    assert sum(run.cut_turns > 0 for run in runs) >= 3, "the sweep strikes turns with calls in flight"


@pytest.mark.parametrize(("who", "verb"), [(who, verb) for who, verbs in SUBJECTS.items() for verb in verbs])
def test_run_cut_at_an_event_leaves_nothing_open(who: str, verb: str) -> None:
    kinds = list(CALLS)
    number = [*SUBJECTS].index(who) + SUBJECTS[who].index(verb)
    case = Case(who, verb, number % 3 + 1, kinds[number % len(kinds)])
    count = strike(case, None).count
    problems = []
    for strike_at in range(STRIKES):
        event = (2 * strike_at + 1) * count // (2 * STRIKES)
        problems += [f"{case} at {event}: {problem}" for problem in strike(case, event).problems]

    assert problems == []


async def test_other_teammate_completes_the_item_of_an_aborted_turn(tmp_path: Path, autojump_clock: MockClock) -> None:
    """The calls are those of a real tool, and the abort comes from a program that reads the events."""

    def lead(request: ModelRequest) -> AnswerLike:
        return Call("TaskCreate", {"subject": "one", "description": "Look."}) if len(request.messages) == 1 else "ok"

    def mate(request: ModelRequest) -> AnswerLike:
        if last_texts(request).startswith("Task #"):
            return [Call("Glob", {"pattern": "*.py"}), Call("Glob", {"pattern": "*.txt"})]
        if any(tool_use.name == "TaskUpdate" for tool_use in request.messages[-2].tool_uses):
            return "Done."
        return Call("TaskUpdate", {"taskId": "1", "status": "completed"})

    model = PlaybookModel({"lead": lead, "mate": mate})
    definition = AgentDefinition(name="mate")
    async with open_session(
        model=model,
        cwd=tmp_path,
        runs=tmp_path / "runs",
        main=AgentDefinition(name="lead"),
        permission_mode="bypassPermissions",
        ports=virtual_ports(),
    ) as session:
        async with session.open_team("t") as team, trio.open_nursery() as nursery:
            ann = await team.spawn("ann", definition=definition)
            await team.spawn("bob", definition=definition)
            events = session.events()

            async def watch() -> None:
                async for event in events:
                    if isinstance(event, ToolBegan) and event.tool == "Glob":
                        ann.abort_turn("asked")
                        return

            nursery.start_soon(watch)
            await session.run("go")
            with trio.fail_after(600):
                await session.wait_quiet()
            (item,) = team.board.items()
            assert (item.status.value, item.owner) == ("completed", "bob")


def test_check_finds_the_item_that_nobody_goes_on_with() -> None:
    entries = read_journal(HISTORY, EVENTS).entries

    found = check_journal(entries, folds=FOLDS)

    assert {one.id for one in found} == {"I-53"}
    assert "item 1 of ann" in found[0].text


@pytest.mark.parametrize("event", [None, 30, 36, 44])
def test_journal_of_a_team_cut_by_a_crash_is_sound(event: int | None, tmp_path: Path) -> None:
    entries = strike(Case("mate", "abort", 2), event, tmp_path).entries

    assert any(entry.kind == "item.claimed" for entry in entries)
    for end in range(0, len(entries), 3):
        assert [finding for finding in check_journal(entries[:end]) if finding.id in OF_TEAMS] == []


@pytest.mark.parametrize("crash", [False, True])
async def test_call_that_fails_while_cancelled_leaves_the_turn_killed(
    tmp_path: Path, autojump_clock: MockClock, *, crash: bool
) -> None:
    """What a tool's clean-up raises is on record, and turns the interrupt into no failure; two of them neither."""
    name = "Clash" if crash else "Nest"
    calls = [Call(name, {"number": number}) for number in range(2)]
    async with open_teamwork(tmp_path, lambda _: calls, tools=TOOLS) as session:
        async with trio.open_nursery() as nursery:

            async def run() -> None:
                with pytest.raises(TurnKilled):
                    await session.run("go")

            nursery.start_soon(run)
            await trio.sleep(1.5)
            session.interrupt()
        (turn,) = [event for event in told(session, TurnEnded) if event.actor == session.main.id]
        ends = [(event.state, event.error) for event in told(session, ToolEnded)]
        assert (turn.state, turn.error) == (State.KILLED, "")
        assert ends == [("failed", "ValueError: the clean-up failed") if crash else ("killed", "")] * 2


async def test_interrupted_session_body_in_a_nursery_ends_as_killed(tmp_path: Path, autojump_clock: MockClock) -> None:
    with trio.CancelScope() as scope:
        async with open_teamwork(tmp_path, lambda _: "ok") as session:
            folder = session.run_folder
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.sleep_forever)
                nursery.start_soon(trio.sleep_forever)
                scope.cancel()

    end = read_journal(folder / JOURNAL, EVENTS).entries[-1]
    assert (end.kind, end["state"], end["error"]) == ("session.end", "killed", "")
