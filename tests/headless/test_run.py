"""`greenroom run` as a whole, against a Messages server on loopback; where it matters, as a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence

import pytest
import trio

from greenroom.agents import CONTINUE
from greenroom.models import Call, Say, WrittenAnswer
from greenroom.testing import ErrorReply, ReceivedRequest, StreamReply
from tests.cli.place import Asked, Done, Place, end_of, texts_of
from tests.cli.served import served
from tests.mcp.real import AUTHORIZING, EVERYTHING, on_port, wait_for_port
from tests.mcp.warm import warm_command

FORMATS = ("text", "json", "stream-json")
SILENCE = StreamReply(ending="stall", events=0)


def read(path: str, call_id: str = "toolu_a") -> WrittenAnswer:
    return WrittenAnswer([Say("Let me look."), Call("Read", {"file_path": path}, id=call_id)])


def write(path: str, call_id: str = "toolu_w") -> WrittenAnswer:
    return WrittenAnswer([Call("Write", {"file_path": path, "content": "new\n"}, id=call_id)])


# --- 13A, 13B: formats --------------------------------------------------------------------------------------------------


def test_text_is_the_answer_alone_and_stdin_goes_behind_the_prompt(place: Place) -> None:
    """Through real pipes."""
    with (
        served(["It is 42."]) as server,
        place.started(server.url, "What is it?", stdin=subprocess.PIPE) as process,
    ):
        done = end_of(process, "from a pipe\n")

    assert done == Done(0, "It is 42.\n", "")
    assert texts_of(server.requests[0]) == ["What is it?\nfrom a pipe"]


def test_json_is_exactly_one_result_object(place: Place) -> None:
    """The prompt is standard input alone. Behaviours (13), line 1."""
    done, requests = place.run([read("a.txt"), "It is 42."], "--output-format", "json", stdin="What is it?")

    assert texts_of(requests[0]) == ["What is it?"]
    (result,) = done.lines
    assert done.code == 0
    assert {key: result[key] for key in ("type", "subtype", "is_error", "result", "num_turns", "stop_reason")} == {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": "It is 42.",
        "num_turns": 2,
        "stop_reason": "end_turn",
    }
    assert result["terminal_reason"] == "completed"
    assert result["permission_denials"] == []
    assert result["usage"]["output_tokens"] == 10
    (used,) = result["modelUsage"].values()
    assert (used["inputTokens"], used["outputTokens"]) == (20, 10)
    assert result["total_cost_usd"] == pytest.approx(used["costUSD"])
    assert result["total_cost_usd"] > 0
    assert 0 <= result["duration_api_ms"] <= result["duration_ms"]
    assert result["session_id"] == place.transcript()[0]["sessionId"]
    assert result["uuid"]


def test_a_stream_begins_with_init_and_ends_with_the_result(place: Place) -> None:
    """Every line has an id and its session; messages have the ids of their transcript lines.

    Behaviours (13), line 2.
    """
    done, _ = place.run([read("a.txt"), "It is 42."], "What is it?", "--output-format", "stream-json")

    init, asked, answered, said, result = done.lines
    assert [(line["type"], line.get("subtype")) for line in (init, result)] == [
        ("system", "init"),
        ("result", "success"),
    ]
    assert init["cwd"] == str(place.folder)
    assert init["model"] == "claude-sonnet-5"
    assert init["permissionMode"] == "default"
    assert init["apiKeySource"] == "ANTHROPIC_API_KEY"
    assert {"Read", "Write", "Edit", "Bash", "Glob", "Grep"} <= set(init["tools"])
    assert "AskUserQuestion" not in init["tools"]
    assert "Explore" in init["agents"]
    assert asked["message"]["content"] == [
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "toolu_a", "name": "Read", "input": {"file_path": "a.txt"}},
    ]
    assert (asked["message"]["model"], asked["message"]["stop_reason"]) == ("claude-loopback", "tool_use")
    (block,) = answered["message"]["content"]
    assert (block["type"], block["tool_use_id"]) == ("tool_result", "toolu_a")
    assert "the answer is 42" in block["content"]
    assert said["message"]["content"] == [{"type": "text", "text": "It is 42."}]
    assert [entry["parent_tool_use_id"] for entry in (asked, answered, said)] == [None, None, None]
    assert len({line["uuid"] for line in done.lines}) == len(done.lines)
    assert {line["session_id"] for line in done.lines} == {init["session_id"]}
    assert [entry["uuid"] for entry in (asked, answered, said)] == [line["uuid"] for line in place.transcript()[1:]]


def test_max_turns_ends_with_an_error_of_its_own(place: Place) -> None:
    """The check of 13: `--max-turns 1` on a task of two rounds. Behaviours (13), line 3."""
    done, _ = place.run([read("a.txt")], "What is it?", "--max-turns", "1", "--output-format", "json")

    assert done.code == 1
    assert (done.result["subtype"], done.result["is_error"], done.result["num_turns"]) == ("error_max_turns", True, 1)
    assert done.result["terminal_reason"] == "max_turns"
    assert done.result["errors"] == ["Reached maximum number of turns (1)"]
    assert "result" not in done.result


@pytest.mark.parametrize("output_format", FORMATS)
def test_an_error_of_the_provider_is_told_in_every_format(output_format: str, place: Place) -> None:
    refusal = ErrorReply(status=401, type="authentication_error", message="invalid x-api-key")
    done, _ = place.run([refusal], "Go.", "--output-format", output_format)

    assert done.code == 1
    if output_format == "text":
        assert done.out == ""
        assert "invalid x-api-key" in done.err
        return
    assert done.err == ""
    assert (done.result["subtype"], done.result["terminal_reason"]) == ("error_during_execution", "api_error")
    assert done.result["api_error_status"] == 401
    assert "invalid x-api-key" in done.result["errors"][0]
    if output_format == "stream-json":
        told = done.lines[-2]
        assert (told["type"], told["error"]) == ("assistant", "authentication_failed")
        assert "invalid x-api-key" in told["message"]["content"][0]["text"]


def test_a_budget_in_dollars_is_kept_before_anything_is_sent(place: Place) -> None:
    done, _ = place.run([], "Go.", "--max-budget-usd", "0.001", "--output-format", "json")

    assert (done.code, done.result["subtype"]) == (1, "error_max_budget_usd")
    assert done.result["terminal_reason"] == "budget_exhausted"
    assert done.result["total_cost_usd"] == 0


# --- 13A: permissions ---------------------------------------------------------------------------------------------------


def test_a_call_that_would_ask_is_denied_listed_and_the_run_goes_on(place: Place) -> None:
    """Behaviours (13), line 4."""
    done, _ = place.run([write("new.txt"), "I may not."], "Write it.", "--output-format", "json")

    assert (done.code, done.result["subtype"], done.result["result"]) == (0, "success", "I may not.")
    assert done.result["permission_denials"] == [
        {"tool_name": "Write", "tool_use_id": "toolu_w", "tool_input": {"file_path": "new.txt", "content": "new\n"}}
    ]
    assert not (place.folder / "new.txt").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--allowed-tools", "Read,Write"),
        ("--allowedTools", "Bash(git log *) Write"),
        ("--permission-mode", "acceptEdits"),
        ("--settings", '{"permissions": {"allow": ["Write"]}}'),
    ],
    ids=lambda arguments: arguments[0],
)
def test_what_the_command_line_allows_is_done(arguments: Sequence[str], place: Place) -> None:
    done, _ = place.run([write("new.txt"), "Done."], "Write it.", *arguments)

    assert done == Done(0, "Done.\n", "")
    assert (place.folder / "new.txt").read_text(encoding="utf-8") == "new\n"


def test_a_tool_that_is_disallowed_is_not_offered(place: Place) -> None:
    done, (request,) = place.run(
        ["Fine."], "Go.", "--disallowed-tools", "Bash,Write(secret/*)", "--allowed-tools", "Raed"
    )

    names = {tool["name"] for tool in request.body["tools"]}
    assert "Bash" not in names
    assert "Write" in names
    assert done.err == "greenroom: note: unknown tool 'Raed'; the rule about it has no effect\n"


def test_rules_add_up_and_the_first_model_wins(place: Place) -> None:
    """The command line before the user's file; a project that is not trusted only takes away."""
    (place.root / "home" / ".greenroom").mkdir()
    user = {"model": "haiku", "permissions": {"deny": ["Bash"]}}
    (place.root / "home" / ".greenroom" / "settings.json").write_text(json.dumps(user), encoding="utf-8")
    (place.folder / ".greenroom").mkdir()
    project = {"model": "opus", "permissions": {"deny": ["Glob"], "allow": ["Write"]}}
    (place.folder / ".greenroom" / "settings.json").write_text(json.dumps(project), encoding="utf-8")
    asked: list[tuple[str, bool, bool]] = []
    for more in (
        (),
        ("--settings", '{"model": "claude-fable-5"}'),
        ("--model", "sonnet", "--setting-sources", "project"),
        ("--trust",),
    ):
        done, (request,) = place.run(["Fine."], "Go.", *more)
        assert done.code == 0
        names = {tool["name"] for tool in request.body["tools"]}
        asked.append((request.body["model"], "Bash" in names, "Glob" in names))

    assert [("haiku" in asked[0][0], *asked[0][1:]), asked[1], ("sonnet" in asked[2][0], *asked[2][1:])] == [
        (True, False, False),
        ("claude-fable-5", False, False),
        (True, True, False),
    ]
    assert "opus" in asked[3][0]


def test_the_agent_is_the_one_that_was_named(place: Place) -> None:
    agents = {
        "critic": {"description": "Finds faults.", "prompt": "You criticize.", "tools": ["Read"], "model": "opus"}
    }
    (place.root / "agents.json").write_text(json.dumps(agents), encoding="utf-8")
    place.monkeypatch.setenv("GREENROOM_DISABLE_AUTO_MEMORY", "1")
    done, (request,) = place.run(
        ["Bad."],
        "Go.",
        *("--agent", "Critic", "--agents", str(place.root / "agents.json")),
        *("--append-system-prompt", "Be kind."),
    )

    system = "".join(block["text"] for block in request.body["system"])
    assert done.code == 0
    assert system.startswith("You criticize.\n\nBe kind.")
    assert [tool["name"] for tool in request.body["tools"]] == ["Read"]
    assert "opus" in request.body["model"]


def test_the_agents_own_words_can_be_others_and_the_rest_is_told_all_the_same(place: Place) -> None:
    words = ("--system-prompt", "You are a poet.", "--append-system-prompt", "Be kind.")
    done, (request,) = place.run(["A rose."], "Go.", *words)
    plain, (other,) = place.run(["A rose."], "Go.")

    system, usual = ("".join(block["text"] for block in one.body["system"]) for one in (request, other))
    assert (done.code, plain.code) == (0, 0)
    assert system.startswith("You are a poet.\n\nBe kind.\n\n")
    assert "You are a careful engineer." not in system
    assert system.partition("\n\nBe kind.\n\n")[2] == usual.partition("\n\n")[2]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--system-prompt", " "), "--system-prompt is blank"),
        (("--system-prompt", "x", "--coordinator"), "leave out --system-prompt,"),
    ],
)
def test_words_that_cannot_be_used_are_refused(place: Place, arguments: tuple[str, ...], why: str) -> None:
    done, _ = place.run([], "Go.", *arguments)

    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert why in done.err


UUID = "123e4567-e89b-42d3-a456-426614174000"


def test_the_id_of_a_run_can_be_chosen_and_the_run_is_found_by_it(place: Place) -> None:
    done, _ = place.run(["Hello."], "Say hello.", "--session-id", UUID, "--output-format", "json")
    again, (request,) = place.run(["And?"], "Go on.", "--resume", UUID, "--output-format", "json")
    last, _ = place.run(["Yes."], "Go on.", "--resume", "last", "--output-format", "json")

    assert [done.code, again.code, last.code] == [0, 0, 0]
    assert [one.result["session_id"] for one in (done, again, last)] == [UUID] * 3
    assert texts_of(request) == ["Go on."]
    assert [path.name for path in (place.root / "runs").iterdir() if path.is_dir()] == [UUID]


def test_a_fork_can_have_a_chosen_id(place: Place) -> None:
    place.run(["Hello."], "Say hello.")
    done, _ = place.run(
        *(["And?"], "Go on.", "--resume", "last", "--fork-session"),
        *("--session-id", UUID, "--output-format", "json"),
    )

    assert (done.code, done.result["session_id"]) == (0, UUID)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--session-id", "mine"), "--session-id must be a lowercase UUID, such as"),
        (("--session-id", UUID.upper()), "must be a lowercase UUID"),
        (("--session-id", UUID, "--resume", "last"), "leave out --resume, or add --fork-session"),
        (("--session-id", UUID), f"the session id {UUID} is in use"),
    ],
)
def test_an_id_that_cannot_be_had_is_refused(place: Place, arguments: tuple[str, ...], why: str) -> None:
    place.run(["Hello."], "Say hello.", "--session-id", UUID)
    done, _ = place.run([], "Go.", *arguments)

    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert why in done.err


def test_a_resumed_run_keeps_its_agent(place: Place) -> None:
    """CL-32; Behaviours (2), line 7. Mechanism: `read_beginning` reads the journal of the run."""
    critic = place.folder / ".claude" / "agents" / "critic.md"
    critic.parent.mkdir(parents=True)
    critic.write_text("---\nname: critic\ndescription: Finds faults.\ntools: Read\nmodel: opus\n---\nYou criticize.\n")
    place.run(["One."], "Go.", "--agent", "critic")

    kept, (request,) = place.run(["Two."], "And?", "--resume", "last")
    critic.unlink()
    gone, (plain,) = place.run(["Three."], "And?", "--resume", "last")

    first, second = ("".join(block["text"] for block in one.body["system"]) for one in (request, plain))
    assert (kept.code, gone.code) == (0, 0)
    assert first.startswith("You criticize.")
    assert [tool["name"] for tool in request.body["tools"]] == ["Read"]
    assert "opus" in request.body["model"]
    assert "criticize" not in second
    assert len(plain.body["tools"]) > 1
    assert kept.err == ""
    assert "resuming with the default agent: no agent is called 'critic'" in gone.err


# --- 13A: signals and resume ----------------------------------------------------------------------------------------------


def test_a_request_to_terminate_leaves_the_turn_unfinished_and_resume_goes_on(place: Place) -> None:
    """The check of 13: SIGTERM exits 143, and `--resume` continues the turn. RC-18, RC-56; Behaviours (13), line 7."""
    asked = Asked(read("a.txt"), SILENCE)
    with (
        served(asked) as server,
        place.started(server.url, "What is it?", "--output-format", "stream-json") as process,
    ):
        asked.wait(2)
        process.send_signal(signal.SIGTERM)
        done = end_of(process)
    session = done.lines[0]["session_id"]
    assert done.code == 143
    assert [line["type"] for line in done.lines] == ["system", "assistant", "user"]
    assert f"run --resume {session}" in done.err
    assert json.loads(place.journal()[-1])["state"] == "killed"

    done, requests = place.run(["It is 42."], "--resume", session, "--output-format", "stream-json")

    assert texts_of(requests[0]) == [CONTINUE]
    assert (done.code, done.result["result"]) == (0, "It is 42.")
    assert [line["type"] for line in done.lines] == ["system", "user", "assistant", "result"]
    assert done.lines[1]["isSynthetic"]
    assert done.result["session_id"] == session


def test_an_interrupt_ends_the_turn_and_says_so(place: Place) -> None:
    """RC-18."""
    asked = Asked(SILENCE)
    with served(asked) as server, place.started(server.url, "What is it?", "--output-format", "json") as process:
        asked.wait(1)
        process.send_signal(signal.SIGINT)
        done = end_of(process)
    assert done.code == 130
    assert (done.result["subtype"], done.result["terminal_reason"]) == ("error_during_execution", "aborted_streaming")
    assert done.result["errors"] == ["[Request interrupted by user]"]

    done, requests = place.run(["Yes?"], "Never mind.", "--resume", "last")

    assert done == Done(0, "Yes?\n", "")
    assert texts_of(requests[0]) == ["What is it?", "Never mind."]


def test_an_interrupt_reaches_a_tool(place: Place) -> None:
    """The tool itself sends the signal, so it is there when the signal comes."""
    pids: list[int] = []

    def answer(_: ReceivedRequest) -> WrittenAnswer:
        return WrittenAnswer([Call("Bash", {"command": f"kill -INT {pids[0]}; sleep 600"}, id="toolu_b")])

    with (
        served(answer) as server,
        place.started(server.url, "Go.", "--output-format", "json", "--allowed-tools", "Bash") as process,
    ):
        pids.append(process.pid)
        done = end_of(process)

    assert done.code == 130
    assert done.result["terminal_reason"] == "aborted_tools"


def test_a_process_that_was_killed_in_a_tool_is_resumed(place: Place) -> None:
    """The repaired end of the conversation is printed behind the first line. Behaviours (10), line 4."""
    pids: list[int] = []

    def answer(_: ReceivedRequest) -> WrittenAnswer:
        return WrittenAnswer([Call("Bash", {"command": f"kill -KILL {pids[0]}; sleep 600"}, id="toolu_b")])

    with served(answer) as server, place.started(server.url, "Go.", "--allowed-tools", "Bash") as process:
        pids.append(process.pid)
        process.wait(timeout=50)

    done, requests = place.run(["Done."], "--resume", "last", "--output-format", "stream-json")

    assert done.code == 0
    assert [line["type"] for line in done.lines] == ["system", "user", "user", "assistant", "result"]
    (block,) = done.lines[1]["message"]["content"]
    assert (block["tool_use_id"], block["is_error"]) == ("toolu_b", True)
    assert texts_of(requests[0]) == [CONTINUE]


def cut(place: Place) -> str:
    """Return the id of a run whose turn was cut by a request to terminate."""
    asked = Asked(SILENCE)
    with served(asked) as server, place.started(server.url, "What is it?", "--output-format", "stream-json") as process:
        asked.wait(1)
        process.send_signal(signal.SIGTERM)
        session: str = end_of(process).lines[0]["session_id"]
    return session


def test_what_is_said_to_go_on_may_be_another_text(place: Place) -> None:
    session = cut(place)
    with place.monkeypatch.context() as patch:
        patch.setenv("GREENROOM_RESUME_PROMPT", "  Where were we? ")
        done, requests = place.run(["It is 42."], "--resume", session, "--output-format", "stream-json")

    assert (done.code, done.result["result"]) == (0, "It is 42.")
    assert texts_of(requests[0])[-1] == "Where were we?"
    assert CONTINUE not in texts_of(requests[0])
    assert done.lines[1]["isSynthetic"]


def test_a_run_that_is_not_there_or_has_come_to_its_end_is_not_resumed(place: Place) -> None:
    """Behaviours (10), line 6."""
    missing, _ = place.run([], "--resume", "20200101-000000-abcdef")
    place.run(["Done."], "Go.")
    ended, _ = place.run([], "--resume", "last")

    assert missing == Done(2, "", "greenroom: No conversation found with session ID: 20200101-000000-abcdef\n")
    assert (ended.code, ended.out) == (2, "")
    assert "was completed; give a prompt to continue with" in ended.err


# --- what comes after the answer ------------------------------------------------------------------------------------------


def test_a_task_that_ends_after_the_answer_leads_to_a_result_of_its_own(place: Place) -> None:
    """The check of 13, by a background shell. RC-36; Behaviours (13), line 5."""
    bash = WrittenAnswer([Call("Bash", {"command": "sleep 0.3", "run_in_background": True}, id="toolu_b")])
    done, requests = place.run(
        [bash, "It runs.", "It has ended."], "Go.", "--allowed-tools", "Bash", "--output-format", "stream-json"
    )
    assert "<task-notification>" in texts_of(requests[-1])[0]

    results = [line for line in done.lines if line["type"] == "result"]
    assert done.code == 0
    assert [(result["result"], result.get("origin"), result["num_turns"]) for result in results] == [
        ("It runs.", None, 2),
        ("It has ended.", {"kind": "task-notification"}, 1),
    ]
    assert done.lines[-1] == results[1]


@pytest.mark.parametrize("output_format", ["text", "json"])
def test_what_tasks_lead_to_never_mixes_with_the_answer(output_format: str, place: Place) -> None:
    bash = WrittenAnswer([Call("Bash", {"command": "sleep 0.3", "run_in_background": True}, id="toolu_b")])
    done, _ = place.run(
        [bash, "It runs.", "It has ended."], "Go.", "--allowed-tools", "Bash", "--output-format", output_format
    )

    assert done.code == 0
    assert (done.out if output_format == "text" else done.result["result"] + "\n") == "It runs.\n"


def test_a_reader_that_has_gone_ends_the_run_without_a_trace(place: Place) -> None:
    with (
        served(lambda _: read("a.txt")) as server,
        place.started_afresh(server.url, "Go.", "--output-format", "stream-json", "--max-turns", "2") as process,
    ):
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        _, err = process.communicate(timeout=50)

    assert (process.returncode, err) == (1, "")


# --- servers and recordings ------------------------------------------------------------------------------------------


def test_servers_of_the_command_line_are_there_from_the_first_line_on(place: Place) -> None:
    command, *arguments = warm_command(EVERYTHING)
    servers = {"mcpServers": {"all": {"command": command, "args": arguments}}}
    done, _ = place.run(
        [Call("mcp__all__echo", {"text": "hello"}), "done"],
        *("Go.", "--output-format", "stream-json", "--mcp-config", json.dumps(servers)),
        *("--allowed-tools", "mcp__all__echo"),
    )
    first = done.lines[0]
    assert first["mcp_servers"] == [{"name": "all", "status": "connected"}]
    assert "mcp__all__echo" in first["tools"]
    assert done.result["permission_denials"] == []
    assert done.code == 0


def test_servers_that_cannot_be_used_are_listed_and_only_those_given_are_there(place: Place) -> None:
    server = {"command": sys.executable, "args": [str(EVERYTHING)]}
    (place.folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"file": server}}))
    (place.folder / "more.json").write_text(json.dumps({"mcpServers": {"all": server}}))
    broken = {"old": {"url": "http://127.0.0.1/mcp"}, "odd": {"type": "ftp", "url": "ftp://127.0.0.1"}}
    done, _ = place.run(
        ["done"],
        *("Go.", "--output-format", "stream-json", "--trust", "--strict-mcp-config"),
        *("--mcp-config", json.dumps(broken), "--mcp-config", str(place.folder / "more.json")),
    )
    first = done.lines[0]
    assert first["mcp_servers"] == [{"name": "all", "status": "connected"}]
    assert [(error["name"], error["type"]) for error in first["mcp_server_errors"]] == [("old", ""), ("odd", "ftp")]
    assert 'add "type": "http"' in first["mcp_server_errors"][0]["message"]
    assert {"mcp__all__re_view", "mcp__all__talk"} <= set(first["slash_commands"])
    assert done.code == 0


def test_a_server_that_wants_a_login_is_told_with_what_does_that_and_holds_nothing_up(place: Place) -> None:
    with on_port(AUTHORIZING, str(place.root)) as port:
        trio.run(wait_for_port, port)
        servers = {"mcpServers": {"far": {"type": "http", "url": f"http://127.0.0.1:{port}/mcp"}}}
        done, _ = place.run(["done"], *("Go.", "--mcp-config", json.dumps(servers)))

    assert (done.code, done.out) == (0, "done\n")
    (line,) = done.err.splitlines()
    assert line.startswith("greenroom: note: the MCP server 'far' is not connected: it requires a login: ")
    assert "it answered HTTP 401; run `greenroom mcp login far`" in line


@pytest.mark.parametrize("given", ['{"mcpServers": 3}', '{"all": "x"}'])
def test_servers_that_are_none_are_refused(place: Place, given: str) -> None:
    done, _ = place.run([], "Go.", "--mcp-config", given)
    assert done.code == 2
    assert "--mcp-config" in done.err


def test_a_recorded_run_is_run_again_without_a_model(place: Place) -> None:
    first, _ = place.run([Call("Glob", {"pattern": "*"}), "Nothing here."], "Look.", "--record")
    (recorded,) = (place.root / "runs").glob("2*")
    again, requests = place.run([], "Look.", "--recorded", "last")
    other, _ = place.run([], "Look again.", "--recorded", recorded.name)
    assert (first.code, again.code) == (0, 0)
    assert again.out == first.out == "Nothing here.\n"
    assert requests == []
    assert (other.code, other.out) == (2, "")
    assert "differs from the recording" in other.err
    assert other.err.count("\n") == 1, "it is said once"


def test_a_recorded_run_may_show_its_answers_while_they_come(place: Place) -> None:
    flags = ("--record", "--include-partial-messages", "--output-format", "stream-json")

    done, _ = place.run([Call("Glob", {"pattern": "*"}), "Nothing here."], "Look.", *flags)

    assert (done.code, done.lines[-1]["result"]) == (0, "Nothing here.")


def test_a_run_that_was_not_recorded_cannot_be_run_again(place: Place) -> None:
    place.run(["Hello."], "Say hello.")
    done, _ = place.run([], "Say hello.", "--recorded", "last")
    assert done.code == 2
    assert "has no recording; record one with --record" in done.err


# --- going on as before ----------------------------------------------------------------------------------------------


def test_a_run_goes_on_with_its_agent_model_and_mode(place: Place) -> None:
    agents = json.dumps({"critic": {"description": "Finds faults.", "prompt": "You criticize."}})
    (place.folder / ".greenroom").mkdir(exist_ok=True)
    definition = place.folder / ".greenroom" / "agents" / "critic.md"
    definition.parent.mkdir()
    definition.write_text("---\nname: critic\ndescription: Finds faults.\n---\nYou criticize.\n", encoding="utf-8")
    first, _ = place.run(["One."], "Go.", *("--agent", "critic", "--model", "opus", "--permission-mode", "acceptEdits"))
    again, (request,) = place.run(["Two."], "On.", "--resume", "last", "--output-format", "stream-json")
    assert (first.code, again.code) == (0, 0)
    assert again.lines[0]["permissionMode"] == "acceptEdits"
    assert "opus" in request.body["model"]
    assert "You criticize." in json.dumps(request.body["system"])

    other, (request,) = place.run(["Three."], "On.", "--resume", "last", "--model", "haiku", "--agents", agents)
    assert other.code == 0
    assert "haiku" in request.body["model"]


@pytest.mark.parametrize("mode", ["plan", "bypassPermissions"])
def test_some_modes_have_to_be_said_again(place: Place, mode: str) -> None:
    place.run(["One."], "Go.", "--permission-mode", mode)
    again, _ = place.run(["Two."], "On.", "--resume", "last", "--output-format", "stream-json")
    assert again.lines[0]["permissionMode"] == "default"


def test_a_run_is_forked(place: Place) -> None:
    """The other run stays as it is."""
    place.run(["One."], "Go.")
    (first,) = (place.root / "runs").glob("2*")
    forked, (request,) = place.run(["Two."], "On.", "--resume", first.name, "--fork-session", "--output-format", "json")
    assert forked.result["session_id"] != first.name
    assert "One." in json.dumps(request.body["messages"])
    refused, _ = place.run([], "On.", "--fork-session")
    assert refused.code == 2
    assert "--fork-session needs --resume" in refused.err


def test_a_run_can_leave_nothing_behind(place: Place) -> None:
    """Behaviours (10), line 6. Mechanism: its folder is removed when it has ended."""
    done, _ = place.run(["Hello."], "Say hello.", "--no-session-persistence", "--output-format", "json")
    again, _ = place.run([], "Again.", "--resume", done.result["session_id"])
    refused, _ = place.run([], "Again.", "--no-session-persistence", "--record")
    assert done.result["result"] == "Hello."
    assert not list((place.root / "runs").glob("2*"))
    assert (again.code, refused.code) == (2, 2)
    assert f"No conversation found with session ID: {done.result['session_id']}" in again.err


def test_a_variable_keeps_runs_from_leaving_anything_behind(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GREENROOM_SKIP_PROMPT_HISTORY", "1")

    done, _ = place.run(["Hello."], "Say hello.")
    refused, _ = place.run([], "Again.", "--record")

    assert (done.code, done.out) == (0, "Hello.\n")
    assert not list((place.root / "runs").glob("2*"))
    assert refused.code == 2
    assert "GREENROOM_SKIP_PROMPT_HISTORY is on, which keeps nothing" in refused.err
