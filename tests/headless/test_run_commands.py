"""Prompts of `greenroom run` that begin with `/`, and the choice of the run to resume."""

from __future__ import annotations

import json
from typing import Any

import pytest

from greenroom.agents import CONTINUE
from greenroom.models import Call, WrittenAnswer
from greenroom.testing import ErrorReply
from tests.cli.place import Asked, Place, texts_of
from tests.headless.hook_flags import group, is_callback
from tests.headless.talk import talking

STREAM = ("--output-format", "stream-json")


def write_skill(place: Place, name: str) -> None:
    path = place.folder / ".claude/skills" / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\ndescription: d\n---\nTHE SKILL $ARGUMENTS", encoding="utf-8")


def said_in(request: Any) -> str:
    return json.dumps(request.body["messages"])


def test_a_prompt_compacts_the_conversation_of_an_earlier_run(place: Place) -> None:
    place.run(["Hello, Ada."], "My name is Ada.")
    done, requests = place.run(["<summary>She is Ada.</summary>"], "/compact keep the names", "--resume", "last")

    assert done.code == 0
    assert done.out.startswith("The conversation was compacted: about ")
    assert "keep the names" in texts_of(requests[0])[-1]

    done, requests = place.run(["Ada."], "Who am I?", "--resume", "last")
    assert done.out == "Ada.\n"
    assert "She is Ada." in said_in(requests[0])
    assert "My name is Ada." not in said_in(requests[0])


def test_a_program_compacts_between_two_prompts(place: Place) -> None:
    lines = [{"type": "user", "message": {"role": "user", "content": text}} for text in ("One.", "/compact", "Two.")]
    script = ["first", "<summary>It began.</summary>", "second"]
    done, requests = place.run(
        script, *STREAM, "--input-format", "stream-json", stdin="\n".join(map(json.dumps, lines))
    )

    kinds = [line.get("subtype") for line in done.lines if line["type"] in {"result", "system"}]
    assert kinds == ["init", "success", "status", "status", "compact_boundary", "success", "success"]
    assert "It began." in said_in(requests[2])
    assert "One." not in said_in(requests[2])


def test_a_compaction_that_comes_in_a_turn_waits_for_its_end_and_keeps_its_place(place: Place) -> None:
    """What is said behind it stays behind it, and each has its own result."""
    script = Asked("first", "<summary>It began.</summary>", "second")
    with talking(place, script) as (talk, requests):
        talk.say("One.")
        script.wait(1)
        talk.say("/compact")
        talk.say("Two.")
        code, _ = talk.close()

    assert code == 0
    assert [result["result"].partition(":")[0] for result in talk.results()] == [
        "first",
        "The conversation was compacted",
        "second",
    ]
    assert "It began." in said_in(requests[2])


def test_what_cannot_be_compacted_is_said_in_one_line(place: Place) -> None:
    done, _ = place.run([], "/compact")
    assert (done.code, done.err) == (1, "greenroom: there is nothing to compact: the conversation has not begun\n")

    place.run(["Hello."], "Hello.")
    refusal = ErrorReply(status=400, type="invalid_request_error", message="no")
    done, _ = place.run([refusal], "/compact", "--resume", "last")
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)


def test_a_skill_of_that_name_goes_before_the_compaction(place: Place) -> None:
    write_skill(place, "compact")
    done, requests = place.run(["Done."], "/compact it", *STREAM)

    assert texts_of(requests[0]) == [
        f"Base directory for this skill: {place.folder}/.claude/skills/compact\n\nTHE SKILL it"
    ]
    assert done.lines[0]["slash_commands"] == ["add-dir", "compact"]


def test_a_prompt_adds_a_folder_and_hooks_hear_that_a_person_did(place: Place) -> None:
    """It is no turn of the agent's; `~` is the person's home folder, and a blank belongs to the name."""
    other = place.root / "home" / "their files"
    other.mkdir(parents=True)
    (other / "a.txt").write_text("found it")
    read = WrittenAnswer([Call("Read", {"file_path": str(other / "a.txt")}, id="toolu_1")])
    with talking(place, [read, "I have read it."]) as (talk, requests):
        talk.ask("initialize", hooks={"DirectoryAdded": [group("x")]})
        talk.say("/add-dir  ~/their files ")
        told = talk.hear(is_callback)["request"]["input"]
        talk.say("Read it.")
        added, answer = talk.hear_results(2)
        talk.close()

    assert (added["subtype"], added["result"]) == ("success", f"Agents may work in {other} until the session ends.")
    assert (told["hook_event_name"], told["directory"], told["source"]) == (
        "DirectoryAdded",
        str(other),
        "slash_command",
    )
    assert (answer["result"], texts_of(requests[0])) == ("I have read it.", ["Read it."])
    assert "found it" in said_in(requests[1])


@pytest.mark.parametrize(
    ("prompt", "why"),
    [
        ("/add-dir", "/add-dir needs a folder: say which one agents may work in"),
        ("/add-dir nowhere", "nowhere': it is not a directory"),
        ("/add-dir ~nobody-here/x", "~nobody-here/x': it is not a directory"),
        ("/add-dir .", "project': the session already includes it"),
    ],
)
def test_a_folder_that_cannot_be_added_is_one_line(place: Place, prompt: str, why: str) -> None:
    done, requests = place.run([], prompt)

    assert (done.code, done.out, requests) == (1, "", [])
    assert done.err.endswith(f"{why}\n")
    assert done.err.count("\n") == 1


def test_a_folder_that_is_added_in_a_turn_waits_for_its_end_and_keeps_its_place(place: Place) -> None:
    (place.root / "other").mkdir()
    script = Asked("first", "second")
    with talking(place, script) as (talk, requests):
        talk.say("One.")
        script.wait(1)
        talk.say("/add-dir ../other")
        talk.say("Two.")
        code, _ = talk.close()

    assert code == 0
    assert [result["result"].partition(" may")[0] for result in talk.results()] == ["first", "Agents", "second"]
    assert "add-dir" not in said_in(requests[1])


@pytest.mark.parametrize("prompt", ["/fix it", "/compact", "/add-dir ..", "/mcp__a__b c"])
def test_without_slash_commands_such_a_prompt_is_text(place: Place, prompt: str) -> None:
    """There are no skills either: neither on the list nor as a tool."""
    write_skill(place, "fix")
    done, requests = place.run(["Done."], prompt, *STREAM, "--disable-slash-commands")

    assert texts_of(requests[0]) == [prompt]
    assert "Skill" not in {tool["name"] for tool in requests[0].body["tools"]}
    assert (done.lines[0]["slash_commands"], done.lines[0]["skills"]) == ([], [])

    done, _ = place.run(["Done."], "Go.", *STREAM)
    assert done.lines[0]["slash_commands"] == ["add-dir", "compact", "fix"]


def test_continue_goes_on_with_the_last_run(place: Place) -> None:
    place.run(["one"], "First.")
    _, requests = place.run(["two"], "Second.", "-c")
    assert "First." in said_in(requests[0])
    _, requests = place.run(["three"], "Third.", "--continue")
    assert "Second." in said_in(requests[0])

    done, _ = place.run([], "Go.", "--continue", "--resume", "last")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "cannot be combined" in done.err


def test_there_has_to_be_a_run_to_go_on_with(place: Place) -> None:
    done, _ = place.run([], "Go.", "--continue")

    assert done.code == 2
    assert done.err.startswith("greenroom: ")
    assert CONTINUE not in done.err


@pytest.mark.parametrize(
    ("flags", "who"),
    [
        (("--settings", '{"agent": "checker"}'), "You check."),
        (("--settings", '{"agent": "checker"}', "--agent", "writer"), "You write."),
        ((), "You are a careful engineer."),
    ],
)
def test_the_setting_agent_names_the_main_agent_and_the_flag_wins(
    place: Place, flags: tuple[str, ...], who: str
) -> None:
    """A run that is resumed keeps the one that it had, whatever the settings say then."""
    agents = json.dumps(
        {
            "checker": {"description": "d", "prompt": "You check."},
            "writer": {"description": "d", "prompt": "You write."},
        }
    )
    _, requests = place.run(["one"], "Go.", "--agents", agents, *flags)
    assert requests[0].body["system"][0]["text"].startswith(who)

    _, requests = place.run(["two"], "Go.", "--agents", agents, "--resume", "last", "--settings", '{"agent": "writer"}')
    assert requests[0].body["system"][0]["text"].startswith(who)


def test_an_agent_of_the_settings_that_is_not_there_is_one_line(place: Place) -> None:
    done, _ = place.run([], "Go.", "--settings", '{"agent": "nobody"}')

    assert (done.code, done.err.count("\n")) == (2, 1)
    assert done.err.startswith("greenroom: the setting `agent`: no agent is called 'nobody'; there are: ")
