"""State of the gateway's services: marks of channels, pairings, open questions, jobs of the clock, calls that are done.

It is a part of the registry, with the same rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, TypeVar, final

import attrs

from greenroom.core import Event, IllegalTransition
from greenroom.gateway.record import _gateway_events as gateway
from greenroom.gateway.record._rows import AnsweredCall, Job, Pairing, WaitingQuestion

MAX_ANSWERS: Final = 10_000
"""Calls of one token that are remembered."""
ANSWER_S: Final = 24 * 3600.0
"""How long a call is remembered."""
CLOCK_CORRECTION_S: Final = 86_400.0
"""The step back from which a clock counts as corrected; after a smaller one no time of a job comes again."""
CHAT_CALLS: Final = "chat"
"""The token under which messages of chats are remembered that were carried out or answered at once."""
RowT = TypeVar("RowT")


def found_row(rows: Mapping[str, RowT], key: str, event: Event) -> RowT:
    """Return the row that an event is about.

    Raises:
        IllegalTransition: There is none.
    """
    try:
        return rows[key]
    except KeyError:
        raise IllegalTransition(state="absent", event=event.kind) from None


@final
@attrs.define
class ServiceState:
    """What the gateway's services have to know after a restart."""

    cursors: dict[str, dict[str, str]] = attrs.field(factory=dict)
    """By channel and account."""
    pairings: dict[str, dict[str, dict[str, Pairing]]] = attrs.field(factory=dict)
    """By channel, account and person."""
    questions: dict[str, WaitingQuestion] = attrs.field(factory=dict)
    jobs: dict[str, Job] = attrs.field(factory=dict)
    answers: dict[str, dict[str, AnsweredCall]] = attrs.field(factory=dict)
    """By token and key of the call, the oldest one first."""

    def answer(self, token: str, key: str, now_s: float) -> AnsweredCall | None:
        """Return the answer of a call that is done; None if there was none within a day."""
        found = self.answers.get(token, {}).get(key)
        return None if found is None or now_s - found.at_s > ANSWER_S else found

    def fold(self, event: Event) -> None:
        """Take an event into account; others are ignored.

        Raises:
            IllegalTransition: The event is not possible now; nothing has changed.
        """
        handler = self._FOLDS.get(type(event))
        if handler is not None:
            handler(self, event)

    def _cursor(self, event: gateway.ChannelCursor) -> None:
        self.cursors.setdefault(event.channel, {})[event.account] = event.cursor

    def _ask_pairing(self, event: gateway.PairingAsked) -> None:
        people = self.pairings.setdefault(event.channel, {}).setdefault(event.account, {})
        known = people.get(event.sender)
        if known is not None and known.is_approved:
            raise IllegalTransition(state="approved", event=event.kind)
        people[event.sender] = Pairing(
            channel=event.channel,
            account=event.account,
            sender=event.sender,
            digest=event.digest,
            item=event.item,
            asked_s=event.at_s,
            expires_s=event.expires_s,
        )

    def _approve(self, event: gateway.PairingApproved) -> None:
        people = self.pairings.get(event.channel, {}).get(event.account, {})
        row = found_row(people, event.sender, event)
        people[event.sender] = attrs.evolve(row, is_approved=True, item=event.item)

    def _remove_pairing(self, event: gateway.PairingRemoved) -> None:
        people = self.pairings.get(event.channel, {}).get(event.account, {})
        found_row(people, event.sender, event)
        del people[event.sender]

    def _ask(self, event: gateway.ApprovalAsked) -> None:
        self.questions[event.approval] = WaitingQuestion(
            approval=event.approval,
            session=event.session,
            tool=event.tool,
            asked_s=event.at_s,
            expires_s=event.expires_s,
        )

    def _answered(self, event: gateway.ApprovalAnswered) -> None:
        found_row(self.questions, event.approval, event)
        del self.questions[event.approval]

    def _add_job(self, event: gateway.CronAdded) -> None:
        if event.job in self.jobs:
            raise IllegalTransition(state="added", event=event.kind)
        self.jobs[event.job] = Job(id=event.job, job_spec=event.job_spec, added_s=event.at_s)

    def _change_job(self, event: gateway.CronChanged) -> None:
        row = found_row(self.jobs, event.job, event)
        # A clock that was ahead by more than a day was wrong: times count from where it is now.
        is_ahead = row.seen_s - event.at_s > CLOCK_CORRECTION_S
        self.jobs[event.job] = attrs.evolve(row, job_spec=event.job_spec, seen_s=event.at_s if is_ahead else row.seen_s)

    def _remove_job(self, event: gateway.CronRemoved) -> None:
        found_row(self.jobs, event.job, event)
        del self.jobs[event.job]

    def _due_job(self, event: gateway.CronDue) -> None:
        row = found_row(self.jobs, event.job, event)
        if row.is_due or event.planned_s <= row.seen_s:
            raise IllegalTransition(state="due" if row.is_due else "past", event=event.kind)
        self.jobs[event.job] = attrs.evolve(
            row, planned_s=event.planned_s, seen_s=event.planned_s, run=event.run, is_due=True
        )

    def _end_job(self, event: gateway.CronEnded) -> None:
        row = self.jobs.get(event.job)
        if row is None:  # it was removed while it ran
            return
        row = attrs.evolve(row, seen_s=max(row.seen_s, event.planned_s), outcome=event.outcome)
        if event.planned_s == row.planned_s:  # another one is the skip of a time that came during the run
            row = attrs.evolve(row, is_due=False, run="")
        self.jobs[event.job] = row

    def _done(self, event: gateway.RpcDone) -> None:
        known = self.answers.get(event.token, {}).get(event.key)
        if known is not None and event.at_s - known.at_s <= ANSWER_S:
            raise IllegalTransition(state="done", event=event.kind)
        done = AnsweredCall(digest=event.digest, at_s=event.at_s, answer=event.answer)
        self._note_done(event.token, event.key, done)

    def note_answered(self, item: str, at_s: float) -> None:
        """Remember a message of a chat that was answered at once."""
        self._note_done(CHAT_CALLS, item, AnsweredCall(digest="", at_s=at_s))

    def _note_done(self, token: str, key: str, done: AnsweredCall) -> None:
        """Remember a call that is done, and forget the oldest ones."""
        calls = self.answers.setdefault(token, {})
        calls.pop(key, None)
        calls[key] = done
        for each in list(calls):
            if len(calls) <= MAX_ANSWERS and done.at_s - calls[each].at_s <= ANSWER_S:
                break
            del calls[each]

    _FOLDS: ClassVar[Mapping[type[Event], Callable[[ServiceState, Any], None]]] = {
        gateway.ChannelCursor: _cursor,
        gateway.PairingAsked: _ask_pairing,
        gateway.PairingApproved: _approve,
        gateway.PairingRemoved: _remove_pairing,
        gateway.ApprovalAsked: _ask,
        gateway.ApprovalAnswered: _answered,
        gateway.CronAdded: _add_job,
        gateway.CronChanged: _change_job,
        gateway.CronRemoved: _remove_job,
        gateway.CronDue: _due_job,
        gateway.CronEnded: _end_job,
        gateway.RpcDone: _done,
    }
