"""The questions of remote agents, answered here: each is asked once, and its answer is sent until the host has it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Final, TypeAlias, final

import trio

from greenroom.core import GreenroomError
from greenroom.remote.hosts._host_messages import AnswerAgent
from greenroom.remote.hosts._remote_agent import RemoteAgent

_AGAIN_S: Final = 1.0

Answering: TypeAlias = Callable[[RemoteAgent, Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Asks people here a question of an agent, and returns the answer; cancelled when the question does not wait any more."""


@final
class RemoteQuestions:
    """The questions of the remote agents of one run.

    Args:
        answer: Asks people.
        ask: Sends a message to a host, and returns its answer.
        nursery: For questions as long as they wait.
    """

    def __init__(
        self, answer: Answering, ask: Callable[[str, AnswerAgent], Awaitable[object]], nursery: trio.Nursery
    ) -> None:
        self._answer = answer
        self._ask = ask
        self._nursery = nursery
        self._asked: dict[tuple[str, str], trio.CancelScope] = {}

    def follow(self, remote: RemoteAgent, waiting: list[dict[str, Any]]) -> None:
        """Ask the questions of an agent that are new, and withdraw those that do not wait any more."""
        task = remote.order.task
        now = {(task, str(question.get("id"))): question for question in waiting}
        for key in [key for key in self._asked if key[0] == task and key not in now]:
            self._asked.pop(key).cancel()
        for key, question in now.items():
            if key not in self._asked:
                self._asked[key] = scope = trio.CancelScope()
                self._nursery.start_soon(self._settle, remote, key[1], question, scope)

    async def _settle(
        self, remote: RemoteAgent, name: str, question: Mapping[str, Any], scope: trio.CancelScope
    ) -> None:
        progress, call = remote.task.progress, f"{remote.order.task}.{name}"
        with scope:
            if progress is not None:
                progress.note_question(call, str(question.get("tool")), trio.current_time())
            try:
                answer = await self._answer(remote, question)
            finally:
                if progress is not None:
                    progress.note_answer(call, trio.current_time())
            order = remote.order
            told = AnswerAgent(run=order.run, key=order.key, task=order.task, question=name, answer=answer)
            while not remote.task.is_finished:
                with suppress(GreenroomError):
                    await self._ask(remote.host, told)
                    return
                await trio.sleep(_AGAIN_S)
