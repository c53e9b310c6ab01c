"""Plugins as they lie on disk: what a manifest may say, what is refused and why, which one counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import UsageError
from greenroom.core.sources import MANIFEST, Plugin, find_places, find_plugins
from greenroom.core.sources._plugin_folders import read_plugin
from tests.core.plugin_folders import plugin


def test_a_manifest_says_the_name_and_the_parts_lie_in_their_folders(tmp_path: Path) -> None:
    folder = plugin(tmp_path / "x", {"hooks/hooks.json": {"hooks": {}}}, name="tidy", version="1.0", description="d")
    found = read_plugin(folder)

    assert (found.name, found.version, found.description) == ("tidy", "1.0", "d")
    assert [found.roots(kind) for kind in ("agents", "skills", "commands")] == [
        (folder / "agents",),
        (folder / "skills",),
        (folder / "commands",),
    ]
    assert [hook.source for hook in found.hooks] == [str(folder / "hooks/hooks.json")]
    assert found.servers == ()


def test_without_a_manifest_it_is_called_after_its_folder(tmp_path: Path) -> None:
    assert read_plugin(plugin(tmp_path / "tidy", {".mcp.json": {"mcpServers": {}}})).name == "tidy"


def test_paths_of_the_manifest_replace_agents_and_commands_and_add_to_skills_hooks_and_servers(tmp_path: Path) -> None:
    files = {
        "agents/a.md": "",
        "more/b.md": "",
        "commands/c.md": "",
        "skills/s/SKILL.md": "",
        "extra/t/SKILL.md": "",
        "one/SKILL.md": "",
        "hooks/hooks.json": {"hooks": {}},
        "hooks/more.json": {"hooks": {}},
        "servers.json": {"a": {"command": "x"}},
    }
    manifest = {
        "agents": ["./agents/a.md", "./more/"],
        "commands": "./commands/c.md",
        "skills": ["./extra/", "./one"],
        "hooks": ["./hooks/hooks.json", "./hooks/more.json"],
        "mcpServers": "./servers.json",
    }
    folder = plugin(tmp_path / "x", files, name="x", **manifest)
    found = read_plugin(folder)

    assert found.roots("agents") == (folder / "agents/a.md", folder / "more")
    assert found.roots("commands") == (folder / "commands/c.md",)
    assert found.roots("skills") == (folder / "skills", folder / "extra", folder / "one/SKILL.md")
    assert [Path(hook.source).name for hook in found.hooks] == ["hooks.json", "more.json"]
    assert [dict(server.values) for server in found.servers] == [{"a": {"command": "x"}}]


def test_hooks_and_servers_may_stand_in_the_manifest(tmp_path: Path) -> None:
    folder = plugin(tmp_path / "x", {".mcp.json": {}}, name="x", hooks={"hooks": {}}, mcpServers={"a": {}})
    found = read_plugin(folder)

    assert [Path(hook.source).name for hook in found.hooks] == ["plugin.json"]
    assert [Path(server.source).name for server in found.servers] == [".mcp.json", "plugin.json"]


def test_a_plugin_may_be_a_single_skill(tmp_path: Path) -> None:
    folder = plugin(tmp_path / "x", {"SKILL.md": "Do it."}, name="x")
    assert folder / "SKILL.md" in read_plugin(folder).roots("skills")


MISTAKES: dict[str, tuple[dict[str, Any], dict[str, Any], str, str]] = {
    "no name": ({}, {"version": "1"}, "manifest-validation-error", "it has no name"),
    "a bad name": ({}, {"name": "a b"}, "manifest-validation-error", "its name is 'a b'"),
    "a name of several": ({}, {"name": "a:b"}, "manifest-validation-error", "its name is 'a:b'"),
    "a number": ({}, {"name": "x", "version": 1}, "manifest-validation-error", "version must be text, got 1"),
    "no path": ({}, {"name": "x", "agents": 1}, "manifest-validation-error", "agents must be a path or a list"),
    "out of it": ({}, {"name": "x", "agents": "./../y"}, "manifest-validation-error", "'./../y' must begin with ./"),
    "absolute": ({}, {"name": "x", "skills": "/etc"}, "manifest-validation-error", "'/etc' must begin with ./"),
    "not there": ({}, {"name": "x", "hooks": "./h.json"}, "path-not-found", "'./h.json' does not exist"),
    "no name of a file": (
        {},
        {"name": "x", "agents": "./a\0b"},
        "manifest-validation-error",
        "no file can have that name",
    ),
    "no text": ({}, {"name": "x", "skills": "./\ud800"}, "manifest-validation-error", "no file can have that name"),
    "too long": ({}, {"name": "x", "commands": "./" + "x" * 300}, "manifest-validation-error", "file name too long"),
    "no JSON": ({MANIFEST: "{"}, {}, "manifest-parse-error", "it is not valid JSON"),
    "no object": ({MANIFEST: "[]"}, {}, "manifest-parse-error", "it is not a JSON object"),
    "bad hooks": ({"hooks/hooks.json": "{"}, {"name": "x"}, "hook-load-failed", "it is not valid JSON"),
    "bad servers": ({".mcp.json": "[]"}, {"name": "x"}, "mcp-config-invalid", "it is not a JSON object"),
    "nothing": ({"README.md": "x"}, {}, "path-not-found", "it is not a plugin; write a .claude-plugin/plugin.json"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_and_takes_nothing_else_away(mistake: str, tmp_path: Path) -> None:
    files, manifest, kind, why = MISTAKES[mistake]
    bad = plugin(tmp_path / "bad", files, **manifest)
    good = plugin(tmp_path / "good", name="good")
    found = find_plugins([bad, tmp_path / "gone", good])

    assert [each_plugin.name for each_plugin in found.loaded] == ["good"]
    first, gone = found.broken
    assert (first.type, why in first.message, "\n" in first.message) == (kind, True, False)
    assert first.source.startswith(str(bad))
    assert (gone.name, gone.type) == ("gone", "path-not-found")
    assert [str(diagnostic).count("not loaded") for diagnostic in found.diagnostics] == [1, 1]
    with pytest.raises(UsageError, match=str(bad)):
        read_plugin(bad)


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 300])
def test_a_folder_that_no_system_has_is_one_line_too(name: str, tmp_path: Path) -> None:
    good = plugin(tmp_path / "good", name="good")
    found = find_plugins([tmp_path / name, good])

    assert [each_plugin.name for each_plugin in found.loaded] == ["good"]
    (broken,) = found.broken
    assert broken.type == "path-not-found"
    assert broken.message.startswith("it cannot be read: ")
    with pytest.raises(UsageError, match=r"cannot be read|the folder does not exist"):
        read_plugin(tmp_path / name)


def test_a_link_does_not_lead_out_of_it(tmp_path: Path) -> None:
    plugin(tmp_path / "elsewhere", {"a.md": "x"})
    folder = plugin(tmp_path / "x", name="x", agents="./link/a.md")
    (folder / "link").symlink_to(tmp_path / "elsewhere")

    (broken,) = find_plugins([folder]).broken
    assert broken.type == "manifest-validation-error"


def test_of_one_name_the_first_counts_and_one_folder_counts_once(tmp_path: Path) -> None:
    first, second = (plugin(tmp_path / name, name="x") for name in ("one", "two"))
    (tmp_path / "link").symlink_to(first)
    found = find_plugins([first, tmp_path / "link", second])

    assert [each_plugin.folder for each_plugin in found.loaded] == [first]
    (broken,) = found.broken
    assert (broken.name, broken.type, broken.source) == ("x", "name-taken", str(second))


def test_an_administrators_come_first(tmp_path: Path) -> None:
    mine, theirs = (plugin(tmp_path / name, name="x") for name in ("mine", "theirs"))
    (loaded,) = find_plugins([mine], managed=[theirs]).loaded
    assert (loaded.folder, loaded.is_managed) == (theirs, True)


def test_what_has_no_effect_is_said_and_other_keys_are_passed_over(tmp_path: Path) -> None:
    found = find_plugins([plugin(tmp_path / "x", name="x", lspServers={}, dependencies=[], keywords=["a"], main="x")])

    assert len(found.loaded) == 1
    (note,) = found.notes
    assert note.text == "lspServers, dependencies: this has no effect here"


def test_each_has_a_folder_for_its_data_with_the_user(tmp_path: Path) -> None:
    places = find_places(tmp_path, environ={"HOME": str(tmp_path)}, managed=(), plugins=[Plugin("x", tmp_path / "x")])
    (one,) = places.plugins

    assert one.variables == {
        "CLAUDE_PLUGIN_ROOT": str(tmp_path / "x"),
        "GREENROOM_PLUGIN_ROOT": str(tmp_path / "x"),
        "CLAUDE_PLUGIN_DATA": str(tmp_path / ".greenroom/plugins/data/x"),
        "GREENROOM_PLUGIN_DATA": str(tmp_path / ".greenroom/plugins/data/x"),
    }
    assert one.filled("${CLAUDE_PLUGIN_ROOT}/a ${OTHER}") == f"{tmp_path}/x/a ${{OTHER}}"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda one: (
            st.lists(one)
            | st.dictionaries(
                st.sampled_from(["name", "agents", "skills", "commands", "hooks", "mcpServers", "version"]),
                one,
                max_size=4,
            )
        ),
    )
)
def test_no_manifest_does_more_than_leave_its_plugin_out(tmp_path_factory: pytest.TempPathFactory, values: Any) -> None:
    folder = tmp_path_factory.mktemp("plugin")
    (folder / ".claude-plugin").mkdir()
    (folder / MANIFEST).write_text(json.dumps(values), encoding="utf-8")
    found = find_plugins([folder])

    assert len(found.loaded) + len(found.broken) == 1
    assert all("\n" not in one.message for one in found.broken)
