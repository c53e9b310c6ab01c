"""Questions that wait for a person, in virtual time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import trio
import trio.testing

from greenroom.core import UsageError
from greenroom.core.ports import SeededIds
from greenroom.permissions import Allow, ApprovalQueue, Deny, Effect, Receipt, Verdict
from greenroom.permissions._approvals import Approval, ApprovalState

WHY = Verdict(effect=Effect.ASK, reason="no rule allows npm test")


def queue(**options: Any) -> ApprovalQueue:
    return ApprovalQueue(SeededIds(1), **options)


async def asking(one: ApprovalQueue, ended: list[Approval], agent: str = "a1", **options: Any) -> None:
    values = {"command": "npm test"}
    ended.append(await one.ask(agent=agent, tool="Bash", input=values, verdict=WHY, summary="npm test", **options))


@pytest.mark.usefixtures("virtual_time")
async def test_a_question_waits_visibly_and_its_answer_reaches_the_asker() -> None:
    """RC-102; CL-12: how long it waited is known, and taken off the agent's time."""
    held, ended = queue(), list[Approval]()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(asking, held, ended)
        await trio.testing.wait_all_tasks_blocked()
        (waiting,) = held.waiting()
        await trio.sleep(30)

        assert waiting.state is ApprovalState.WAITING
        assert (waiting.agent, waiting.tool, waiting.summary, waiting.verdict) == ("a1", "Bash", "npm test", WHY)
        assert waiting.waited_s(trio.current_time()) == 30
        assert held.answer(waiting.id, Allow(input={"command": "npm test -s"})) is Receipt.TAKEN

    assert ended[0].answer == Allow(input={"command": "npm test -s"})
    assert ended[0].waited_s(trio.current_time() + 99) == 30
    assert held.waiting() == ()


@pytest.mark.usefixtures("virtual_time")
async def test_rc_101_without_an_answer_it_is_refused_at_the_deadline_and_says_so() -> None:
    held, ended = queue(deadline_s=60), list[Approval]()
    began = trio.current_time()

    await asking(held, ended)

    assert trio.current_time() - began == 60
    assert ended[0].state is ApprovalState.EXPIRED
    assert isinstance(ended[0].answer, Deny)
    assert ended[0].answer.cause == "deadline"


@pytest.mark.usefixtures("virtual_time")
async def test_rc_101_where_nobody_can_answer_it_is_refused_at_once() -> None:
    held, ended = queue(has_approver=False), list[Approval]()
    began = trio.current_time()

    await asking(held, ended)

    assert trio.current_time() == began
    assert ended[0].answer == Deny(message="nobody can be asked in this session, so it is refused", cause="closed")


@pytest.mark.usefixtures("virtual_time")
async def test_cl_22_an_answer_after_the_asker_was_cancelled_changes_nothing_and_is_counted() -> None:
    held, ended = queue(), list[Approval]()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(asking, held, ended)
        await trio.testing.wait_all_tasks_blocked()
        (waiting,) = held.waiting()
        nursery.cancel_scope.cancel()

    assert held.waiting() == ()
    assert held.answer(waiting.id, Allow()) is Receipt.LATE
    gone = held.find(waiting.id)
    assert gone is not None
    assert (gone.state, gone.answer) == (ApprovalState.CANCELLED, None)
    assert held.statistics().late == 1
    assert ended == []


@pytest.mark.usefixtures("virtual_time")
async def test_the_first_answer_counts() -> None:
    held, ended = queue(), list[Approval]()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(asking, held, ended)
        await trio.testing.wait_all_tasks_blocked()
        (waiting,) = held.waiting()

        assert held.answer(waiting.id, Deny(message="no")) is Receipt.TAKEN
        assert held.answer(waiting.id, Allow()) is Receipt.LATE
        assert held.answer("p-unknown", Allow()) is Receipt.UNKNOWN

    assert ended[0].answer == Deny(message="no")


@pytest.mark.usefixtures("virtual_time")
async def test_each_asker_gets_its_own_answer_and_the_oldest_question_stands_first() -> None:
    held, ended = queue(deadline_s=math.inf), list[Approval]()
    async with trio.open_nursery() as nursery:
        for index in range(5):
            nursery.start_soon(asking, held, ended, f"a{index}")
            await trio.testing.wait_all_tasks_blocked()
        assert [one.agent for one in held.waiting()] == ["a0", "a1", "a2", "a3", "a4"]
        for one in reversed(held.waiting()):
            held.answer(one.id, Deny(message=one.agent))

    assert sorted(str(one.answer.message) for one in ended if isinstance(one.answer, Deny)) == [
        "a0", "a1", "a2", "a3", "a4",
    ]  # fmt: skip
    assert all(isinstance(one.answer, Deny) and one.answer.message == one.agent for one in ended)
    assert held.statistics().most_waiting == 5


@pytest.mark.usefixtures("virtual_time")
async def test_closing_refuses_what_waits_and_what_comes() -> None:
    held, ended = queue(), list[Approval]()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(asking, held, ended)
        await trio.testing.wait_all_tasks_blocked()
        held.close()
    await asking(held, ended)

    assert [isinstance(one.answer, Deny) and one.answer.cause for one in ended] == ["closed", "closed"]


@pytest.mark.usefixtures("virtual_time")
async def test_whoever_watches_is_told_of_every_question_and_end() -> None:
    told: list[str] = []
    watcher: Callable[[Approval], None] = lambda one: told.append(one.state.value)  # noqa: E731 - one line says it
    held, ended = queue(watcher=watcher, deadline_s=5), list[Approval]()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(asking, held, ended)
        await held.wait_changed()
        assert told == ["waiting"]

    assert told == ["waiting", "expired"]


def test_a_queue_without_any_time_to_answer_is_refused() -> None:
    with pytest.raises(UsageError):
        queue(deadline_s=0)
    with pytest.raises(UsageError):
        queue(deadline_s=math.nan)
