"""`greenroom run --json-schema`: an answer that a program can read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from greenroom.agents._structured import MAX_RETRIES
from greenroom.models import Call, WrittenAnswer
from tests.cli.place import Done, Place, texts_of

SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "integer"}, "files": {"type": "array", "items": {"type": "string"}}},
    "required": ["answer"],
}
FLAGS = ("--json-schema", json.dumps(SCHEMA))
JSON = ("--output-format", "json")
RIGHT = {"answer": 42, "files": ["a.txt"]}


def give(values: dict[str, Any], call_id: str = "toolu_s") -> WrittenAnswer:
    return WrittenAnswer([Call("StructuredOutput", values, id=call_id)])


def results_of(request: Any) -> list[dict[str, Any]]:
    return [block for block in request.body["messages"][-1]["content"] if block["type"] == "tool_result"]


@pytest.mark.parametrize("output_format", ["json", "stream-json"])
def test_what_the_model_gives_is_beside_the_result(place: Place, output_format: str) -> None:
    done, (first, second) = place.run(
        [give(RIGHT), "It is 42."], "What is it?", *FLAGS, "--output-format", output_format
    )

    assert (done.code, done.err) == (0, "")
    assert (done.result["structured_output"], done.result["result"]) == (RIGHT, "It is 42.")
    assert done.result["subtype"] == "success"
    (offered,) = [tool for tool in first.body["tools"] if tool["name"] == "StructuredOutput"]
    assert offered["input_schema"] == SCHEMA
    assert results_of(second)[0]["is_error"] is False


def test_an_answer_that_does_not_fit_is_refused_with_what_is_wrong(place: Place) -> None:
    done, (_, second, _) = place.run([give({"answer": "many"}), give(RIGHT), "Done."], "What is it?", *FLAGS, *JSON)

    assert (done.code, done.result["structured_output"]) == (0, RIGHT)
    (refused,) = results_of(second)
    assert refused["is_error"] is True
    assert "answer: expected an integer, got 'many'" in refused["content"]


def test_a_model_that_only_talks_is_told_to_give_it(place: Place) -> None:
    done, requests = place.run(["It is 42.", give(RIGHT), "Done."], "What is it?", *FLAGS, *JSON)

    assert (done.code, done.result["structured_output"]) == (0, RIGHT)
    assert "Call the tool StructuredOutput" in texts_of(requests[1])[-1]
    assert done.result["num_turns"] == 3


@pytest.mark.parametrize("way", ["talks", "errs"])
def test_one_that_cannot_be_brought_to_it_is_an_error_of_its_own(place: Place, way: str) -> None:
    reply = "It is 42." if way == "talks" else give({})
    done, _ = place.run([reply] * (MAX_RETRIES + 1), "What is it?", *FLAGS, *JSON)

    assert (done.code, done.result["is_error"]) == (1, True)
    assert done.result["subtype"] == "error_max_structured_output_retries"
    assert done.result["terminal_reason"] == "structured_output_retry_exhausted"
    assert "after 5 retries" in done.result["errors"][0]
    assert "structured_output" not in done.result


def test_an_agent_with_a_list_of_tools_can_give_it_and_those_that_it_starts_cannot(place: Place) -> None:
    agents = json.dumps({"critic": {"description": "Finds faults.", "prompt": "You criticize.", "tools": ["Agent"]}})
    spawn = WrittenAnswer([Call("Agent", {"description": "d", "prompt": "look"}, id="toolu_agent")])
    done, requests = place.run(
        [spawn, "Looked.", give(RIGHT), "Done."], "Go.", *FLAGS, *JSON, "--agent", "critic", "--agents", agents
    )

    assert (done.code, done.result["structured_output"]) == (0, RIGHT)
    offered = [{tool["name"] for tool in request.body.get("tools", ())} for request in requests]
    assert offered[0] == {"Agent", "StructuredOutput"}
    assert "StructuredOutput" not in offered[1]


def test_agents_of_the_same_tools_and_rules_cannot_give_it_either(place: Place) -> None:
    """Mechanism: agents of one kind share a set of tools."""
    alike = ("--settings", '{"child_permission": "inherit"}', "--setting-sources", "")
    spawn = WrittenAnswer([Call("Agent", {"description": "d", "prompt": "look"}, id="toolu_agent")])
    done, requests = place.run([spawn, "Looked.", give(RIGHT), "Done."], "Go.", *FLAGS, *JSON, *alike)

    assert done.code == 0
    offered = [{tool["name"] for tool in request.body.get("tools", ())} for request in requests]
    assert ["StructuredOutput" in names for names in offered] == [True, False, True, True]


def test_without_a_schema_there_is_nothing_of_it(place: Place) -> None:
    done, (request,) = place.run(["It is 42."], "What is it?", *JSON)

    assert "structured_output" not in done.result
    assert "StructuredOutput" not in {tool["name"] for tool in request.body["tools"]}


def refused(place: Place, *arguments: str) -> Done:
    done, _ = place.run([], "Go.", *arguments)
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
    return done


def test_schemas_that_cannot_be_used_are_refused(place: Place) -> None:
    assert "needs --output-format json or stream-json" in refused(place, *FLAGS).err
    assert "has to be that of an object" in refused(place, "--json-schema", '{"type": "string"}', *JSON).err
    assert (
        "no type 'text'"
        in refused(place, "--json-schema", '{"type": "object", "properties": {"a": {"type": "text"}}}', *JSON).err
    )
    assert "--json-schema: 'no.json' is neither" in refused(place, "--json-schema", "no.json", *JSON).err
