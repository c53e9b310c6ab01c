"""`greenroom run --bare`: nothing is looked for, and what flags name counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from greenroom.cli import main
from greenroom.models import Call
from greenroom.testing import ReceivedRequest
from tests.cli.place import Done, Place
from tests.headless.extension_files import AGENT, SKILL, write


def hooks(log: Path) -> dict[str, object]:
    """Return hooks that leave a line in a file when a session begins."""
    command = {"type": "command", "command": f"echo ran >> {log}"}
    return {"SessionStart": [{"hooks": [command]}]}


def furnish(place: Place) -> Path:
    """Put something of every kind into the home and the project; returns the file that hooks write to."""
    home, log = place.root / "home", place.root / "hooks.log"
    for folder in (home / ".greenroom", place.folder / ".greenroom"):
        name = "ours" if folder.parent == home else "theirs"
        write(folder / f"agents/{name}.md", AGENT.format(name=name))
        write(folder / f"skills/{name}-skill/SKILL.md", SKILL)
        write(folder / f"commands/{name}-command.md", "Do it.")
        write(folder / "settings.json", {"hooks": hooks(log), "permissions": {"deny": ["Glob"]}})
    write(home / ".claude/CLAUDE.md", "Be brief.")
    write(place.folder / "CLAUDE.md", "Use tabs.")
    write(place.folder / ".mcp.json", {"mcpServers": {"files": {"command": "/nowhere/server"}}})
    notes = home / ".greenroom/projects" / str(place.folder).replace("/", "%2F") / "memory/MEMORY.md"
    write(notes, "The parser is in parse.c.")
    return log


def run(place: Place, *arguments: str) -> tuple[dict[str, Any], ReceivedRequest, Done]:
    done, (request,) = place.run(["Fine."], "Go.", "--trust", "--output-format", "stream-json", *arguments)
    assert done.code == 0, done.err
    return done.lines[0], request, done


def test_nothing_is_looked_for(place: Place) -> None:
    log = furnish(place)
    full, request, _ = run(place)
    assert {"ours", "theirs"} <= set(full["agents"])
    assert {"ours-skill", "theirs-skill", "ours-command"} <= set(full["slash_commands"])
    assert [mcp_server["name"] for mcp_server in full["mcp_servers"]] == ["files"]
    assert all(text in json.dumps(request.body["system"]) for text in ("Be brief.", "Use tabs.", "parse.c"))
    assert (log.read_text(), "Glob" in full["tools"]) == ("ran\n", False)

    bare, request, done = run(place, "--bare")
    assert not {"ours", "theirs"} & set(bare["agents"])
    assert (bare["skills"], bare["slash_commands"], bare["mcp_servers"], bare["plugins"]) == (
        [],
        ["add-dir", "compact"],
        [],
        [],
    )
    assert not any(text in json.dumps(request.body["system"]) for text in ("Be brief.", "Use tabs.", "parse.c"))
    assert (log.read_text(), "Glob" in bare["tools"]) == ("ran\n", True)
    assert done.err == ""


def test_what_flags_name_counts(place: Place) -> None:
    furnish(place)
    log = place.root / "given.log"
    given = {"hooks": hooks(log), "permissions": {"deny": ["Grep"]}}
    servers = {"mcpServers": {"mine": {"command": "/nowhere/server"}}}
    agents = {"given": {"description": "Helps.", "prompt": "Help."}}
    bare, request, _ = run(
        place,
        "--bare",
        *("--settings", json.dumps(given), "--mcp-config", json.dumps(servers), "--agents", json.dumps(agents)),
        *("--append-system-prompt", "Be kind."),
    )

    assert "given" in bare["agents"]
    assert "ours" not in bare["agents"]
    assert [mcp_server["name"] for mcp_server in bare["mcp_servers"]] == ["mine"]
    assert ("Grep" in bare["tools"], log.read_text()) == (False, "ran\n")
    assert "Be kind." in json.dumps(request.body["system"])


@pytest.mark.parametrize("flags", [("--bare",), ("--bare", "--setting-sources", "")])
def test_a_file_that_is_worked_on_brings_nothing_along(flags: tuple[str, ...], place: Place) -> None:
    write(place.folder / "deep/CLAUDE.md", "Use spaces.")
    write(place.folder / "deep/a.txt", "here\n")
    write(place.folder / "deep/.claude/skills/tidy/SKILL.md", SKILL)
    done, requests = place.run([Call("Read", {"file_path": "deep/a.txt"}), "Fine."], "Go.", *flags)

    assert done.code == 0
    assert "here" in json.dumps(requests[1].body)
    assert "Use spaces." not in json.dumps(requests[1].body)
    assert "Skill" not in {tool["name"] for tool in requests[1].body["tools"]}


def test_an_added_folder_brings_its_agents_and_skills(place: Place) -> None:
    other = place.root / "other"
    write(other / ".claude/agents/helper.md", AGENT.format(name="helper"))
    write(other / ".claude/skills/tidy/SKILL.md", SKILL)
    furnish(place)
    bare, _, _ = run(place, "--bare", "--add-dir", str(other))

    assert ("helper" in bare["agents"], "ours" in bare["agents"]) == (True, False)
    assert (bare["skills"], bare["slash_commands"]) == (["tidy"], ["add-dir", "compact", "tidy"])


# --- an administrator's folder ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flags", [(), ("--bare",), ("--setting-sources", "")], ids=" ".join)
def test_what_an_administrator_wants_comes_before_every_flag(
    flags: tuple[str, ...], place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    managed = place.root / "managed"
    monkeypatch.setenv("GREENROOM_MANAGED", str(managed))
    policy = {"model": "haiku", "permissions": {"deny": ["Glob"], "defaultMode": "plan"}}
    write(managed / "managed-settings.json", policy)
    write(managed / "CLAUDE.md", "Be careful.")
    write(managed / "agents/keeper.md", AGENT.format(name="keeper"))
    init, request, done = run(place, *flags, "--model", "opus", "--permission-mode", "acceptEdits")

    assert "haiku" in init["model"]
    assert (init["permissionMode"], "Glob" in init["tools"], "keeper" in init["agents"]) == ("plan", False, True)
    assert "Be careful." in json.dumps(request.body["system"])
    assert "using the model 'haiku', which an administrator has set, instead of 'opus'" in done.err
    assert "the mode is plan, set by an administrator, instead of acceptEdits" in done.err


def test_a_policy_that_cannot_be_read_is_one_line(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    managed = place.root / "managed"
    monkeypatch.setenv("GREENROOM_MANAGED", str(managed))
    write(managed / "managed-settings.json", "{")
    done, requests = place.run([], "Go.", "--bare")

    assert (done.code, done.out, requests) == (2, "", [])
    assert (done.err.count("\n"), "managed-settings.json" in done.err) == (1, True)


def test_a_swarm_is_held_to_it_too(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    managed = place.root / "managed"
    monkeypatch.setenv("GREENROOM_MANAGED", str(managed))
    monkeypatch.setenv("HOME", str(place.root / "home"))
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.chdir(place.folder)
    write(managed / "settings.json", {"permissions": {"deny": ["Read"]}, "nonsense": 1})
    code = main(["swarm", ".", "--model", "playbook", "--runs", str(place.root / "runs")])

    assert code != 0
    assert "unknown key 'nonsense'" in place.captured.readouterr().err
