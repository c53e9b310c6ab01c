"""Inputs of SendMessage: today's words, older ones, and whatever else a model writes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.agents.delegation import SendMessageCall, read_letter, shortened
from greenroom.agents.delegation._send_message_call import SPOKEN, SUMMARY_CHARS, letter_schema
from greenroom.tools import InvalidInput, validate

TEXTS = st.text(min_size=1, max_size=200).filter(str.strip)
VALUES = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.dictionaries(st.text(max_size=3), st.text())
)
ANSWER = {"type": "shutdown_response", "request_id": "s1", "approve": True}


@given(TEXTS, TEXTS, TEXTS)
def test_what_the_schema_allows_is_read(to: str, message: str, summary: str) -> None:
    """CL-27: a summary that is too long is cut."""
    letter = read_letter({"to": to, "message": message, "summary": summary})

    assert letter.to == to.strip()
    assert letter.body == message
    assert len(letter.summary) <= SUMMARY_CHARS
    assert len(letter.summary.splitlines()) <= 1


@given(
    st.dictionaries(st.sampled_from(["to", "message", "summary", "type", "recipient", "content", "approve"]), VALUES)
)
def test_whatever_a_model_writes_is_a_letter_or_is_refused(values: dict[str, Any]) -> None:
    try:
        letter = read_letter(values)
    except InvalidInput:
        return
    assert letter.to.strip()
    assert letter.body


@pytest.mark.parametrize(
    ("older", "to", "body"),
    [
        ({"type": "message", "recipient": "ann", "content": "hello"}, "ann", "hello"),
        ({"type": "broadcast", "content": "hello"}, "*", "hello"),
        (
            {"type": "shutdown_request", "recipient": "ann", "content": "done"},
            "ann",
            {"type": "shutdown_request", "content": "done"},
        ),
        ({"type": "shutdown_response", "request_id": "s1", "approve": True}, "team-lead", ANSWER),
        (
            {
                "type": "plan_approval_response",
                "recipient": "ann",
                "request_id": "p1",
                "approve": False,
                "content": "no",
            },
            "ann",
            {"type": "plan_approval_response", "request_id": "p1", "approve": False, "content": "no"},
        ),
    ],
)
def test_older_words_are_read(older: dict[str, Any], to: str, body: object) -> None:
    letter = read_letter(older)

    assert (letter.to, letter.body) == (to, body)


def test_an_object_that_was_written_down_as_text_is_that_object() -> None:
    assert read_letter({"to": "team-lead", "message": json.dumps(ANSWER)}).body == ANSWER
    assert read_letter({"to": "team-lead", "message": '{"type": "other"}'}).body == '{"type": "other"}'
    assert read_letter({"to": "team-lead", "message": "{" * 9}).body == "{" * 9


@pytest.mark.parametrize("values", [{"to": "ann"}, {"message": "hello"}, {"to": "ann", "message": " "}, {}, {"to": 5}])
def test_what_is_needed_is_asked_for(values: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_letter(values)

    assert caught.value.problems


def test_a_model_is_shown_the_objects_only_where_there_is_a_team() -> None:
    alone, together = letter_schema(has_team=False), letter_schema(has_team=True)
    hello, answer = ({"to": "ann", "message": one} for one in ("hello", ANSWER))

    assert validate(alone, hello) == validate(together, hello) == validate(together, answer) == []
    assert validate(alone, answer)
    assert validate(together, {"to": "ann", "message": {**ANSWER, "approve": "perhaps"}})
    shown = [entry["properties"]["type"]["enum"][0] for entry in together["properties"]["message"]["anyOf"][1:]]
    assert tuple(shown) == SPOKEN


def test_a_summary_is_made_where_none_is_given() -> None:
    assert read_letter({"to": "ann", "message": "first\nsecond"}).summary == "first"
    assert read_letter({"to": "ann", "message": ANSWER}) == SendMessageCall(
        to="ann", body=ANSWER, summary="shutdown_response"
    )


@given(st.text())
def test_a_summary_is_one_short_line(text: str) -> None:
    """C9: where none is given, it is the beginning of the message."""
    summary = shortened(text)

    assert len(summary) <= 80
    assert len(summary.splitlines()) <= 1
    if len(" ".join(text.split())) <= 80 and len(text.strip().splitlines()) == 1:
        assert summary == " ".join(text.split())
