"""Agents that a program gives in `initialize`: they are there for the first turn, as those of `--agents`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from greenroom.models import Call, WrittenAnswer
from greenroom.testing import ReceivedRequest
from greenroom.testing._messages_script import ReplyLike
from tests.cli.place import Place
from tests.headless.talk import talking

CRITIC = {"description": "Finds what is wrong.", "prompt": "You are the critic of this house.", "tools": ["Read"]}


def agent_tool(request: ReceivedRequest) -> str:
    """Return what the model reads of the tool Agent."""
    (tool,) = [tool for tool in request.body["tools"] if tool["name"] == "Agent"]
    text: str = tool["description"]
    return text


def crew_of_two(request: ReceivedRequest) -> ReplyLike:
    """Make the main agent start a critic, and that say what it is."""
    if "critic of this house" in json.dumps(request.body["system"]):
        return "I criticise."
    rounds: int = sum(message["role"] == "assistant" for message in request.body["messages"])
    call = Call("Agent", {"description": "d", "prompt": "Look.", "subagent_type": "critic"}, id="toolu_a")
    replies: list[ReplyLike] = [WrittenAnswer([call]), "Done.", "Again."]
    return replies[rounds]


def test_agents_of_the_program_are_listed_and_can_be_started(place: Place) -> None:
    with talking(place, crew_of_two, "--child-permission", "definition") as (talk, requests):
        answer = talk.ask("initialize", agents={"critic": CRITIC})
        talk.say("Go.")
        result = talk.hear("result")
        code, err = talk.close()

    assert (code, err, result["result"]) == (0, "", "Done.")
    (listed,) = [agent for agent in answer["response"]["agents"] if agent["name"] == "critic"]
    assert listed["description"] == "Finds what is wrong."
    first, child, *_ = requests
    assert "- critic: Finds what is wrong. (Tools: Read)" in agent_tool(first)
    assert "You are the critic of this house." in json.dumps(child.body["system"])
    assert {tool["name"] for tool in child.body["tools"]} == {"Read"}


def test_they_come_before_those_of_flags_and_the_latest_before_all(place: Place) -> None:
    """A program that connects anew says the same again: nothing changes then."""
    flags = {"critic": CRITIC | {"description": "Of the flag."}, "other": {"description": "Another.", "prompt": "p"}}
    with talking(place, ["One.", "Two."], "--agents", json.dumps(flags)) as (talk, requests):
        talk.ask("initialize", agents={"critic": CRITIC | {"description": "An early one."}})
        talk.ask("initialize", agents={"critic": CRITIC})
        talk.say("Go.")
        talk.hear("result")
        again = talk.ask("initialize", agents={"critic": CRITIC})
        talk.say("Go on.")
        talk.hear("result")
        code, err = talk.close()

    assert (code, err, again["subtype"]) == (0, "", "success")
    assert "- critic: Finds what is wrong." in agent_tool(requests[0])
    assert "- other: Another." in agent_tool(requests[0])
    assert "An early one." not in agent_tool(requests[0])
    assert requests[0].body["tools"] == requests[1].body["tools"]


def test_where_the_main_agent_has_begun_its_next_request_has_them(place: Place) -> None:
    with talking(place, ["One.", "Two."]) as (talk, requests):
        talk.say("Go.")
        talk.hear("result")
        answer = talk.ask("initialize", agents={"critic": CRITIC})
        talk.say("Go on.")
        talk.hear("result")
        code, _ = talk.close()

    assert (code, answer["subtype"]) == (0, "success")
    assert ["- critic:" in agent_tool(request) for request in requests] == [False, True]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"agents": [CRITIC]}, "agents must be an object of definitions by their names"),
        ({"agents": {"good": CRITIC, "bad": 3}}, "'bad' is not an object with the fields of a definition"),
        ({"agents": {"good": CRITIC, "bad": {"prompt": "p"}}}, "'bad'"),
        ({"agents": {"good": CRITIC}, "sdkMcpServers": 3}, "sdkMcpServers must be a list of names"),
    ],
)
def test_agents_that_cannot_be_used_are_refused_all_of_them(place: Place, given: Mapping[str, Any], why: str) -> None:
    with talking(place, ["One."]) as (talk, requests):
        refused = talk.ask("initialize", **given)
        talk.say("Go.")
        talk.hear("result")
        code, err = talk.close()

    assert (code, err, refused["subtype"]) == (0, "", "error")
    assert why in refused["error"]
    assert "\n" not in refused["error"]
    assert "- good:" not in agent_tool(requests[0])


def test_what_is_odd_in_one_is_said_and_it_counts(place: Place) -> None:
    with talking(place, ["One."]) as (talk, requests):
        talk.ask("initialize", agents={"critic": CRITIC | {"colour": "red"}})
        talk.say("Go.")
        talk.hear("result")
        code, err = talk.close()

    assert code == 0
    assert "- critic:" in agent_tool(requests[0])
    assert "initialize" in err
    assert "colour" in err
