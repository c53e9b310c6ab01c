"""The questions for permission of an agent on a host, which people in front of its run answer.

Rule 1: a question ends once: by the first answer, at its deadline, or with its asker. Rule 2: nobody here answers for them. Must not know:
links, sessions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, final

import attrs
import trio

from greenroom.agents import PermissionQuestion
from greenroom.permissions import DEADLINE_S, Allow, Deny

MAX_QUESTION: Final = 262_144
"""Characters of a question as JSON; a larger one is refused."""


@final
@attrs.define(eq=False)
class _Pending:
    question: Mapping[str, Any]
    answer: Mapping[str, Any] | None = None
    answered: trio.Event = attrs.field(factory=trio.Event)


@final
class HostedQuestions:
    """The questions of one agent.

    Args:
        note_change: Called when there is another one, or one less.
    """

    def __init__(self, note_change: Callable[[], object]) -> None:
        self._note_change = note_change
        self._pending: dict[str, _Pending] = {}
        self._last = 0

    def waiting(self) -> list[dict[str, Any]]:
        """Return those that wait for an answer, as `AgentNews` has them."""
        return [{"id": name, **pending.question} for name, pending in self._pending.items()]

    def answer(self, name: str, answer: Mapping[str, Any]) -> bool:
        """Answer a question; return False if it does not wait any more, or never did."""
        pending = self._pending.get(name)
        if pending is None or pending.answer is not None:
            return False
        pending.answer = answer
        pending.answered.set()
        return True

    async def decide(self, question: PermissionQuestion) -> Allow | Deny:
        """Ask whether a call may run; a refusal if nobody answers within `DEADLINE_S`. If cancelled, the question is withdrawn."""
        answer = await self._ask(
            {
                "tool": question.tool,
                "input": dict(question.input),
                "reason": question.verdict.reason,
                "call": question.call_id,
            }
        )
        if answer is None:
            return Deny(message=f"nobody in front of its run answered within {DEADLINE_S:g} s", cause="deadline")
        if answer.get("allows") is True:
            changed = answer.get("input")
            return Allow(input=changed if isinstance(changed, dict) else None)
        return Deny(message=str(answer.get("message", ""))[:2_000], interrupts=answer.get("interrupts") is True)

    async def _ask(self, question: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if len(json.dumps(question)) > MAX_QUESTION:
            return {"message": f"the question is larger than {MAX_QUESTION} characters and cannot be sent"}
        self._last += 1
        name, pending = f"q{self._last}", _Pending(question)
        self._pending[name] = pending
        self._note_change()
        try:
            with trio.move_on_after(DEADLINE_S):
                await pending.answered.wait()
        finally:
            del self._pending[name]
            self._note_change()
        return pending.answer
