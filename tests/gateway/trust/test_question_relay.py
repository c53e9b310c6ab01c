"""Questions of open sessions in the one queue, and their answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import attrs
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from greenroom.core.ports import SeededIds
from greenroom.gateway.trust._approval_desk import AnswerReceipt, ApprovalDesk, QuestionEnd, ToolQuestion
from greenroom.gateway.trust._question_relay import QuestionRelay
from greenroom.permissions import Allow, ApprovalQueue, Deny, Effect, Scope, Update, Verdict
from tests.gateway.trust.chats import configured, open_chats

MAIN = "agent:main:main"
RULE = Update(kind="addRules", destination=Scope.LOCAL, rules=("Bash(make)",))
VERDICT = Verdict(effect=Effect.ASK, reason="no rule allows it", suggestions=(RULE,))


@attrs.define
class Relayed:
    """A session's questions, and the queue."""

    queue: ApprovalQueue
    desk: ApprovalDesk
    nursery: trio.Nursery
    scope: trio.CancelScope
    told: list[ToolQuestion]
    answers: dict[str, Allow | Deny | None] = attrs.field(factory=dict)

    async def ask(self, tool: str) -> None:
        found = await self.queue.ask(agent="a", tool=tool, input={"command": "make"}, verdict=VERDICT)
        self.answers[tool] = found.answer

    async def begin(self, *tools: str) -> None:
        for tool in tools:
            self.nursery.start_soon(self.ask, tool)
        await wait_all_tasks_blocked()


@asynccontextmanager
async def open_relay() -> AsyncIterator[Relayed]:
    async with open_chats(configured()) as chats, trio.open_nursery() as nursery:
        told: list[ToolQuestion] = []

        async def tell(question: ToolQuestion) -> None:
            await trio.lowlevel.checkpoint()
            told.append(question)

        def open_desk(settle: Callable[[QuestionEnd], object]) -> ApprovalDesk:
            return ApprovalDesk(
                record=chats.record, ids=SeededIds(3), wall=lambda: chats.now_s, settle=settle, tell=tell
            )

        relay = QuestionRelay(chats.record, open_desk)
        queue, scope = ApprovalQueue(SeededIds(1)), trio.CancelScope()

        async def run() -> None:
            with scope:
                await relay.relay(MAIN, queue)

        nursery.start_soon(relay.desk.run)
        nursery.start_soon(run)
        yield Relayed(queue, relay.desk, nursery, scope, told)
        nursery.cancel_scope.cancel()


async def test_answers_reach_the_session_that_asked(autojump_clock: MockClock) -> None:
    async with open_relay() as relayed:
        await relayed.begin("Read", "Bash", "Write")
        by_tool = {question.tool: question.id for question in relayed.told}
        for tool, word in (("Read", "once"), ("Bash", "always"), ("Write", "deny")):
            await relayed.desk.answer(by_tool[tool], word, who="irc:ann")  # type: ignore[arg-type]
        await wait_all_tasks_blocked()

        assert relayed.answers == {
            "Read": Allow(),
            "Bash": Allow(updates=(attrs.evolve(RULE, destination=Scope.SESSION),)),
            "Write": Deny(message="the user refused it"),
        }
        assert relayed.queue.waiting() == ()
        assert relayed.desk.open_questions() == ()


async def test_a_question_that_nobody_answers_is_refused_once(autojump_clock: MockClock) -> None:
    async with open_relay() as relayed:
        await relayed.begin("Bash")
        await trio.sleep(700)

        (answer,) = relayed.answers.values()
        assert isinstance(answer, Deny)
        assert answer.cause in {"deadline", "closed"}
        assert relayed.desk.open_questions() == ()


@pytest.mark.parametrize("how", ["closed", "cancelled"])
async def test_questions_end_with_their_session(autojump_clock: MockClock, how: str) -> None:
    async with open_relay() as relayed:
        await relayed.begin("Bash", "Read")
        if how == "closed":
            relayed.queue.close()
        else:
            relayed.scope.cancel()
        await wait_all_tasks_blocked()

        assert relayed.desk.open_questions() == ()
        assert {await relayed.desk.answer(each.id, "once", who="x") for each in relayed.told} == {AnswerReceipt.LATE}
