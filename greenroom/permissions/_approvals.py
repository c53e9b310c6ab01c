"""Questions that wait for a person: who asks, about what, until when; answered once.

Rule 1: an answer comes from whoever holds the queue and through `answer`, never out of text. Rule 2: a question ends once: by
an answer, at its deadline, with its asker, or with the queue; all but an answer are refusals. Rule 3: an answer to a question
that has ended changes nothing, and says so.
Must not know: tools, agents, how people are reached.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final, Literal, TypeAlias, final

import attrs
import trio

from greenroom.core import Ids, UsageError, checked, task_id
from greenroom.permissions._request import Verdict
from greenroom.permissions._updates import Update

DEADLINE_S: Final = 600.0
REMEMBERED: Final = 1_024
"""How many questions that have ended are remembered, to tell late answers from answers to nothing."""


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class Allow:
    """The call may run.

    Attributes:
        input: What it is to run with instead of its own input; it has to be decided about anew.
        updates: Changes of settings that the person wants to last.
    """

    input: Mapping[str, Any] | None = None
    updates: tuple[Update, ...] = ()


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class Deny:
    """The call is refused; the agent goes on, and is told.

    Attributes:
        message: What the model is told.
        cause: Who refused: a person, or no one in time.
        interrupts: Whether the agent's turn is to end as well.
    """

    message: str
    cause: Literal["person", "deadline", "closed"] = "person"
    interrupts: bool = False


Answer: TypeAlias = Allow | Deny


class ApprovalState(StrEnum):
    """Where a question stands."""

    WAITING = "waiting"
    ALLOWED = "allowed"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class Receipt(StrEnum):
    """What became of an answer."""

    TAKEN = "taken"
    LATE = "late"
    """The question had ended; nothing changed."""
    UNKNOWN = "unknown"
    """There is no such question here, or it ended long ago."""


@final
@attrs.frozen(kw_only=True)
class Approval:
    """One question, as it stands: what a person is shown.

    Attributes:
        id: Names it in answers; never used again.
        agent: Id of the agent that asks.
        label: What people call that agent.
        tool: The tool's name.
        input: The call's input.
        summary: The call on one line.
        verdict: Why it is asked, and what would settle it for good.
        call_id: The id of the `tool_use`.
        asked_s: When it was asked, on the run's clock.
        deadline_s: When it is refused unless it has been answered; `inf` for never.
        state: Where it stands.
        ended_s: When it ended; None while it waits.
        answer: How it ended; None while it waits, and where its asker was cancelled.
    """

    id: str
    agent: str
    label: str
    tool: str
    input: Mapping[str, Any]
    summary: str
    verdict: Verdict
    call_id: str
    asked_s: float
    deadline_s: float
    state: ApprovalState = ApprovalState.WAITING
    ended_s: float | None = None
    answer: Answer | None = None

    def waited_s(self, now_s: float) -> float:
        """Return how long it has waited, or did wait, in seconds: time that is not the agent's work."""
        return (now_s if self.ended_s is None else self.ended_s) - self.asked_s


@final
@attrs.frozen(kw_only=True)
class ApprovalStatistics:
    """What went through a queue."""

    waiting: int
    most_waiting: int
    allowed: int
    denied: int
    expired: int
    cancelled: int
    late: int
    """Answers to questions that had ended."""


@final
@attrs.define
class _Slot:
    woken: trio.Event = attrs.field(factory=trio.Event)
    ended: Approval | None = None


Watcher: TypeAlias = Callable[[Approval], None]
"""Called with each question when it is asked and when it ends, in that very step: it may only store and wake."""


@final
class ApprovalQueue:
    """The questions of one session.

    Args:
        ids: Where the ids of questions come from.
        deadline_s: How long a question waits, in seconds; `math.inf` waits for ever, which is for sessions with a person in
            front of them.
        has_approver: Whether anybody could answer. Without, every question is refused at once.
        watcher: Told about every question and every end.
    """

    def __init__(
        self,
        ids: Ids,
        *,
        deadline_s: float = DEADLINE_S,
        has_approver: bool = True,
        watcher: Watcher | None = None,
    ) -> None:
        if not deadline_s > 0:
            raise UsageError(
                f"a question has to wait for some time: deadline_s is {deadline_s!r}, give seconds above 0"
            )
        self.has_approver = has_approver
        self._ids = ids
        self.deadline_s = deadline_s
        """How long a question waits that says nothing else, in seconds."""
        self._watcher = watcher
        self._waiting: dict[str, Approval] = {}
        self._slots: dict[str, _Slot] = {}
        self._ended: dict[str, Approval] = {}
        self._counts = dict.fromkeys(ApprovalState, 0)
        self._most = 0
        self._late = 0
        self._is_closed = False
        self._changed = trio.Event()

    def __repr__(self) -> str:
        return f"<ApprovalQueue waiting={len(self._waiting)}>"

    async def ask(
        self,
        *,
        agent: str,
        tool: str,
        input: Mapping[str, Any],  # noqa: A002 - the protocol's own word
        verdict: Verdict,
        summary: str = "",
        label: str = "",
        call_id: str = "",
        deadline_s: float | None = None,
    ) -> Approval:
        """Wait for a person's answer, and return the question with it; at the deadline with a refusal.

        Cancelled, the question is withdrawn: it ends as cancelled, and an answer that comes then is late.

        Args:
            agent: Id of the agent that asks.
            tool: The tool's name.
            input: The call's input.
            verdict: Why it is asked.
            summary: The call on one line.
            label: What people call the agent; else its id.
            call_id: The id of the `tool_use`.
            deadline_s: How long to wait, in seconds, instead of the queue's own.
        """
        now_s = trio.current_time()
        wait_s = self.deadline_s if deadline_s is None else deadline_s
        one = Approval(
            id=task_id(self._ids, "p"),
            agent=agent,
            label=label or agent,
            tool=tool,
            input=input,
            summary=summary,
            verdict=verdict,
            call_id=call_id,
            asked_s=now_s,
            deadline_s=now_s + max(0.0, wait_s),
        )
        if self._is_closed or not self.has_approver:
            await trio.lowlevel.checkpoint()
            return self._end(one, ApprovalState.DENIED, self._nobody())
        slot = self._slots[one.id] = _Slot()
        self._waiting[one.id] = one
        self._most = max(self._most, len(self._waiting))
        self._tell(one)
        try:
            with trio.move_on_at(one.deadline_s):
                await slot.woken.wait()
        finally:
            if one.id in self._waiting:
                self._expire_or_cancel(one)
        assert slot.ended is not None  # it is no longer waiting
        return slot.ended

    def _expire_or_cancel(self, one: Approval) -> None:
        if trio.current_time() >= one.deadline_s:
            message = f"nobody answered within {one.deadline_s - one.asked_s:g} s, so it is refused"
            self._end(one, ApprovalState.EXPIRED, Deny(message=message, cause="deadline"))
        else:
            self._end(one, ApprovalState.CANCELLED, None)

    def answer(self, id: str, answer: Answer) -> Receipt:  # noqa: A002 - what it is called everywhere else
        """Answer a question; never waits. The first answer counts, and giving it again is harmless."""
        one = self._waiting.get(id)
        if one is None:
            if id not in self._ended:
                return Receipt.UNKNOWN
            self._late += 1
            return Receipt.LATE
        self._end(one, ApprovalState.ALLOWED if isinstance(answer, Allow) else ApprovalState.DENIED, answer)
        return Receipt.TAKEN

    def close(self) -> None:
        """Refuse what waits, and everything that is asked from now on."""
        self._is_closed = True
        for one in list(self._waiting.values()):
            self._end(one, ApprovalState.DENIED, self._nobody())

    def waiting(self) -> tuple[Approval, ...]:
        """Return the questions that wait, oldest first: what a client that connects anew is shown."""
        return tuple(self._waiting.values())

    def find(self, id: str) -> Approval | None:  # noqa: A002 - what it is called everywhere else
        """Return a question that waits, or one of the last that ended."""
        return self._waiting.get(id) or self._ended.get(id)

    async def wait_changed(self) -> None:
        """Wait until a question is asked or ends. Read `waiting()` after it; several changes may be one."""
        await self._changed.wait()

    def statistics(self) -> ApprovalStatistics:
        """Return the counters as of now."""
        return ApprovalStatistics(
            waiting=len(self._waiting),
            most_waiting=self._most,
            allowed=self._counts[ApprovalState.ALLOWED],
            denied=self._counts[ApprovalState.DENIED],
            expired=self._counts[ApprovalState.EXPIRED],
            cancelled=self._counts[ApprovalState.CANCELLED],
            late=self._late,
        )

    def _nobody(self) -> Deny:
        why = "the session is ending" if self._is_closed else "nobody can be asked in this session"
        return Deny(message=f"{why}, so it is refused", cause="closed")

    def _end(self, one: Approval, state: ApprovalState, answer: Answer | None) -> Approval:
        self._waiting.pop(one.id, None)
        slot = self._slots.pop(one.id, None)
        ended = attrs.evolve(one, state=state, answer=answer, ended_s=trio.current_time())
        self._counts[state] += 1
        self._ended[one.id] = ended
        while len(self._ended) > REMEMBERED:
            del self._ended[next(iter(self._ended))]
        if slot is not None:
            slot.ended = ended
            slot.woken.set()
        self._tell(ended)
        return ended

    def _tell(self, one: Approval) -> None:
        changed, self._changed = self._changed, trio.Event()
        changed.set()
        if self._watcher is not None:
            self._watcher(one)
