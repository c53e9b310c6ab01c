"""Errors say whose fault it is, and carry the facts as attributes."""

from __future__ import annotations

import inspect
import pickle

import pytest

import greenroom.core
from greenroom.core import (
    ActorEnded,
    AskTimedOut,
    Busy,
    Closed,
    GreenroomError,
    IllegalTransition,
    InternalError,
    JournalError,
    NameTaken,
    PeerError,
    ProviderError,
    RuntimeFailed,
    StartFailed,
    Stopping,
    SupervisorFailed,
    TurnFailed,
    TurnKilled,
    Undelivered,
    UsageError,
    WorkEnded,
)

ERRORS = [one for _, one in inspect.getmembers(greenroom.core, inspect.isclass) if issubclass(one, BaseException)]
FAULTS = (UsageError, PeerError, InternalError, WorkEnded)


@pytest.mark.parametrize("error", ERRORS)
def test_every_error_is_somebodys_fault_or_the_end_of_some_work(error: type[Exception]) -> None:
    assert issubclass(error, GreenroomError)
    assert error is GreenroomError or sum(issubclass(error, fault) for fault in FAULTS) == 1


@pytest.mark.parametrize(
    ("error", "facts"),
    [
        (Stopping("team"), {"supervisor": "team"}),
        (NameTaken("mate"), {"name": "mate"}),
        (JournalError("here", "full"), {"where": "here", "why": "full"}),
        (ActorEnded("a1", "killed"), {"actor": "a1", "state": "killed"}),
        (AskTimedOut("a1", 2.5), {"actor": "a1", "timeout_s": 2.5}),
        (Undelivered("a1", "full"), {"actor": "a1", "delivery": "full"}),
        (IllegalTransition(state="killed", event="begin"), {"state": "killed", "event": "begin"}),
        (TurnFailed("a1", "no", partial="so far"), {"actor": "a1", "why": "no", "partial": "so far"}),
        (TurnKilled("a1", who="user", why="no"), {"actor": "a1", "who": "user", "why": "no", "partial": ""}),
        (StartFailed("a1", "slow"), {"actor": "a1", "why": "slow"}),
        (SupervisorFailed("team", "mate", 3), {"supervisor": "team", "child": "mate", "restarts": 3}),
        (RuntimeFailed("why"), {"why": "why"}),
        (
            ProviderError("no", kind="overloaded", status=529, retry_after_s=3, is_retryable=True),
            {"kind": "overloaded", "status": 529, "retry_after_s": 3, "is_retryable": True},
        ),
    ],
)
def test_the_facts_are_attributes_and_in_the_text(error: Exception, facts: dict[str, object]) -> None:
    assert {name: getattr(error, name) for name in facts} == facts
    assert str(error)


@pytest.mark.parametrize("error", [Closed("x"), Busy("x"), UsageError("x"), InternalError("x")])
def test_plain_errors_keep_their_text(error: Exception) -> None:
    assert str(error) == "x"
    assert str(pickle.loads(pickle.dumps(error))) == "x"
