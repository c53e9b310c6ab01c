"""Each kind of change, at its place in a branch."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from greenroom.branches import RunBranch, branch
from greenroom.core import UsageError
from greenroom.models import AnswerLike, Call, ModelRequest
from greenroom.session import EVENTS, Session, read_branch
from greenroom.tools import tool
from greenroom.tools.builtin import READ_ONLY_TOOLS
from greenroom.trace import JOURNAL, read_journal
from tests.branches.recorded_runs import PORTS, Watched, go_on, record_one, wait_quiet

DEFINITION = """---
name: main
description: Looks things up.
tools: Glob
---

Answer in one word.
"""
touched: list[str] = []


@tool
async def touch(name: str) -> str:
    """Touch something.

    Args:
        name: Its name.
    """
    touched.append(name)
    return f"touched {name}"


def ask_and_touch(request: ModelRequest) -> AnswerLike:
    rounds = sum(message.role == "assistant" for message in request.messages)
    return Call("Touch", {"name": f"thing {rounds}"}) if rounds < 3 else "All touched."


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which each round touches something."""
    folder = tmp_path_factory.mktemp("changes")
    return record_one(folder, Watched(ask_and_touch), "Touch the things.", tools=[touch, *READ_ONLY_TOOLS])


def last_call(run: Path) -> int:
    """Return the event behind which the last call has its result."""
    return [entry.seq for entry in read_journal(run / JOURNAL, EVENTS).entries if entry.kind == "tool.end"][-1]


def go(made: RunBranch) -> Watched:
    """Go on with a branch and return what its model was asked."""
    again = Watched(ask_and_touch)
    touched.clear()
    go_on(made.folder.parent.parent, made.folder, again.model, wait_quiet, tools=[touch, *READ_ONLY_TOOLS])
    return again


def texts_of(request: ModelRequest) -> str:
    return json.dumps([str(message.content) for message in request.messages])


@pytest.mark.promise("W-change")
def test_a_changed_message_stands_in_the_place_of_the_old_one(run: Path) -> None:
    again = go(branch(run, last_call(run), changes={"message:1": "Touch two things."}, ports=PORTS))

    assert "Touch two things." in texts_of(again.asked[0])
    assert "Touch the things." not in texts_of(again.asked[0])


@pytest.mark.promise("W-change")
def test_a_changed_result_is_what_the_model_reads(run: Path) -> None:
    call = next(entry["call"] for entry in read_journal(run / JOURNAL, EVENTS).entries if entry.kind == "tool.end")

    again = go(branch(run, last_call(run), changes={f"result:{call}": "it was hot"}, ports=PORTS))

    assert "it was hot" in texts_of(again.asked[0])
    assert "touched thing 0" not in texts_of(again.asked[0])
    assert touched == []


@pytest.mark.promise("W-change")
def test_a_changed_definition_replaces_prompt_and_tools(run: Path) -> None:
    again = go(branch(run, last_call(run), changes={"definition:main": DEFINITION}, ports=PORTS))

    assert "Answer in one word." in again.asked[0].system
    assert "Touch" not in [schema.name for schema in again.asked[0].tools]


def test_a_file_that_defines_another_agent_is_refused(run: Path) -> None:
    with pytest.raises(UsageError, match="definition:main: the file does not define 'main'"):
        branch(run, last_call(run), changes={"definition:main": DEFINITION.replace("main", "other")}, ports=PORTS)


@pytest.mark.promise("W-change")
def test_changed_settings_hold_in_the_branch(run: Path) -> None:
    changes = {"settings": json.dumps({"permissions": {"deny": ["Touch"]}})}

    again = go(branch(run, last_call(run), changes=changes, files="here", ports=PORTS))

    assert "Touch" not in [schema.name for schema in again.asked[0].tools]


@pytest.mark.promise("W-files")
@pytest.mark.parametrize(("files", "expected"), [("refuse", []), ("here", ["thing 1", "thing 2"])])
def test_calls_that_may_change_files_are_refused_unless_told(run: Path, files: str, expected: list[str]) -> None:
    first = next(entry.seq for entry in read_journal(run / JOURNAL, EVENTS).entries if entry.kind == "tool.end")

    again = go(branch(run, first, files=files, ports=PORTS))  # type: ignore[arg-type]

    assert touched == expected
    assert ("must not change files" in texts_of(again.asked[-1])) == (files == "refuse")


@pytest.mark.promise("W-change")
def test_a_branch_of_a_branch_keeps_its_changes(run: Path) -> None:
    """Each of them holds until it is changed once more."""
    changes = {"system:main": "Be brief.", "settings": json.dumps({"permissions": {"deny": ["Glob"]}})}
    first = branch(run, last_call(run), changes=changes, ports=PORTS)
    go(first)

    kept = go(branch(first.folder, first.stands[0].place, ports=PORTS))
    replaced = go(branch(first.folder, first.stands[0].place, changes={"definition:main": DEFINITION}, ports=PORTS))

    assert "Be brief." in kept.asked[0].system
    assert "Glob" not in [schema.name for schema in kept.asked[0].tools]
    assert "Answer in one word." in replaced.asked[0].system
    assert "Be brief." not in replaced.asked[0].system


def test_a_branch_that_names_a_definition_elsewhere_is_malformed(run: Path) -> None:
    made = branch(run, last_call(run), changes={"definition:main": DEFINITION}, ports=PORTS)
    file = made.folder / "branch.json"
    (made.folder.parent / "main.md").write_text(DEFINITION)
    file.write_text(file.read_text().replace("definitions/1.md", "../main.md"))

    with pytest.raises(UsageError, match=r"branch\.json is malformed"):
        read_branch(made.folder)


@pytest.mark.promise("W-foreign")
def test_a_foreign_branch_starts_no_program_and_allows_no_call(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its file may come from somebody else, as may the definitions in its folder; a branch of it has nothing of that either."""
    rules = {"allow": ["Touch"], "deny": ["Glob"]}
    given = {
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]},
        "effort": "low",
        "permissions": rules,
    }
    definition = DEFINITION.replace("tools: Glob", "permissionMode: bypassPermissions")
    changes = {"settings": json.dumps(given), "definition:main": definition}
    monkeypatch.setenv("GREENROOM_RUNS", str(run.parent))
    own = branch(run, last_call(run), changes=changes, ports=PORTS)
    start = read_branch(own.folder)
    assert start is not None
    assert (start.settings, start.problem) == (given, "")

    monkeypatch.setenv("GREENROOM_RUNS", str(run.parent.parent))
    foreign = read_branch(own.folder)
    again = branch(own.folder, len(read_journal(own.folder / JOURNAL, EVENTS).entries), ports=PORTS)

    assert foreign is not None
    assert foreign.settings == {"effort": "low", "permissions": {"deny": ["Glob"]}}
    assert (foreign.loaded["main"].permission_mode, start.loaded["main"].permission_mode) == (None, "bypassPermissions")
    assert "hooks, permissions.allow, definition:main: ignored" in foreign.problem == again.problem
    laundered = json.loads((again.folder / "branch.json").read_text())
    assert (laundered["settings"], laundered["definitions"]) == (foreign.settings, {})


@pytest.mark.promise("W-foreign")
def test_a_foreign_branch_runs_no_hooks(run: Path) -> None:
    """It is not in the runs folder of the project that the tests run in."""
    marker = run.parent / "hooked"
    hook = {"hooks": [{"type": "command", "command": f"touch {marker}"}]}
    settings = {"hooks": {"UserPromptSubmit": [hook], "Stop": [hook], "PreToolUse": [hook]}}

    made = branch(run, last_call(run), changes={"settings": json.dumps(settings)}, files="here", ports=PORTS)
    told: list[str] = []

    async def ask(session: Session) -> None:
        told.extend(session.problems)
        await session.run("Go on.")

    go_on(run.parent.parent, made.folder, Watched(ask_and_touch).model, ask, tools=[touch])

    assert not marker.exists()
    assert any("hooks: ignored" in line for line in told)


@pytest.mark.promise("W-foreign")
def test_files_of_a_run_that_are_links_are_not_followed(run: Path, tmp_path: Path) -> None:
    """A run folder of somebody else would bring files of this user into its branch."""
    copy = tmp_path / run.name
    shutil.copytree(run, copy)
    (tmp_path / "private.md").write_text("a private plan")
    (copy / "plans").mkdir()
    (copy / "plans" / "own.md").write_text("a plan")
    (copy / "plans" / "other.md").symlink_to(tmp_path / "private.md")

    made = branch(copy, last_call(run), ports=PORTS)

    assert [path.name for path in (made.folder / "plans").iterdir()] == ["own.md"]
    transcript = copy / "transcripts" / "main.jsonl"
    transcript.rename(tmp_path / "main.jsonl")
    transcript.symlink_to(tmp_path / "main.jsonl")
    with pytest.raises(UsageError, match=r"cannot read the transcript main\.jsonl: it is missing, or a link"):
        branch(copy, last_call(run), ports=PORTS)


@pytest.mark.parametrize("name", ["../main.jsonl", "/main.jsonl", "main\0.jsonl"])
def test_a_journal_that_names_a_file_elsewhere_is_refused(run: Path, tmp_path: Path, name: str) -> None:
    """Else a run of somebody else's could have files outside of its folder replaced."""
    copy = tmp_path / run.name
    shutil.copytree(run, copy)
    (tmp_path / run.name / "main.jsonl").write_bytes((run / "transcripts" / "main.jsonl").read_bytes())
    journal = copy / JOURNAL
    journal.write_text(journal.read_text().replace('"main.jsonl"', json.dumps(name)))

    with pytest.raises(UsageError, match="which it cannot be"):
        branch(copy, last_call(run), ports=PORTS)

    assert [*tmp_path.iterdir()] == [copy]
