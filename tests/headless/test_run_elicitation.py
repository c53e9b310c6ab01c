"""Questions of MCP servers, put before the user of the program that talks to a run: what travels on the pipes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from greenroom.core import UsageError
from greenroom.headless._protocol import Answered, elicitation_line, read_elicitation
from greenroom.mcp import ElicitationAction, ElicitationAnswer
from greenroom.models import Call, WrittenAnswer
from greenroom.terminal._output import note
from greenroom.testing import ReceivedRequest
from greenroom.testing._messages_script import Script
from tests.cli.place import Place
from tests.headless.agent_calls import result_of
from tests.headless.talk import Talk, talking
from tests.mcp.fakes import FORM, PAGE
from tests.mcp.warm import ASKING, warm_command

ALLOWED = ("--allowed-tools", "mcp__desk")


def call(tool: str) -> WrittenAnswer:
    return WrittenAnswer([Call(f"mcp__desk__{tool}", {}, id="toolu_1")])


def server(*modes: str) -> str:
    """Return what `--mcp-config` takes for the real server of `asking.py`."""
    command, *arguments = warm_command(ASKING, *modes)
    return json.dumps({"mcpServers": {"desk": {"command": command, "args": arguments}}})


@contextmanager
def desk(place: Place, tool: str, *modes: str, says: str = "Done.") -> Iterator[tuple[Talk, list[ReceivedRequest]]]:
    """Talk to a run whose agent calls a tool of that server, and says something then."""
    script: Script = [call(tool), says] if says else [call(tool)]
    with talking(place, script, *ALLOWED, "--mcp-config", server(*modes)) as (talk, requests):
        talk.say("Go.")
        yield talk, requests


def question(talk: Talk) -> dict[str, Any]:
    """Take lines in until a question of a server comes."""
    return talk.hear(lambda one: one.get("request", {}).get("subtype") == "elicitation")


def answer(talk: Talk, asked: dict[str, Any], **values: Any) -> None:
    response = {"subtype": "success", "request_id": asked["request_id"], "response": values}
    talk.put({"type": "control_response", "response": response})


def test_a_form_is_a_request_of_its_own_and_its_answer_is_the_servers(place: Place) -> None:
    with desk(place, "reserve") as (talk, requests):
        asked = question(talk)
        answer(talk, asked, action="accept", content={"name": "Ann", "seats": 2})
        talk.hear_results(1)
        code, err = talk.close()

    assert (code, err) == (0, "")
    assert result_of(requests[1]) == "window for 2: Ann"
    about = asked["request"]
    assert set(about) == {"subtype", "mcp_server_name", "message", "mode", "requested_schema"}
    assert (about["mcp_server_name"], about["message"], about["mode"]) == ("desk", "Who comes to dinner?", "form")
    assert about["requested_schema"]["required"] == ["name", "seats"]


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"action": "accept", "content": {"name": "Ann", "seats": 9}}, "does not fit: seats: expected an integer"),
        ({"action": "sure"}, "\"action\" must be one of: accept, decline, cancel; got 'sure'"),
        ({}, '"action" must be one of: accept, decline, cancel; got None'),
    ],
)
def test_an_answer_that_cannot_be_used_declines_and_is_said(place: Place, values: dict[str, Any], why: str) -> None:
    with desk(place, "reserve") as (talk, requests):
        answer(talk, question(talk), **values)
        talk.hear_results(1)
        _, err = talk.close()

    assert result_of(requests[1]) == "no table: decline"
    assert why in err
    assert err.count("\n") == 1


def test_a_program_that_knows_no_such_request_declines(place: Place) -> None:
    """As programs do that were written before there were such questions."""
    with desk(place, "reserve") as (talk, requests):
        asked = question(talk)
        error = {"subtype": "error", "request_id": asked["request_id"], "error": "Unsupported"}
        talk.put({"type": "control_response", "response": error})
        talk.hear_results(1)
        code, _ = talk.close()

    assert (code, result_of(requests[1])) == (0, "no table: decline")


def test_an_address_is_asked_about_and_a_line_says_when_it_is_done(place: Place) -> None:
    with desk(place, "log_in", "legacy") as (talk, requests):
        asked = question(talk)
        answer(talk, asked, action="accept")
        done = talk.hear(lambda one: one.get("subtype") == "elicitation_complete")
        talk.hear_results(1)
        code, _ = talk.close()

    assert (code, result_of(requests[1])) == (0, "accept")
    assert asked["request"] == {
        "subtype": "elicitation",
        "mcp_server_name": "desk",
        "message": "Log in, please.",
        "mode": "url",
        "url": "https://login.example/now",
        "elicitation_id": "login-1",
    }
    assert (done["type"], done["mcp_server_name"], done["elicitation_id"]) == ("system", "desk", "login-1")
    assert {"uuid", "session_id"} <= set(done)


def test_what_a_server_says_does_not_write_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    note("desk asks, and nobody can answer here: \x1b]0;mine\x07 \x9b2J Who\ncomes?")
    assert capsys.readouterr().err == (
        "greenroom: note: desk asks, and nobody can answer here: \ufffd]0;mine\ufffd \ufffd2J Who comes?\n"
    )


def test_a_program_that_goes_away_declines(place: Place) -> None:
    with desk(place, "reserve") as (talk, requests):
        question(talk)
        talk.close()

    assert result_of(requests[1]) == "no table: decline"


def test_an_interrupt_withdraws_the_question(place: Place) -> None:
    with desk(place, "reserve", says="") as (talk, _):
        asked = question(talk)
        talk.ask("interrupt")
        talk.hear_results(1)
        talk.close()

    (withdrawn,) = [line for line in talk.heard if line["type"] == "control_cancel_request"]
    assert withdrawn["request_id"] == asked["request_id"]


def test_without_a_program_nobody_is_asked(place: Place) -> None:
    done, requests = place.run([call("reserve"), "Done."], "Go.", *ALLOWED, "--mcp-config", server())

    assert (done.code, done.out) == (0, "Done.\n")
    assert "desk asks, and nobody can answer here: Who comes to dinner?" in done.err
    assert result_of(requests[1]) == "no table: decline"


def test_the_lines_have_the_documented_shape() -> None:
    assert elicitation_line("r1", FORM)["request"] == {
        "subtype": "elicitation",
        "mcp_server_name": "far",
        "message": "Who are you?",
        "mode": "form",
        "requested_schema": FORM.schema,
    }
    assert elicitation_line("r1", PAGE)["request"]["elicitation_id"] == "q1"
    accepted = ElicitationAnswer(action=ElicitationAction.ACCEPT, content={"a": 1})
    assert read_elicitation(Answered("r1", {"action": "accept", "content": {"a": 1}})) == accepted
    for values in ({"action": ["accept"]}, {"action": "accept", "content": [1]}):
        with pytest.raises(UsageError):
            read_elicitation(Answered("r1", values))
