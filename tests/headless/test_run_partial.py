"""`greenroom run --include-partial-messages`: answers as they come."""

from __future__ import annotations

from typing import Any

import pytest

from greenroom.models import Call, Say, Think, Usage, WrittenAnswer
from greenroom.testing import StreamReply
from greenroom.testing._messages_script import ReplyLike, events_of
from tests.cli.place import Done, Place
from tests.headless.agent_calls import by_prompt, spawn

STREAM = ("--output-format", "stream-json")
PARTIAL = (*STREAM, "--include-partial-messages")
LOOK: list[Say | Call | Think] = [
    Think("Hm.", "sig"),
    Say("Let me look."),
    Call("Read", {"file_path": "a.txt"}, id="toolu_a"),
]


def events(done: Done, parent: str | None = None) -> list[dict[str, Any]]:
    return [
        line["event"] for line in done.lines if line["type"] == "stream_event" and line["parent_tool_use_id"] == parent
    ]


def sent(*answers: Any) -> list[dict[str, Any]]:
    """Return what the provider sends for answers, without what keeps the connection alive."""
    return [event for answer in answers for event in events_of(StreamReply(answer=answer)) if event["type"] != "ping"]


def test_the_providers_events_come_as_they_are_before_the_message_that_they_come_to(place: Place) -> None:
    done, _ = place.run([WrittenAnswer(LOOK), "It is 42."], "What is it?", *PARTIAL)

    assert (done.code, done.err) == (0, "")
    assert events(done) == sent(LOOK, "It is 42.")
    kinds = [line["type"] for line in done.lines]
    first, second = len(sent(LOOK)), len(sent("It is 42."))
    each = "stream_event"
    assert kinds == ["system", *[each] * first, "assistant", "user", *[each] * second, "assistant", "result"]
    assert len({line["uuid"] for line in done.lines}) == len(done.lines)
    assert {line["session_id"] for line in done.lines} == {done.lines[0]["session_id"]}


def test_without_the_flag_there_are_none(place: Place) -> None:
    done, _ = place.run(["Hello."], "Say hello.", *STREAM)

    assert [line["type"] for line in done.lines] == ["system", "assistant", "result"]


@pytest.mark.parametrize("is_shown", [True, False])
def test_those_of_a_child_are_shown_where_its_text_is(place: Place, is_shown: bool) -> None:
    script = by_prompt({"Go.": [spawn("look"), "Done."], "look": ["It is 42."]})
    done, _ = place.run(script, "Go.", *PARTIAL, *(["--forward-subagent-text"] if is_shown else []))

    assert done.code == 0
    assert events(done, "toolu_agent") == (sent("It is 42.") if is_shown else [])
    assert events(done) == sent(spawn("look"), "Done.")


def test_a_request_that_is_sent_again_begins_anew(place: Place) -> None:
    broken = StreamReply(answer="Hel", ending="cut", events=5)
    done, _ = place.run([broken, "Hello."], "Say hello.", *PARTIAL)

    assert done.code == 0
    starts = [event["type"] for event in events(done)].count("message_start")
    retried = [line["subtype"] for line in done.lines if line["type"] == "system"]
    assert (starts, retried) == (2, ["init", "api_retry"])
    assert events(done)[-len(sent("Hello.")) :] == sent("Hello.")


def test_what_is_asked_beside_the_turns_rounds_is_not_shown(place: Place) -> None:
    """A summary for a compaction is no message of the conversation that a program follows."""
    place.monkeypatch.setenv("GREENROOM_AUTO_COMPACT_WINDOW", "50000")
    look: ReplyLike = StreamReply(answer=WrittenAnswer(LOOK), usage=Usage(input_tokens=49_000, output_tokens=100))
    done, requests = place.run([look, "<summary>It was looked at.</summary>", "It is 42."], "What is it?", *PARTIAL)

    assert (done.code, len(requests)) == (0, 3)
    assert [event["type"] for event in events(done)].count("message_start") == 2
    told = [(line["subtype"], line.get("status")) for line in done.lines if line["type"] == "system"]
    assert told[1:] == [("status", "compacting"), ("status", None), ("compact_boundary", None)]


@pytest.mark.parametrize("way", ["playbook", "recorded"])
def test_models_without_a_provider_have_events_too(place: Place, way: str) -> None:
    arguments = ["--model", "playbook"]
    if way == "recorded":
        place.run(["It is 42."], "What is it?", "--record")
        arguments = ["--recorded", "last"]
    done, _ = place.run([], "What is it?", *PARTIAL, *arguments)

    pieces = [event["delta"]["text"] for event in events(done) if event.get("delta", {}).get("type") == "text_delta"]
    assert done.code == 0
    assert "".join(pieces) == done.result["result"]
    assert [events(done)[0]["type"], events(done)[-1]["type"]] == ["message_start", "message_stop"]


@pytest.mark.parametrize("output_format", ["text", "json"])
def test_only_a_stream_has_room_for_them(place: Place, output_format: str) -> None:
    done, _ = place.run([], "Go.", "--include-partial-messages", "--output-format", output_format)

    assert (done.code, done.out) == (2, "")
    assert done.err == "greenroom: --include-partial-messages needs --output-format stream-json\n"
