"""Mistakes of a program about a session: one line that says what, where and what to do, and nothing lost."""

from __future__ import annotations

import errno
import json
import re
from pathlib import Path
from typing import Any

import attrs
import pytest

from greenroom.agents import AgentDefinition
from greenroom.core import GreenroomError, JournalError, RuntimeFailed, SettingsError, UsageError
from greenroom.core.ports import Disk, SystemDisk
from greenroom.models import Call, ScriptedModel, ToolResultBlock
from greenroom.session import open_session
from greenroom.testing import virtual_ports
from greenroom.tools import tool
from greenroom.tools.builtin import STANDARD_TOOLS
from tests.session.small_team import make_folder


class FailingDisk:
    """A disk that takes nothing: it is full, or it cannot be written at all."""

    append_all = Disk.append_all

    def __init__(self, *, is_read_only: bool) -> None:
        disk = SystemDisk()
        self.make_folder = self._refuse_folder if is_read_only else disk.make_folder
        self.read, self.size, self.write, self.sync, self.close = (
            disk.read,
            disk.size,
            disk.write,
            disk.sync,
            disk.close,
        )

    def append(self, path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def _refuse_folder(self, path: Path) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return make_folder(tmp_path / "p")


async def said(folder: Path, **options: Any) -> tuple[str, ...]:
    """Run one turn and return the problems of its session."""
    options = {"model": ScriptedModel(["done"]), "cwd": folder, "runs": folder.parent / "runs", **options}
    async with open_session(**options) as session:
        assert (await session.run("Go.")).text == "done"
    return tuple(session.problems)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"cwd": "nowhere"}, "cwd is not a directory"),
        ({"main": "nobody"}, "no agent is called 'nobody'"),
        ({"sources": ["team"]}, "there are no settings 'team'"),
        ({"permission_mode": "yolo"}, "unknown permission mode 'yolo'"),
        ({"resume": "nothing"}, "No conversation found with session ID: nothing"),
        ({"settings": {"modle": "x"}}, "unknown key 'modle'"),
        ({"settings": {"effort": "enormous"}}, "effort must be one of"),
        ({"settings": {"compaction": {"at_percent": 900}}}, "at_percent is a number from 1 to 100"),
        (
            {"settings": {"permissions": {"defaultMode": "yolo"}}},
            "permissions.defaultMode: unknown permission mode 'yolo'",
        ),
        ({"settings": {"models": {"budgt": 1}}}, "models: unknown key 'budgt'"),
        ({"settings": {"models": {"budget": {"usd": -1}}}}, "usd"),
        ({"settings": {"cleanupPeriodDays": 0}}, "cleanupPeriodDays"),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else None,
)
async def test_a_mistake_is_one_line_and_leaves_no_run(folder: Path, options: dict[str, Any], why: str) -> None:
    runs = folder.parent / "runs"
    with pytest.raises((UsageError, SettingsError)) as caught:
        async with open_session(**{"model": ScriptedModel([]), "cwd": folder, "runs": runs, **options}):
            pass  # pragma: no cover

    assert why in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list(runs.glob("2*")) == []


async def test_a_broken_settings_file_is_named_and_leaves_no_run(folder: Path) -> None:
    path = folder / ".greenroom/settings.json"
    path.parent.mkdir()
    path.write_text("{")

    with pytest.raises(SettingsError, match="the file is no JSON") as caught:
        await said(folder, sources=["project"], is_trusted=True)
    assert str(path) in str(caught.value)
    assert not (folder.parent / "runs").exists()


@pytest.mark.parametrize("text", ["{", "[]", '{"modell": "x"}', '{"model": 3, "models": {"x": 1}}', '{"hooks": 3}'])
async def test_a_wrong_file_of_an_untrusted_folder_is_left_out(folder: Path, text: str) -> None:
    """A stranger's file must not keep anybody from working there."""
    path = folder / ".greenroom/settings.json"
    path.parent.mkdir()
    path.write_text(text)

    problems = await said(folder, sources=["project"])
    assert problems
    assert all(str(path) in problem and "\n" not in problem for problem in problems)


@pytest.mark.parametrize("name", [".claude/settings.json", ".mcp.json"])
async def test_a_broken_file_of_others_is_said_once_and_counts_for_nothing(folder: Path, name: str) -> None:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("{")

    (problem,) = await said(folder, sources=["project"], is_trusted=True)
    assert str(path) in problem
    assert re.search("invalid JSON|no JSON|not valid JSON", problem)


async def test_an_empty_settings_file_is_none(folder: Path) -> None:
    path = folder / ".greenroom/settings.json"
    path.parent.mkdir()
    path.write_text("")

    assert await said(folder, sources=["project"], is_trusted=True) == ()


async def test_what_a_project_sets_and_may_not_yet_is_said(folder: Path) -> None:
    path = folder / ".greenroom/settings.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"env": {"A": "b"}, "permissions": {"deny": ["Bash"], "allow": ["Write"]}}))

    problems = await said(folder, sources=["project"])

    assert len(problems) == 2
    assert all("until the project is trusted" in problem and str(path) in problem for problem in problems)
    assert await said(folder, sources=["project"], is_trusted=True) == ()


@pytest.mark.parametrize("name", [".mcp.json", ".greenroom/settings.json", ".greenroom/settings.local.json"])
async def test_an_untrusted_project_starts_no_server(folder: Path, name: str) -> None:
    """What its files would run does not run; neither does it take the name of a server of the user's."""
    ran = folder.parent / "ran"
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    server = {"command": "sh", "args": ["-c", f"touch {ran}; exit 1"]}
    path.write_text(json.dumps({"mcpServers": {"a": server}}))

    (problem,) = await said(folder, sources=["project", "local"])
    assert "server 'a' is not started: trust" in problem
    assert not ran.exists()

    await said(folder, sources=["project", "local"], is_trusted=True)
    assert ran.exists()


async def test_a_missing_tool_is_named_with_the_agent_that_wants_it(folder: Path) -> None:
    @tool
    async def look(word: str) -> str:
        """Look."""
        return word

    main = AgentDefinition(name="x", tools=(look.name, "Raed", "Bash(git *)", "mcp__a"))
    problems = await said(folder, main=main, tools=[look], sources=["user"])

    assert [problem for problem in problems if "'x' goes without" in problem and "'Raed', 'Bash', 'mcp__a'" in problem]


async def test_a_disk_that_is_full_from_the_start_refuses_the_session(folder: Path) -> None:
    ports = attrs.evolve(virtual_ports(), disk=FailingDisk(is_read_only=False))
    with pytest.raises(JournalError, match="No space left") as caught:
        await said(folder, ports=ports)
    assert "\n" not in str(caught.value)


async def test_a_run_folder_that_cannot_be_made_is_one_line(folder: Path) -> None:
    ports = attrs.evolve(virtual_ports(), disk=FailingDisk(is_read_only=True))
    with pytest.raises(JournalError, match="Read-only file system") as caught:
        await said(folder, ports=ports)
    assert str(folder.parent / "runs") in str(caught.value)


async def test_what_a_model_may_ask_of_odd_files_is_an_answer_to_it(folder: Path) -> None:
    (folder / "binary").write_bytes(b"\x00\xff" * 50)
    (folder / "new\nline").write_text("hello")
    (folder / b"latin\xff".decode(errors="surrogateescape")).write_text("hello")
    calls = [
        Call("Read", {"file_path": "binary"}),
        Call("Read", {"file_path": "new\nline"}),
        Call("Read", {"file_path": "missing"}),
        Call("Read", {"file_path": "x" * 5_000}),
        Call("Read", {"file_path": "nul\0"}),
        Call("Glob", {"pattern": "*"}),
        Call("Grep", {"pattern": "("}),
        Call("Nothing", {}),
    ]
    model = ScriptedModel([calls, "done"])

    assert await said(folder, model=model, tools=STANDARD_TOOLS) == ()

    results = [block.content for block in model.requests[1].messages[-1].content if isinstance(block, ToolResultBlock)]
    expected = ["binary file", "hello", "does not exist", "", "", "latin", "missing )", "unknown tool 'Nothing'"]
    assert len(results) == len(expected)
    assert all(part in result for part, result in zip(expected, results, strict=True)), results
    assert all("Traceback" not in result for result in results)


async def test_a_required_server_that_is_not_there_is_named(folder: Path) -> None:
    main = AgentDefinition(name="x", required_mcp_servers=("clock",))
    with pytest.raises(GreenroomError, match="clock") as caught:
        await said(folder, main=main)
    assert not isinstance(caught.value, RuntimeFailed)
