"""`greenroom run --plugin-dir`, and `greenroom agents` with plugins, as a person or a program at the command line sees them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from greenroom.cli import main
from tests.cli.place import Place
from tests.core.plugin_folders import plugin
from tests.headless.extension_files import AGENT, SKILL, write


def kit(folder: Path) -> Path:
    files = {"agents/scout.md": AGENT.format(name="scout"), "skills/tidy/SKILL.md": SKILL}
    return plugin(folder, files, name="kit")


@pytest.mark.parametrize("flags", [(), ("--bare",)], ids=" ".join)
def test_the_first_line_lists_them_and_what_is_wrong(flags: tuple[str, ...], place: Place) -> None:
    folder = kit(place.root / "kit")
    stream = ("--output-format", "stream-json")
    done, _ = place.run(["Fine."], "Go.", *flags, *stream, "--plugin-dir", str(folder), "--plugin-dir", "missing")

    init = done.lines[0]
    assert done.code == 0
    assert init["plugins"] == [{"name": "kit", "path": str(folder)}]
    (error,) = init["plugin_errors"]
    assert (error["plugin"], error["type"]) == ("missing", "path-not-found")
    assert error["message"].startswith(f"{place.folder}/missing: the folder does not exist")
    assert "kit:scout" in init["agents"]
    assert (init["skills"], init["slash_commands"]) == (["kit:tidy"], ["add-dir", "compact", "kit:tidy"])
    (line,) = done.err.splitlines()
    assert line.endswith("plugin 'missing' not loaded: the folder does not exist; name one that holds a plugin")


def test_without_mistakes_there_are_no_errors(place: Place) -> None:
    folder = kit(place.root / "kit")
    write(place.root / "home/.greenroom/settings.json", {"plugins": [str(folder)]})
    done, _ = place.run(["Fine."], "Go.", "--output-format", "stream-json")

    assert done.lines[0]["plugins"] == [{"name": "kit", "path": str(folder)}]
    assert "plugin_errors" not in done.lines[0]
    assert done.err == ""


def test_a_setting_that_is_no_list_is_one_line(place: Place) -> None:
    done, requests = place.run([], "Go.", "--settings", '{"plugins": "kit"}')

    assert (done.code, requests, done.err.count("\n")) == (2, [], 1)
    assert "plugins" in done.err


# --- greenroom agents ---------------------------------------------------------------------------------------------------


@pytest.fixture
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "project/.git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "project")
    return kit(tmp_path / "kit")


def test_list_and_show_know_the_agents_of_plugins(
    agents: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "project/.greenroom/settings.json", {"plugins": ["../kit", "./gone"]})
    assert main(["agents", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    (row,) = [name for name in listed["agents"] if name["name"] == "kit:scout"]
    assert (row["scope"], row["source"]) == ("plugin", str(agents / "agents/scout.md"))
    assert ["'gone' not loaded" in line["text"] for line in listed["found"]] == [True]

    other = plugin(tmp_path / "other", {"agents/b.md": AGENT.format(name="b")}, name="other")
    assert main(["agents", "show", "other:b", "--plugin-dir", str(other)]) == 0
    assert f"other:b  (plugin: {other}/agents/b.md)" in capsys.readouterr().out
    assert main(["agents", "list"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 file should be changed: greenroom agents check"


def test_check_looks_at_a_plugin(agents: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plugin(agents, name="kit", lspServers={})
    assert main(["agents", "check", str(agents)]) == 0
    shown = capsys.readouterr().out
    assert "kit:scout" in shown
    assert "note: lspServers: this has no effect here" in shown

    write(
        agents / "agents/bad.md", AGENT.format(name="bad").replace("description", "permissionMode: plan\ndescription")
    )
    assert main(["agents", "check", str(agents)]) == 1
    assert "permissionMode has no effect in a plugin" in capsys.readouterr().out

    write(agents / ".claude-plugin/plugin.json", "{")
    assert main(["agents", "check", str(agents)]) == 1
    assert "plugin 'kit' not loaded: it is not valid JSON" in capsys.readouterr().out


def test_settings_that_cannot_be_used_are_said_and_hide_no_agents(
    tmp_path: Path, agents: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "home/.greenroom/settings.json", {"plugins": 1})
    write(tmp_path / "home/.greenroom/agents/mine.md", AGENT.format(name="mine"))
    assert main(["agents", "list", "--json", "--plugin-dir", str(agents)]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {"mine", "kit:scout"} <= {name["name"] for name in listed["agents"]}
    (problem,) = listed["found"]
    assert "plugins" in problem["text"]
