"""Three scopes of a cancel, and what each of them reaches: a turn, an agent, everything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from greenroom.core import TurnKilled
from greenroom.models import AnswerLike, Call, ModelRequest
from greenroom.session import Session
from tests.agents.pages import agent, asked, in_order, linger, make_build
from tests.session.teamwork import open_teamwork, violations


def interrupt(session: Session) -> object:
    return session.interrupt()


def kill_one(session: Session) -> object:
    return session.tasks.kill("back")


def kill_all(session: Session) -> object:
    return session.tasks.kill_all()


def end_session(session: Session) -> None:
    session.kill("enough")


@pytest.mark.parametrize(
    ("cancel", "reached"),
    [
        (interrupt, {"main's turn", "front", "below front"}),
        (kill_one, {"back", "below back"}),
        (kill_all, {"back", "below back", "below front", "build"}),
        (end_session, {"main's turn", "front", "below front", "back", "below back", "build"}),
    ],
    ids=["turn", "agent", "all in the background", "session"],
)
async def test_a_cancel_reaches_what_belongs_to_its_scope_and_nothing_else(
    tmp_path: Path, autojump_clock: MockClock, cancel: Callable[[Session], object], reached: set[str]
) -> None:
    """RC-05, RC-06. Mechanism: foreground is a link of the turn; kills follow descent; what ended asks no model any more."""
    lives = {
        "front": in_order(agent("below front", description="below front", run_in_background=True), _long(), "front"),
        "back": in_order(agent("below back", description="below back", run_in_background=True), _long(), "back"),
    }
    asks: Counter[str] = Counter()

    def child(request: ModelRequest) -> AnswerLike:
        who = asked(request).split("\n")[0]
        asks[who] += 1
        return lives[who](request) if who in lives else in_order(_long(), who)(request)

    main = in_order(
        [Call("Build", {}), agent("back", description="back", name="back", run_in_background=True)],
        agent("front", description="front"),
        "Done.",
    )
    ended: list[str] = []
    async with open_teamwork(
        tmp_path, main, pages={"general-purpose": child}, tools=(linger, make_build(tmp_path))
    ) as session:

        async def turn() -> None:
            try:
                await session.run("go")
            except TurnKilled:
                ended.append("main's turn")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(turn)
            await trio.sleep(50)
            assert len(session.tasks.table.running()) == 5
            cancel(session)
            before = asks.copy()
            await trio.sleep(5)
            tasks = {one.info.description: one for one in session.tasks.table.all()}
            ended += [name for name, task in tasks.items() if task.is_finished]

            assert set(ended) == reached
            assert {tasks[name].state for name in reached - {"main's turn"}} == {"killed"}
            await trio.sleep(300)
            assert not any(asks[name] > before[name] for name in reached)
            nursery.cancel_scope.cancel()
    assert violations(session) == []


def _long() -> Call:
    return Call("Linger", {"seconds": 100})


async def test_a_kill_of_everything_in_the_background_leaves_the_turn_alone(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """CL-18: also while main is idle; an interrupt of an idle main is answered, and ends nothing."""
    main = in_order(agent("look", run_in_background=True), "It runs.")
    async with open_teamwork(
        tmp_path, main, pages={"general-purpose": in_order(_long(), "Done.")}, tools=(linger,)
    ) as session:
        await session.run("go")
        assert session.interrupt().status == "idle"
        (task,) = session.tasks.table.running()
        assert session.tasks.kill_all() == [task.info.id]
        await session.wait_quiet()

    assert task.state == "killed"


async def test_a_program_that_does_not_wait_any_more_takes_its_agent_along(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """RC-12, RC-06. Mechanism: `session.spawn` that waits kills the agent when it is cancelled."""
    pages = {"general-purpose": in_order(_long(), "Done.")}
    async with open_teamwork(tmp_path, in_order("x"), pages=pages, tools=(linger,)) as session:
        with trio.move_on_after(10) as scope:
            await session.spawn("general-purpose", "look")
        (task,) = session.tasks.table.all()
        await task.wait_finished()
        assert scope.cancelled_caught
        assert trio.current_time() - task.ended_s < 1

    assert (task.state, task.cause.who if task.cause is not None else "") == ("killed", "host")
    assert violations(session) == []
