"""The command `greenroom host` in a process of its own."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
import trio

from greenroom.agents.subagents import AGENT_TOOLS
from greenroom.cli._app import main
from greenroom.models import Call, ModelRequest, ScriptedModel, WrittenAnswer
from greenroom.session import Session, open_session
from greenroom.testing import ReceivedRequest, StreamReply, open_messages_server
from tests.cli.forked import Forked
from tests.headless.agent_calls import said_first
from tests.session.crashes import tasks_of, told_in

FAR = {"far": {"description": "Works elsewhere.", "prompt": "You work.", "isolation": "remote"}}
REMOTE = Call("Agent", {"description": "Far away", "prompt": "Work!", "subagent_type": "far"})


async def started(folder: Path, url: str) -> Forked:
    """Start a host in a folder, and return its process when it listens."""
    environ = {
        "HOME": str(folder),
        "PATH": os.environ["PATH"],
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "none",
    }
    arguments = ("--listen", f"uds:{folder / 'far'}", "--name", "far", "--folder", str(folder / "host"))
    process = Forked("host", *arguments, environ=environ, cwd=folder)
    assert process.stderr is not None
    line = await trio.to_thread.run_sync(process.stderr.readline)
    assert "host 'far' listens at" in line
    return process


def settings(folder: Path) -> dict[str, object]:
    token = str(folder / "host" / "token")
    return {"remote": {"hosts": {"far": {"address": f"unix:{folder / 'far'}", "token_file": token}}}}


def output(folder: Path, session: Session, task: str) -> str:
    return (folder / "runs" / session.id / "tasks" / f"{task}.output").read_text()


@pytest.mark.promise("R5-b")
async def test_a_host_is_killed_and_started_anew(short: Path) -> None:
    said: list[str] = []

    def read(request: ModelRequest) -> str:
        said.append(str(request.messages))
        return "I see"

    gate = trio.Event()
    replies = [StreamReply(answer="It is done."), StreamReply(answer="never", gate=gate)]
    async with open_messages_server(replies) as server:
        process = await started(short, server.url)
        async with open_session(
            model=ScriptedModel([REMOTE, "launched", read, REMOTE, "again", read]),
            cwd=short,
            runs=short / "runs",
            tools=AGENT_TOOLS,
            agents=FAR,
            settings=settings(short),
        ) as session:
            await session.run("Go!")
            await session.wait_quiet()
            first = session.tasks.all()[0]
            assert (first.state.value, "It is done." in said[0]) == ("completed", True)
            assert "It is done." in output(short, session, first.id)

            await session.run("Once more!")
            await server.wait_requests(2)
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
            process = await started(short, server.url)
            await session.wait_quiet()
            second = session.tasks.all()[1]
            assert second.state.value == "failed"
            assert said[1].count("was lost: the process of its host has ended") == 1
        gate.set()
        os.kill(process.pid, signal.SIGTERM)
        await trio.to_thread.run_sync(process.communicate)
        assert process.returncode == 0


@pytest.mark.promise("R5-a")
async def test_a_run_is_killed_and_resumed(short: Path) -> None:
    """The agent is followed again: one agent, one notice, the same output."""
    gate, wish = trio.Event(), {**REMOTE.input, "isolation": "remote"}

    def reply(request: ReceivedRequest) -> StreamReply:
        if said_first(request) == "Work!":
            return StreamReply(answer="It is done.", gate=gate)
        is_first = len(request.body["messages"]) == 1
        return StreamReply(answer=WrittenAnswer([Call("Agent", wish, id="toolu_1")]) if is_first else "I see")

    async with open_messages_server(reply) as server:
        host = await started(short, server.url)
        environ = {"HOME": str(short), "PATH": os.environ["PATH"], "ANTHROPIC_BASE_URL": server.url}
        environ |= {"ANTHROPIC_API_KEY": "none", "GREENROOM_RUNS": str(short / "runs")}
        given = ("--settings", json.dumps(settings(short)), "--agents", json.dumps(FAR))
        run = Forked("run", "Go!", *given, environ=environ, cwd=short)
        await server.wait_requests(3)  # two of the main agent, one of the other
        os.kill(run.pid, signal.SIGKILL)
        await trio.to_thread.run_sync(run.communicate)
        run = Forked("run", "--resume", "last", *given, environ=environ, cwd=short)
        gate.set()
        out, _ = await trio.to_thread.run_sync(run.communicate)
        assert (run.returncode, out) == (0, "I see\n")
        os.kill(host.pid, signal.SIGTERM)
        await trio.to_thread.run_sync(host.communicate)

    [folder] = (short / "runs").glob("2*")
    [(name, task)] = [(key[0], view) for key, view in tasks_of(folder).items()]
    [output] = (short / "host" / "runs").glob("*/tasks/*.output")
    assert (task.state.value, told_in(folder)[task.notice_id]) == ("completed", 1)
    assert (folder / "tasks" / f"{name}.output").read_bytes() == output.read_bytes() != b""
    assert sum(said_first(request) == "Work!" for request in server.requests) == 1


def test_arguments_that_cannot_be_used_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    token = tmp_path / "token"
    token.write_bytes(b"short")
    token.chmod(0o600)
    for arguments, line in {
        ("--listen", "here"): "--listen must be uds:PATH or HOST:PORT, got 'here'",
        ("--listen", "uds:x", "--workspace", "shop"): "--workspace must be NAME=FOLDER, got 'shop'",
        ("--listen", "uds:x", "--max-agents", "0"): "--max-agents must be at least 1, got 0",
        ("--listen", "uds:x", "--token-file", "token"): "must hold at least 32 bytes, got 5",
        ("--listen", "0.0.0.0:7000"): "cannot listen on 0.0.0.0 without TLS: other machines can reach it",
        ("--listen", "127.0.0.1:0", "--cert", "token"): "the certificate 'token' with the key 'token' cannot be used: ",
        ("--listen", "127.0.0.1:0", "--key", "token"): "--key requires --cert",
        ("--listen", "uds:x", "--cert", "token"): "--cert is for HOST:PORT: a Unix socket needs no TLS",
        ("--listen", "uds:x", "--drain-s", "-1"): "--drain-s must be at least 0, got -1",
    }.items():
        assert main(["host", *arguments]) == 2
        said = capsys.readouterr().err
        assert line in said
        assert said.count("\n") == 1
