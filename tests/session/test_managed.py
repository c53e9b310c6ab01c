"""An administrator's folder: its settings come before all others, and its agents, skills and instructions come along."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from greenroom.core import SettingsError, UsageError
from greenroom.core.sources import find_places
from greenroom.models import Call, ScriptedModel
from greenroom.permissions import Mode, read_update
from tests.session.hook_commands import answering, hook
from tests.session.scripted import opened, results, write
from tests.session.settings_notices import SEEN_S, next_notice, notices

WRITE = Call("Write", {"file_path": "a.txt", "content": "a"})
ANY: Any = {"sources": ["managed"]}


def agent(name: str, head: str = "") -> str:
    return f"---\nname: {name}\ndescription: From a file.\n{head}---\nHelp.\n"


# --- which folder -------------------------------------------------------------------------------------------------------


async def test_a_variable_that_names_no_folder_lets_nothing_begin(
    project: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    monkeypatch.setenv("GREENROOM_MANAGED", "/nowhere")
    with pytest.raises(UsageError, match="GREENROOM_MANAGED is not a directory: '/nowhere'"):
        async with opened(project, [], **ANY):
            pass


def test_parts_of_a_policy_count_from_the_last_to_the_first(managed: Path) -> None:
    for name in ("managed-settings.d/10-a.json", "managed-settings.d/20-b.json", "managed-settings.d/.c.json"):
        write(managed / name, {})
    names = [policy.relative_to(managed).as_posix() for policy in find_places(managed).policies]
    assert names == [
        "settings.json",
        "managed-settings.d/20-b.json",
        "managed-settings.d/10-a.json",
        "managed-settings.json",
    ]


@pytest.mark.parametrize("name", ["settings.json", "managed-settings.json"])
async def test_a_policy_that_cannot_be_read_lets_nothing_begin(
    name: str, project: Path, managed: Path, autojump_clock: MockClock
) -> None:
    write(managed / name, "{")
    with pytest.raises(SettingsError, match=r"settings\.json"):
        async with opened(project, [], **ANY):
            pass


@pytest.mark.parametrize("sources", [["managed"], ["user"], []])
async def test_it_comes_with_any_source_and_brings_no_other_one(
    sources: list[str], project: Path, home: Path, managed: Path, autojump_clock: MockClock
) -> None:
    """The library reads files only for `sources=`."""
    write(managed / "managed-settings.json", {"permissions": {"deny": ["Bash"]}})
    write(home / ".greenroom/settings.json", {"permissions": {"deny": ["Glob"]}})
    write(home / ".greenroom/agents/mine.md", agent("mine"))
    write(project / ".greenroom/agents/theirs.md", agent("theirs"))
    write(project / "CLAUDE.md", "Use tabs.")
    model = ScriptedModel(["done"], keeps_requests=True)
    async with opened(project, [], model=model, sources=sources) as session:
        await session.run("Go.")
        assert ("Bash" in session.tools) is (sources == [])
        assert ("Glob" in session.tools) is (sources != ["user"])
        assert ({"mine", "theirs"} <= set(session.agents.definitions)) is (sources == ["user"])
    assert ("Use tabs." in model.requests[0].system) is (sources == ["user"])


# --- what it says, comes first ------------------------------------------------------------------------------------------


async def test_it_comes_before_what_the_program_gives_and_before_the_environment(
    project: Path, managed: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    monkeypatch.setenv("GREENROOM_MAX_SUBAGENT_SPAWN_DEPTH", "5")
    policy = {
        "permissions": {"defaultMode": "plan"},
        "delegation": {"max_depth": 1},
        "env": {"WHO": "administrator"},
    }
    write(managed / "managed-settings.json", policy)
    given = {"permissions": {"defaultMode": "acceptEdits"}, "delegation": {"max_depth": 3}, "env": {"WHO": "program"}}
    more = {"settings": given, "permission_mode": "acceptEdits", **ANY}
    async with opened(project, [], model=ScriptedModel([]), **more) as session:
        assert session.permissions.mode == Mode.PLAN
        assert session._services.plan.settings.scalars.delegation.max_depth == 1
        assert session._services.plan.environ["WHO"] == "administrator"
        assert any("the mode is plan, set by an administrator" in problem for problem in session.problems)


async def test_a_lower_source_fills_in_what_it_does_not_say(
    project: Path, managed: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    monkeypatch.setenv("GREENROOM_MAX_CONCURRENT_SUBAGENTS", "3")
    write(managed / "managed-settings.json", {"delegation": {"max_depth": 1}})
    given = {"delegation": {"max_total": 7}}
    async with opened(project, [], model=ScriptedModel([]), settings=given, **ANY) as session:
        delegation = session._services.plan.settings.scalars.delegation
        assert (delegation.max_depth, delegation.max_total, delegation.max_running) == (1, 7, 3)


async def test_bypassing_can_be_switched_off_for_all(project: Path, managed: Path, autojump_clock: MockClock) -> None:
    write(managed / "managed-settings.json", {"permissions": {"disableBypassPermissionsMode": "disable"}})
    async with opened(project, [WRITE], permission_mode="bypassPermissions", **ANY) as session:
        assert session.permissions.mode == Mode.DEFAULT
        await session.run("Go.")
    assert results(session)[0].is_error


# --- hooks --------------------------------------------------------------------------------------------------------------

NO = "echo no >&2; exit 2"


async def test_its_hooks_run_though_somebody_disables_all(project: Path, home: Path, managed: Path) -> None:
    write(managed / "managed-settings.json", hook("PreToolUse", NO, matcher="Write"))
    off = {"disableAllHooks": True, "permissions": {"allow": ["Write"]}}
    write(home / ".greenroom/settings.json", off)
    async with opened(project, [WRITE], sources=["user"], settings=off) as session:
        await session.run("Go.")
    assert results(session)[0].is_error


@pytest.mark.parametrize("who", ["managed", "user"])
async def test_only_it_can_say_that_no_other_hooks_run(who: str, project: Path, home: Path, managed: Path) -> None:
    """`allowManagedHooksOnly`, also against what a program gives."""
    place = managed / "managed-settings.json" if who == "managed" else home / ".claude/settings.json"
    write(place, {"allowManagedHooksOnly": True, "permissions": {"allow": ["Write"]}})
    async with opened(project, [WRITE], sources=["user"], settings=hook("PreToolUse", NO)) as session:
        await session.run("Go.")
    assert results(session)[0].is_error is (who == "user")


async def test_hooks_of_its_agents_run_without_trust_and_though_no_others_may(project: Path, managed: Path) -> None:
    head = f'hooks:\n  PreToolUse:\n    - hooks: [{{type: command, command: "{NO}"}}]\n'
    write(managed / ".claude/agents/writer.md", agent("writer", head))
    write(managed / "managed-settings.json", {"allowManagedHooksOnly": True, "permissions": {"allow": ["Write"]}})
    async with opened(project, [WRITE], main="writer", **ANY) as session:
        await session.run("Go.")
    assert results(session)[0].is_error


# --- rules --------------------------------------------------------------------------------------------------------------

ONLY = {"allowManagedPermissionRulesOnly": True}


@pytest.mark.parametrize("is_locked", [True, False])
async def test_no_other_rules_count_where_it_says_so(
    project: Path, home: Path, managed: Path, autojump_clock: MockClock, *, is_locked: bool
) -> None:
    """Rules of files and of the program; what allows its own tools is none of these."""
    policy = {**(ONLY if is_locked else {}), "permissions": {"allow": ["Write(a.txt)"]}}
    write(managed / "managed-settings.json", policy)
    write(home / ".greenroom/settings.json", {"permissions": {"allow": ["Write(b.txt)"], "deny": ["Glob"]}})
    given = {"permissions": {"allow": ["Write(c.txt)"]}}
    calls = [Call("Write", {"file_path": f"{name}.txt", "content": name}) for name in "abc"]
    own = Call("Deploy", {"where": "here"})
    async with opened(project, [*calls, own], sources=["user"], settings=given) as session:
        assert ("Glob" in session.tools) is is_locked
        await session.run("Go.")
    assert [result.is_error for result in results(session)] == [False, is_locked, is_locked, False]
    told = [problem for problem in session.problems if "its rules are ignored" in problem]
    assert len(told) == (2 if is_locked else 0)


async def test_neither_a_skill_nor_a_lasting_answer_lifts_that(
    project: Path, managed: Path, autojump_clock: MockClock
) -> None:
    write(managed / "managed-settings.json", {**ONLY, "permissions": {"allow": ["Skill"]}})
    write(managed / "skills/release/SKILL.md", "---\ndescription: Release.\nallowed-tools: Write\n---\nDo it.\n")
    async with opened(project, [Call("Skill", {"skill": "release"}), WRITE], **ANY) as session:
        main = session.agents.main.home
        assert main is not None
        rules = [{"toolName": "Write"}]
        update = read_update({"type": "addRules", "behavior": "allow", "rules": rules, "destination": "session"})
        await session._composition.rules.keep_updates(main, [update])
        await session.run("Go.")
    assert [result.is_error for result in results(session)] == [False, True]


async def test_what_a_definition_denies_counts_all_the_same(
    project: Path, managed: Path, autojump_clock: MockClock
) -> None:
    write(managed / "managed-settings.json", {**ONLY, "permissions": {"allow": ["Write"]}})
    agents = {"careful": {"description": "d", "prompt": "p", "disallowedTools": ["Write(a.txt)"]}}
    async with opened(project, [WRITE], agents=agents, main="careful", **ANY) as session:
        await session.run("Go.")
    assert results(session)[0].is_error


async def test_the_switch_means_nothing_in_the_settings_of_others(
    project: Path, managed: Path, autojump_clock: MockClock
) -> None:
    given = {**ONLY, "permissions": {"allow": ["Write"]}}
    async with opened(project, [WRITE], settings=given, **ANY) as session:
        await session.run("Go.")
    assert not results(session)[0].is_error


# --- what else lies there -----------------------------------------------------------------------------------------------


async def test_its_agents_skills_and_instructions_come_before_others(
    project: Path, home: Path, managed: Path, autojump_clock: MockClock
) -> None:
    """Both forms of the folder."""
    write(managed / "CLAUDE.md", "Be careful.")
    write(home / ".claude/CLAUDE.md", "Be brief.")
    write(managed / ".claude/agents/a.md", agent("scout"))
    write(managed / "agents/b.md", agent("keeper"))
    write(managed / ".claude/skills/tidy/SKILL.md", "---\ndescription: Theirs.\n---\nTidy.\n")
    write(home / ".claude/skills/tidy/SKILL.md", "---\ndescription: Mine.\n---\nTidy.\n")
    agents = {"scout": {"description": "Given.", "prompt": "p"}}
    model = ScriptedModel(["done"], keeps_requests=True)
    async with opened(project, [], model=model, sources=["user"], agents=agents) as session:
        await session.run("Go.")
        assert session.agents.definitions["scout"].origin.source.startswith(str(managed))
        assert "keeper" in session.agents.definitions
        assert session.commands.skills["tidy"].description == "Theirs."
    system = model.requests[0].system
    assert system.index("Be careful.") < system.index("Be brief.")


async def test_its_instructions_are_told_where_no_other_files_are_read(
    project: Path, managed: Path, autojump_clock: MockClock
) -> None:
    write(managed / "CLAUDE.md", "Be careful.")
    model = ScriptedModel(["done"], keeps_requests=True)
    async with opened(project, [], model=model, **ANY) as session:
        await session.run("Go.")
    assert "Be careful." in model.requests[0].system
    assert str(project) not in model.requests[0].system


# --- edits --------------------------------------------------------------------------------------------------------------


async def test_an_edit_of_it_counts_at_once_and_no_hook_can_refuse_it(
    project: Path, home: Path, managed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ConfigChange` hears of it as `policy_settings`."""
    monkeypatch.setattr("greenroom.session.settings._settings_watch.LOOK_S", 0.02)
    path = write(managed / "managed-settings.json", {"permissions": {"allow": ["Write"]}})
    refusal = answering(project, {"decision": "block", "reason": "no"})
    write(home / ".greenroom/settings.json", hook("ConfigChange", refusal))
    given = {"env": {"WHO": "program"}}
    async with opened(project, [WRITE], sources=["user"], settings=given) as session:
        stream = session.events()
        write(path, {"permissions": {"deny": ["Write(a.txt)"]}, "env": {"WHO": "administrator"}})
        await next_notice(stream)
        assert session._services.plan.environ["WHO"] == "administrator"
        await session.run("Go.")
    assert results(session)[0].is_error
    assert "policy_settings" in (project / "told").read_text()
    assert "env, permissions in force" in notices(session)[0]


async def test_an_edit_that_cannot_be_used_leaves_what_counted(
    project: Path, managed: Path, autojump_clock: MockClock
) -> None:
    path = write(managed / "managed-settings.json", {"permissions": {"deny": ["Write(a.txt)"]}})
    given = {"permissions": {"allow": ["Write"]}}
    async with opened(project, [WRITE], settings=given, **ANY) as session:
        write(path, "{")
        await trio.sleep(SEEN_S)
        await session.run("Go.")
    assert results(session)[0].is_error
    assert "the settings before that edit still count" in notices(session)[0]


async def test_a_part_that_is_added_counts_at_once_and_not_any_more_when_it_is_gone(
    project: Path, managed: Path, autojump_clock: MockClock
) -> None:
    write(managed / "managed-settings.d/20.json", {"env": {"WHO": "20"}})
    given = {"permissions": {"allow": ["Write"]}}
    model = ScriptedModel([WRITE, "done", WRITE, "done"])
    async with opened(project, [], model=model, settings=given, **ANY) as session:
        part = write(
            managed / "managed-settings.d/10.json", {"permissions": {"deny": ["Write(a.txt)"]}, "env": {"WHO": "10"}}
        )
        await trio.sleep(SEEN_S)
        assert session._services.plan.environ["WHO"] == "20", "of single values the last file by its name counts"
        assert "10.json was edited: env, permissions in force" in notices(session)[0]
        await session.run("Go.")
        part.unlink()
        await trio.sleep(SEEN_S)
        await session.run("Go.")
    assert [result.is_error for result in results(session)] == [True, False]
    assert len(notices(session)) == 2


# --- servers ------------------------------------------------------------------------------------------------------------


def server(**entries: str) -> dict[str, Any]:
    return {"mcpServers": {name: {"command": command} for name, command in entries.items()}}


@pytest.mark.parametrize("is_locked", [True, False])
async def test_which_servers_may_be_connected_is_the_administrators_to_say(
    project: Path, home: Path, managed: Path, autojump_clock: MockClock, *, is_locked: bool
) -> None:
    """Others may deny more; allow more they may only where that is left to them."""
    policy = {"allowedMcpServers": [{"serverName": "a"}], "allowManagedMcpServersOnly": is_locked}
    write(managed / "managed-settings.json", policy)
    mine = {"allowedMcpServers": [{"serverName": "b"}], "deniedMcpServers": [{"serverName": "c"}]}
    write(home / ".greenroom/settings.json", mine)
    given = server(a="/nowhere", b="/nowhere", c="/nowhere", d="/nowhere")
    async with opened(project, [], model=ScriptedModel([]), sources=["user"], settings=given) as session:
        names = [state.name for state in session.servers.states()]
        told = [problem for problem in session.problems if "is not connected" in problem]
    assert names == (["a"] if is_locked else ["a", "b"])
    assert len(told) == 4 - len(names)


@pytest.mark.parametrize("who", ["given", "managed"])
@pytest.mark.parametrize(
    "policy",
    [("managed-mcp.json", {"mcpServers": {}}), ("settings.json", {"deniedMcpServers": [{"serverName": "own"}]})],
    ids=["exclusive", "denied"],
)
async def test_servers_of_definitions_are_held_to_it(
    who: str, policy: tuple[str, dict[str, Any]], project: Path, managed: Path, autojump_clock: MockClock
) -> None:
    """An empty list of servers leaves none but those of the administrator's own agents."""
    name, values = policy
    write(managed / name, values)
    head = "mcpServers:\n  - own:\n      command: /nowhere\n"
    agents = {"one": {"description": "d", "prompt": "p", "mcpServers": [{"own": {"command": "/nowhere"}}]}}
    if who == "managed":
        write(managed / "agents/one.md", agent("one", head))
    more = {"agents": None if who == "managed" else agents, "main": "one", **ANY}
    async with opened(project, [], **more) as session:
        await session.run("Go.")
        told = [problem for problem in session.problems if "server 'own' is not started" in problem]
    is_free = who == "managed" and name == "managed-mcp.json"
    assert len(told) == (not is_free)
