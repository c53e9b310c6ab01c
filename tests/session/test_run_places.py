"""Where run folders lie: relative places, a current folder that changes, and what searches and git see of a run."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
import trio

from greenroom.actors import Behavior, Context
from greenroom.cli import main
from greenroom.core.ports import Ports
from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel, ToolResultBlock
from greenroom.session import open_session
from greenroom.supervisor import open_runtime
from greenroom.tools.builtin import STANDARD_TOOLS
from greenroom.trace import RECENT, open_journal, read_recent, runs_folder
from tests.worktrees.repositories import NEEDS_GIT

WORD: Final = "zwiebelfisch"
PLACES: Final = ("runs", "../elsewhere", "./a/../b/./runs", "link/../beside", ".", "..")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "one" / "project"
    (folder / "a").mkdir(parents=True)
    (tmp_path / "two" / "far").mkdir(parents=True)
    (folder / "link").symlink_to(tmp_path / "two" / "far")
    (folder / "notes.md").write_text(f"a {WORD}\n")
    monkeypatch.chdir(folder)
    monkeypatch.delenv("GREENROOM_RUNS", raising=False)
    return folder


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("by", ["argument", "environment"])
def test_a_relative_folder_for_runs_is_one_whole_path(
    place: str, by: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if by == "environment":
        monkeypatch.setenv("GREENROOM_RUNS", place)

    found = runs_folder(Path(place) if by == "argument" else None)

    assert found.is_absolute()
    assert ".." not in found.parts
    assert found.resolve() == (project / place).resolve()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("by", ["argument", "environment"])
def test_a_session_runs_in_any_relative_folder_and_after_chdir(
    place: str, by: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"runs": place}
    if by == "environment":
        monkeypatch.setenv("GREENROOM_RUNS", place)
        options = {}
    expected = (project / place).resolve()

    async def run(cwd: str, **more: Any) -> tuple[str, Path]:
        model = PlaybookModel({"main": lambda _: "Here.", "general-purpose": lambda _: "There."})
        async with open_session(model=model, cwd=cwd, **options, **more) as session:
            os.chdir(project.parent)
            answer = await session.run("Where?")
            child = await session.spawn("general-purpose", "look", background=True)
            assert (await child.wait_finished()).state == "completed"
        os.chdir(project)
        return answer.text, session.run_folder

    said, folder = trio.run(lambda: run("../project"))
    again, same = trio.run(lambda: run(".", resume=folder.name))

    assert (said, again) == ("Here.", "Here.")
    assert same == folder
    assert folder.parent == expected
    assert len(list((folder / "transcripts").glob("agent-*.jsonl"))) == 2


class Fragile(Behavior[str]):
    """Fails at once."""

    def on_message(self, message: str, ctx: Context) -> None:
        raise ValueError(message)


@pytest.mark.parametrize("place", PLACES[:-2])
def test_a_journal_in_a_relative_folder_keeps_what_led_to_failures(place: str, project: Path) -> None:
    """The recent past goes beside the journal, and stays there when the process changes its folder."""

    async def run() -> None:
        ports = Ports()
        async with open_journal(Path(place) / "plain", ports=ports) as journal:
            os.chdir(project.parent)
            async with open_runtime(ports=ports, recorder=journal.recorder) as runtime:
                ref = await runtime.spawn(Fragile, name="fragile")
                ref.tell("boom")
                await trio.sleep(0.2)

    trio.run(run)

    expected = (project / place).resolve() / "plain"
    assert [one.why for one in read_recent(expected, ())] != []
    assert sorted(path.resolve() for path in project.parent.parent.rglob(RECENT)) == [expected / RECENT]


# --- what searches and git see ------------------------------------------------------------------------------------------


def search(project: Path, runs: str | None, calls: list[Call]) -> list[str]:
    """Run an agent that makes these calls one after another; return their results."""
    seen: list[str] = []

    def script(request: ModelRequest) -> AnswerLike:
        seen.extend(block.content for block in request.messages[-1].content if isinstance(block, ToolResultBlock))
        return calls[len(seen)] if len(seen) < len(calls) else f"Done with {WORD}."

    async def run() -> None:
        model = PlaybookModel({"main": script})
        async with open_session(model=model, cwd=project, runs=runs, tools=STANDARD_TOOLS) as session:
            await session.run(f"Look for {WORD}.")

    trio.run(run)
    return seen


@pytest.mark.parametrize("runs", [None, "kept", "deep/in/it", "."])
def test_searches_of_an_agent_do_not_find_its_own_run(runs: str | None, project: Path) -> None:
    calls = [
        Call("Grep", {"pattern": WORD}),
        Call("Grep", {"pattern": WORD, "path": str(project)}),
        Call("Glob", {"pattern": "**/*.jsonl"}),
        Call("Glob", {"pattern": "**/*"}),
        Call("Grep", {"pattern": WORD, "path": str(runs_folder(None if runs is None else project / runs))}),
    ]
    for _ in range(2):  # the second finds no more of the first than of itself
        found = search(project, runs, calls)

        assert [text.splitlines()[0] for text in found[:2]] == ["notes.md", "notes.md"]
        assert "no file matches" in found[2]
        assert "main.jsonl" not in found[3]
        assert "jsonl" not in found[4]


@NEEDS_GIT
@pytest.mark.parametrize("runs", [None, "kept", "."])
def test_git_status_shows_no_run_and_no_file_of_the_user_changes(runs: str | None, project: Path) -> None:
    git = ["git", "-C", str(project)]
    subprocess.run([*git, "init", "-q"], check=True)
    (project / ".greenroom").mkdir()
    (project / ".greenroom" / "settings.json").write_text("{}")
    before = subprocess.run([*git, "status", "--porcelain", "-uall"], check=True, capture_output=True).stdout

    search(project, runs, [])

    after = subprocess.run([*git, "status", "--porcelain", "-uall"], check=True, capture_output=True).stdout
    assert after == before
    assert b"settings.json" in after, "what people commit is still shown"
    (own,) = [path for path in project.rglob(".gitignore") if ".git" not in path.parts]
    assert own.stat().st_mode & 0o777 == 0o600


def test_a_run_with_parent_folders_in_its_place_ends_well(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["swarm", "--agents", "1", "--runs", "../elsewhere", "--json", "."])

    assert code == 0, capsys.readouterr().err
    assert len(list((project.parent / "elsewhere").glob("*/journal.jsonl"))) == 1
    assert json.loads(capsys.readouterr().out.splitlines()[0])
