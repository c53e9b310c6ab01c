"""The pages about MCP show what the code does."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from greenroom.agents import AgentMcpServer, DefinitionOrigin
from greenroom.agents.definitions._definition_fields import read_markdown
from greenroom.mcp import Elicitation, ServerScope, misfit, parse_server
from greenroom.mcp._project_approvals import read_approvals
from tests.docs.mcp import PAGE, insert
from tests.docs.programs import ROOT, blocks_of, run_python

HOW_TO = "docs/how-to/mcp.md"


def blocks(language: str) -> list[str]:
    text = (ROOT / HOW_TO).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_tables_are_those_of_the_code() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert insert(page) == page, "run `python -m tests.docs.mcp`"


def test_what_the_how_to_writes_down_can_be_used() -> None:
    servers, known, approvals = map(json.loads, blocks("json"))
    for name, entry in [*servers["mcpServers"].items(), *known["mcpServers"].items()]:
        parsed = parse_server(name, entry, scope=ServerScope.PROJECT, source="x", environ={"TRACKER_TOKEN": "t"})
        assert parsed.config is not None
        assert parsed.diagnostics == ()
    assert read_approvals(approvals, "x", may_enable=True)[1] == ()

    (line,) = blocks("text")
    broken = parse_server("tracker", {"url": "x"}, scope=ServerScope.PROJECT, source=".mcp.json", environ={}).broken
    assert broken is not None
    assert broken.message == line.strip()


def test_the_definition_of_the_how_to_says_what_it_should() -> None:
    definition, found = read_markdown(blocks("markdown")[0], origin=DefinitionOrigin(source="scheduler.md"))

    assert found == []
    assert definition is not None
    assert definition.tools == ("Read", "mcp__time")
    assert definition.required_mcp_servers == ("time",)
    assert definition.mcp_servers == (
        AgentMcpServer("calendar", {"command": "calendar-server", "args": ["--read-only"]}),
    )


@pytest.mark.slow  # it starts a Python that imports the SDK
async def test_the_person_of_the_how_to_fills_in_a_form(monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, Any] = {}
    exec(blocks_of(HOW_TO)[0], made)
    monkeypatch.setattr("builtins.input", lambda _: "Ann")
    fields = {"name": {"type": "string"}}
    form = Elicitation(server="far", message="Who?", schema={"type": "object", "properties": fields})

    assert misfit(form, await made["elicit"](form)) == ""
    assert (await made["elicit"](Elicitation(server="far", message="?", mode="url", url="u"))).action == "decline"


def test_the_program_of_the_how_to_prints_the_time(tmp_path: Path) -> None:
    _, program = blocks_of(HOW_TO)
    servers = blocks("json")[0]
    entry = json.loads(servers)["mcpServers"]["time"]
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"time": entry, "bad": {"url": "http://h"}}}))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"

    shown = run_python(program, cwd=tmp_path, PYTHONPATH=str(ROOT), PATH=path, HOME=str(tmp_path / "home"))

    bad, time, *answer = shown.splitlines()
    assert bad.endswith(
        'server \'bad\' has a url and no type; add "type": "http", or "sse" for an old server; it is skipped'
    )
    assert time.strip() == "time connected"
    assert json.loads("\n".join(answer))["target"]["datetime"].split("T")[1].startswith("17:30")
