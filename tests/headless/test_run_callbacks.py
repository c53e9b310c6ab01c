"""Hooks that the program itself is asked at: given with `initialize`, called with `hook_callback`."""

from __future__ import annotations

from typing import Any

import pytest

from greenroom.models import Call, WrittenAnswer
from tests.cli.place import Place
from tests.headless.agent_calls import by_prompt, spawn
from tests.headless.hook_flags import group, is_callback
from tests.headless.talk import Talk, talking

READ = WrittenAnswer([Call("Read", {"file_path": "a.txt"}, id="toolu_r")])


def answer(talk: Talk, question: dict[str, Any], **values: Any) -> None:
    talk.decide(question, **values)


def deny(reason: str) -> dict[str, Any]:
    decided = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason}
    return {"hookSpecificOutput": decided}


def test_the_program_is_asked_at_its_hooks_and_decides(place: Place) -> None:
    with talking(place, [READ, "I may not."]) as (talk, requests):
        hooks = {"PreToolUse": [group("hook_0", matcher="Read"), group("hook_1", matcher="Bash")]}
        assert talk.ask("initialize", hooks=hooks)["subtype"] == "success"
        talk.say("Go.")
        question = talk.hear(is_callback)
        answer(talk, question, **deny("not today"))
        talk.hear("result")
        code, err = talk.close()

    asked = question["request"]
    assert (code, err) == (0, "")
    assert (asked["callback_id"], asked["tool_use_id"]) == ("hook_0", "toolu_r")
    assert asked["input"]["hook_event_name"] == "PreToolUse"
    assert (asked["input"]["tool_name"], asked["input"]["session_id"]) == ("Read", talk.heard[0]["session_id"])
    (result,) = requests[1].body["messages"][-1]["content"]
    assert (result["is_error"], "not today" in result["content"]) == (True, True)
    assert len([line for line in talk.heard if is_callback(line)]) == 1


def test_it_is_asked_for_agents_that_begin_later_too(place: Place) -> None:
    script = by_prompt({"Go.": [spawn("look"), "Done."], "look": [READ, "It is 42."]})
    with talking(place, script, "--include-hook-events") as (talk, _):
        talk.ask("initialize", hooks={"PostToolUse": [group("after", matcher="Read")], "Stop": [group("end")]})
        talk.say("Go.")
        first = talk.hear(is_callback)
        answer(talk, first)
        second = talk.hear(is_callback)
        answer(talk, second, systemMessage="Bye.")
        talk.hear("result")
        code, _ = talk.close()

    assert code == 0
    assert [entry["request"]["input"]["hook_event_name"] for entry in (first, second)] == ["PostToolUse", "Stop"]
    assert first["request"]["input"]["agent_type"] == "general-purpose"
    assert second["request"]["tool_use_id"] is None
    ended = [line for line in talk.heard if line.get("subtype") == "hook_response"]
    assert [(entry["hook_name"], entry["outcome"]) for entry in ended] == [
        ("PostToolUse:Read", "success"),
        ("Stop", "success"),
    ]


def test_a_program_that_does_not_answer_in_time_has_refused_the_call(place: Place) -> None:
    with talking(place, [READ, "I may not."]) as (talk, requests):
        talk.ask("initialize", hooks={"PreToolUse": [group("slow", timeout=0.05)]})
        talk.say("Go.")
        question = talk.hear(is_callback)
        withdrawn = talk.hear("control_cancel_request")
        talk.hear("result")
        talk.close()

    assert withdrawn["request_id"] == question["request_id"]
    (result,) = requests[1].body["messages"][-1]["content"]
    assert result["is_error"] is True
    assert "timed out after 0.05 s" in result["content"]


@pytest.mark.parametrize("way", ["error", "leaves"])
def test_a_program_that_cannot_say_decides_nothing(place: Place, way: str) -> None:
    with talking(place, [READ, "It is 42."]) as (talk, _):
        talk.ask("initialize", hooks={"PreToolUse": [group("broken")]})
        talk.say("Go.")
        question = talk.hear(is_callback)
        if way == "error":
            refusal = {"subtype": "error", "request_id": question["request_id"], "error": "a bug"}
            talk.put({"type": "control_response", "response": refusal})
            talk.hear("result")
        code, err = talk.close()

    assert code == 0
    assert talk.results()[0]["result"] == "It is 42."
    assert ("a bug" if way == "error" else "the program has gone") in err


@pytest.mark.parametrize(
    ("hooks", "why"),
    [
        (["x"], "hooks must be an object"),
        ({"Dance": [group("a")]}, "hooks.Dance: unknown event"),
        ({"Stop": {}}, "hooks.Stop: must be a list"),
        ({"Stop": [{"hooks": []}]}, "must be a list, such as hookCallbackIds"),
        ({"Stop": [group("a", timeout="x")]}, "timeout"),
        ({"Stop": [group("")]}, "hooks.Stop[0].hooks[0].id"),
        ({"PreToolUse": [group("a", matcher="(")]}, "matcher"),
    ],
)
def test_hooks_that_cannot_be_used_are_refused_with_one_line(place: Place, hooks: object, why: str) -> None:
    with talking(place, []) as (talk, _):
        answered = talk.ask("initialize", hooks=hooks)
        talk.close()

    assert answered["subtype"] == "error"
    assert why in answered["error"]
    assert "\n" not in answered["error"]
