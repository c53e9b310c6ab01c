"""Hooks of `MessageDisplay` in `greenroom run`: what is printed is what they want shown, in every format."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from greenroom.headless._event_printer import as_shown
from greenroom.models import Call, Say, WrittenAnswer
from tests.cli.place import Place
from tests.headless.hook_flags import hooks

HIDE = (
    "import json, sys; told = json.load(sys.stdin); text = told['delta'].replace('key-123', 'key-***'); "
    "print(json.dumps({'hookSpecificOutput': {'hookEventName': 'MessageDisplay', 'displayContent': text}}))"
)
READ = WrittenAnswer([Say("I try key-123."), Call("Read", {"file_path": "a.txt"}, id="toolu_a")])


def hiding() -> tuple[str, str]:
    return hooks(MessageDisplay=f"python3 -c {shlex.quote(HIDE)}")


@pytest.mark.parametrize("output_format", ["text", "json", "stream-json"])
def test_what_is_printed_is_what_the_hook_wants_shown(place: Place, output_format: str) -> None:
    done, requests = place.run(
        [READ, "key-123 works."], "Try it.", "--output-format", output_format, *hiding(), "--max-turns", "5"
    )

    assert (done.code, done.err) == (0, "")
    assert "key-***" in done.out
    assert "key-123" not in done.out
    assert "key-123" in json.dumps(requests[1].body)  # the model reads what it said
    (transcript,) = (place.root / "runs").glob("*/transcripts/main.jsonl")
    assert "key-123 works." in transcript.read_text()
    if output_format == "stream-json":
        said = [line for line in done.lines if line["type"] == "assistant"]
        assert [[block["type"] for block in entry["message"]["content"]] for entry in said] == [
            ["text", "tool_use"],
            ["text"],
        ]
        assert done.lines[-1]["result"] == "key-*** works."


def test_a_hook_that_fails_prints_the_message_as_it_is_and_is_said_once(place: Place) -> None:
    done, _ = place.run([READ, "key-123 works."], "Try it.", *hooks(MessageDisplay="echo 'no screen' >&2; exit 3"))

    assert (done.code, done.out) == (0, "key-123 works.\n")
    assert done.err.count("\n") == 1
    assert "of MessageDisplay does not work" in done.err


def test_a_hidden_answer_is_empty(place: Place) -> None:
    empty: dict[str, Any] = {"hookSpecificOutput": {"hookEventName": "MessageDisplay", "displayContent": ""}}
    flags = hooks(MessageDisplay=f"echo {shlex.quote(json.dumps(empty))}")
    done, _ = place.run(["key-123 works."], "Try it.", "--output-format", "stream-json", *flags)

    assert done.result["result"] == ""
    assert [line for line in done.lines if line["type"] == "assistant"] == []


@pytest.mark.parametrize(
    ("text", "said", "shown"),
    [
        ("ab", [("a", "x"), ("b", "y")], "xy"),  # an answer in two messages
        ("b", [("a", "x"), ("b", "y")], "y"),
        ("ab", [("b", "y"), ("ab", "ab")], "ab"),  # one that only holds what was changed elsewhere
        ("c", [("a", "x")], "c"),
        ("c", [], "c"),
        ("", [], ""),
    ],
)
def test_an_answer_is_shown_as_its_messages_were(text: str, said: list[tuple[str, str]], shown: str) -> None:
    assert as_shown(text, said) == shown
