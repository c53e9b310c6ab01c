"""A tool of an MCP server that decides about calls of a headless run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from trio.testing import MockClock

from greenroom.agents import PermissionQuestion
from greenroom.headless._tool_approver import ToolApprover
from greenroom.mcp._peer import ToolInfo
from greenroom.models import Call, WrittenAnswer
from greenroom.permissions import Allow, Deny, Effect, Verdict
from greenroom.supervisor import open_runtime
from greenroom.testing import ReceivedRequest
from tests.cli.place import Done, Place
from tests.headless.agent_calls import result_of
from tests.mcp.fakes import FakeServer, start, stdio
from tests.mcp.warm import warm_command

GATEKEEPER: Final = Path(__file__).with_name("gatekeeper.py")
TOOL: Final = "mcp__gate__decide"
WRITE: Final = Call("Write", {"file_path": "m.txt", "content": "new\n"}, id="toolu_m")
QUESTION: Final = PermissionQuestion(
    agent="a1", label="main", tool="Write", input={"p": 1}, verdict=Verdict(effect=Effect.ASK, reason="r"), call_id="c1"
)


def asked_of(place: Place, answer: str, *more: str, tool: str = TOOL) -> tuple[Done, list[ReceivedRequest], list[Any]]:
    """Run an agent that writes a file, with a real server that answers so; also return what that was asked."""
    command, *arguments = warm_command(GATEKEEPER, str(place.root / "asked"), answer)
    servers = {"mcpServers": {"gate": {"command": command, "args": arguments}}}
    flags = ("--permission-prompt-tool", tool, "--mcp-config", json.dumps(servers), "--output-format", "json")
    done, requests = place.run([WrittenAnswer([WRITE]), "Done."], "Go.", *flags, *more)
    lines = (place.root / "asked").read_text().splitlines() if (place.root / "asked").exists() else []
    return done, requests, [json.loads(line) for line in lines]


def test_the_tool_decides_and_what_it_changed_runs(place: Place) -> None:
    """It is asked with `tool_name`, `input` and `tool_use_id`; the agent itself does not have it."""
    changed = {"file_path": "m.txt", "content": "changed\n"}

    done, requests, asked = asked_of(place, json.dumps({"behavior": "allow", "updatedInput": changed}))

    assert (done.code, done.err) == (0, "")
    assert asked == [{"tool_name": "Write", "input": WRITE.input, "tool_use_id": "toolu_m"}]
    assert (place.folder / "m.txt").read_text(encoding="utf-8") == "changed\n"
    assert TOOL not in [tool["name"] for tool in requests[0].body["tools"]]
    assert done.result["permission_denials"] == []


def test_a_refusal_of_the_tool_is_told_and_listed(place: Place) -> None:
    """A refused call is in `permission_denials`; nothing is wrong with the run."""
    done, requests, _ = asked_of(place, '{"behavior": "deny", "message": "Not on this branch."}')

    assert (done.code, done.err) == (0, "")
    assert "Not on this branch." in result_of(requests[1])
    assert [permission_denial["tool_use_id"] for permission_denial in done.result["permission_denials"]] == ["toolu_m"]
    assert not (place.folder / "m.txt").exists()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("yes", "its answer must be a JSON object"),
        ("[1]", "its answer must be a JSON object"),
        ('{"behavior": "perhaps"}', '"behavior" must be "allow" or "deny", got \'perhaps\''),
        ('{"behavior": "allow", "updatedInput": 3}', "updatedInput must be an object"),
        ("fail", "Error executing tool decide"),
        ("die", "it was lost while it ran decide"),
    ],
)
def test_whatever_goes_wrong_is_a_refusal_with_one_line(place: Place, answer: str, why: str) -> None:
    done, requests, asked = asked_of(place, answer)

    assert (done.code, len(asked)) == (0, 1)
    (line,) = [line for line in done.err.splitlines() if f"note: --permission-prompt-tool {TOOL}: " in line]
    assert why in line
    assert why in result_of(requests[1])
    assert not (place.folder / "m.txt").exists()


def test_a_tool_that_there_is_not_refuses_and_says_which_there_are(place: Place) -> None:
    done, requests, asked = asked_of(place, "{}", tool="mcp__gate__other")

    assert (done.code, asked) == (0, [])
    assert "unknown MCP tool mcp__gate__other; expected one of: mcp__gate__decide" in done.err
    assert len(done.err.splitlines()) == 1
    assert "unknown MCP tool mcp__gate__other" in result_of(requests[1])


def test_a_server_that_cannot_be_started_is_named(place: Place) -> None:
    servers = {"mcpServers": {"gate": {"command": "/nowhere/server"}}}
    flags = ("--permission-prompt-tool", TOOL, "--mcp-config", json.dumps(servers))

    done, _ = place.run([WrittenAnswer([WRITE]), "Done."], "Go.", *flags)

    assert (done.code, done.out) == (0, "Done.\n")
    (line,) = [line for line in done.err.splitlines() if "--permission-prompt-tool" in line]
    assert "; gate: " in line
    assert "/nowhere/server" in line


@pytest.mark.parametrize("name", ["decide", "mcp__gate", "mcp__gate__*", "mcp__gate__decide(x)", ""])
def test_a_name_that_no_tool_has_is_misuse(place: Place, name: str) -> None:
    done, _ = place.run([], "Go.", "--permission-prompt-tool", name)

    assert (done.code, done.out) == (2, "")
    assert "--permission-prompt-tool must be stdio, or the tool of an MCP server" in done.err


async def test_a_tool_that_does_not_answer_in_time_refuses_and_is_cancelled(
    autojump_clock: MockClock, capsys: pytest.CaptureFixture[str]
) -> None:
    """The deadline is that of every question; what is being connected is waited for."""
    gate = FakeServer(ToolInfo(name="slow"), connects_after_s=5)
    approver = ToolApprover("mcp__gate__slow")
    early = await approver.can_use_tool(QUESTION)
    async with open_runtime() as runtime:
        servers = await start(runtime, stdio("gate"), gate=gate)
        approver.open(servers, 30)
        began = autojump_clock.current_time()
        late = await approver.can_use_tool(QUESTION)
        took_s = autojump_clock.current_time() - began

    assert isinstance(early, Deny)
    assert "before the session is open" in early.message
    assert late == Deny(
        message="mcp__gate__slow was asked: it did not decide about Write within 30 s", cause="deadline"
    )
    assert (took_s, gate.cancelled) == (30, 1)
    assert "did not decide about Write within 30 s" in capsys.readouterr().err


async def test_the_same_fault_is_said_once(autojump_clock: MockClock, capsys: pytest.CaptureFixture[str]) -> None:
    gate = FakeServer(ToolInfo(name="boom"))
    approver = ToolApprover("mcp__gate__boom")
    async with open_runtime() as runtime:
        approver.open(await start(runtime, stdio("gate"), gate=gate), 30)
        answers = [await approver.can_use_tool(QUESTION) for _ in range(2)]

    assert not any(isinstance(answer, Allow) for answer in answers)
    assert capsys.readouterr().err.count("boom of gate failed") == 1
