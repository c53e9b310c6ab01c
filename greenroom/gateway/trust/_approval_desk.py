"""Questions about tool calls: one queue for all sessions, with short ids for people.

    id = await desk.ask(session, tool, "rm -rf build", call=approval_id)      # on record, and told to owners and clients
    receipt = await desk.answer(id, "once", who="irc:ann")                    # the first answer counts

Rule 1: an answer comes from an owner or a client through `answer`, never out of text, and never from the session that asks. Rule 2: a
question ends once: by an answer, at its deadline, with its asker, or with the process; all but an answer are refusals. Rule 3: an answer
is carried out when it is on record.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Final, Literal, TypeAlias, final

import attrs
import trio

from greenroom.core import IllegalTransition, JournalError
from greenroom.core.ports import Ids
from greenroom.gateway.announce._quotes import one_line, quoted
from greenroom.gateway.record._gateway_events import ApprovalAnswered, ApprovalAsked
from greenroom.gateway.record._gateway_journal import GatewayRecord
from greenroom.gateway.trust._pairing import CODE_SIGNS

DEADLINE_S: Final = 600.0
"""Seconds until a question counts as denied."""
GIVE_UP_S: Final = 5.0
"""Seconds for the record of a question whose asker was cancelled."""
ID_LENGTH: Final = 4
REMEMBERED: Final = 1_024
"""Ended questions that are remembered, to tell late answers from those to unknown questions; their ids are not used again."""
MAX_SUMMARY: Final = 1_500
"""Characters of a call that are shown to people."""

ApprovalWord: TypeAlias = Literal["once", "always", "deny"]
APPROVAL_WORDS: Final[tuple[ApprovalWord, ...]] = ("once", "always", "deny")


class DenialCause(StrEnum):
    """The kind of cause for which a call was denied."""

    PERSON = "person"
    DEADLINE = "deadline"
    """Nobody answered in time."""
    CLOSED = "closed"
    """The process that asked has ended, or the answer could not be recorded."""


@final
@attrs.frozen(kw_only=True)
class ToolQuestion:
    """A question about a call."""

    id: str
    """Its short id."""
    session: str
    """Key of the session that asks."""
    tool: str
    summary: str
    """The call, for people: data of a model's."""
    call: str
    """The asker's own id of it."""
    asker: str = ""
    """Whose sub-agent asks; empty for the session itself."""
    deadline_s: float
    """When it counts as denied, on Trio's clock."""


@final
@attrs.frozen(kw_only=True)
class QuestionEnd:
    """The end of a question."""

    question: ToolQuestion
    answer: ApprovalWord
    who: str = ""
    cause: DenialCause = DenialCause.PERSON
    """Of a denial."""


class AnswerReceipt(StrEnum):
    """The result of an answer."""

    TAKEN = "taken"
    LATE = "late"
    """The question had ended; nothing changed."""
    UNKNOWN = "unknown"
    FORBIDDEN = "forbidden"
    """The session that asks cannot answer."""


Settle: TypeAlias = Callable[[QuestionEnd], object]
"""Hands the end of a question to its asker; it may only store values and wake tasks."""
TellQuestion: TypeAlias = Callable[[ToolQuestion], Awaitable[object]]
"""Tells owners and clients about a question."""


def question_text(question: ToolQuestion) -> str:
    """Return a question as a message to an owner: words of the model are quoted."""
    whose = f"{question.session}, a sub-agent of {question.asker}" if question.asker else question.session
    return "\n".join(
        (
            f"Question {question.id}: may {one_line(question.tool, 80)} run?",
            quoted("Call:", question.summary[:MAX_SUMMARY] or "-"),
            f"Session: {one_line(whose, 400)}",
            f"Answer within {DEADLINE_S / 60:.0f} minutes: /approve {question.id} {'|'.join(APPROVAL_WORDS)}",
        )
    )


@final
@attrs.define(kw_only=True)
class ApprovalDesk:
    """The queue of questions.

    Args:
        record: The gateway's record.
        ids: Source of short ids.
        wall: Returns the wall clock, in seconds since 1970.
        settle: Hands an end to the asker.
        tell: Tells owners and clients about a question.
    """

    record: GatewayRecord
    ids: Ids
    wall: Callable[[], float]
    settle: Settle
    tell: TellQuestion
    _open: dict[str, ToolQuestion] = attrs.field(factory=dict, init=False)
    _ended: OrderedDict[str, QuestionEnd | None] = attrs.field(factory=OrderedDict, init=False)
    _news: trio.Event = attrs.field(factory=trio.Event, init=False)

    async def ask(self, session: str, tool: str, summary: str, *, call: str, asker: str = "") -> ToolQuestion:
        """Ask a question; when this returns, it is on record, and was told. Cancelled, it is withdrawn.

        Args:
            session: Key of the session that asks.
            tool: The tool.
            summary: The call, for people.
            call: The asker's id of it.
            asker: Whose sub-agent asks.

        Raises:
            JournalError: It cannot be recorded; it was not asked.
        """
        deadline_s = trio.current_time() + DEADLINE_S
        question = ToolQuestion(
            id=self._new_id(),
            session=session,
            tool=tool,
            summary=summary,
            call=call,
            asker=asker,
            deadline_s=deadline_s,
        )
        now_s = self.wall()
        self._open[question.id] = question
        try:
            await self.record.write(
                ApprovalAsked(
                    at_s=now_s, approval=question.id, session=session, tool=tool, expires_s=now_s + DEADLINE_S
                )
            )
            self._news.set()
            await self.tell(question)
        except BaseException:
            with trio.move_on_after(GIVE_UP_S, shield=True):
                await self._give_up(question)
            raise
        return question

    async def answer(self, id_: str, answer: ApprovalWord, *, who: str, session: str = "") -> AnswerReceipt:
        """Answer a question; the first answer counts, and when this returns, it is on record and the asker has it.

        Args:
            id_: The short id; case does not count.
            answer: The answer.
            who: Who answers.
            session: Key of the session that answers; empty for a person.

        Raises:
            JournalError: It cannot be recorded; the question counts as denied.
        """
        name = id_.strip().lower()
        question = self._open.get(name)
        if question is None:
            return AnswerReceipt.LATE if name in self._ended else AnswerReceipt.UNKNOWN
        if session and session == question.session:
            return AnswerReceipt.FORBIDDEN
        end = QuestionEnd(question=question, answer=answer, who=who)
        return AnswerReceipt.TAKEN if await self._end(end) else AnswerReceipt.LATE

    async def withdraw(self, call: str) -> None:
        """End the question about a call whose asker has ended."""
        for question in [each for each in self._open.values() if each.call == call]:
            await self._end(QuestionEnd(question=question, answer="deny", cause=DenialCause.CLOSED))

    async def run(self) -> None:
        """Deny questions at their deadlines, until cancelled; first those of an earlier process, which has ended."""
        for id_ in [each for each in self.record.registry.services.questions if each not in self._open]:
            self._remember(id_, None)
            await self._write(id_, "deny", "")
        while True:
            now_s = trio.current_time()
            for question in [each for each in self._open.values() if each.deadline_s <= now_s]:
                await self._end(QuestionEnd(question=question, answer="deny", cause=DenialCause.DEADLINE))
            self._news = trio.Event()
            next_s = min((each.deadline_s for each in self._open.values()), default=float("inf"))
            with trio.move_on_at(next_s):
                await self._news.wait()

    def open_questions(self) -> tuple[ToolQuestion, ...]:
        """Return the questions that wait, the oldest first."""
        return tuple(self._open.values())

    def end_of(self, id_: str) -> QuestionEnd | None:
        """Return the end of a question; None if it waits, is unknown, or was asked by an earlier process."""
        return self._ended.get(id_.strip().lower())

    async def _end(self, end: QuestionEnd) -> bool:
        """End a question; False if it has ended."""
        id_ = end.question.id
        if self._open.pop(id_, None) is None:
            return False
        self._remember(id_, end)
        with trio.CancelScope(shield=True):
            try:
                await self._write(id_, end.answer, end.who)
            except JournalError:
                self.settle(attrs.evolve(end, answer="deny", cause=DenialCause.CLOSED))
                raise
        self.settle(end)
        return True

    async def _write(self, id_: str, answer: str, who: str) -> None:
        await self.record.write(ApprovalAnswered(at_s=self.wall(), approval=id_, answer=answer, who=who))

    async def _give_up(self, question: ToolQuestion) -> None:
        """End a question that could not be asked, or whose asker was cancelled while it was told."""
        if self._open.pop(question.id, None) is None:
            return
        self._remember(question.id, None)
        try:
            await self._write(question.id, "deny", "")
        except (IllegalTransition, JournalError):
            return  # it is not on record, or stays there until the next start

    def _remember(self, id_: str, end: QuestionEnd | None) -> None:
        self._ended[id_] = end
        while len(self._ended) > REMEMBERED:
            self._ended.popitem(last=False)

    def _new_id(self) -> str:
        while True:
            bits = self.ids.bits(5 * ID_LENGTH)
            id_ = "".join(CODE_SIGNS[bits >> 5 * at & 31] for at in range(ID_LENGTH)).lower()
            if id_ not in self._open and id_ not in self._ended and id_ not in self.record.registry.services.questions:
                return id_
