"""The plan of a start: what becomes of what an earlier process had not finished."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.gateway.record import _recovery_plan as plans
from greenroom.gateway.record._gateway_events import (
    ApprovalAsked,
    CronAdded,
    CronDue,
    GatewayBegan,
    GatewayEnded,
    PairingAsked,
    SessionArchived,
)
from greenroom.gateway.record._machines import DeliveryState, EndCause
from greenroom.gateway.record._recovery_plan import (
    Alarm,
    AlarmKind,
    OnUnknown,
    Recovery,
    RecoveryStep,
    Resume,
    alarms,
    plan_recovery,
)
from greenroom.gateway.record._registry import Registry
from greenroom.gateway.record._run_events import (
    CompletionBegan,
    CompletionComposed,
    DeliveryBegan,
    DeliveryBlocked,
    DeliveryDue,
    DeliveryEnded,
    GatewayEvent,
    InboundAccepted,
    InboundTaken,
    RunBegan,
)
from greenroom.tasks import TaskState
from tests.gateway.record.histories import DAY_S, ROUTE, SESSIONS, START, ended, histories, registered

NOW: float = 1e9 + 100
AGAIN = GatewayBegan(at_s=NOW, process=2)
WORKING = (*START, registered(), RunBegan(at_s=1e9 + 1, run="r1"))
WITH_KEYS = Recovery(takes_keys=lambda channel: channel == "matrix")


def planned(*history: GatewayEvent, now_s: float = NOW, **assumed: Any) -> list[RecoveryStep]:
    registry = Registry().fold_all((*history, AGAIN))
    return list(plan_recovery(registry, now_s, attrs.evolve(WITH_KEYS, **assumed)))


# --- runs -------------------------------------------------------------------------------------------------------------


def test_a_run_that_was_cut_is_resumed_with_the_rest_of_its_time() -> None:
    limited = (*START, registered(limit_s=60.0), RunBegan(at_s=1e9 + 1, run="r1"), GatewayEnded(at_s=1e9 + 21, why=""))

    assert planned(*limited) == [plans.ResumeRun("r1", 40.0)]
    assert planned(*WORKING) == [plans.ResumeRun("r1", None)]


def test_a_run_whose_time_is_over_ends_by_its_limit() -> None:
    late = (*START, registered(limit_s=20.0), RunBegan(at_s=1e9 + 1, run="r1"), GatewayEnded(at_s=1e9 + 21, why=""))

    (step,) = planned(*late)

    assert isinstance(step, plans.EndRun)
    assert (step.state, step.cause) == (TaskState.KILLED, EndCause.TIMEOUT)


def test_a_run_that_three_crashes_cut_is_lost() -> None:
    history = list(WORKING)
    for _ in range(2):
        history += [AGAIN, RunBegan(at_s=NOW, run="r1")]

    (step,) = planned(*history)

    assert isinstance(step, plans.EndRun)
    assert (step.state, step.cause) == (TaskState.FAILED, EndCause.LOST)
    assert planned(*history[:-2]) == [plans.ResumeRun("r1", None)]


@pytest.mark.parametrize(("limit_s", "age_s", "is_lost"), [(0, 7300, True), (0, 7100, False), (9000, 7300, False)])
def test_an_old_cut_is_not_resumed(limit_s: float, age_s: float, is_lost: bool) -> None:
    """RC-91: the plan of a start compares the age of a cut with a limit."""
    history = (*START, registered(limit_s=limit_s), RunBegan(at_s=1e9, run="r1"))

    (step,) = planned(*history, now_s=1e9 + age_s)

    assert isinstance(step, plans.EndRun) == is_lost


@pytest.mark.parametrize(("resume", "requester"), [(Resume.NONE, SESSIONS[0]), (Resume.CHILDREN, "")])
def test_a_run_is_lost_where_the_configuration_says_so(resume: Resume, requester: str) -> None:
    history = (*START, registered(requester=requester), RunBegan(at_s=1e9, run="r1"))

    (step,) = planned(*history, resume=resume)

    assert isinstance(step, plans.EndRun)
    assert step.cause is EndCause.LOST


def test_the_end_in_the_journal_of_the_session_wins() -> None:
    """GW-03: the session's own journal is the witness, whatever the gateway's lacks."""
    end = plans.EndRun("r1", TaskState.COMPLETED, EndCause.ITSELF, "")

    assert planned(*WORKING, witness=lambda run: end if run.id == "r1" else None) == [end]


def test_a_run_that_had_not_begun_is_queued() -> None:
    assert planned(*START, registered()) == [plans.QueueRun("r1")]


# --- completions and deliveries ---------------------------------------------------------------------------------------


def test_a_run_that_ended_unannounced_is_announced() -> None:
    composed = CompletionComposed(at_s=NOW, run="r1", text="done")

    assert planned(*WORKING, ended()) == [plans.Compose("r1")]
    assert planned(*WORKING, ended(), CompletionBegan(at_s=NOW, run="r1")) == [plans.Compose("r1")]
    assert planned(*WORKING, ended(), composed) == [plans.MakeDue("r1")]
    assert planned(*WORKING, ended(), composed, DeliveryDue(at_s=NOW, delivery="run:r1")) == []


def trying(channel: str) -> tuple[GatewayEvent, ...]:
    route = {**ROUTE, "channel": channel}
    return (
        *START,
        DeliveryDue(at_s=1e9, delivery="reply:1", session=SESSIONS[0], route=route, text="yes"),
        DeliveryBegan(at_s=1e9, delivery="reply:1", part=1, parts=2, key="k", digest="d"),
    )


def test_a_try_without_an_end_is_repeated_only_with_keys() -> None:
    """GW-04: after an unknown result the channel's keys, its memory or a person decide, never a guess."""
    (asked,) = planned(*trying("irc"))

    assert planned(*trying("matrix")) == [plans.NoteUnknown("reply:1", 1)]
    assert isinstance(asked, plans.AskChannel)
    assert planned(*trying("irc"), on_unknown=OnUnknown.AGAIN) == [plans.NoteUnknown("reply:1", 1)]


def test_after_damage_everything_due_counts_as_tried() -> None:
    due = trying("irc")[:-1]

    (step,) = planned(*due, is_damaged=True)

    assert planned(*due) == []
    assert isinstance(step, plans.AskChannel)
    assert step.part == 1


def test_a_person_is_told_of_a_turn_that_is_not_resumed() -> None:
    taken = (
        *START,
        InboundAccepted(at_s=1e9, item="i", session=SESSIONS[0], route=ROUTE),
        InboundTaken(at_s=1e9, item="i"),
    )

    assert planned(*taken, resume=Resume.NONE) == [plans.TellPerson("i", SESSIONS[0])]
    assert planned(*taken) == []


def test_a_clock_job_ends_with_its_run() -> None:
    job = (CronAdded(at_s=1e9, job="j", job_spec={}), CronDue(at_s=1e9, job="j", planned_s=1e9, run="r1"))
    history = (*WORKING[:3], *job, registered(announce="none"), RunBegan(at_s=1e9, run="r1"))

    assert planned(*history, ended()) == [plans.EndJob("j", 1e9)]
    assert planned(*history) == [plans.ResumeRun("r1", None)]


# --- every history ----------------------------------------------------------------------------------------------------


def carried_out(step: RecoveryStep, registry: Registry) -> list[GatewayEvent]:
    """Return the events with which a step is recorded."""
    match step:
        case plans.EndRun():
            return [ended(step.run, str(step.state), str(step.cause), who=step.who, error=step.why)]
        case plans.QueueRun() | plans.ResumeRun():
            return [RunBegan(at_s=NOW, run=step.run), ended(step.run)]
        case plans.Compose():
            return [CompletionComposed(at_s=NOW, run=step.run, text="done")]
        case plans.MakeDue():
            return [DeliveryDue(at_s=NOW, delivery=f"run:{step.run}")]
        case plans.NoteUnknown():
            return [DeliveryEnded(at_s=NOW, delivery=step.delivery, part=step.part, result="unknown")]
        case plans.AskChannel():
            return [DeliveryBlocked(at_s=NOW, delivery=step.delivery, why=step.why)]
        case _:
            return []


@pytest.mark.promise("A5-a")
@given(histories(), st.sampled_from(Resume), st.data())
def test_every_start_brings_all_runs_to_their_completion(
    history: list[GatewayEvent], resume: Resume, data: st.DataObject
) -> None:
    """Whatever was recorded when the process ended, also in the middle of a plan, each run ends once and is told once.

    GW-28: each run without an end has a step in the plan of a start.
    """
    registry = Registry().fold_all(history)
    for _ in range(8):
        registry.fold(AGAIN)
        steps = plan_recovery(registry, NOW, attrs.evolve(WITH_KEYS, resume=resume))
        for step in steps[: data.draw(st.integers(0, len(steps)))]:
            registry.fold_all(carried_out(step, registry))
    while events := [
        event for step in plan_recovery(registry, NOW, WITH_KEYS) for event in carried_out(step, registry)
    ]:
        registry.fold_all(events)

    assert all(run.is_ended for run in registry.runs.values())
    settled = {DeliveryState.DUE, DeliveryState.BLOCKED, DeliveryState.DELIVERED, DeliveryState.SKIPPED}
    assert all(row.state in settled | {DeliveryState.DISMISSED} for row in registry.deliveries())


# --- the clock --------------------------------------------------------------------------------------------------------


def test_past_alarms_come_in_the_order_of_their_times() -> None:
    history = (
        *WORKING,
        ended(archive_at_s=1e9 + 3610),
        CompletionComposed(at_s=NOW, run="r1", text="", is_skipped=True),
        ApprovalAsked(at_s=NOW, approval="q", session=SESSIONS[0], tool="Bash", expires_s=1e9 + 600),
        PairingAsked(at_s=NOW, channel="irc", sender="bob", digest="d", expires_s=1e9 + 4000),
    )

    assert alarms(Registry().fold_all(history)) == [
        Alarm(1e9 + 600, AlarmKind.QUESTION, "q"),
        Alarm(1e9 + 3610, AlarmKind.ARCHIVE, SESSIONS[1]),
        Alarm(1e9 + 4000, AlarmKind.PAIRING, "irc//bob"),
    ]


def test_a_session_with_an_undelivered_result_has_no_alarm() -> None:
    assert alarms(Registry().fold_all((*WORKING, ended(archive_at_s=1e9 + 3610)))) == []


@pytest.mark.promise("A5-a")
@given(histories())
def test_a_clock_that_is_set_back_repeats_nothing(history: list[GatewayEvent]) -> None:
    """Steps that were carried out have changed the record; no decision compares with times of the past."""
    registry = Registry().fold_all([*history, AGAIN])
    for step in plan_recovery(registry, NOW, WITH_KEYS):
        registry.fold_all(carried_out(step, registry))
    for alarm in alarms(registry):
        if alarm.kind is AlarmKind.ARCHIVE:
            registry.fold(SessionArchived(at_s=NOW, session=alarm.id))
    ends = {run.id: run for run in registry.runs.values() if run.is_ended}

    back = plan_recovery(registry, NOW - DAY_S, WITH_KEYS)

    assert not [step for step in back if isinstance(step, plans.EndRun | plans.ResumeRun | plans.QueueRun)]
    assert not [alarm for alarm in alarms(registry) if alarm.kind is AlarmKind.ARCHIVE]
    assert ends == {run.id: run for run in registry.runs.values() if run.is_ended}
