"""Questions of remote agents, apart from hosts and links: each is asked once, however often its host tells of it."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from greenroom.core import PeerError
from greenroom.remote.hosts._remote_questions import RemoteQuestions

AGENT: Any = SimpleNamespace(
    host="far",
    task=SimpleNamespace(progress=None, is_finished=False),
    order=SimpleNamespace(run="a-run", key="0" * 32, task="r12345678"),
)
QUESTIONS: list[dict[str, Any]] = [{"id": "q1", "tool": "Bash"}, {"id": "q2", "tool": "Read"}]


@pytest.mark.promise("R5-questions")
async def test_a_question_is_asked_once_and_its_answer_is_sent_until_the_host_has_it(autojump_clock: MockClock) -> None:
    """Later news names it again; the first two ways to the host fail."""
    asked: list[str] = []
    sent: list[str] = []

    async def answer(_: object, question: Mapping[str, Any]) -> dict[str, Any]:
        asked.append(question["id"])
        await trio.sleep(5)
        return {"allows": True}

    async def ask(_: str, told: Any) -> None:
        sent.append(told.question)
        if len(sent) < 3:
            raise PeerError("the link is cut")

    async with trio.open_nursery() as nursery:
        questions = RemoteQuestions(answer, ask, nursery)
        for _ in range(3):
            questions.follow(AGENT, QUESTIONS[:1])
            await trio.sleep(1)

    assert (asked, sent) == (["q1"], ["q1", "q1", "q1"])


@pytest.mark.promise("R5-questions")
async def test_a_question_that_does_not_wait_any_more_is_withdrawn(autojump_clock: MockClock) -> None:
    withdrawn: list[str] = []

    async def answer(_: object, question: Mapping[str, Any]) -> dict[str, Any]:
        try:
            await trio.sleep_forever()
        finally:
            withdrawn.append(question["id"])

    async def ask(_: str, told: Any) -> None:
        raise AssertionError("nothing was answered")

    async with trio.open_nursery() as nursery:
        questions = RemoteQuestions(answer, ask, nursery)
        questions.follow(AGENT, QUESTIONS)
        await wait_all_tasks_blocked()
        questions.follow(AGENT, QUESTIONS[1:])
        await wait_all_tasks_blocked()
        first = [*withdrawn]
        questions.follow(AGENT, [])

    assert (first, withdrawn) == (["q1"], ["q1", "q2"])
