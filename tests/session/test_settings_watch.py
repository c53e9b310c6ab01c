"""Settings files that are edited while a session runs."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs
import pytest
import trio
from hypothesis import example, given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.agents import AgentDefinition
from greenroom.hooks import HookEvent, HookSource, SourceKind, parse_hooks
from greenroom.models import Call, ScriptedModel
from greenroom.models._scripted import ScriptEntry
from greenroom.permissions import Effect, Mode, Policy, Scope, Source, merge_permissions, read_permissions, read_update
from greenroom.session import Session, open_session
from greenroom.session.settings._session_policy import rebased
from greenroom.session.settings._settings_watch import Settling
from greenroom.testing import run_virtual, virtual_ports
from greenroom.tools.builtin import STANDARD_TOOLS
from tests.session.hook_commands import answering, told
from tests.session.scripted import opened, results, write
from tests.session.settings_notices import SEEN_S, next_notice, notices

SOURCES = ("user", "project", "local")
TRUSTED: Final[dict[str, Any]] = {"sources": SOURCES, "is_trusted": True}


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at files often where commands run, which need real time."""
    monkeypatch.setattr("greenroom.session.settings._settings_watch.LOOK_S", 0.02)


# --- pure ---------------------------------------------------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=2), max_size=20), st.integers(0, 3))
def test_each_state_that_a_file_is_left_in_is_told_once_and_no_other(looks: list[list[int]], first: int) -> None:
    """What changes from look to look is never told; what stays so is, unless it is what counts already."""
    paths = [Path("/a"), Path("/b")]
    settling = Settling(dict.fromkeys(paths, (first,)))
    counts = dict.fromkeys(paths, first)
    before = dict.fromkeys(paths, first)

    for look in looks:
        now = dict(zip(paths, look, strict=True))
        told = settling.look({path: (one,) for path, one in now.items()})
        assert told == {path for path in paths if now[path] == before[path] != counts[path]}
        counts.update({path: now[path] for path in told})
        before = now

    last = settling.look({path: (one,) for path, one in before.items()})
    assert {path: before[path] if path in last else counts[path] for path in paths} == before


RULES = st.lists(st.sampled_from(["Read", "Bash(ls *)", "Write(a.txt)", "Edit"]), max_size=3, unique=True)
FILE = st.fixed_dictionaries(
    {},
    optional={
        "allow": RULES,
        "deny": RULES,
        "ask": RULES,
        "additionalDirectories": st.lists(st.sampled_from(["/x", "/y"]), max_size=2),
        "disableBypassPermissionsMode": st.just("disable"),
    },
)


def policy_of(values: Mapping[str, Any]) -> Policy:
    source = Source(scope=Scope.PROJECT, name="settings.json", root="/p")
    return merge_permissions([read_permissions(values, source)], cwd="/p", home="/h")[0]


@given(st.lists(FILE, min_size=1, max_size=4), RULES, st.sampled_from([Mode.DEFAULT, Mode.PLAN, Mode.BYPASS]))
def test_whatever_was_edited_in_between_rules_are_those_of_the_last_edit_and_an_agents_own(
    edits: list[dict[str, Any]], own: list[str], mode: Mode
) -> None:
    first = policy_of(edits[0])
    child, _ = first.for_child(mode, deny=own, agent="a")
    mine = child.rules[len(first.rules) :]
    before, policy = first, attrs.evolve(child, directories=(*child.directories, "/own"), mode=mode)

    for edit in edits[1:]:
        after = policy_of(edit)
        policy, before = rebased(policy, before, after, kept_in_files=()), after

    assert policy.rules == (*before.rules, *mine)
    assert set(policy.directories) == {*before.directories, "/own"}
    was_forbidden = any("disableBypassPermissionsMode" in edit for edit in edits[1:])
    assert policy.mode is (Mode.DEFAULT if mode is Mode.BYPASS and was_forbidden else mode)


# --- a session ----------------------------------------------------------------------------------------------------------

GOOD = st.fixed_dictionaries(
    {"permissions": FILE},
    optional={
        "env": st.dictionaries(st.sampled_from(["AA", "BB"]), st.text("ab", max_size=3)),
        "model": st.just("opus"),
    },
)
BROKEN = st.sampled_from(['{"permissions": ', '{"no_such_key": 1}', '{"env": {"A": 1}}', "[]"])
EDITS = st.lists(
    st.tuples(st.sampled_from(["local", "theirs"]), st.one_of(GOOD.map(json.dumps), BROKEN, st.none())), max_size=5
)


@settings(max_examples=20)
@example(edits=[("local", '{"permissions": {"deny": ["Read"]}}'), ("local", "[]"), ("theirs", '{"env": {"AA": "a"}}')])
@example(edits=[("theirs", '{"permissions": {"deny": ["Read"]}}'), ("theirs", "{"), ("local", '{"env": {"AA": "a"}}')])
@given(edits=EDITS)
def test_after_any_edits_what_counts_is_what_a_new_session_would_find_in_the_last_that_can_be_used(
    edits: list[tuple[str, str | None]],
) -> None:
    """Broken edits change nothing, and each is told in a line; a file that is gone says nothing any more."""

    async def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            files = {"local": root / "p/.greenroom/settings.local.json", "theirs": root / "p/.claude/settings.json"}
            (root / "p/.git").mkdir(parents=True)
            usable: dict[str, str | None] = dict.fromkeys(files)
            options: dict[str, Any] = {"model": ScriptedModel([]), "cwd": root / "p", **TRUSTED, "sources": SOURCES[1:]}
            async with open_session(runs=root / "runs", ports=virtual_ports(), **options) as session:
                for name, content in edits:
                    put(files[name], content)
                    await trio.sleep(SEEN_S)
                    if is_broken(name, content):
                        assert any(str(files[name]) in notice for notice in notices(session)[-1:])
                    else:
                        usable[name] = content
                now = in_force(session)
            for name, content in usable.items():
                put(files[name], content)
            async with open_session(runs=root / "runs", ports=virtual_ports(), **options) as session:
                assert now == in_force(session)

    run_virtual(run)


def put(path: Path, content: str | None) -> None:
    if content is None:
        path.unlink(missing_ok=True)
    else:
        write(path, content)


def is_broken(name: str, content: str | None) -> bool:
    """Whether an edit cannot be used; of a file of others only one that is no JSON object."""
    if content is None:
        return False
    return content in {'{"permissions": ', "[]", "{"} or (
        name == "local" and content.startswith(('{"no_', '{"env": {"A": 1}'))
    )


def in_force(session: Session) -> tuple[Any, ...]:
    policy, services = session._composition.rules.policy, session._composition.rules.hooks._services
    variables = {key: value for key, value in services.environment.items() if key in {"AA", "BB"}}
    return policy.rules, policy.directories, policy.may_bypass, variables


async def test_a_rule_that_is_added_or_taken_away_counts_for_the_next_call(
    project: Path, autojump_clock: MockClock
) -> None:
    """Of the main agent and of those below it; what was answered for the session stays."""
    file = write(project / ".greenroom/settings.json", {"permissions": {"allow": ["Write(*.txt)"]}})
    calls = [Call("Write", {"file_path": f"{name}.txt", "content": name}) for name in "abc"]

    async with opened(project, [calls[0], "one", calls[1], "two", calls[2]], **TRUSTED) as session:
        await session.run("Go.")
        write(file, {"permissions": {"deny": ["Write(b.txt)"]}, "model": "opus"})
        await trio.sleep(SEEN_S)
        await session.run("Go on.")
        write(file, {"permissions": {"allow": ["Write"]}})
        await trio.sleep(SEEN_S)
        await session.run("Go on.")
        read = notices(session)

    assert [result.is_error for result in results(session)] == [False, True, False]
    assert read[0] == f"{file} was edited: permissions in force; model from the next session on"
    assert len(read) == 2


@pytest.mark.usefixtures("often")
async def test_hooks_and_variables_of_an_edit_are_those_of_the_next_call(project: Path) -> None:
    """`env` holds for the commands of agents and for hooks; what a broken edit says, holds for neither."""
    file = project / ".greenroom/settings.local.json"
    shell = Call("Bash", {"command": "echo it is $MARK"})
    command = f"echo $MARK >> {project}/seen; exit 0"

    def edit(mark: str) -> str:
        hooks = {"PreToolUse": [{"hooks": [{"type": "command", "command": command}]}]}
        return json.dumps({"env": {"MARK": mark}, "hooks": hooks, "permissions": {"allow": ["Bash"]}})

    read: list[str] = []
    script: list[ScriptEntry] = [shell, "one", shell, "two", shell, "three"]
    model = ScriptedModel(script)
    options: dict[str, Any] = {"tools": STANDARD_TOOLS, "permission_mode": "bypassPermissions", **TRUSTED}
    async with open_session(model=model, cwd=project, runs=project.parent / "runs", **options) as session:
        stream = session.events()
        await session.run("Go.")
        for content in (edit("first"), "{"):
            write(file, content)
            read.append(await next_notice(stream))
            await session.run("Go on.")
        problems = session.problems

    assert [result.content.strip().splitlines()[0] for result in results(session)] == [
        "it is",
        "it is first",
        "it is first",
    ]
    assert (project / "seen").read_text().split() == ["first", "first"]
    assert read[0] == f"{file} was edited: env, hooks, permissions in force"
    assert read[1].startswith(f"{file}: the file is no JSON")
    assert read[1].endswith("; the settings before that edit still count")
    assert read[1] in problems


@pytest.mark.usefixtures("often")
async def test_a_hook_may_refuse_an_edit(project: Path) -> None:
    """`ConfigChange`, by whose settings they are; what it refuses does not count, and people read why."""
    file = project / ".greenroom/settings.json"
    hooks = {
        "ConfigChange": [
            {
                "matcher": "project_settings",
                "hooks": [
                    {"type": "command", "command": answering(project, {"decision": "block", "reason": "ask first"})}
                ],
            }
        ]
    }
    options: dict[str, Any] = {"settings": {"hooks": hooks}, **TRUSTED}
    async with open_session(model=ScriptedModel([]), cwd=project, runs=project.parent / "runs", **options) as session:
        stream = session.events()
        write(file, {"permissions": {"allow": ["Write"]}})
        await next_notice(stream)
        rules = [str(rule) for rule in session._composition.rules.policy.rules if rule.source.scope is Scope.PROJECT]
        read = notices(session)

    assert rules == []
    assert read == [f"{file}: a hook refused the edit: ask first; the settings before that edit still count"]
    (asked,) = told(project)
    assert (asked["hook_event_name"], asked["source"], asked["file_path"]) == (
        "ConfigChange",
        "project_settings",
        str(file),
    )


@pytest.mark.parametrize("is_trusted", [True, False])
async def test_a_lasting_answer_is_no_edit_of_somebodys_and_can_be_taken_back_in_the_file(
    project: Path, autojump_clock: MockClock, *, is_trusted: bool
) -> None:
    """Where the project is not trusted, its file allows nothing: the answer holds as long as the session."""
    file = project / ".greenroom/settings.local.json"
    async with opened(project, [], model=ScriptedModel([]), sources=SOURCES, is_trusted=is_trusted) as session:
        home = session.agents.main.home
        assert home is not None
        update = {
            "type": "addRules",
            "rules": [{"toolName": "Write"}],
            "behavior": "allow",
            "destination": "localSettings",
        }
        await session._composition.rules.keep_updates(home, [read_update(update)])
        await trio.sleep(SEEN_S)
        kept = [str(rule) for rule in session._composition.rules.policy.rules if rule.source.scope is Scope.LOCAL]
        assert notices(session) == []
        write(file, {})
        await trio.sleep(SEEN_S)
        left = [str(rule) for rule in session._composition.rules.policy.rules if rule.source.scope is Scope.LOCAL]

    assert kept == ["Write"]
    assert left == ([] if is_trusted else ["Write"])


async def test_what_an_untrusted_project_edits_into_its_files_is_not_allowed(
    project: Path, autojump_clock: MockClock
) -> None:
    """Until it is trusted, its files only take away."""
    async with opened(project, [Call("Write", {"file_path": "a.txt", "content": "a"})], sources=SOURCES) as session:
        write(project / ".greenroom/settings.json", {"permissions": {"allow": ["Write"]}, "env": {"MARK": "x"}})
        await trio.sleep(SEEN_S)
        await session.run("Go.")
        variables = session._composition.rules.hooks._services.environment

    assert results(session)[0].is_error
    assert "MARK" not in variables


async def test_agents_that_there_are_have_the_rules_and_hooks_of_an_edit_and_keep_what_is_theirs(
    project: Path, autojump_clock: MockClock
) -> None:
    """An agent that answers a hook is not given hooks again that start agents."""
    own = {"PreToolUse": [{"hooks": [{"type": "command", "command": "own"}]}]}
    stops = [{"hooks": [{"type": "agent", "prompt": "Is it done?"}, {"type": "command", "command": "stop"}]}]
    async with opened(project, [], model=ScriptedModel([]), **TRUSTED) as session:
        composition = session._composition
        plain = composition.make_home(AgentDefinition(name="plain"))
        hooked = composition.make_home(AgentDefinition(name="hooked", hooks=own, disallowed_tools=("Write(x)",)))
        asked = composition.make_home(AgentDefinition(name="asked"))
        composition.rules.hooks.limit(asked)
        write(project / ".greenroom/settings.json", {"hooks": {"Stop": stops}, "permissions": {"deny": ["Read"]}})
        await trio.sleep(SEEN_S)
        write(project / ".greenroom/settings.json", {"hooks": {"Stop": stops}, "permissions": {"deny": ["Edit"]}})
        await trio.sleep(SEEN_S)

    homes = (plain, hooked, asked)
    hooks = [home.profile.hooks.hooks for home in homes if home.profile.hooks is not None]
    assert [len(hook.find(HookEvent.STOP, "")) for hook in hooks] == [2, 2, 1]
    assert [hook.has(HookEvent.PRE_TOOL_USE) for hook in hooks] == [False, True, False]
    denied = [
        [str(rule) for rule in home.profile.policy.of(Effect.DENY)] for home in homes if home.profile.policy is not None
    ]
    assert denied == [["Edit"], ["Edit", "Write(x)"], ["Edit"]]


async def test_hooks_that_the_program_brought_hold_over_edits(project: Path, autojump_clock: MockClock) -> None:
    """Also for agents that are made after the edit."""
    source = HookSource("the program", SourceKind.HOST)
    brought = parse_hooks({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "look"}]}]}}, source)
    async with opened(project, [], model=ScriptedModel([]), **TRUSTED) as session:
        composition = session._composition
        before = composition.make_home(AgentDefinition(name="before"))
        session.add_hooks(brought)
        stops = {"Stop": [{"hooks": [{"type": "command", "command": "stop"}]}]}
        write(project / ".greenroom/settings.json", {"hooks": stops})
        await trio.sleep(SEEN_S)
        after = composition.make_home(AgentDefinition(name="after"))
        after.replace(hooks=composition.rules.hooks.of(after, ()))

    hooks = [one.profile.hooks.hooks for one in (before, after) if one.profile.hooks is not None]
    assert [len(hook.find(HookEvent.PRE_TOOL_USE, "Bash")) for hook in hooks] == [1, 1]
    assert [len(hook.find(HookEvent.STOP, "")) for hook in hooks] == [1, 1]
