"""The command `greenroom agents`, as a person or a program at the command line sees it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from greenroom.cli import main
from tests.agents.definitions.samples import MARKDOWN, agent, write


class Agents:
    """Calls the command and keeps what it printed."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str]:
        code = main(["agents", *arguments])
        printed = self.capsys.readouterr()
        self.error = printed.err
        return code, printed.out

    def json(self, *arguments: str) -> tuple[int, Any]:
        code, text = self(*arguments, "--json")
        return code, json.loads(text)


@pytest.fixture
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Agents:
    project = tmp_path / "project"
    write(project / ".claude/agents", **{"code-reviewer": MARKDOWN})
    (project / ".git").mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("GREENROOM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "their_home"))
    return Agents(project / ".claude/agents", capsys)


def test_list_is_a_table(agents: Agents) -> None:
    code, text = agents("list")

    lines = text.splitlines()
    assert code == 0
    assert lines[0].split() == ["name", "from", "model", "tools", "description"]
    assert lines[1].split()[:6] == ["code-reviewer", "project", "sonnet", "Read,", "Grep,", "Glob"]
    assert {"general-purpose", "Explore", "Plan"} <= {line.split()[0] for line in lines[2:]}


def test_list_tells_what_is_wrong_with_agents_of_the_command_line_and_counts_no_file(agents: Agents) -> None:
    code, text = agents("list", "--agents", '{"extra": 3, "other": {"description": "d", "prompt": "p"}}')
    write(agents.folder, bad="---\nname: [\n---\n")
    _, both = agents("list", "--agents", '{"extra": 3}')

    assert code == 0
    assert text.splitlines()[-1].startswith("--agents: broken: ")
    assert "should be changed" not in text
    assert both.splitlines()[-2].startswith("--agents: broken: ")
    assert both.splitlines()[-1] == "1 file should be changed: greenroom agents check"


def test_list_says_when_files_should_be_changed(agents: Agents) -> None:
    write(agents.folder, bad="---\nname: [\n---\n")

    code, text = agents("list")

    assert code == 0
    assert text.splitlines()[-1] == "1 file should be changed: greenroom agents check"


def test_list_as_json(agents: Agents) -> None:
    code, facts = agents.json("list", "--agents", '{"extra": {"description": "d", "tools": []}}')

    assert code == 0
    assert facts["found"] == []
    assert facts["agents"][0] == {
        "name": "extra",
        "description": "d",
        "model": "inherit",
        "tools": "No tools",
        "scope": "cli",
        "source": "--agents",
    }
    assert [fact["name"] for fact in facts["agents"][1:3]] == ["code-reviewer", "general-purpose"]


def test_show(agents: Agents) -> None:
    code, text = agents("show", "Code Reviewer")

    lines = text.splitlines()
    assert code == 0
    assert lines[0] == "code-reviewer  (project: .claude/agents/code-reviewer.md)"
    assert lines[3].split() == ["tools", "Read,", "Grep,", "Glob"]
    assert lines[-1] == "You are a focused code reviewer. Prioritize bugs, regressions, and missing tests."


def test_show_as_json_is_a_definition(agents: Agents) -> None:
    code, facts = agents.json("show", "code-reviewer")

    assert code == 0
    assert facts.pop("origin") == {"scope": "project", "source": str(agents.folder / "code-reviewer.md")}
    assert facts.pop("found") == []
    assert facts["maxTurns"] == 8
    assert agents.json("show", "code-reviewer", "--agents", json.dumps({facts["name"]: facts}))[1]["maxTurns"] == 8


def test_show_what_is_not_there(agents: Agents) -> None:
    code, text = agents("show", "nobody")

    assert (code, text) == (1, "")
    assert agents.error.startswith("greenroom: no agent is called 'nobody'; there are: code-reviewer, general-purpose")
    assert agents.error.count("\n") == 1


def test_check_of_what_is_good(agents: Agents) -> None:
    code, text = agents("check")

    assert code == 0
    assert text == "code-reviewer: .claude/agents/code-reviewer.md\n1 agent, nothing to change\n"


def test_check_tells_what_was_skipped_and_why(agents: Agents) -> None:
    write(
        agents.folder,
        bad="---\nname: x\ndescription: d\ntools: [Read\n---\n",
        other=agent("code-reviewer"),
        words="Words.",
    )

    code, text = agents("check")

    is_also = f"'code-reviewer' is also in {agents.folder}/code-reviewer.md"
    assert code == 1
    assert text.splitlines() == [
        "code-reviewer: .claude/agents/code-reviewer.md",
        ".claude/agents/bad.md:4: broken: tools: not valid YAML: expected ',' or ']', but got '<stream end>'",
        ".claude/agents/words.md: note: it has no name, so it is taken for documentation",
        f".claude/agents/other.md: duplicate: {is_also}, which counts; rename or remove one",
        "1 agent, 2 problems to repair",
    ]


def test_check_looks_into_hooks_rules_and_servers(agents: Agents) -> None:
    """What others read when the agent starts is wrong already now."""
    hooks = "{Nope: [], PreToolUse: [{hooks: [{type: command}]}, {hooks: [{type: command, command: 'true'}]}]}"
    fields = (
        f"description: d\ndisallowedTools: ['Bash(', 'Bash(rm *)']\nmcpServers: [{{x: {{command: 3}}}}]\nhooks: {hooks}"
    )
    write(agents.folder, parts=f"---\nname: parts\n{fields}\n---\nText.")

    code, out = agents("check")

    assert code == 1
    assert "'parts': hooks.Nope: unknown event" in out
    assert "'parts': hooks.PreToolUse[0].hooks[0].command: must be a non-empty string and is missing" in out
    assert "'parts': disallowedTools: 'Bash('" in out
    assert "'parts': server 'x' has an invalid command: expected a string, got 3" in out
    assert "2 agents, 4 problems to repair" in out


def test_check_of_one_file_and_of_a_folder(agents: Agents, tmp_path: Path) -> None:
    write(tmp_path / "elsewhere", x=agent("x", color="beige"), y=agent("y"))

    assert agents("check", str(tmp_path / "elsewhere/y.md"))[0] == 0
    code, facts = agents.json("check", str(tmp_path / "elsewhere"))

    assert code == 1
    assert facts["ok"] is False
    assert [fact["name"] for fact in facts["loaded"]] == ["x", "y"]
    assert [(fact["kind"], fact["line"]) for fact in facts["found"]] == [("ignored", 4)]


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "nowhere"),
        ("list", "--agents", "{"),
        ("list", "--agents", "[]"),
        ("show",),
        ("show", "a", "b"),
        ("list", "--quux"),
        ("quux",),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(agents: Agents, arguments: tuple[str, ...]) -> None:
    code, text = agents(*arguments)

    assert (code, text) == (2, "")
    assert agents.error.startswith("greenroom: ")
    assert agents.error.count("\n") == 1


def test_help_names_the_commands(agents: Agents) -> None:
    code, text = agents()

    assert code == 0
    assert all(name in text for name in ("list", "show", "check"))


BROKEN_HEADERS = {
    "list": "---\nname: list\ndescription: d\ntools: [Read\n---\nDo.\n",
    "tab": "---\n\tname: tab\n  description: d\n---\nDo.\n",
    "endless": "---\nname: endless\ndescription: d\ntools: Read\n",
    "number": "---\nname: [5]\ndescription: d\n---\nDo.\n",
}


@pytest.mark.parametrize("name", BROKEN_HEADERS)
def test_agent_of_a_plugin_with_a_broken_header_is_left_out_and_named(
    name: str, agents: Agents, tmp_path: Path
) -> None:
    """It is not an agent without description, tools and restrictions whose prompt is its header."""
    plugin = tmp_path / "pq"
    write(
        plugin / "agents",
        **{name: BROKEN_HEADERS[name]},
        good="---\nname: good\ndescription: Use it: always\n---\nDo.\n",
    )

    _, listed = agents("list", "--plugin-dir", str(plugin))
    code, checked = agents("check", str(plugin))

    assert [line.split()[0] for line in listed.splitlines() if line.startswith("pq:")] == ["pq:good"]
    assert code == 1
    assert f"{name}.md" in checked
    assert agents("show", f"pq:{name}", "--plugin-dir", str(plugin))[0] == 1
