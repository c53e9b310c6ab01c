"""Questions to a person about calls: the asker, the call, the deadline; each answered once. And the calls that a person refused.

Rule 1: an answer comes from the holder of the queue through `answer`, never out of text. Rule 2: a question ends once:
by an answer, at its deadline, with its asker, or with the queue; all but an answer are refusals. Rule 3: an answer to a
question that has ended changes nothing, and is reported as late.

Must not know: tools, agents, how people are reached.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final, Literal, TypeAlias, final

import attrs
import trio

from greenroom.core import UsageError, task_id
from greenroom.core.ports import Ids
from greenroom.core.validation import checked
from greenroom.permissions._request import Verdict
from greenroom.permissions._traits import canonical_name
from greenroom.permissions._updates import Update

DEADLINE_S: Final = 600.0
REMEMBERED: Final = 1_024
"""Number of ended questions that are remembered, to tell late answers from answers to unknown questions."""


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class Allow:
    """The call may run.

    Attributes:
        input: Replacement for its input, which is decided about again.
        updates: Changes of settings that the person wants to last.
    """

    input: Mapping[str, Any] | None = None
    updates: tuple[Update, ...] = ()


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class Deny:
    """The call is refused; the agent continues, and is notified.

    Attributes:
        message: The text for the model.
        cause: Who refused: a person, or the expired deadline.
        interrupts: True if the agent's turn is to end as well.
    """

    message: str
    cause: Literal["person", "deadline", "closed"] = "person"
    interrupts: bool = False


Answer: TypeAlias = Allow | Deny


class ApprovalState(StrEnum):
    """The states of a question."""

    WAITING = "waiting"
    ALLOWED = "allowed"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class Receipt(StrEnum):
    """The results of an answer."""

    TAKEN = "taken"
    LATE = "late"
    """The question had ended; nothing changed."""
    UNKNOWN = "unknown"
    """The question is unknown here, or ended long ago."""


@final
@attrs.frozen(kw_only=True)
class Approval:
    """One question in its present state, as shown to a person.

    Attributes:
        id: Names it in answers; never used again.
        agent: Id of the asking agent.
        label: Name of that agent for people.
        tool: The tool's name.
        input: The call's input.
        summary: The call on one line.
        verdict: The reason for asking, and the changes that would make it unnecessary.
        call_id: The id of the `tool_use`.
        asked_s: When it was asked, on the run's clock.
        deadline_s: When it is refused unless it has been answered; `inf` for never.
        state: Its state.
        ended_s: When it ended; None while it is pending.
        answer: Its answer; None while it is pending, and if its asker was cancelled.
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
        """Return how long it has been pending, or was, in seconds: time that does not count as the agent's work."""
        return (now_s if self.ended_s is None else self.ended_s) - self.asked_s


@final
@attrs.frozen(kw_only=True)
class ApprovalStatistics:
    """Counters of a queue."""

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
"""Called with each question when it is asked and when it ends, in that step: it may only store and wake."""


@final
class ApprovalQueue:
    """The questions of one session.

    Args:
        ids: Source of the ids of questions.
        deadline_s: Seconds until a question is refused; `math.inf` waits indefinitely, for sessions attended by a
            person.
        has_approver: True if anybody could answer; otherwise every question is refused at once.
        watcher: Called with every question and every end.
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
            raise UsageError(f"deadline_s must be above 0, got {deadline_s!r}")
        self.has_approver = has_approver
        self._ids = ids
        self.deadline_s = deadline_s
        """Default deadline of a question, in seconds."""
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

        On cancellation, the question is withdrawn: it ends as cancelled, and a later answer is late.

        Args:
            agent: Id of the asking agent.
            tool: The tool's name.
            input: The call's input.
            verdict: The reason for asking.
            summary: The call on one line.
            label: Name of the agent for people; by default its id.
            call_id: The id of the `tool_use`.
            deadline_s: Deadline in seconds instead of the queue's own.
        """
        now_s = trio.current_time()
        wait_s = self.deadline_s if deadline_s is None else deadline_s
        approval = Approval(
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
            return self._end(approval, ApprovalState.DENIED, self._nobody())
        slot = self._slots[approval.id] = _Slot()
        self._waiting[approval.id] = approval
        self._most = max(self._most, len(self._waiting))
        self._tell(approval)
        try:
            with trio.move_on_at(approval.deadline_s):
                await slot.woken.wait()
        finally:
            if approval.id in self._waiting:
                self._expire_or_cancel(approval)
        assert slot.ended is not None  # it has ended
        return slot.ended

    def _expire_or_cancel(self, approval: Approval) -> None:
        if trio.current_time() >= approval.deadline_s:
            message = f"nobody answered within {approval.deadline_s - approval.asked_s:g} s, so it is refused"
            self._end(approval, ApprovalState.EXPIRED, Deny(message=message, cause="deadline"))
        else:
            self._end(approval, ApprovalState.CANCELLED, None)

    def answer(self, id: str, answer: Answer) -> Receipt:  # noqa: A002 - what it is called everywhere else
        """Answer a question; never waits. The first answer counts, and repeating it is harmless."""
        approval = self._waiting.get(id)
        if approval is None:
            if id not in self._ended:
                return Receipt.UNKNOWN
            self._late += 1
            return Receipt.LATE
        self._end(approval, ApprovalState.ALLOWED if isinstance(answer, Allow) else ApprovalState.DENIED, answer)
        return Receipt.TAKEN

    def close(self) -> None:
        """Refuse all pending questions, and every later one."""
        self._is_closed = True
        for approval in list(self._waiting.values()):
            self._end(approval, ApprovalState.DENIED, self._nobody())

    def waiting(self) -> tuple[Approval, ...]:
        """Return the pending questions, oldest first, for a client that reconnects."""
        return tuple(self._waiting.values())

    def find(self, id: str) -> Approval | None:  # noqa: A002 - what it is called everywhere else
        """Return a pending question, or one of the last that ended."""
        return self._waiting.get(id) or self._ended.get(id)

    async def wait_changed(self) -> None:
        """Wait until a question is asked or ends. Read `waiting()` afterwards; several changes may be reported as one."""
        await self._changed.wait()

    def statistics(self) -> ApprovalStatistics:
        """Return the current counters."""
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

    def _end(self, approval: Approval, state: ApprovalState, answer: Answer | None) -> Approval:
        self._waiting.pop(approval.id, None)
        slot = self._slots.pop(approval.id, None)
        ended = attrs.evolve(approval, state=state, answer=answer, ended_s=trio.current_time())
        self._counts[state] += 1
        self._ended[approval.id] = ended
        while len(self._ended) > REMEMBERED:
            del self._ended[next(iter(self._ended))]
        if slot is not None:
            slot.ended = ended
            slot.woken.set()
        self._tell(ended)
        return ended

    def _tell(self, approval: Approval) -> None:
        changed, self._changed = self._changed, trio.Event()
        changed.set()
        if self._watcher is not None:
            self._watcher(approval)


_WORDS_ABOUT_IT: Final = frozenset(("description", "timeout", "run_in_background"))
"""Inputs that describe a call without changing its effect."""


@final
class Refusals:
    """The calls that the user has refused to members of one team, and that stay refused for the others.

    A refusal applies to the same call by any other agent, until the user sends another message or allows it. The refused agent may ask
    again; then the user decides again. Calls are compared, not their effects: another command with the same effect is another
    call, which needs rules.
    """

    def __init__(self) -> None:
        self._by_call: dict[str, dict[str, str]] = {}

    def __repr__(self) -> str:
        return f"<Refusals of {len(self._by_call)} calls>"

    def __len__(self) -> int:
        return len(self._by_call)

    def note(self, agent: str, label: str, tool: str, values: Mapping[str, Any]) -> None:
        """Record a refused call of an agent with its name for people."""
        self._by_call.setdefault(_key(tool, values), {})[agent] = label

    def lift(self, tool: str, values: Mapping[str, Any]) -> None:
        """Forget a call: the user has allowed it."""
        self._by_call.pop(_key(tool, values), None)

    def clear(self) -> None:
        """Forget all: the user has sent a message, which may have changed their mind."""
        self._by_call.clear()

    def refused(self, agent: str, tool: str, values: Mapping[str, Any]) -> str:
        """Return which other agent was refused that call; empty for none."""
        if not self._by_call:
            return ""
        found = self._by_call.get(_key(tool, values), {})
        return "" if agent in found else next(iter(found.values()), "")


def _key(tool: str, values: Mapping[str, Any]) -> str:
    kept = {name: _plain(value) for name, value in values.items() if name not in _WORDS_ABOUT_IT}
    return f"{canonical_name(tool)} {json.dumps(kept, sort_keys=True, default=repr)}"


def _plain(value: Any) -> Any:
    """Return a value with insignificant spaces removed."""
    return " ".join(value.split()) if isinstance(value, str) else value
