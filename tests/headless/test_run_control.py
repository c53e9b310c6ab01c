"""A program that talks to a headless run: the lines of both, and a conversation through real pipes."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.agents import CONTINUE, PermissionQuestion
from greenroom.core import UsageError
from greenroom.headless._protocol import (
    Answered,
    Asked,
    UserSaid,
    question_line,
    read_decision,
    read_line,
    receipt,
    refusal,
    success,
)
from greenroom.models import Call, WrittenAnswer
from greenroom.permissions import Allow, Deny, Effect, Mode, Scope, Update, Verdict
from greenroom.testing import ReceivedRequest, StreamReply
from greenroom.testing._messages_script import ReplyLike
from tests.cli.place import Asked as Scripted
from tests.cli.place import Place, end_of, texts_of
from tests.cli.served import served
from tests.headless.talk import talking
from tests.mcp.real import EVERYTHING
from tests.mcp.warm import warm_command

JSON = st.recursive(st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3), st.lists, max_leaves=5)
KEYS = st.sampled_from(["type", "message", "request_id", "request", "response", "content", "subtype", "behavior"])
VALUES = st.recursive(
    JSON | st.sampled_from(["user", "control_request", "control_response", "allow", "deny", "text"]),
    lambda inner: st.dictionaries(KEYS, inner, max_size=4) | st.lists(inner, max_size=2),
    max_leaves=10,
)


# --- lines ----------------------------------------------------------------------------------------------------------------


@given(st.dictionaries(KEYS, VALUES, max_size=4).map(lambda one: json.dumps(one).encode()) | st.binary(max_size=20))
def test_any_line_is_read_or_refused_with_one_line(line: bytes) -> None:
    """Mechanism: what a program writes never ends a run with a trace."""
    try:
        said = read_line(line)
    except UsageError as error:
        said, why = None, str(error)
    else:
        why = ""

    assert "\n" not in why
    assert said is None or isinstance(said, UserSaid | Asked | Answered)


@given(st.dictionaries(st.sampled_from(["behavior", "updatedInput", "updatedPermissions", "message"]), VALUES))
def test_an_answer_that_cannot_be_read_is_a_refusal(values: dict[str, Any]) -> None:
    decided = read_decision(Answered("r1", values))

    assert isinstance(decided, Allow) == (
        values.get("behavior") == "allow"
        and isinstance(values.get("updatedInput"), dict | None)
        and not values.get("updatedPermissions")
    )


def test_decisions_carry_input_and_lasting_changes() -> None:
    update = {"type": "setMode", "destination": "session", "mode": "acceptEdits"}
    allowed = {"behavior": "allow", "updatedInput": {"a": 1}, "updatedPermissions": [update]}

    assert read_decision(Answered("r1", allowed)) == Allow(
        input={"a": 1}, updates=(Update(kind="setMode", destination=Scope.SESSION, mode=Mode.ACCEPT_EDITS),)
    )
    denied = {"behavior": "deny", "message": "not now", "interrupt": True}
    assert read_decision(Answered("r1", denied)) == Deny(message="not now", interrupts=True)


@pytest.mark.parametrize(
    ("content", "text"),
    [("Go.", "Go."), ([{"type": "text", "text": "Go"}, {"type": "text", "text": "on."}], "Go\non.")],
)
def test_a_message_of_the_user_is_text_or_blocks_of_text(content: object, text: str) -> None:
    line = {"type": "user", "message": {"role": "user", "content": content}, "uuid": "u1"}

    assert read_line(json.dumps(line).encode()) == UserSaid(text, "u1")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"{", "the line is not valid JSON"),
        (b"[]", "the line must be a JSON object"),
        (b'{"type": "usr"}', "unknown message type 'usr'"),
        (b'{"type": "user", "message": {"content": [{"type": "image"}]}}', 'needs "content"'),
        (b'{"type": "user", "message": {"content": " "}}', "blank"),
        (b'{"type": "control_request", "request": {}}', "needs a request_id"),
        (b'{"type": "control_response"}', "needs a response"),
    ],
)
def test_a_line_that_cannot_be_used_says_why(line: bytes, why: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_line(line)
    assert why in str(caught.value)


@pytest.mark.parametrize("line", [b"", b"  ", b'{"type": "keep_alive"}', b'{"type": "control_cancel_request"}'])
def test_a_line_that_means_nothing_here_is_passed_over(line: bytes) -> None:
    assert read_line(line) is None


def test_answers_and_questions_have_the_documented_shape() -> None:
    verdict = Verdict(effect=Effect.ASK, reason="it writes", blocked_path="/etc/x")
    question = PermissionQuestion(
        agent="a2", label="Explore", tool="Write", input={"p": 1}, verdict=verdict, call_id="toolu_1"
    )

    assert success("r1", {"a": 1}) == {
        "type": "control_response",
        "response": {"subtype": "success", "request_id": "r1", "response": {"a": 1}},
    }
    assert refusal("r1", "no") == {
        "type": "control_response",
        "response": {"subtype": "error", "request_id": "r1", "error": "no"},
    }
    assert receipt(["u1"], None) == {"still_queued": ["u1"]}
    assert receipt([], ["u1"]) == {"still_queued": [], "cancelled": ["u1"]}
    of_main = question_line("r1", question, is_main=True)
    assert of_main == {
        "type": "control_request",
        "request_id": "r1",
        "request": {
            "subtype": "can_use_tool",
            "tool_name": "Write",
            "input": {"p": 1},
            "permission_suggestions": [],
            "blocked_path": "/etc/x",
            "tool_use_id": "toolu_1",
            "decision_reason": "it writes",
        },
    }
    assert question_line("r1", question, is_main=False)["request"] == of_main["request"] | {
        "agent_id": "a2",
        "title": "Explore asks to use Write",
    }


# --- conversations ------------------------------------------------------------------------------------------------------


def test_prompts_come_on_standard_input_and_each_has_its_result(place: Place) -> None:
    """One session, a turn and a result for each message, and the end of standard input is the end."""
    with talking(place, ["One.", "Two."]) as (talk, requests):
        talk.say("First.")
        assert talk.hear("result")["result"] == "One."
        talk.put("no json")
        talk.say("Second.")
        assert talk.hear("result")["result"] == "Two."
        code, err = talk.close()

    assert code == 0
    assert err == "greenroom: standard input, line 2: the line is not valid JSON (invalid literal, expected 'null')\n"
    assert [texts_of(request) for request in requests] == [["First."], ["Second."]]
    assert talk.heard[0]["subtype"] == "init"


@pytest.mark.parametrize(("switch", "texts"), [("1", [CONTINUE]), ("0", [])])
def test_with_the_switch_a_turn_that_was_cut_goes_on_by_itself(place: Place, switch: str, texts: list[str]) -> None:
    """Else the first message takes its place."""
    asked = Scripted(StreamReply(ending="stall", events=0))
    with served(asked) as server, place.started(server.url, "What is it?", "--output-format", "stream-json") as process:
        asked.wait(1)
        process.send_signal(signal.SIGTERM)
        session = end_of(process).lines[0]["session_id"]

    place.monkeypatch.setenv("GREENROOM_RESUME_INTERRUPTED_TURN", switch)
    with talking(place, [*(["It is 42."] * len(texts)), "Enough."], "--resume", session) as (talk, requests):
        talk.hear_results(len(texts))
        talk.say("And now?")
        talk.hear_results(len(texts) + 1)
        code, err = talk.close()

    assert (code, err) == (0, "")
    assert [texts_of(request)[-1] for request in requests] == [*texts, "And now?"]
    assert [result["result"] for result in talk.results()][-1] == "Enough."


def test_initialize_says_what_there_is(place: Place) -> None:
    with talking(place, []) as (talk, _):
        answer = talk.ask("initialize", hooks=None)
        again = talk.ask("initialize", forwardSubagentText=True)
        unknown = talk.ask("dance")
        code, err = talk.close()

    assert (code, err) == (0, "")
    assert answer["subtype"] == "success"
    said = answer["response"]
    assert {"commands", "agents", "models", "output_style", "account", "capabilities"} <= set(said)
    assert "Explore" in [agent["name"] for agent in said["agents"]]
    assert said["capabilities"] == ["interrupt_receipt_v1", "interrupt_cancel_queued_v1"]
    assert "pending_permission_requests" not in said
    assert (again["response"]["pending_permission_requests"], again["response"]["background_tasks"]) == ([], [])
    assert unknown["subtype"] == "error"
    assert "unknown control request 'dance'; expected one of: initialize, interrupt," in unknown["error"]


def test_an_interrupt_has_its_receipt_before_the_result_and_what_is_queued_is_taken_up_next(place: Place) -> None:
    """Behaviours (13), line 6."""
    silence = StreamReply(ending="stall", events=0)
    with talking(place, [silence, "After."]) as (talk, requests):
        talk.say("First.")
        talk.hear(lambda one: one.get("subtype") == "init")
        while not requests:
            talk.ask("initialize")
        talk.say("Second.", "u2")
        receipt_of = talk.ask("interrupt")
        before = len(talk.results())
        ended = talk.hear("result")
        after = talk.hear("result")
        code, _ = talk.close()

    assert receipt_of["response"] == {"still_queued": ["u2"]}
    assert before == 0
    assert (ended["subtype"], ended["errors"]) == ("error_during_execution", ["[Request interrupted by user]"])
    assert (after["subtype"], after["result"], "origin" in after) == ("success", "After.", False)
    assert texts_of(requests[1])[-1] == "Second."
    assert code == 0


def test_messages_are_repeated_where_they_are_taken_up(place: Place) -> None:
    """One that begins a turn before it, one during a turn before the request that it is part of."""
    bash = WrittenAnswer([Call("Bash", {"command": "read line < pipe"}, id="toolu_b")])
    with talking(place, [bash, "Both.", "Three."], "--allowed-tools", "Bash", "--replay-user-messages") as (talk, _):
        os.mkfifo(place.folder / "pipe")
        talk.say("First.", "u1")
        talk.hear("assistant")
        talk.say("Second.", "u2")
        talk.ask("initialize")  # so it was taken in
        before = [line for line in talk.heard if line.get("isReplay")]
        (place.folder / "pipe").write_text("go on\n", encoding="utf-8")
        talk.hear("result")
        talk.say("Third.")
        talk.hear("result")
        code, _ = talk.close()

    assert code == 0
    assert [entry["uuid"] for entry in before] == ["u1"]
    assert before[0] == {
        "type": "user",
        "message": {"role": "user", "content": "First."},
        "parent_tool_use_id": None,
        "isReplay": True,
        "session_id": talk.heard[0]["session_id"],
        "uuid": "u1",
    }
    told = [
        line["message"]["content"] if line.get("isReplay") else line["type"]
        for line in talk.heard
        if line["type"] in {"user", "assistant", "result"}
    ]
    assert told == [
        *("First.", "assistant"),
        *("user", "Second.", "assistant", "result"),
        *("Third.", "assistant", "result"),
    ]
    assert all(line["uuid"] for line in talk.heard if line.get("isReplay"))


def test_a_message_that_waits_for_a_turn_of_its_own_is_repeated_there(place: Place) -> None:
    silence = StreamReply(ending="stall", events=0)
    with talking(place, [silence, "After."], "--replay-user-messages") as (talk, requests):
        talk.say("First.", "u1")
        while not requests:
            talk.ask("initialize")
        talk.say("Second.", "u2")
        talk.ask("interrupt")
        talk.hear_results(2)
        talk.close()

    kinds = [line["uuid"] if line.get("isReplay") else line["type"] for line in talk.heard]
    assert [kind for kind in kinds if kind in {"u1", "u2", "result"}] == ["u1", "result", "u2", "result"]


def test_without_the_flag_nothing_is_repeated(place: Place) -> None:
    with talking(place, ["One."]) as (talk, _):
        talk.say("First.", "u1")
        talk.hear("result")
        talk.close()

    assert [line["type"] for line in talk.heard] == ["system", "assistant", "result"]


def test_an_interrupt_can_take_back_what_is_queued(place: Place) -> None:
    silence = StreamReply(ending="stall", events=0)
    with talking(place, [silence]) as (talk, requests):
        talk.say("First.")
        while not requests:
            talk.ask("initialize")
        talk.say("Second.", "u2")
        answer = talk.ask("interrupt", cancel_queued=True)
        talk.hear("result")
        code, _ = talk.close()

    assert answer["response"] == {"still_queued": [], "cancelled": ["u2"]}
    assert (code, len(talk.results())) == (1, 1)


def test_a_message_during_a_batch_is_in_the_next_request(place: Place) -> None:
    """A person's message that is attached to a turn has no result of its own."""
    bash = WrittenAnswer([Call("Bash", {"command": "read line < pipe"}, id="toolu_b")])
    with talking(place, [bash, "Both."], "--allowed-tools", "Bash") as (talk, requests):
        os.mkfifo(place.folder / "pipe")
        talk.say("First.")
        talk.hear("assistant")
        talk.say("Second.")
        talk.ask("initialize")  # so it was taken up
        (place.folder / "pipe").write_text("go on\n", encoding="utf-8")
        talk.hear("result")
        code, _ = talk.close()

    assert code == 0
    assert texts_of(requests[1]) == ["Second."]
    assert [result["result"] for result in talk.results()] == ["Both."]


def test_the_program_decides_about_calls_of_main_and_of_children(place: Place) -> None:
    """`agent_id` names the child that asks; what was changed in the input runs."""

    def write(name: str, call_id: str) -> WrittenAnswer:
        return WrittenAnswer([Call("Write", {"file_path": name, "content": "new\n"}, id=call_id)])

    def script(request: ReceivedRequest) -> ReplyLike:
        first = request.body["messages"][0]["content"][0]["text"]
        rounds: int = sum(message["role"] == "assistant" for message in request.body["messages"])
        if first == "child":
            return write("c.txt", "toolu_c") if rounds == 0 else "Child done."
        spawn = WrittenAnswer([Call("Agent", {"description": "d", "prompt": "child"}, id="toolu_agent")])
        replies: list[ReplyLike] = [write("m.txt", "toolu_m"), spawn, "Done."]
        return replies[rounds]

    inherit = ("--settings", '{"child_permission": "inherit"}')
    with talking(place, script, "--permission-prompt-tool", "stdio", *inherit) as (talk, _):
        talk.say("Go.")
        first = talk.hear("control_request")
        pending = talk.ask("initialize")
        pending = talk.ask("initialize")
        talk.decide(first, behavior="deny", message="not that")
        second = talk.hear("control_request")
        changed = second["request"]["input"] | {"content": "changed\n"}
        talk.decide(second, behavior="allow", updatedInput=changed)
        talk.decide(second, behavior="deny", message="too late")
        result = talk.hear("result")
        code, err = talk.close()

    assert (code, err) == (0, "")
    assert pending["response"]["pending_permission_requests"] == [first]
    assert (first["request"]["tool_use_id"], "agent_id" in first["request"]) == ("toolu_m", False)
    (started,) = [line for line in talk.heard if line.get("subtype") == "task_started"]
    assert (second["request"]["tool_use_id"], second["request"]["agent_id"]) == ("toolu_c", started["task_id"])
    assert not (place.folder / "m.txt").exists()
    assert (place.folder / "c.txt").read_text(encoding="utf-8") == "changed\n"
    assert [permission_denial["tool_use_id"] for permission_denial in result["permission_denials"]] == ["toolu_m"]


def test_a_question_is_withdrawn_with_its_turn_and_refused_when_standard_input_ends(place: Place) -> None:
    write = WrittenAnswer([Call("Write", {"file_path": "m.txt", "content": "new\n"}, id="toolu_m")])
    with talking(place, [write, write, "Refused."], "--permission-prompt-tool", "stdio") as (talk, _):
        talk.say("Go.")
        first = talk.hear("control_request")
        talk.ask("interrupt")
        withdrawn = talk.hear("control_cancel_request")
        talk.hear("result")
        talk.say("Again.")
        talk.hear("control_request")
        code, _ = talk.close()

    assert withdrawn["request_id"] == first["request_id"]
    assert (code, talk.results()[-1]["result"]) == (0, "Refused.")
    assert not (place.folder / "m.txt").exists()


def test_servers_are_shown_connected_anew_and_switched_off(place: Place) -> None:
    """What they offer comes and goes with them; a prompt of theirs is a command."""
    command, *arguments = warm_command(EVERYTHING)
    server = {"mcpServers": {"all": {"command": command, "args": arguments}}}
    with talking(place, ["It is kind.", "done"], "--mcp-config", json.dumps(server)) as (talk, requests):
        commands = [command["name"] for command in talk.ask("initialize")["response"]["commands"]]
        hint = [
            command["argumentHint"]
            for command in talk.ask("initialize")["response"]["commands"]
            if "re_view" in command["name"]
        ]
        (first,) = talk.ask("mcp_status")["response"]["mcpServers"]
        talk.say("/mcp__all__re_view a.py")
        talk.hear_results(1)
        talk.ask("mcp_toggle", serverName="all", enabled=False)
        (off,) = talk.ask("mcp_status")["response"]["mcpServers"]
        talk.say("Go on.")
        talk.hear_results(2)
        talk.ask("mcp_toggle", serverName="all", enabled=True)
        talk.ask("mcp_reconnect", serverName="all")
        (on,) = talk.ask("mcp_status")["response"]["mcpServers"]
        unknown = [talk.ask("mcp_reconnect", serverName="any"), talk.ask("mcp_toggle", serverName="any", enabled=True)]
        wrong = talk.ask("mcp_toggle", serverName="all", enabled=1)
        code, _ = talk.close()

    assert "mcp__all__talk" in commands
    assert hint == ["<path> [style]"]
    assert (first["status"], first["serverInfo"]) == ("connected", {"name": "everything", "version": "1.2.3"})
    assert {"name": "echo"} in first["tools"]
    assert (off["status"], off["tools"], on["status"] in {"pending", "connected"}) == ("disabled", [], True)
    assert texts_of(requests[0]) == ["Review a.py, and be kind."]
    assert "mcp__all__echo" in {tool["name"] for tool in requests[0].body["tools"]}
    assert not any(tool["name"].startswith("mcp__") for tool in requests[1].body["tools"])
    assert all("unknown MCP server 'any'; expected one of: all" in entry["error"] for entry in unknown)
    assert "needs enabled" in wrong["error"]
    assert code == 0


def test_modes_are_set_and_tasks_are_stopped(place: Place) -> None:
    """A task that the program stops is `stopped` on the stream, and main hears of it."""

    def script(request: ReceivedRequest) -> ReplyLike:
        if request.body["messages"][0]["content"][0]["text"] == "child":
            return StreamReply(ending="stall", events=0)
        if any("<task-notification>" in text for text in texts_of(request)):
            return "It was stopped."
        if texts_of(request):
            call = {"description": "d", "prompt": "child", "run_in_background": True}
            return WrittenAnswer([Call("Agent", call, id="toolu_agent")])
        return "It runs."

    with talking(place, script) as (talk, _):
        mode = talk.ask("set_permission_mode", mode="plan")
        wrong = talk.ask("set_permission_mode", mode="wild")
        talk.ask("set_permission_mode", mode="default")
        talk.say("Go.")
        started = talk.hear(lambda one: one.get("subtype") == "task_started")
        talk.hear_results(1)
        stopped = talk.ask("stop_task", task_id=started["task_id"])
        second = talk.hear_results(2)[1]
        again = talk.ask("stop_task", task_id=started["task_id"])
        unknown = talk.ask("stop_task", task_id="a0")
        code, _ = talk.close()

    assert mode["response"] == {"mode": "plan"}
    assert (wrong["subtype"], stopped["subtype"], code) == ("error", "success", 0)
    (ended,) = [line for line in talk.heard if line.get("subtype") == "task_notification"]
    assert ended["status"] == "stopped"
    assert (second["result"], second["origin"]) == ("It was stopped.", {"kind": "task-notification"})
    assert again["error"] == f"Task {started['task_id']} is not running (status: killed)"
    assert unknown["error"] == "No task found with ID: a0"


def test_files_are_set_back_to_a_message_that_a_program_names(place: Place) -> None:
    """By the uuid that it gave, or that the repetition has; a dry run says what would be; bad requests are one line."""
    settings = json.dumps({"fileCheckpointingEnabled": True, "permissions": {"allow": ["Write"]}})
    calls = [
        WrittenAnswer([Call("Write", {"file_path": f"{n}.txt", "content": "1\n2\n"}, id=f"toolu_{n}")]) for n in "xy"
    ]
    script: list[ReplyLike] = [calls[0], "One.", calls[1], "Two."]
    with talking(place, script, "--settings", settings, "--replay-user-messages") as (talk, _):
        talk.say("First.", "m1")
        talk.hear_results(1)
        talk.say("Second.")
        talk.hear_results(2)
        second = [line["uuid"] for line in talk.heard if line.get("isReplay")][1]
        tried = talk.ask("rewind_files", user_message_id="m1", dry_run=True)
        there = [name for name in ("x.txt", "y.txt") if (place.folder / name).exists()]
        done = talk.ask("rewind_files", user_message_id=second)
        left = [name for name in ("x.txt", "y.txt") if (place.folder / name).exists()]
        unknown = [talk.ask("rewind_files", user_message_id="m9", dry_run=dry) for dry in (True, False)]
        wrong = [talk.ask("rewind_files"), talk.ask("rewind_files", user_message_id="m1", dry_run="yes")]
        code, _ = talk.close()

    assert code == 0
    both = [str(place.folder / name) for name in ("x.txt", "y.txt")]
    assert tried["response"] == {"canRewind": True, "filesChanged": both, "insertions": 0, "deletions": 4}
    assert (there, left) == (["x.txt", "y.txt"], ["x.txt"])
    assert done["response"] == {"canRewind": True, "filesChanged": both[1:], "insertions": 0, "deletions": 2}
    why = "No file checkpoint found for message 'm9'; give the id of a message of the user's to the main agent"
    assert unknown[0]["response"] == {"canRewind": False, "error": why}
    assert unknown[1]["error"] == why
    assert {entry["error"].partition(",")[0] for entry in wrong} == {"rewind_files needs user_message_id"}


def test_without_the_setting_nothing_can_be_set_back(place: Place) -> None:
    with talking(place, ["One."]) as (talk, _):
        talk.say("First.", "m1")
        talk.hear_results(1)
        refused = talk.ask("rewind_files", user_message_id="m1")
        talk.close()

    assert refused["error"].startswith("File rewinding is not enabled: nothing was kept; set fileCheckpointingEnabled")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--input-format", "stream-json"),
        ("--permission-prompt-tool", "stdio"),
        ("--replay-user-messages",),
        ("--replay-user-messages", "--output-format", "stream-json"),
        ("--permission-prompt-tool", "mcp__x", "--input-format", "stream-json", "--output-format", "stream-json"),
    ],
)
def test_flags_that_do_not_go_together_are_refused(place: Place, arguments: tuple[str, ...]) -> None:
    done, _ = place.run([], "Go.", *arguments)

    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1
