"""Rows of the registry: a session, a run, the completion of a run, a delivery, and the smaller ones.

Rows are frozen: each event replaces a row by its successor, which only the tables allow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, final

import attrs

from greenroom.gateway.record._machines import (
    DELIVERY_ENDS,
    WORDS,
    DeliveryState,
    DeliveryStep,
    EndCause,
    EndWords,
    SendResult,
    SessionState,
    step_delivery,
)
from greenroom.gateway.record._run_events import RunRegistered
from greenroom.tasks import TERMINAL, TaskState

MAX_LISTED: Final = 72
"""Characters of a label or task in lists and in front of an announcement."""
COMPLETION: Final = "run:"
"""Begins the id of the delivery of a completion."""


@final
@attrs.frozen(kw_only=True)
class SessionRow:
    """A session that the gateway knows."""

    key: str
    session_id: str
    """Id of its run folder; a reset gives it a new one."""
    state: SessionState = SessionState.CLOSED
    made_s: float
    used_s: float
    """When it last accepted an item, or a run of it began or ended."""
    began_s: float = 0.0
    """When its conversation began: it was made, or reset."""
    person_s: float = 0.0
    """When a person last said something in it; 0 for never."""
    spawned_by: str = ""
    label: str = ""
    settings: Mapping[str, Any] = attrs.field(factory=dict)
    archive_at_s: float = 0.0
    """When it is archived, as of the end of its last run; 0 for never."""
    archived_s: float = 0.0
    transcript: str = ""
    """Name of its transcript in the archive."""
    former_id: str = ""
    """Id of the run folder that it had before its last reset."""
    former_transcript: str = ""
    """Name of the transcript there in the archive."""

    def with_folder(self, session_id: str, former_transcript: str, at_s: float) -> SessionRow:
        """Return the row with a new run folder."""
        return attrs.evolve(
            self,
            session_id=session_id,
            used_s=at_s,
            began_s=at_s,
            former_id=self.session_id,
            former_transcript=former_transcript,
        )


@final
@attrs.frozen(kw_only=True)
class Run:
    """One execution in a session."""

    id: str
    session: str
    session_id: str
    requester: str = ""
    route: Mapping[str, Any] = attrs.field(factory=dict)
    task: str
    label: str = ""
    cleanup: str = "keep"
    announce: str = "post"
    limit_s: float = 0.0
    created_s: float
    lane: str = ""
    """The lane in which it waits or works."""
    began_s: float = 0.0
    """When it began for the first time; 0 if it never did."""
    resumed_s: float = 0.0
    """When it began for the last time."""
    spent_s: float = 0.0
    """Working time before that."""
    cuts: int = 0
    """How often a crash has cut it."""
    is_cut: bool = False
    """True if its process has ended and it was not resumed."""
    cut_s: float = 0.0
    """When it was last known to work, if it was cut."""
    ended_s: float = 0.0
    state: TaskState = TaskState.PENDING
    cause: EndCause = EndCause.ITSELF
    who: str = ""
    error: str = ""

    @property
    def is_ended(self) -> bool:
        """True if it has ended."""
        return self.state in TERMINAL

    @property
    def shown(self) -> str:
        """Label or task, for people: one line."""
        return " ".join((self.label or self.task).split())[:MAX_LISTED]

    @property
    def words(self) -> EndWords | None:
        """The words for its end; None before that."""
        return WORDS.get((self.state, self.cause)) if self.is_ended else None

    def worked_s(self, now_s: float) -> float:
        """Return its working time: neither waits for a place nor times without a process count."""
        if not self.resumed_s:
            return self.spent_s
        end_s = self.ended_s if self.is_ended else now_s
        return self.spent_s + (0.0 if self.is_cut else max(0.0, end_s - self.resumed_s))


@final
@attrs.frozen(kw_only=True)
class Delivery:
    """A text on its way to a chat: about the end of a run, or a reply."""

    id: str
    session: str
    """Key of the session that it is from."""
    route: Mapping[str, Any] = attrs.field(factory=dict)
    state: DeliveryState = DeliveryState.NONE
    text: str = ""
    due_s: float = 0.0
    """When it was due; when somebody asked for another try, then that."""
    parts: int = 0
    """Number of its parts; 0 if none was tried."""
    taken: tuple[int, ...] = ()
    """The parts that the channel has taken."""
    trying: int = 0
    """The part that is being tried; 0 for none."""
    tries: int = 0
    """Failed tries since it was due."""
    tried_s: float = 0.0
    """When the last try ended."""
    wait_s: float = 0.0
    """The wait that the channel asked for then."""
    result: SendResult | None = None
    """The result of the last try, until a part is taken."""
    blocked_s: float = 0.0
    why: str = ""
    """The reason of its state."""

    @property
    def is_settled(self) -> bool:
        """True if nothing remains to be done for it."""
        return self.state in DELIVERY_ENDS

    @property
    def is_unsent(self) -> bool:
        """True if it was never due."""
        return self.state in {DeliveryState.NONE, DeliveryState.COMPOSING}

    def told(self, why: str) -> Delivery:
        """Return it as settled although no channel gets it."""
        return attrs.evolve(self, state=step_delivery(self.state, DeliveryStep.DELIVER), why=why)


@final
@attrs.frozen(kw_only=True)
class Completion:
    """The one record of the end of a run."""

    run: str
    ended_s: float
    is_composed: bool = False
    """True if its text is final."""
    delivery: Delivery


@final
@attrs.frozen(kw_only=True)
class InboundRow:
    """An item that a session has not settled yet."""

    item: str
    session: str
    route: Mapping[str, Any] = attrs.field(factory=dict)
    run: str = ""
    accepted_s: float
    is_taken: bool = False


@final
@attrs.frozen(kw_only=True)
class Pairing:
    """A person of a channel account who asked to be paired, or is."""

    channel: str
    account: str = ""
    sender: str
    digest: str = ""
    """Digest of the code."""
    item: str = ""
    """Id of the message that asked for it, or of the one that approved it."""
    asked_s: float = 0.0
    expires_s: float = 0.0
    is_approved: bool = False


@final
@attrs.frozen(kw_only=True)
class WaitingQuestion:
    """A call that waits for a permission."""

    approval: str
    session: str
    tool: str
    asked_s: float
    expires_s: float


@final
@attrs.frozen(kw_only=True)
class Job:
    """A job of the clock."""

    id: str
    job_spec: Mapping[str, Any]
    added_s: float
    planned_s: float = 0.0
    """The time that its last run was for."""
    seen_s: float = 0.0
    """The latest time that a run was made for, or that was skipped: none up to it comes again."""
    run: str = ""
    """That run, until it has ended."""
    is_due: bool = False
    """True from then until its end."""
    outcome: str = ""


@final
@attrs.frozen(kw_only=True)
class AnsweredCall:
    """A call from outside that is done."""

    digest: str
    at_s: float
    answer: Mapping[str, Any] = attrs.field(factory=dict)


def spawn_depth(sessions: Mapping[str, SessionRow], key: str) -> int:
    """Return the number of sub-agents from a session up to that of a person or a job; 0 for the latter."""
    depth = 0
    while (row := sessions.get(key)) is not None and row.spawned_by:
        depth, key = depth + 1, row.spawned_by
    return depth


def completion_delivery(run: str) -> str:
    """Return the id of the delivery of a run's completion."""
    return COMPLETION + run


def new_run(event: RunRegistered) -> Run:
    """Return the run that an event registers."""
    return Run(
        id=event.run,
        session=event.session,
        session_id=event.session_id,
        requester=event.requester,
        route=event.route,
        task=event.task,
        label=event.label,
        cleanup=event.cleanup,
        announce=event.announce,
        limit_s=event.limit_s,
        created_s=event.at_s,
    )
