"""Plugins in a session: what they bring counts under their name, and a broken one takes nothing else away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from greenroom.hooks import HookRan
from greenroom.models import Call, ScriptedModel
from tests.core.plugin_folders import plugin
from tests.mcp.real import EVERYTHING
from tests.mcp.warm import warm_command
from tests.session.hook_commands import hook
from tests.session.scripted import opened, results, write
from tests.session.teamwork import told as events_of

WRITE = Call("Write", {"file_path": "a.txt", "content": "a"})
NO = "echo no >&2; exit 2"
AGENT = "---\nname: {name}\ndescription: Helps.\n{head}---\nHelp.\n"
SKILL = "---\ndescription: Tidies.\n{head}---\n{body}\n"


def agent(name: str, head: str = "") -> str:
    return AGENT.format(name=name, head=head)


def skill(body: str = "Tidy.", head: str = "") -> str:
    return SKILL.format(head=head, body=body)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a plugin `kit` with a part of every kind but servers."""
    files = {
        "agents/scout.md": agent("scout"),
        "agents/deep/diver.md": agent("diver"),
        "skills/tidy/SKILL.md": skill(),
        "commands/go.md": "Go.",
    }
    return plugin(tmp_path / "kit", files, name="kit", version="1.0")


# --- agents, skills, commands -------------------------------------------------------------------------------------------


async def test_agents_skills_and_commands_carry_its_name(
    project: Path, folder: Path, autojump_clock: MockClock
) -> None:
    """Without a source as well: it was named."""
    model = ScriptedModel(["done"], keeps_requests=True)
    async with opened(project, [], model=model, plugins=[folder]) as session:
        await session.run("Go.")
        assert {"kit:scout", "kit:deep:diver"} <= set(session.agents.definitions)
        assert set(session.commands.skills) == {"kit:tidy", "kit:go"}
        assert session.commands.skills.find("tidy") is session.commands.skills["kit:tidy"]
        assert [(each_plugin.name, each_plugin.folder) for each_plugin in session.plugins.loaded] == [("kit", folder)]
        assert session.problems == ()
    assert str(project) not in model.requests[0].system


async def test_what_others_define_comes_before_it_under_its_name(
    project: Path, folder: Path, autojump_clock: MockClock
) -> None:
    write(project / ".claude/agents/scout.md", agent("scout"))
    async with opened(project, [], model=ScriptedModel([]), sources=["project"], plugins=[folder]) as session:
        assert session.agents.definitions.find("scout").origin.source.startswith(str(project))
        assert session.agents.definitions.find("kit:scout").origin.source.startswith(str(folder))


async def test_mode_hooks_and_servers_of_its_agents_have_no_effect(
    project: Path, folder: Path, autojump_clock: MockClock
) -> None:
    """Behaviours (2), line 4."""
    handlers = f'hooks:\n  PreToolUse:\n    - hooks: [{{type: command, command: "{NO}"}}]\n'
    head = f"permissionMode: plan\nmcpServers:\n  - mine:\n      command: /nowhere\n{handlers}"
    write(folder / "agents/writer.md", agent("writer", head))
    given = {"permissions": {"allow": ["Write"]}}
    async with opened(project, [WRITE], plugins=[folder], main="kit:writer", settings=given) as session:
        await session.run("Go.")
        assert not results(session)[0].is_error
        told = [problem for problem in session.problems if "has no effect in a plugin" in problem]
    assert len(told) == 3


async def test_an_agent_starts_with_a_skill_of_its_plugin_and_reads_where_that_lies(
    project: Path, home: Path, folder: Path, autojump_clock: MockClock
) -> None:
    write(folder / "skills/tidy/SKILL.md", skill("See ${CLAUDE_PLUGIN_ROOT}/a and ${CLAUDE_PLUGIN_DATA}/b."))
    write(folder / "agents/maid.md", agent("maid", "skills: tidy\n") + "Look into ${CLAUDE_PLUGIN_ROOT}/c.\n")
    model = ScriptedModel(["done"], keeps_requests=True)
    async with opened(project, [], model=model, plugins=[folder], main="kit:maid") as session:
        await session.run("Go.")
    data = home / ".greenroom/plugins/data/kit"
    system = model.requests[0].system
    assert all(text in system for text in (f"See {folder}/a and {data}/b.", f"Look into {folder}/c."))
    assert data.is_dir()


async def test_of_two_plugins_an_agent_means_the_skill_of_its_own(
    project: Path, tmp_path: Path, folder: Path, autojump_clock: MockClock
) -> None:
    """One of the whole name comes first."""
    other = plugin(tmp_path / "other", {"skills/tidy/SKILL.md": skill("Another way.")}, name="other")
    write(folder / "agents/maid.md", agent("maid", "skills: tidy, other:tidy\n"))
    write(folder / "skills/tidy/SKILL.md", skill("This way."))
    model = ScriptedModel(["done"], keeps_requests=True)
    async with opened(project, [], model=model, plugins=[other, folder], main="kit:maid") as session:
        await session.run("Go.")
        assert session.commands.skills.find("tidy") is None
    system = model.requests[0].system
    assert system.index("This way.") < system.index("Another way.")


async def test_a_skill_that_is_the_plugin_is_called_by_its_frontmatter(
    project: Path, tmp_path: Path, autojump_clock: MockClock
) -> None:
    one = plugin(tmp_path / "one", {"SKILL.md": skill(head="name: sweep\n")}, name="one")
    two = plugin(tmp_path / "two", {"inner/SKILL.md": skill("At ${CLAUDE_PLUGIN_ROOT}.")}, name="two", skills="./inner")
    async with opened(project, [], plugins=[one, two]) as session:
        await session.run("/two:inner")
        assert set(session.commands.skills) == {"one:sweep", "two:inner"}
        main = session.agents.main.home
        assert main is not None
        assert main.conversation is not None
        assert f"At {two}." in main.conversation.messages[0].text


async def test_an_edit_of_its_agents_counts_for_the_next_one(
    project: Path, folder: Path, autojump_clock: MockClock
) -> None:
    async with opened(project, [], plugins=[folder]) as session:
        write(folder / "agents/new.md", agent("new"))
        await session._composition.definitions.refresh()
        await session.run("Go.")
        assert "kit:new" in session.agents.definitions


# --- hooks --------------------------------------------------------------------------------------------------------------


async def test_its_hooks_run_and_know_its_folders(project: Path, home: Path, folder: Path) -> None:
    """As variables of a shell, and filled in where there is none."""
    script = write(folder / "say.sh", f'#!/bin/sh\necho "$1 $CLAUDE_PLUGIN_DATA" >> {project}/told\n')
    script.chmod(0o755)
    direct = {"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/say.sh", "args": ["${CLAUDE_PLUGIN_ROOT}"]}
    shell = {"type": "command", "command": '"${CLAUDE_PLUGIN_ROOT}"/say.sh shell'}
    one, two = {"matcher": "Write", "hooks": [direct]}, {"hooks": [shell]}
    write(folder / "hooks/hooks.json", {"description": "d", "hooks": {"PreToolUse": [one], "Stop": [two]}})
    async with opened(project, [WRITE], plugins=[folder]) as session:
        await session.run("Go.")
    data = home / ".greenroom/plugins/data/kit"
    assert (project / "told").read_text().splitlines() == [f"{folder} {data}", f"shell {data}"]
    assert data.is_dir()


async def test_the_same_command_of_two_plugins_is_two_commands(project: Path, tmp_path: Path) -> None:
    """Only identical handlers run once: these name different folders."""
    hooks = hook("Stop", f'echo "${{CLAUDE_PLUGIN_ROOT}}" >> {project}/told')
    folders = [plugin(tmp_path / name, {"hooks/hooks.json": hooks}, name=name) for name in ("one", "two")]
    async with opened(project, [], plugins=folders) as session:
        await session.run("Go.")
    assert sorted((project / "told").read_text().splitlines()) == sorted(map(str, folders))


@pytest.mark.parametrize("switch", ["disableAllHooks", "allowManagedHooksOnly"])
@pytest.mark.parametrize("is_named_there", [True, False])
async def test_switches_hold_for_its_hooks_unless_an_administrator_names_it(
    switch: str, project: Path, managed: Path, folder: Path, *, is_named_there: bool
) -> None:
    write(folder / "hooks/hooks.json", {**hook("PreToolUse", NO), switch: False})
    policy = {switch: True, "permissions": {"allow": ["Write"]}}
    write(managed / "settings.json", {**policy, "plugins": [str(folder)]} if is_named_there else policy)
    async with opened(project, [WRITE], sources=["managed"], plugins=[folder]) as session:
        await session.run("Go.")
    assert results(session)[0].is_error is is_named_there


async def test_its_hooks_stay_when_settings_are_edited(
    project: Path, home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("greenroom.session.settings._settings_watch.LOOK_S", 0.02)
    write(folder / "hooks/hooks.json", hook("PreToolUse", NO, matcher="Write"))
    path = write(home / ".greenroom/settings.json", {})
    async with opened(project, [WRITE], sources=["user"], plugins=[folder]) as session:
        stream = session.events()
        write(path, {"permissions": {"allow": ["Write"]}})
        with trio.fail_after(30):
            async for event in stream:
                if getattr(event, "source", "") == "settings":
                    break
        await session.run("Go.")
    assert results(session)[0].is_error


async def test_a_malformed_hook_of_it_is_said_and_the_others_run(project: Path, folder: Path) -> None:
    hooks = hook("PreToolUse", NO, matcher="Write")["hooks"]
    write(folder / "hooks/hooks.json", {"hooks": {**hooks, "Nothing": []}})
    async with opened(project, [WRITE], plugins=[folder], settings={"permissions": {"allow": ["Write"]}}) as session:
        await session.run("Go.")
        (problem,) = session.problems
    assert results(session)[0].is_error
    assert f"{folder}/hooks/hooks.json: hooks.Nothing: unknown" in problem


# --- servers ------------------------------------------------------------------------------------------------------------


async def test_tools_of_its_servers_carry_both_names(project: Path, home: Path, folder: Path) -> None:
    """A hook calls such a server as `plugin:<plugin>:<server>`."""
    command, *arguments = warm_command(EVERYTHING)
    write(folder / ".mcp.json", {"mcpServers": {"all": {"command": command, "args": arguments}}})
    write(
        folder / "hooks/hooks.json",
        {
            "PreToolUse": [
                {
                    "matcher": "Write",
                    "hooks": [
                        {"type": "mcp_tool", "server": "plugin:kit:all", "tool": "echo", "input": {"text": "hi"}}
                    ],
                }
            ]
        },
    )
    call = Call("mcp__plugin_kit_all__echo", {"text": "hello"})
    given = {"permissions": {"allow": ["mcp__plugin_kit_all", "Write"]}}
    async with opened(project, [call, WRITE], plugins=[folder], settings=given) as session:
        await session.run("Go.")
        (state,) = session.servers.states()
        assert state.name == "plugin_kit_all"
        assert [event.error for event in events_of(session, HookRan)] == [""]
    answered, written = results(session)
    assert "hello" in str(answered.content)
    assert not written.is_error


# --- which ones ---------------------------------------------------------------------------------------------------------


async def test_a_broken_one_is_one_line_and_the_rest_goes_on(
    project: Path, tmp_path: Path, folder: Path, autojump_clock: MockClock
) -> None:
    bad = plugin(tmp_path / "bad", {"hooks/hooks.json": "{"}, name="bad")
    async with opened(project, [], plugins=[bad, tmp_path / "gone", folder]) as session:
        await session.run("Go.")
        assert [each_plugin.name for each_plugin in session.plugins.loaded] == ["kit"]
        assert [(one.name, one.type) for one in session.plugins.broken] == [
            ("bad", "hook-load-failed"),
            ("gone", "path-not-found"),
        ]
        bad_line, gone_line = session.problems
    assert bad_line.startswith(f"{bad}/hooks/hooks.json: broken: plugin 'bad' not loaded: it is not valid JSON")
    assert gone_line.startswith(f"{tmp_path}/gone: broken: plugin 'gone' not loaded: the folder does not exist")


async def test_without_a_folder_for_its_data_a_line_says_so_and_it_is_loaded(
    project: Path, home: Path, tmp_path: Path, autojump_clock: MockClock
) -> None:
    (home / ".greenroom/plugins").parent.mkdir(parents=True, exist_ok=True)
    (home / ".greenroom/plugins").write_text("in the way")
    kit = plugin(tmp_path / "kit", {"hooks/hooks.json": {"hooks": {}}}, name="kit")
    async with opened(project, [], model=ScriptedModel([]), plugins=[kit]) as session:
        assert [each_plugin.name for each_plugin in session.plugins.loaded] == ["kit"]
        (line,) = session.problems
    assert "the plugin 'kit' has no folder for its data: it cannot be made: Not a directory" in line


async def test_settings_name_folders_and_they_add_up(
    project: Path, home: Path, tmp_path: Path, managed: Path, autojump_clock: MockClock
) -> None:
    places = {"managed": managed, "program": project, "project": project / "sub", "user": home / ".greenroom"}
    for name, start in places.items():
        plugin(start / "plugins" / name, {"agents/a.md": agent("a")}, name=name)
    plugin(home / "far", {"agents/a.md": agent("a")}, name="far")
    write(managed / "settings.json", {"plugins": ["plugins/managed"]})
    write(home / ".greenroom/settings.json", {"plugins": ["plugins/user", "~/far"]})
    write(project / ".greenroom/settings.json", {"plugins": ["./sub/plugins/project"]})
    write(project / ".claude/settings.json", {"plugins": ["./nothing"]})

    async def names(**options: Any) -> list[str]:
        given = {"plugins": ["plugins/program"]}
        more = {"sources": ["user", "project"], "settings": given, **options}
        async with opened(project, [], model=ScriptedModel([]), **more) as session:
            return [each_plugin.name for each_plugin in session.plugins.loaded]

    assert await names(is_trusted=True) == ["managed", "program", "project", "user", "far"]
    assert await names() == ["managed", "program", "user", "far"], "an untrusted project runs nothing"
    assert await names(sources=["managed"]) == ["managed", "program"]
    assert await names(sources=[]) == ["program"]


async def test_a_project_that_is_not_trusted_is_told_what_its_setting_would_do(
    project: Path, autojump_clock: MockClock
) -> None:
    write(project / ".greenroom/settings.json", {"plugins": ["./kit"]})
    async with opened(project, [], model=ScriptedModel([]), sources=["project"]) as session:
        (problem,) = session.problems
    assert "plugins: this has no effect until the project is trusted" in problem
