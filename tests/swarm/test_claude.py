"""The same team on Claude, through the real SDK and a real socket, against a server on loopback."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from greenroom.models import (
    Call,
    Message,
    ModelRequest,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
    WrittenAnswer,
    as_answer,
)
from greenroom.swarm.survey import play_lead, play_mate
from greenroom.testing import ErrorReply, ReceivedRequest, StreamReply, open_messages_server
from greenroom.testing._messages_script import ReplyLike
from tests.cli.forked import Forked, run_forked
from tests.swarm.small_repo import make_small_repo


def blocks(content: str | list[dict[str, Any]]) -> Iterator[TextBlock | ToolUseBlock | ToolResultBlock]:
    if isinstance(content, str):
        yield TextBlock(content)
        return
    for block in content:
        match block["type"]:
            case "text":
                yield TextBlock(block["text"])
            case "tool_use":
                yield ToolUseBlock(block["id"], block["name"], block["input"])
            case "tool_result":
                result = block["content"]
                text = result if isinstance(result, str) else "".join(part["text"] for part in result)
                yield ToolResultBlock(block["tool_use_id"], text, bool(block.get("is_error")))


def request_of(body: Mapping[str, Any]) -> ModelRequest:
    messages = tuple(Message(child["role"], tuple(blocks(child["content"]))) for child in body["messages"])
    return ModelRequest(messages)


class PlaybookServer:
    """Answers as the playbook would, from what came over the wire."""

    def __init__(self) -> None:
        self.ids = count(1)
        self.tools: set[tuple[str, ...]] = set()

    def __call__(self, received: ReceivedRequest) -> WrittenAnswer:
        self.tools.add(tuple(tool["name"] for tool in received.body["tools"]))
        is_lead = "You lead a small team" in json.dumps(received.body["system"])
        answer = as_answer((play_lead if is_lead else play_mate)(request_of(received.body)))
        parts = [
            attrs.evolve(part, id=f"toolu_{next(self.ids)}") if isinstance(part, Call) else part
            for part in answer.parts
        ]
        return attrs.evolve(answer, parts=parts)


def environ_of(tmp_path: Path, url: str) -> dict[str, str]:
    return {
        **os.environ,
        "GREENROOM_RUNS": str(tmp_path / "runs"),
        "ANTHROPIC_API_KEY": "sk-ant-test",
        "ANTHROPIC_BASE_URL": url,
    }


async def run_swarm(tmp_path: Path, url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    repo = make_small_repo(tmp_path / "small")
    environ = environ_of(tmp_path, url)
    return await trio.to_thread.run_sync(partial(run_forked, "swarm", str(repo), *arguments, environ=environ))


async def test_with_a_key_the_team_runs_on_claude(tmp_path: Path) -> None:
    script = PlaybookServer()
    async with open_messages_server(script) as server:
        done = await run_swarm(tmp_path, server.url)

    out = done.stdout
    assert (done.returncode, done.stderr) == (0, ""), out
    assert out.startswith("greenroom swarm: model claude-sonnet-5 (through Anthropic's API)\n")
    assert "Done: 5 of 5 items by 4 mates" in out
    assert re.search(
        r"^greenroom swarm: Tokens are billed to your key: about \d+ requests and [\d,.M ]+ tokens, \$0\.\d\d on ",
        out,
        re.MULTILINE,
    )
    assert re.search(r"^Cost:   \$0\.\d\d; \d+ requests, ", out, re.MULTILINE)
    (report,) = (tmp_path / "runs").glob("2*/report.md")
    assert "# Code health survey: small" in report.read_text(encoding="utf-8")
    looking, facts = ("Read", "Glob", "Grep"), ("CodeFacts", "TreeFacts")
    assert {tuple(sorted(names)) for names in script.tools} == {
        tuple(sorted((*looking, "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "SendMessage", "WriteReport"))),
        tuple(sorted((*looking, *facts, "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "SendMessage"))),
    }


async def test_swarm_sends_no_request_that_may_exceed_the_flag(tmp_path: Path) -> None:
    async with open_messages_server(PlaybookServer()) as server:
        done = await run_swarm(tmp_path, server.url, "--max-budget-usd", "0.10")
        asked = len(server.requests)

    assert (done.returncode, done.stderr, asked) == (1, "", 0), done.stdout
    assert "Why:    Budget limit reached: 0 of 0.1 US dollars of 'session' are used" in done.stdout
    (report,) = (tmp_path / "runs").glob("2*/partial-report.md")
    assert report.read_text("utf-8").startswith(
        "# Partial report: small\n\n**This report is not complete.** Budget limit"
    )


class KillingServer:
    """Answers at a price as the playbook would, and kills the process that sends a certain request."""

    price_usd = 0.012
    """Of each answer: 1,000 tokens in for 2 dollars a million, 1,000 out for 10."""

    def __init__(self, *, at: int) -> None:
        self.playbook = PlaybookServer()
        self.process: Forked | None = None
        self.left = at

    def __call__(self, received: ReceivedRequest) -> StreamReply:
        self.left -= 1
        if not self.left and self.process is not None:
            self.process.kill()
        return StreamReply(answer=self.playbook(received), usage=Usage(input_tokens=1_000, output_tokens=1_000))


def paid(runs: Path) -> float:
    """Return the cost of all answers that a run has on record."""
    (journal,) = runs.glob("2*/journal.jsonl")
    events = map(json.loads, journal.read_text("utf-8").splitlines())
    tokens: int = sum(event.get("output_tokens", 0) for event in events if event.get("ev") == "model.end")
    return tokens // 1_000 * KillingServer.price_usd


@pytest.mark.promise("R7-money")
async def test_cost_and_budget_count_what_a_killed_process_spent(tmp_path: Path) -> None:
    script = KillingServer(at=15)
    async with open_messages_server(script) as server:
        environ = environ_of(tmp_path, server.url)

        def run(*arguments: str) -> tuple[int, str, int]:
            """Return the exit code, the output, and the number of requests."""
            before = len(server.requests)
            with Forked("swarm", *arguments, environ=environ) as script.process:
                out, _ = script.process.communicate(timeout=50)
                code = script.process.wait()
            return code, out, len(server.requests) - before

        everywhere = ("--model", "claude-sonnet-5")  # not the small one for teammates: all answers have one price
        killed, _, _ = await trio.to_thread.run_sync(run, str(make_small_repo(tmp_path / "small")), *everywhere)
        first = paid(tmp_path / "runs")
        limit = round(first + 0.05, 3)  # a request may cost 0.08, one of the lead 0.17
        denied, told, asked = await trio.to_thread.run_sync(
            run, "--resume", "last", "--max-budget-usd", str(limit), *everywhere
        )
        code, lines, _ = await trio.to_thread.run_sync(run, "--resume", "last", "--json")

    assert (killed, denied, asked, code) == (-signal.SIGKILL, 1, 0, 0), told
    (used,) = re.findall(
        rf"^Why: +Budget limit reached: ([\d.]+) of {limit} US dollars of 'session' are used", told, re.MULTILINE
    )
    assert float(used) == pytest.approx(first)
    assert limit > 0.2, "a new run would have sent a request"
    summary = json.loads(lines.splitlines()[-1])
    assert (summary["state"], summary["usd"]) == ("done", pytest.approx(paid(tmp_path / "runs")))
    assert summary["usd"] > first


class TroubledServer:
    """Answers as the playbook would, but refuses two of three requests for a while, and then cuts a call of each conversation off in the middle."""

    def __init__(self, *, refusals: int, cuts: int) -> None:
        self.playbook = PlaybookServer()
        self.refusals, self.cuts = refusals, cuts
        self.asked = 0
        self.cut: set[str] = set()
        """The conversations whose calls were cut off."""

    def __call__(self, received: ReceivedRequest) -> ReplyLike:
        self.asked += 1
        if self.refusals and self.asked % 3:
            self.refusals -= 1
            return ErrorReply(status=529, type="overloaded_error", message="Overloaded", headers={"retry-after": "0"})
        answer = self.playbook(received)
        whose = json.dumps(received.body["messages"][0])
        if self.cuts and isinstance(answer.parts[0], Call) and whose not in self.cut:
            self.cuts -= 1
            self.cut.add(whose)
            return StreamReply(answer=WrittenAnswer(answer.parts[:1]), ending="cut", events=3)
        return answer


async def test_a_storm_of_refusals_and_calls_that_are_cut_off_change_nothing_of_the_outcome(tmp_path: Path) -> None:
    script = TroubledServer(refusals=6, cuts=4)
    async with open_messages_server(script) as server:
        done = await run_swarm(tmp_path, server.url)
        asked = len(server.requests)

    out = done.stdout
    assert (done.returncode, done.stderr) == (0, ""), out
    assert (script.refusals, script.cuts) == (0, 0)
    assert "Done: 5 of 5 items by 4 mates" in out
    (report,) = (tmp_path / "runs").glob("2*/report.md")
    assert "# Code health survey: small" in report.read_text(encoding="utf-8")
    (journal,) = (tmp_path / "runs").glob("2*/journal.jsonl")
    events = journal.read_text(encoding="utf-8").splitlines()
    assert asked == sum('"model.begin"' in line for line in events) + 6 + 4
    assert not any('"tool.end"' in line and '"failed"' in line for line in events)  # no half of a call was run


@pytest.mark.parametrize("arguments", [(), ("--model", "claude-opus-5")])
async def test_a_refused_key_is_said_in_a_line(arguments: tuple[str, ...], tmp_path: Path) -> None:
    refusal = ErrorReply(status=401, type="authentication_error", message="invalid x-api-key")
    async with open_messages_server(lambda _: refusal) as server:
        done = await run_swarm(tmp_path, server.url, *arguments)

    out = done.stdout
    assert (done.returncode, done.stderr) == (1, "")
    assert "invalid x-api-key" in out[out.index("Why:    the lead's turn did not end well") :].splitlines()[0]


async def test_a_model_that_writes_no_report_is_asked_once_more(tmp_path: Path) -> None:
    async with open_messages_server(lambda _: "I would rather not.") as server:
        done = await run_swarm(tmp_path, server.url)
        asked = [request.body["messages"][-1]["content"] for request in server.requests]

    assert done.returncode == 1
    assert "Why:    the lead wrote no report" in done.stdout
    assert len(asked) == 2
    assert "Write the report now" in json.dumps(asked[1])
