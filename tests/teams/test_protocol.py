"""The messages of a team and their wire form: what is written is read, and nothing that comes in makes reading fail."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.teams._idle_reasons import IdleReason
from greenroom.teams._protocol_json import (
    InboxEntry,
    WireProblem,
    read,
    read_inbox,
    read_spoken,
    write,
    write_entry,
    write_text,
)
from greenroom.teams._team_protocol import (
    MESSAGES,
    AnswerPlan,
    AnswerShutdown,
    AskShutdown,
    CallDecision,
    IdleNotification,
    PermissionRequest,
    PermissionResponse,
    PlanApprovalResponse,
    ProtocolMessage,
    ShutdownApproved,
    ShutdownRejected,
    ShutdownRequest,
    TeammateTerminated,
)

WORDS = st.text(min_size=1, max_size=8).filter(str.strip)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text(max_size=4), st.text(max_size=4), max_size=2)
OF_TYPE: dict[Any, st.SearchStrategy[Any]] = {
    "str": WORDS,
    "bool": st.booleans(),
    "IdleReason": st.sampled_from(IdleReason),
    "CallDecision": st.sampled_from(CallDecision),
    "Mapping[str, Any]": OBJECTS,
    "Mapping[str, Any] | None": st.none() | OBJECTS,
    "tuple[Any, ...]": st.lists(WORDS, max_size=3).map(tuple),
}


@st.composite
def messages(draw: st.DrawFn) -> ProtocolMessage:
    """Any message, with any of what is optional left out."""
    owner = draw(st.sampled_from(sorted(MESSAGES.values(), key=lambda one: one.type)))
    arguments = {
        field.name: draw(OF_TYPE[field.type])
        for field in attrs.fields(owner)
        if field.default is attrs.NOTHING or draw(st.booleans())
    }
    return owner(**arguments)


def snaked(wire: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object as the variant in snake_case spells it."""
    return {"".join(f"_{one.lower()}" if one.isupper() else one for one in key): wire[key] for key in wire}


@given(messages())
def test_what_is_written_is_read(message: ProtocolMessage) -> None:
    assert read(write(message)) == message
    assert read(write_text(message)) == message


@given(messages())
def test_snake_case_is_read_as_well(message: ProtocolMessage) -> None:
    assert read(snaked(write(message))) == message


@given(messages(), st.data())
def test_without_what_is_needed_nothing_is_read_and_what_is_optional_never_matters(
    message: ProtocolMessage, data: st.DataObject
) -> None:
    wire = write(message)
    key = data.draw(st.sampled_from(sorted(set(wire) - {"type"})))
    names = {field.name: field for field in attrs.fields(type(message))}
    field = names.get(key) or names.get("".join(f"_{c.lower()}" if c.isupper() else c for c in key)) or names["sender"]

    found = read({**wire, key: object()})

    if field.default is attrs.NOTHING:
        assert isinstance(found, WireProblem)
        assert found.kind == "invalid"
        assert read({one: wire[one] for one in wire if one != key}) == WireProblem(
            "missing", f"{message.type}: {key} is missing"
        )
    else:
        assert found == attrs.evolve(message, **{field.name: field.default})


@given(JSON | st.dictionaries(st.sampled_from(["type", "requestId", "from", "approved", "reason"]), JSON))
def test_whatever_comes_in_reading_says_a_message_or_a_problem(value: Any) -> None:
    for one in (value, json.dumps(value)):
        found = read(one)

        assert isinstance(found, ProtocolMessage | WireProblem)
        if isinstance(found, WireProblem):
            assert "\n" not in found.text


@given(st.sampled_from(sorted(MESSAGES)), st.dictionaries(st.text(max_size=10), JSON, max_size=4))
def test_whatever_a_typed_object_holds_reading_says_a_message_or_a_problem(name: str, rest: dict[str, Any]) -> None:
    assert isinstance(read({**rest, "type": name}), ProtocolMessage | WireProblem)


@given(st.text(max_size=40))
def test_a_text_that_is_no_json_is_a_problem(text: str) -> None:
    found = read(text)

    assert isinstance(found, WireProblem)
    assert found.kind in {"not_json", "not_an_object"}


def test_what_is_too_deep_to_be_read_is_a_problem() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]

    assert isinstance(read("[" * 100_000), WireProblem)
    assert isinstance(read(deep), WireProblem)


def test_half_a_character_does_not_get_in() -> None:
    found = read('{"type": "teammate_terminated", "message": "\\ud83d bye"}')

    assert found == TeammateTerminated(message="� bye")


def test_the_wire_form_is_the_one_that_others_know() -> None:
    request = ShutdownRequest(sender="team-lead", request_id="shutdown-7@ann", reason="done", timestamp="2026-11-21")
    idle = IdleNotification(sender="ann", idle_reason=IdleReason.FAILED, failure_reason="529", completed_task_id="3")

    assert write(request) == {
        "type": "shutdown_request",
        "from": "team-lead",
        "timestamp": "2026-11-21",
        "requestId": "shutdown-7@ann",
        "reason": "done",
    }
    assert write(idle) == {
        "type": "idle_notification",
        "from": "ann",
        "idleReason": "failed",
        "completedTaskId": "3",
        "failureReason": "529",
    }


@given(st.sampled_from(IdleReason))
def test_why_a_mate_is_idle_is_always_on_the_wire(reason: IdleReason) -> None:
    """It is no optional field; who leaves it out all the same is read as one that is available."""
    idle = IdleNotification(sender="ann", timestamp="2026-11-21", idle_reason=reason)
    wire = write(idle)

    assert wire == {"type": "idle_notification", "from": "ann", "timestamp": "2026-11-21", "idleReason": reason.value}
    assert read(wire) == idle
    del wire["idleReason"]
    assert read(wire) == IdleNotification(sender="ann", timestamp="2026-11-21", idle_reason=IdleReason.AVAILABLE)


def test_older_names_are_read() -> None:
    asked = {"type": "permission_request", "request_id": "r1", "agent_id": "ann@t", "tool_name": "Bash", "input": {}}
    answered = {"type": "permission_response", "requestId": "r1", "approved": "true"}

    assert read(asked) == PermissionRequest(request_id="r1", worker_id="ann@t", tool_name="Bash", input={})
    assert read(answered) == PermissionResponse(request_id="r1", behavior=CallDecision.ALLOW)
    assert read({"type": "plan_approval_response", "requestId": "p1", "approve": False}) == PlanApprovalResponse(
        request_id="p1", approved=False
    )


@pytest.mark.parametrize("approve", [True, "true", " True "])
def test_a_word_for_yes_is_a_yes(approve: object) -> None:
    found = read_spoken({"type": "shutdown_response", "request_id": "s1", "approve": approve})

    assert found == AnswerShutdown(request_id="s1", approve=True)


@pytest.mark.parametrize("approve", ["ok", "yes", 1, None, [], "sure, I approve"])
def test_nothing_else_is(approve: object) -> None:
    assert isinstance(read_spoken({"type": "shutdown_response", "request_id": "s1", "approve": approve}), WireProblem)


@pytest.mark.parametrize("backwards", [False, True])
def test_of_two_spellings_that_of_today_counts(backwards: bool) -> None:
    pairs = [("type", "shutdown_approved"), ("from", "ann"), ("request_id", "old"), ("requestId", "new")]

    found = read(dict(reversed(pairs) if backwards else pairs))

    assert found == ShutdownApproved(sender="ann", request_id="new")


def test_what_a_model_may_say_with_an_object() -> None:
    assert read_spoken({"type": "shutdown_request"}) == AskShutdown()
    assert read_spoken({"type": "plan_approval_response", "requestId": "p", "approved": True}) == AnswerPlan(
        request_id="p", approve=True
    )
    refused = read_spoken({"type": "shutdown_approved", "requestId": "s", "from": "ann"})
    assert isinstance(refused, WireProblem)
    assert refused.kind == "unknown_type"


def test_a_blank_reason_is_none() -> None:
    found = read({"type": "shutdown_rejected", "from": "ann", "requestId": "s", "reason": "  "})

    assert found == WireProblem("invalid", "shutdown_rejected: reason must not be blank")
    assert read({**write(ShutdownRejected(sender="ann", request_id="s", reason="busy"))}) == ShutdownRejected(
        sender="ann", request_id="s", reason="busy"
    )


ENTRIES = st.builds(
    InboxEntry, sender=WORDS, text=st.text(max_size=5), timestamp=WORDS, is_read=st.booleans(), summary=WORDS
)


@given(st.lists(ENTRIES.map(write_entry) | JSON, max_size=8))
def test_one_bad_entry_keeps_nothing_from_the_others(entries: list[Any]) -> None:
    """CL-26."""
    alone = [read_inbox([entry]) for entry in entries]

    good, bad = read_inbox(entries)

    assert good == tuple(one for read_one, _ in alone for one in read_one)
    assert len(good) + len(bad) == len(entries)
    assert all(problem.text.startswith("entry ") and "\n" not in problem.text for problem in bad)


@given(st.lists(ENTRIES, max_size=4))
def test_an_inbox_that_is_written_is_read(entries: list[InboxEntry]) -> None:
    assert read_inbox([write_entry(entry) for entry in entries]) == (tuple(entries), ())


@given(JSON.filter(lambda value: not isinstance(value, list)))
def test_an_inbox_that_is_no_list_is_one_problem(value: Any) -> None:
    good, bad = read_inbox(value)

    assert good == ()
    assert len(bad) == 1
