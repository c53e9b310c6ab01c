"""`greenroom run --include-hook-events`: what hooks do while they do it."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from greenroom.models import Call, WrittenAnswer
from tests.cli.place import Done, Place
from tests.headless.hook_flags import hooks

STREAM = ("--output-format", "stream-json")
READ = WrittenAnswer([Call("Read", {"file_path": "a.txt"}, id="toolu_a")])


def hook_lines(done: Done) -> list[dict[str, Any]]:
    return [line for line in done.lines if str(line.get("subtype")).startswith("hook_")]


def test_a_hook_has_its_beginning_and_its_end_with_the_documented_fields(place: Place) -> None:
    flags = hooks(PreToolUse="cat > /dev/null; echo seen", Stop="echo bye >&2")
    done, _ = place.run([READ, "It is 42."], "What is it?", *STREAM, "--include-hook-events", *flags)

    assert (done.code, done.err) == (0, "")
    started, ended, started_2, ended_2 = hook_lines(done)
    common = {"type": "system", "hook_name": "PreToolUse:Read", "hook_event": "PreToolUse"}
    common |= {key: started[key] for key in ("hook_id", "session_id")}
    assert started == common | {"subtype": "hook_started", "uuid": started["uuid"]}
    said = {"stdout": "seen\n", "stderr": "", "output": "seen\n", "exit_code": 0, "outcome": "success"}
    assert ended == common | said | {"subtype": "hook_response", "uuid": ended["uuid"]}
    assert [started_2["hook_name"], started_2["hook_id"]] == ["Stop", ended_2["hook_id"]]
    assert (ended_2["stderr"], ended_2["outcome"]) == ("bye\n", "success")
    assert started["hook_id"] != started_2["hook_id"]
    assert {line["session_id"] for line in done.lines} == {done.lines[0]["session_id"]}
    assert [done.lines[0]["subtype"], done.lines[-1]["type"]] == ["init", "result"]


def test_a_hook_that_blocks_is_an_error_on_the_stream(place: Place) -> None:
    flags = hooks(PreToolUse="echo 'not today' >&2; exit 2")
    done, _ = place.run([READ, "I may not."], "What is it?", *STREAM, "--include-hook-events", *flags)

    assert done.code == 0
    assert [(line["exit_code"], line["outcome"], line["output"]) for line in hook_lines(done)[1:]] == [
        (2, "error", "not today\n")
    ]


def test_the_hooks_of_the_beginning_come_behind_init_and_those_of_the_end_are_left_out(place: Place) -> None:
    """The result is the last line."""
    flags = hooks(SessionStart="echo welcome", SessionEnd="echo farewell; echo ran > ended.txt")
    done, _ = place.run(["Hello."], "Say hello.", *STREAM, "--include-hook-events", *flags)

    assert done.code == 0
    assert [line["subtype"] for line in done.lines[:3] if "subtype" in line] == [
        "init",
        "hook_started",
        "hook_response",
    ]
    assert {line["hook_name"] for line in hook_lines(done)} == {"SessionStart:startup"}
    assert done.lines[-1]["type"] == "result"
    assert (place.folder / "ended.txt").is_file()


def test_without_the_flag_hooks_are_not_shown(place: Place) -> None:
    done, _ = place.run(["Hello."], "Say hello.", *STREAM, *hooks(Stop="echo bye"))

    assert (done.code, hook_lines(done)) == (0, [])


@pytest.mark.parametrize("output_format", ["text", "json"])
def test_only_a_stream_has_room_for_them(place: Place, output_format: str) -> None:
    done, _ = place.run([], "Go.", "--include-hook-events", "--output-format", output_format)

    assert (done.code, done.out) == (2, "")
    assert done.err == "greenroom: --include-hook-events needs --output-format stream-json\n"


def test_what_a_hook_says_to_people_is_a_line_on_standard_error(place: Place) -> None:
    said = json.dumps({"systemMessage": "the disk is nearly full"})
    done, _ = place.run(["It is 42."], "What is it?", *hooks(Stop=f"echo {shlex.quote(said)}"))

    assert done == Done(0, "It is 42.\n", "greenroom: note: Stop: the disk is nearly full\n")


def test_a_turn_that_stop_hooks_kept_going_ends_with_a_warning(place: Place) -> None:
    """Behaviours (3), line 4, as a person sees it."""
    done, _ = place.run(["No."] * 9, "What is it?", *hooks(Stop="echo more >&2; exit 2"))

    assert (done.code, done.out) == (0, "No.\n")
    (line,) = done.err.splitlines()
    assert line.startswith("greenroom: note: Stop: stop hooks kept this turn going 8 times in a row")


def test_an_edit_of_the_settings_is_told_in_a_line(place: Place) -> None:
    """What counts at once and what does not; a broken one counts for nothing. What trust would take is said at the end."""

    def edit(content: str) -> WrittenAnswer:
        command = f"mkdir -p .greenroom; printf %s {shlex.quote(content)} > .greenroom/settings.json; sleep 3"
        return WrittenAnswer([Call("Bash", {"command": command})])

    answers: list[WrittenAnswer | str] = [
        edit('{"permissions": {"deny": ["Read"]}, "model": "opus"}'),
        edit("{"),
        "Done.",
    ]
    done, _ = place.run(answers, "Go.", "--permission-mode", "bypassPermissions")

    file = place.folder / ".greenroom/settings.json"
    first, second, third = done.err.splitlines()
    assert (done.code, done.out) == (0, "Done.\n")
    assert first == f"greenroom: note: {file} was edited: permissions in force; model from the next session on"
    assert second.startswith(f"greenroom: note: {file}: the file is no JSON")
    assert third.startswith(f"greenroom: note: {file}: ignored: model: this has no effect until the project is trusted")


def test_a_call_that_a_hook_puts_off_ends_the_run_and_is_run_when_it_is_resumed(place: Place) -> None:
    answer = place.folder / "answer.json"

    def say(permission: str) -> None:
        values = {"hookEventName": "PreToolUse", "permissionDecision": permission}
        answer.write_text(json.dumps({"hookSpecificOutput": values}))

    say("defer")
    (place.folder / "a.txt").write_text("42")
    flags = (*hooks(PreToolUse=f"cat {shlex.quote(str(answer))}"), "--output-format", "json")
    done, _ = place.run([READ], "What is it?", *flags)

    (result,) = done.lines
    assert (done.code, result["subtype"], result["stop_reason"]) == (0, "success", "tool_deferred")
    assert result["deferred_tool_use"] == {"id": "toolu_a", "name": "Read", "input": {"file_path": "a.txt"}}
    assert (
        done.err == f"greenroom: a hook has deferred Read; resume with: greenroom run --resume {result['session_id']}\n"
    )

    done, _ = place.run([], "--resume", result["session_id"], "--tools", "Write", *flags)
    (second,) = done.lines
    assert (done.code, second["is_error"], second["stop_reason"]) == (1, True, "tool_deferred_unavailable")
    assert second["deferred_tool_use"] == result["deferred_tool_use"]

    say("allow")
    done, _ = place.run(["It is 42."], "--resume", result["session_id"], *flags)
    (third,) = done.lines
    assert (done.code, third["result"], third["stop_reason"]) == (0, "It is 42.", "end_turn")
    assert "deferred_tool_use" not in third
