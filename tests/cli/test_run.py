"""`greenroom run` as a whole: a process of its own that talks to a Messages server on loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from greenroom.agents import CONTINUE
from greenroom.models import Answer, Call, Say
from greenroom.store import read_transcript
from greenroom.testing import ErrorReply, ReceivedRequest, StreamReply, open_messages_server

FORMATS = ("text", "json", "stream-json")


@attrs.frozen
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def result(self) -> dict[str, Any]:
        (line,) = [one for one in self.lines if one["type"] == "result"]
        return line


@attrs.frozen
class Place:
    """A project and a home of their own."""

    root: Path

    @property
    def folder(self) -> Path:
        return self.root / "project"

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    def environ(self, url: str, more: Mapping[str, str] | None = None) -> dict[str, str]:
        return {
            **os.environ,
            "HOME": str(self.root / "home"),
            "GREENROOM_RUNS": str(self.runs),
            "ANTHROPIC_API_KEY": "sk-ant-test",
            "ANTHROPIC_BASE_URL": url,
            **(more or {}),
        }

    async def run(self, url: str, *arguments: str, stdin: str = "", **environ: str) -> Done:
        with trio.fail_after(50):
            ended = await trio.run_process(
                command(*arguments),
                cwd=self.folder,
                env=self.environ(url, environ),
                stdin=stdin.encode(),
                capture_stdout=True,
                capture_stderr=True,
                check=False,
            )
        return Done(ended.returncode, ended.stdout.decode(), ended.stderr.decode())

    @asynccontextmanager
    async def started(self, url: str, *arguments: str) -> AsyncIterator[subprocess.Popen[str]]:
        pipe = subprocess.PIPE
        environ = self.environ(url)
        with subprocess.Popen(  # noqa: ASYNC220 - it returns at once
            command(*arguments),
            cwd=self.folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def transcript(self) -> list[dict[str, Any]]:
        (path,) = self.runs.glob("2*/transcripts/main.jsonl")
        return list(read_transcript(path))


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "greenroom", "run", *arguments]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    made.folder.mkdir()
    (tmp_path / "home").mkdir()
    (made.folder / "a.txt").write_text("the answer is 42\n", encoding="utf-8")
    return made


def read(path: str, call_id: str = "toolu_a") -> Answer:
    return Answer([Say("Let me look."), Call("Read", {"file_path": path}, id=call_id)])


def write(path: str, call_id: str = "toolu_w") -> Answer:
    return Answer([Call("Write", {"file_path": path, "content": "new\n"}, id=call_id)])


def texts_of(request: ReceivedRequest) -> list[str]:
    content = request.body["messages"][-1]["content"]
    return [block["text"] for block in content if block["type"] == "text"]


# --- 13A, 13B: formats --------------------------------------------------------------------------------------------------


async def test_13_2_text_is_the_answer_alone_and_stdin_goes_behind_the_prompt(place: Place) -> None:
    """13.1, 13.2."""
    async with open_messages_server(["It is 42."]) as server:
        done = await place.run(server.url, "What is it?", stdin="from a pipe\n")
        (request,) = server.requests

    assert done == Done(0, "It is 42.\n", "")
    assert texts_of(request) == ["What is it?\nfrom a pipe"]


async def test_13_2_json_is_exactly_one_result_object(place: Place) -> None:
    """13.2, 13.13, 13.15; the prompt is standard input alone (13.1)."""
    async with open_messages_server([read("a.txt"), "It is 42."]) as server:
        done = await place.run(server.url, "--output-format", "json", stdin="What is it?")
        assert texts_of(server.requests[0]) == ["What is it?"]

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


async def test_13_10_a_stream_begins_with_init_and_ends_with_the_result(place: Place) -> None:
    """13.10, 13.11, 13.13: every line has an id and its session; messages have the ids of their transcript lines."""
    async with open_messages_server([read("a.txt"), "It is 42."]) as server:
        done = await place.run(server.url, "What is it?", "--output-format", "stream-json")

    init, asked, answered, said, result = done.lines
    assert [(one["type"], one.get("subtype")) for one in (init, result)] == [("system", "init"), ("result", "success")]
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
    assert [one["parent_tool_use_id"] for one in (asked, answered, said)] == [None, None, None]
    assert len({one["uuid"] for one in done.lines}) == len(done.lines)
    assert {one["session_id"] for one in done.lines} == {init["session_id"]}
    assert [one["uuid"] for one in (asked, answered, said)] == [line["uuid"] for line in place.transcript()[1:]]


async def test_13_13_max_turns_ends_with_an_error_of_its_own(place: Place) -> None:
    """The check of 13: `--max-turns 1` on a task of two rounds."""
    async with open_messages_server([read("a.txt")]) as server:
        done = await place.run(server.url, "What is it?", "--max-turns", "1", "--output-format", "json")

    assert done.code == 1
    assert (done.result["subtype"], done.result["is_error"], done.result["num_turns"]) == ("error_max_turns", True, 1)
    assert done.result["terminal_reason"] == "max_turns"
    assert done.result["errors"] == ["Reached maximum number of turns (1)"]
    assert "result" not in done.result


@pytest.mark.parametrize("output_format", FORMATS)
async def test_13_18_an_error_of_the_provider_is_told_in_every_format(output_format: str, place: Place) -> None:
    refusal = ErrorReply(status=401, type="authentication_error", message="invalid x-api-key")
    async with open_messages_server([refusal]) as server:
        done = await place.run(server.url, "Go.", "--output-format", output_format)

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


async def test_13_13_a_budget_in_dollars_is_kept_before_anything_is_sent(place: Place) -> None:
    async with open_messages_server([]) as server:
        done = await place.run(server.url, "Go.", "--max-budget-usd", "0.001", "--output-format", "json")

    assert (done.code, done.result["subtype"]) == (1, "error_max_budget_usd")
    assert done.result["terminal_reason"] == "budget_exhausted"
    assert done.result["total_cost_usd"] == 0


# --- 13A: permissions ---------------------------------------------------------------------------------------------------


async def test_13_5_a_call_that_would_ask_is_denied_listed_and_the_run_goes_on(place: Place) -> None:
    async with open_messages_server([write("new.txt"), "I may not."]) as server:
        done = await place.run(server.url, "Write it.", "--output-format", "json")

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
async def test_13_4_what_the_command_line_allows_is_done(arguments: Sequence[str], place: Place) -> None:
    async with open_messages_server([write("new.txt"), "Done."]) as server:
        done = await place.run(server.url, "Write it.", *arguments)

    assert done == Done(0, "Done.\n", "")
    assert (place.folder / "new.txt").read_text(encoding="utf-8") == "new\n"


async def test_13_4_a_tool_that_is_disallowed_is_not_offered(place: Place) -> None:
    async with open_messages_server(["Fine."]) as server:
        done = await place.run(
            server.url, "Go.", "--disallowed-tools", "Bash,Write(secret/*)", "--allowed-tools", "Raed"
        )
        (request,) = server.requests

    names = {tool["name"] for tool in request.body["tools"]}
    assert "Bash" not in names
    assert "Write" in names
    assert done.err == "greenroom: note: there is no tool 'Raed' here; the rule about it has no effect\n"


async def test_13_40_rules_add_up_and_the_first_model_wins(place: Place) -> None:
    """The command line before the user's file; a project that is not trusted only takes away."""
    (place.root / "home" / ".greenroom").mkdir()
    user = {"model": "haiku", "permissions": {"deny": ["Bash"]}}
    (place.root / "home" / ".greenroom" / "settings.json").write_text(json.dumps(user), encoding="utf-8")
    (place.folder / ".greenroom").mkdir()
    project = {"model": "opus", "permissions": {"deny": ["Glob"], "allow": ["Write"]}}
    (place.folder / ".greenroom" / "settings.json").write_text(json.dumps(project), encoding="utf-8")
    asked: list[tuple[str, bool, bool]] = []
    async with open_messages_server(lambda _: "Fine.") as server:
        for more in (
            (),
            ("--settings", '{"model": "claude-fable-5"}'),
            ("--model", "sonnet", "--setting-sources", "project"),
            ("--trust",),
        ):
            assert (await place.run(server.url, "Go.", *more)).code == 0
            body = server.requests[-1].body
            names = {tool["name"] for tool in body["tools"]}
            asked.append((body["model"], "Bash" in names, "Glob" in names))

    assert [("haiku" in asked[0][0], *asked[0][1:]), asked[1], ("sonnet" in asked[2][0], *asked[2][1:])] == [
        (True, False, False),
        ("claude-fable-5", False, False),
        (True, True, False),
    ]
    assert "opus" in asked[3][0]


async def test_13_4_the_agent_is_the_one_that_was_named(place: Place) -> None:
    agents = {
        "critic": {"description": "Finds faults.", "prompt": "You criticize.", "tools": ["Read"], "model": "opus"}
    }
    (place.root / "agents.json").write_text(json.dumps(agents), encoding="utf-8")
    async with open_messages_server(["Bad."]) as server:
        done = await place.run(
            server.url,
            "Go.",
            *("--agent", "Critic", "--agents", str(place.root / "agents.json")),
            *("--append-system-prompt", "Be kind."),
            GREENROOM_DISABLE_AUTO_MEMORY="1",
        )
        (request,) = server.requests

    system = "".join(block["text"] for block in request.body["system"])
    assert done.code == 0
    assert system.startswith("You criticize.\n\nBe kind.")
    assert [tool["name"] for tool in request.body["tools"]] == ["Read"]
    assert "opus" in request.body["model"]


# --- 13A: signals and resume ----------------------------------------------------------------------------------------------


async def test_13_3_a_request_to_terminate_leaves_the_turn_unfinished_and_resume_goes_on(place: Place) -> None:
    """The check of 13: SIGTERM exits 143, and `--resume` continues the turn."""
    async with open_messages_server([read("a.txt"), StreamReply(gate=trio.Event()), "It is 42."]) as server:
        async with place.started(server.url, "What is it?", "--output-format", "stream-json") as process:
            with trio.fail_after(50):
                await server.wait_requests(2)
                process.send_signal(signal.SIGTERM)
                out, err = await trio.to_thread.run_sync(process.communicate)
        lines = [json.loads(line) for line in out.splitlines()]
        assert process.returncode == 143
        assert [one["type"] for one in lines] == ["system", "assistant", "user"]
        session = lines[0]["session_id"]
        assert f"run --resume {session}" in err

        done = await place.run(server.url, "--resume", session, "--output-format", "stream-json")
        assert texts_of(server.requests[-1]) == [CONTINUE]

    assert (done.code, done.result["result"]) == (0, "It is 42.")
    assert [one["type"] for one in done.lines] == ["system", "user", "assistant", "result"]
    assert done.lines[1]["isSynthetic"]
    assert done.result["session_id"] == session


async def test_13_3_an_interrupt_ends_the_turn_and_says_so(place: Place) -> None:
    async with open_messages_server([StreamReply(gate=trio.Event()), "Yes?"]) as server:
        async with place.started(server.url, "What is it?", "--output-format", "stream-json") as process:
            with trio.fail_after(50):
                await server.wait_requests(1)
                process.send_signal(signal.SIGINT)
                out, _ = await trio.to_thread.run_sync(process.communicate)
        result = json.loads(out.splitlines()[-1])
        assert process.returncode == 130
        assert (result["subtype"], result["terminal_reason"]) == ("error_during_execution", "aborted_streaming")
        assert result["errors"] == ["[Request interrupted by user]"]

        done = await place.run(server.url, "Never mind.", "--resume", "last")
        assert texts_of(server.requests[-1]) == ["What is it?", "Never mind."]

    assert done == Done(0, "Yes?\n", "")


async def test_13_3_an_interrupt_reaches_a_tool(place: Place) -> None:
    """The tool itself sends the signal, so it is there when the signal comes."""
    pids: list[int] = []

    def answer(_: ReceivedRequest) -> Answer:
        return Answer([Call("Bash", {"command": f"kill -INT {pids[0]}; sleep 600"}, id="toolu_b")])

    async with (
        open_messages_server(answer) as server,
        place.started(server.url, "Go.", "--output-format", "json", "--allowed-tools", "Bash") as process,
    ):
        pids.append(process.pid)
        with trio.fail_after(50):
            out, _ = await trio.to_thread.run_sync(process.communicate)

    assert process.returncode == 130
    assert json.loads(out)["terminal_reason"] == "aborted_tools"


async def test_10_20_a_run_that_is_not_there_or_has_come_to_its_end_is_not_gone_on_with(place: Place) -> None:
    async with open_messages_server(["Done."]) as server:
        missing = await place.run(server.url, "--resume", "20200101-000000-abcdef")
        await place.run(server.url, "Go.")
        ended = await place.run(server.url, "--resume", "last")

    assert missing == Done(2, "", "greenroom: No conversation found with session ID: 20200101-000000-abcdef\n")
    assert (ended.code, ended.out) == (2, "")
    assert "came to its end; give a prompt to go on with" in ended.err


# --- what comes after the answer ------------------------------------------------------------------------------------------


async def test_13_16_a_task_that_ends_after_the_answer_leads_to_a_result_of_its_own(place: Place) -> None:
    """The check of 13, by a background shell (6.70)."""
    bash = Answer([Call("Bash", {"command": "sleep 0.3", "run_in_background": True}, id="toolu_b")])
    async with open_messages_server([bash, "It runs.", "It has ended."]) as server:
        done = await place.run(server.url, "Go.", "--allowed-tools", "Bash", "--output-format", "stream-json")
        assert "<task-notification>" in texts_of(server.requests[-1])[0]

    results = [one for one in done.lines if one["type"] == "result"]
    assert done.code == 0
    assert [(one["result"], one.get("origin"), one["num_turns"]) for one in results] == [
        ("It runs.", None, 2),
        ("It has ended.", {"kind": "task-notification"}, 1),
    ]
    assert done.lines[-1] is not results[0]


@pytest.mark.parametrize("output_format", ["text", "json"])
async def test_13_2_what_tasks_lead_to_never_mixes_with_the_answer(output_format: str, place: Place) -> None:
    bash = Answer([Call("Bash", {"command": "sleep 0.3", "run_in_background": True}, id="toolu_b")])
    async with open_messages_server([bash, "It runs.", "It has ended."]) as server:
        done = await place.run(server.url, "Go.", "--allowed-tools", "Bash", "--output-format", output_format)

    assert done.code == 0
    assert (done.out if output_format == "text" else done.result["result"] + "\n") == "It runs.\n"


async def test_a_reader_that_has_gone_ends_the_run_without_a_trace(place: Place) -> None:
    async with (
        open_messages_server(lambda _: read("a.txt")) as server,
        place.started(server.url, "Go.", "--output-format", "stream-json", "--max-turns", "2") as process,
    ):
        assert process.stdout is not None
        process.stdout.close()
        with trio.fail_after(50):
            code = await trio.to_thread.run_sync(process.wait)
            assert process.stderr is not None
            err = await trio.to_thread.run_sync(process.stderr.read)

    assert (code, err) == (1, "")
