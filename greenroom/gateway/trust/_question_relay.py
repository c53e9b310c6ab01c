"""Questions of open sessions, on their way to the one queue, and answers on their way back.

Rule 1: a question that ends in its session, whatever ends it, ends in the queue. Rule 2: an answer for good counts for the open session;
it changes no file. Rule 3: a question that cannot be recorded is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, final

import attrs
import trio

from greenroom.core import JournalError
from greenroom.core.texts import as_json
from greenroom.gateway.record._gateway_journal import GatewayRecord
from greenroom.gateway.trust._approval_desk import GIVE_UP_S, ApprovalDesk, DenialCause, QuestionEnd
from greenroom.permissions import Allow, ApprovalQueue, Deny, Scope, Update

_REASONS: Final = {
    DenialCause.PERSON: "the user refused it",
    DenialCause.DEADLINE: "nobody answered in time, so it is refused",
    DenialCause.CLOSED: "the question was withdrawn, so it is refused",
}


@final
class QuestionRelay:
    """Questions of open sessions in the one queue.

    Args:
        record: The gateway's record.
        open_desk: Returns the queue that settles questions with the given function.
    """

    def __init__(
        self, record: GatewayRecord, open_desk: Callable[[Callable[[QuestionEnd], object]], ApprovalDesk]
    ) -> None:
        self._record = record
        self._asked: dict[str, tuple[ApprovalQueue, tuple[Update, ...]]] = {}
        self.desk = open_desk(self._settle)
        """The queue."""

    def __repr__(self) -> str:
        return f"<QuestionRelay of {len(self._asked)} questions>"

    async def relay(self, session: str, queue: ApprovalQueue) -> None:
        """Relay the questions of an open session, until cancelled.

        Args:
            session: Key of the session.
            queue: Its questions.
        """
        mine: set[str] = set()
        try:
            while True:
                await self._step(session, queue, mine)
        finally:
            with trio.move_on_after(GIVE_UP_S, shield=True):
                await self._withdraw(mine)

    async def _step(self, session: str, queue: ApprovalQueue, mine: set[str]) -> None:
        """Relay one question, or withdraw those that have ended, or wait for news."""
        waiting = {each.id: each for each in queue.waiting()}
        if gone := mine - set(waiting):
            mine -= gone
            await self._withdraw(gone)
            return
        asked = next((each for each in waiting.values() if each.id not in mine), None)
        if asked is None:
            await queue.wait_changed()
            return
        mine.add(asked.id)
        self._asked[asked.id] = (queue, asked.verdict.suggestions)
        summary = asked.summary or call_text(asked.input)
        try:
            await self.desk.ask(session, asked.tool, summary, call=asked.id, asker=self._asker(session))
        except JournalError as error:
            self._asked.pop(asked.id, None)
            queue.answer(asked.id, Deny(message=f"it cannot be recorded: {error.why}", cause="closed"))

    async def _withdraw(self, calls: Iterable[str]) -> None:
        for call in calls:
            self._asked.pop(call, None)
            await self.desk.withdraw(call)

    def _asker(self, session: str) -> str:
        row = self._record.registry.sessions.get(session)
        return "" if row is None else row.spawned_by

    def _settle(self, end: QuestionEnd) -> None:
        found = self._asked.pop(end.question.call, None)
        if found is None:
            return  # its session has ended
        queue, suggestions = found
        queue.answer(end.question.call, _answer(end, suggestions))


def call_text(values: Mapping[str, Any]) -> str:
    """Return the arguments of a call for people: a line for each, further lines of a value indented below its name."""
    texts = {name: value if isinstance(value, str) else as_json(value).decode() for name, value in values.items()}
    return "\n".join(f"{name}: {text}".replace("\n", "\n  ") for name, text in texts.items())


def _answer(end: QuestionEnd, suggestions: tuple[Update, ...]) -> Allow | Deny:
    """Return the end of a question as an answer for its session."""
    if end.answer == "deny":
        return Deny(message=_REASONS[end.cause], cause=end.cause.value)
    updates = suggestions if end.answer == "always" else ()
    return Allow(updates=tuple(attrs.evolve(each, destination=Scope.SESSION) for each in updates))
