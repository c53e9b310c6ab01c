"""Hooks about files: those that they watch, folders that commands go to, instructions, skills of the user's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom.agents.subagents import WORKTREE_TOOLS
from greenroom.core import TurnFailed
from greenroom.hooks import HookRan, HookSource, SourceKind, merge_hooks, parse_hooks
from greenroom.models import Call, ScriptedModel
from greenroom.session import EventStream, Session, open_session
from greenroom.session.equipment._file_watch import MAX_FILES, FileWatch, Looks, Stamp, listed_names
from greenroom.tools.builtin import STANDARD_TOOLS
from tests.session.hook_commands import answering, hook, told
from tests.session.scripted import said, write
from tests.session.skills import skill
from tests.worktrees.repositories import NEEDS_GIT, make_repository

STAMPS = st.one_of(st.none(), st.integers(1, 2).map(lambda one: (1, 1, one, 1)))
PATHS = (Path("/a"), Path("/b"))


# --- pure ---------------------------------------------------------------------------------------------------------------


@given(st.lists(st.dictionaries(st.sampled_from(PATHS), STAMPS), max_size=20))
def test_each_state_that_a_watched_file_is_left_in_is_told_once_and_no_other(
    looks: list[dict[Path, Stamp]],
) -> None:
    """Neither what it was when it was watched first, nor what lasts from one look to the next but is what was told."""
    seen = Looks()
    known: dict[Path, Stamp] = {}
    before: dict[Path, Stamp] = {}
    for stamps in looks:
        expected = []
        for path, stamp in stamps.items():
            was = known.setdefault(path, stamp)
            if path in before and before[path] == stamp != was:
                expected.append((path, "add" if was is None else "unlink" if stamp is None else "change"))
                known[path] = stamp
        known = {path: known[path] for path in stamps}
        before = stamps
        assert seen.look(stamps) == expected


def test_matchers_list_names_and_answers_replace_what_was_asked_for() -> None:
    """Parts between `|`, as they are written; a matcher for everything lists nothing."""
    handlers = [{"type": "command", "command": "true"}]
    groups = [{"matcher": text, "hooks": handlers} for text in (".envrc|.env", "", "*", "a/b|data.txt")]
    hooks = merge_hooks([parse_hooks({"hooks": {"FileChanged": groups}}, HookSource("test", SourceKind.HOST))])
    assert listed_names(hooks) == (".envrc", ".env", "data.txt")

    watch = FileWatch(Path("/p"))
    names = [Path("/p/.envrc"), Path("/p/.env"), Path("/p/data.txt")]
    watch.ask_for(["/x/y", "z", ".env", "", "\0"])
    assert [*watch.watched(hooks)] == [*names, Path("/x/y"), Path("/p/z")]
    watch.ask_for(["w"])
    assert [*watch.watched(hooks)] == [*names, Path("/p/w")]
    watch.ask_for([str(number) for number in range(2 * MAX_FILES)])
    assert len(watch.watched(hooks)) == MAX_FILES


# --- through a session --------------------------------------------------------------------------------------------------


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at files often: commands need real time."""
    monkeypatch.setattr("greenroom.session.equipment._file_watch.LOOK_S", 0.02)


async def wait_told(project: Path, events: EventStream, event: str, times: int = 1) -> list[dict[str, Any]]:
    """Wait until hooks of an event have run so often, and return what they were told."""
    with trio.fail_after(30):
        async for each_event in events:
            if isinstance(each_event, HookRan) and each_event.event == event:
                times -= 1
                if not times:
                    break
    return [payload for payload in told(project) if payload["hook_event_name"] == event]


def opened(project: Path, script: list[Any], settings: dict[str, Any], **options: Any) -> Any:
    return open_session(
        model=ScriptedModel(script),
        cwd=project,
        runs=project.parent / "runs",
        tools=STANDARD_TOOLS,
        settings=settings,
        **options,
    )


async def run(project: Path, script: list[Any], settings: dict[str, Any], prompt: str = "Go.", **options: Any) -> Any:
    session: Session
    async with opened(project, script, settings, **options) as session:
        await session.run(prompt)
    return session


@pytest.mark.usefixtures("often")
async def test_hooks_hear_of_changes_of_the_files_that_they_watch(project: Path) -> None:
    """Mechanism: `FileWatch` looks, and `watchPaths` of answers replace what it looks at besides."""
    other = project.parent / "other.txt"
    answer = {"hookSpecificOutput": {"hookEventName": "FileChanged", "watchPaths": [str(other)]}}
    settings = hook("FileChanged", answering(project, answer), matcher=".env|other.txt|mine.txt")
    (project / "mine.txt").write_text("a")
    async with opened(project, [], settings) as session:
        events = session.events()
        await trio.to_thread.run_sync((project / "notes.txt").write_text, "nobody watches it")
        await trio.to_thread.run_sync((project / ".env").write_text, "A=1")
        (first,) = await wait_told(project, events, "FileChanged")
        assert (first["file_path"], first["event"]) == (str(project / ".env"), "add")
        (project / "mine.txt").unlink()
        *_, second = await wait_told(project, events, "FileChanged")
        assert (second["file_path"], second["event"]) == (str(project / "mine.txt"), "unlink")
        other.write_text("it is watched since the first answer")
        *_, third = await wait_told(project, events, "FileChanged")
        assert (third["file_path"], third["event"]) == (str(other), "add")
    assert len(told(project)) == 3


@pytest.mark.usefixtures("often")
async def test_what_the_start_of_a_session_asks_for_is_watched(project: Path) -> None:
    """`watchPaths` of `SessionStart`; the matcher compares the name."""
    answer = {"hookSpecificOutput": {"hookEventName": "SessionStart", "watchPaths": [str(project / "deep/a.json")]}}
    settings = hook("SessionStart", answering(project, answer))
    settings["hooks"] |= hook("FileChanged", answering(project, {}), matcher=r"\.json$")["hooks"]
    (project / "deep").mkdir()
    async with opened(project, [], settings) as session:
        events = session.events()
        (project / "deep/a.json").write_text("{}")
        (one,) = await wait_told(project, events, "FileChanged")
        assert one["file_path"] == str(project / "deep/a.json")


async def test_hooks_hear_where_commands_run_next(project: Path) -> None:
    """Mechanism: `Guard.tell_cwd` compares the folders before and after a call; one that leaves them tells nothing."""
    (project / "sub").mkdir()
    calls = [Call("Bash", {"command": text}) for text in ("cd sub", "true", "cd ..; exit 3")]
    await run(project, [*calls, "done"], hook("CwdChanged", answering(project, {})))
    moves = [(payload["old_cwd"], payload["new_cwd"]) for payload in told(project)]
    assert moves == [(str(project), str(project / "sub")), (str(project / "sub"), str(project))]


async def test_hooks_hear_of_each_file_of_instructions(project: Path) -> None:
    """Mechanism: those of the prompt are told at the start, the others when a file is worked on; nothing waits."""
    write(project / "GREENROOM.md", "See @more.md.")
    write(project / "more.md", "More.")
    write(project / "sub/GREENROOM.md", "Below.")
    write(project / ".claude/rules/text.md", '---\npaths: ["**/*.txt"]\n---\nRule.')
    write(project / "sub/a.txt", "a")
    heard = project.parent / "heard"
    heard.mkdir()
    whole = f"cat > {project}/$$ && mv {project}/$$ {heard}"  # they run side by side: a file each
    settings = hook("InstructionsLoaded", whole)
    script = [Call("Read", {"file_path": "sub/a.txt"}), "done"]
    async with opened(project, script, settings, sources=["project"], is_trusted=True) as session:
        events = session.events()
        await session.run("Go.")
        with trio.fail_after(30):
            async for event in events:
                if isinstance(event, HookRan) and len(list(heard.iterdir())) == 4:
                    break
    values = [json.loads(path.read_text()) for path in heard.iterdir()]
    found = {Path(entry["file_path"]).relative_to(project).as_posix(): entry for entry in values}
    assert {name: one["load_reason"] for name, one in found.items()} == {
        "GREENROOM.md": "session_start",
        "more.md": "include",
        "sub/GREENROOM.md": "nested_traversal",
        ".claude/rules/text.md": "path_glob_match",
    }
    assert {entry["memory_type"] for entry in found.values()} == {"Project"}
    rule = found[".claude/rules/text.md"]
    assert (rule["globs"], rule["trigger_file_path"]) == (["**/*.txt"], str(project / "sub/a.txt"))
    assert "trigger_file_path" not in found["more.md"]


@pytest.mark.parametrize("blocks", [False, True])
async def test_hooks_hear_of_a_skill_that_the_user_calls_and_may_refuse_it(project: Path, *, blocks: bool) -> None:
    """Mechanism: `take_in` asks before anything of the skill is in force or in the conversation."""
    skill(project, "release", "allowed-tools: Write\n", body="Release $ARGUMENTS.")
    answer = {"decision": "block", "reason": "not today"} if blocks else {}
    settings = hook("UserPromptExpansion", answering(project, answer), matcher="release")
    trust: dict[str, Any] = {"sources": ["project"], "is_trusted": True}
    if blocks:
        with pytest.raises(TurnFailed, match="a hook refused the prompt: /release: not today"):
            await run(project, [], settings, "/release 1.0", **trust)
    else:
        session = await run(project, ["done"], settings, "/release 1.0", **trust)
        assert "Release 1.0." in said(session)[0].text
    (one,) = told(project)
    asked = {name: one[name] for name in ("expansion_type", "command_name", "command_args", "command_source")}
    assert asked == {
        "expansion_type": "slash_command",
        "command_name": "release",
        "command_args": "1.0",
        "command_source": "project",
    }
    assert "Release 1.0." in one["prompt"]
    assert json.loads(json.dumps(one)) == one


@NEEDS_GIT
async def test_hooks_hear_of_the_worktrees_that_an_agent_goes_into(tmp_path: Path) -> None:
    """As of any other folder that its commands run in next."""
    project = make_repository(tmp_path / "project")
    settings = hook("CwdChanged", f"cat >> {tmp_path}/told; echo >> {tmp_path}/told")
    settings["permissions"]["allow"] += ["EnterWorktree", "ExitWorktree"]
    calls: list[Any] = [Call("EnterWorktree", {"name": "a"}), Call("ExitWorktree", {"action": "remove"}), "done"]
    async with open_session(
        model=ScriptedModel(calls), cwd=project, runs=tmp_path / "runs", tools=WORKTREE_TOOLS, settings=settings
    ) as session:
        await session.run("Go.")
    worktree = str(project / ".greenroom/worktrees/a")
    moves = [(payload["old_cwd"], payload["new_cwd"]) for payload in told(tmp_path)]
    assert moves == [(str(project), worktree), (worktree, str(project))]
