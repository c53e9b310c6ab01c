"""The plan of a start: what becomes of what an earlier process had not finished.

Rule 1: every run that was cut is resumed or ends; every completion is composed, sent or blocked. Rule 2: a try whose result nobody knows
is repeated only where the channel takes keys; elsewhere a person decides. Rule 3: the plan is in the order in which it is carried out,
and planning again after any part of it was recorded gives the rest.
Must not know: clock, disk, Trio, sessions, channels: what these say is passed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Final, TypeAlias, final

import attrs

from greenroom.gateway.record._machines import DeliveryState, EndCause, SessionState
from greenroom.gateway.record._registry import Registry
from greenroom.gateway.record._rows import Delivery, Run
from greenroom.tasks import TaskState

MAX_CUTS: Final = 3
"""Crashes that cut a run: then it is the cause, and is not resumed."""
STALE_S: Final = 2 * 3600.0
"""Age of a cut from which its run is not resumed, unless its own limit is longer."""


class Resume(StrEnum):
    """What is resumed after the end of a process."""

    ALL = "all"
    CHILDREN = "children"
    """Only the runs that a session asked for."""
    NONE = "none"


class OnUnknown(StrEnum):
    """What follows a try whose result nobody knows, on a channel that takes no keys."""

    BLOCK = "block"
    AGAIN = "again"
    """It is sent again, and may be said twice."""


# --- steps of the plan ------------------------------------------------------------------------------------------------


@final
@attrs.frozen
class EndRun:
    """End a run that is not resumed."""

    run: str
    state: TaskState
    cause: EndCause
    why: str
    who: str = "gateway"


@final
@attrs.frozen
class QueueRun:
    """Queue a run that had not begun."""

    run: str


@final
@attrs.frozen
class ResumeRun:
    """Resume a run that was cut, behind what people have said since."""

    run: str
    left_s: float | None
    """What is left of its time; None for no limit."""


@final
@attrs.frozen
class Compose:
    """Make the text about the end of a run."""

    run: str


@final
@attrs.frozen
class MakeDue:
    """Send a text that is final."""

    run: str


@final
@attrs.frozen
class NoteUnknown:
    """Record that the result of a try is unknown; then it is tried again, with the same key and bytes."""

    delivery: str
    part: int


@final
@attrs.frozen
class AskChannel:
    """Record that the result of a try is unknown, and block the delivery unless the channel knows what became of the part."""

    delivery: str
    part: int
    why: str


@final
@attrs.frozen
class TellPerson:
    """Tell a person in one line that the turn that their message began is not resumed."""

    item: str
    session: str


@final
@attrs.frozen
class EndJob:
    """Record the end of a clock job whose run was never registered, or is gone."""

    job: str
    planned_s: float


RecoveryStep: TypeAlias = (
    EndRun | QueueRun | ResumeRun | Compose | MakeDue | NoteUnknown | AskChannel | TellPerson | EndJob
)


@final
@attrs.frozen(kw_only=True)
class Recovery:
    """What a start may assume."""

    resume: Resume = Resume.ALL
    on_unknown: OnUnknown = OnUnknown.BLOCK
    takes_keys: Callable[[str], bool]
    """Returns True if the channel of this name takes keys, and so shows a text once however often it gets it."""
    witness: Callable[[Run], EndRun | None] = lambda _: None
    """Returns the end of a run that the journal of its own session holds; None if it holds none."""
    is_damaged: bool = False
    """True if lines of the gateway's journal were damaged: whatever was due may have been sent."""


def plan_recovery(registry: Registry, now_s: float, recovery: Recovery) -> tuple[RecoveryStep, ...]:
    """Return the steps of a start, in order. The registry has folded the `gateway.begin` of this process.

    Args:
        registry: Everything that was recorded.
        now_s: The wall clock.
        recovery: What may be assumed.
    """
    return (
        *_deliveries(registry, recovery),
        *_runs(registry, now_s, recovery),
        *_completions(registry),
        *_people(registry, recovery),
        *_jobs(registry),
    )


def _deliveries(registry: Registry, recovery: Recovery) -> Iterator[RecoveryStep]:
    for delivery in registry.deliveries():
        if delivery.state is DeliveryState.DUE and (delivery.trying or recovery.is_damaged):
            yield decide_unknown(delivery, recovery)


def decide_unknown(delivery: Delivery, recovery: Recovery) -> NoteUnknown | AskChannel:
    """Return what follows a try whose result is unknown."""
    channel, part = str(delivery.route.get("channel", "")), delivery.trying or len(delivery.taken) + 1
    if recovery.takes_keys(channel) or recovery.on_unknown is OnUnknown.AGAIN:
        return NoteUnknown(delivery.id, part)
    return AskChannel(delivery.id, part, why=f"it is not known whether {channel or 'the channel'} has it")


def _runs(registry: Registry, now_s: float, recovery: Recovery) -> Iterator[RecoveryStep]:
    for run in sorted(registry.runs.values(), key=lambda run: run.created_s):
        end = None if run.is_ended else recovery.witness(run)
        if end is not None:
            yield end
        elif run.state is TaskState.PENDING:
            yield QueueRun(run.id)
        elif run.state is TaskState.RUNNING and run.is_cut:
            yield decide_cut(run, now_s, recovery.resume)


def decide_cut(run: Run, now_s: float, resume: Resume) -> EndRun | ResumeRun:
    """Return what becomes of a run that the end of its process has cut.

    A clock that was set back makes no cut older.
    """
    if run.cuts >= MAX_CUTS:
        return _lost(run, f"{run.cuts} crashes have cut it")
    if resume is Resume.NONE or (resume is Resume.CHILDREN and not run.requester):
        return _lost(run, "the gateway ended, and the configuration does not let it resume")
    age_s = now_s - run.cut_s
    if age_s > max(STALE_S, run.limit_s):
        return _lost(run, f"it was cut {age_s / 3600:.1f} hours ago")
    if not run.limit_s:
        return ResumeRun(run.id, None)
    left_s = run.limit_s - run.spent_s
    if left_s <= 0:
        return EndRun(run.id, TaskState.KILLED, EndCause.TIMEOUT, f"its limit of {run.limit_s:g} s has passed")
    return ResumeRun(run.id, left_s)


def _lost(run: Run, why: str) -> EndRun:
    return EndRun(run.id, TaskState.FAILED, EndCause.LOST, why)


def _completions(registry: Registry) -> Iterator[RecoveryStep]:
    for completion in sorted(registry.completions.values(), key=lambda row: row.ended_s):
        if completion.delivery.is_unsent:
            yield MakeDue(completion.run) if completion.is_composed else Compose(completion.run)


def _people(registry: Registry, recovery: Recovery) -> Iterator[RecoveryStep]:
    if recovery.resume is Resume.ALL:
        return
    for row in registry.inbound.values():
        if row.is_taken and not row.run:
            yield TellPerson(row.item, row.session)


def _jobs(registry: Registry) -> Iterator[RecoveryStep]:
    for job in registry.services.jobs.values():
        run = registry.run(job.run)
        if job.is_due and run is not None and run.is_ended:
            yield EndJob(job.id, job.planned_s)


# --- what is due by the clock -----------------------------------------------------------------------------------------


class AlarmKind(StrEnum):
    """What is due at a time."""

    ARCHIVE = "archive"
    PAIRING = "pairing"
    """A code expires."""
    QUESTION = "question"
    """A question counts as denied."""


@final
@attrs.frozen(order=True)
class Alarm:
    """Something that is due at a time of the wall clock."""

    at_s: float
    kind: AlarmKind
    id: str
    """Key of the session, id of the question, or the person as `channel/account/sender`."""


def alarms(registry: Registry) -> list[Alarm]:
    """Return what is due by the clock, past and future, in order. Those that were carried out are not among them.

    A session that works, or of which a result is not delivered, is not archived.
    """
    busy = {
        run.session
        for run in registry.runs.values()
        if not run.is_ended or not registry.completions[run.id].delivery.is_settled
    }
    found = [
        Alarm(row.archive_at_s, AlarmKind.ARCHIVE, row.key)
        for row in registry.sessions.values()
        if row.archive_at_s and row.state is not SessionState.ARCHIVED and row.key not in busy
    ]
    found += [Alarm(row.expires_s, AlarmKind.QUESTION, row.approval) for row in registry.services.questions.values()]
    found += [
        Alarm(row.expires_s, AlarmKind.PAIRING, f"{row.channel}/{row.account}/{row.sender}")
        for accounts in registry.services.pairings.values()
        for people in accounts.values()
        for row in people.values()
        if not row.is_approved
    ]
    return sorted(found)
