"""Results of built-in tools as hooks see them: the documented shapes, and nothing where no hook listens."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from greenroom.tools import Tool, ToolContext
from greenroom.tools.builtin import edit_tool, glob_tool, grep_tool, read_tool, todo_write_tool, write_tool
from greenroom.tools.builtin._patches import MAX_COMPARED, patch_of
from tests.tools.calls import context, make

LINES: Final = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=12)


async def told(tool: Tool, ctx: ToolContext, **arguments: Any) -> Mapping[str, Any]:
    """Return what hooks are told of a call; the call's text is what it is without them."""
    text = await tool.call(arguments, ctx.heard())
    assert isinstance(text, str)
    return ctx.workspace.responses[ctx.tool_use_id]


def applied(patch: list[dict[str, Any]], before: str) -> str:
    """Return a text with the hunks carried out; each has to fit exactly where it says."""
    old, new, at = before.split("\n") if before else [], [], 0
    for hunk in patch:
        start = hunk["oldStart"] - 1
        new += old[at:start]
        assert len(new) == hunk["newStart"] - 1
        kept = [line[1:] for line in hunk["lines"] if line[0] in " -"]
        made = [line[1:] for line in hunk["lines"] if line[0] in " +"]
        assert kept == old[start : start + hunk["oldLines"]]
        assert len(made) == hunk["newLines"]
        new += made
        at = start + hunk["oldLines"]
    return "\n".join([*new, *old[at:]])


# --- patches ------------------------------------------------------------------------------------------------------------


@given(LINES, LINES)
@example(["a"] * 9 + ["b"], ["c"] + ["a"] * 9)
def test_a_patch_leads_from_the_old_text_to_the_new_one(old: list[str], new: list[str]) -> None:
    """Mechanism: rule 1 of `_patches`."""
    before, after = "\n".join(old), "\n".join(new)
    patch = patch_of(before, after)
    assert applied(patch, before) == after
    assert bool(patch) == (before != after)


def test_changes_that_are_far_apart_are_hunks_of_their_own() -> None:
    lines = [str(number) for number in range(40)]
    patch = patch_of("\n".join(lines), "\n".join(["x", *lines[1:-1], "y"]))
    assert [(entry["oldStart"], entry["lines"][0], entry["lines"][-1]) for entry in patch] == [
        (1, "-0", " 3"),
        (37, " 36", "+y"),
    ]


def test_where_much_has_changed_one_hunk_stands_for_all_of_it() -> None:
    """Mechanism: rule 2 of `_patches`."""
    lines = [str(at) for at in range(MAX_COMPARED + 20)]
    before = "\n".join(lines)
    after = "\n".join([line if int(line) % 10 else f"-{line}" for line in lines])
    (hunk,) = patch_of(before, after)
    assert applied([hunk], before) == after


# --- the shapes ---------------------------------------------------------------------------------------------------------


async def test_of_files_that_are_read(tmp_path: Path) -> None:
    """The lines without their numbers, and how many there are where the end was reached."""
    ctx = context(make(tmp_path, {"a.txt": "one\n\ttwo\nthree\n", "empty": ""}))
    whole = await told(read_tool, ctx, file_path="./a.txt", offset=2)
    file = {"filePath": str(tmp_path / "a.txt"), "content": "\ttwo\nthree", "numLines": 2, "startLine": 2}
    assert whole == {"type": "text", "file": {**file, "totalLines": 3}}
    part = await told(read_tool, ctx, file_path="a.txt", limit=1)
    assert part["file"] == {"filePath": str(tmp_path / "a.txt"), "content": "one", "numLines": 1, "startLine": 1}
    empty = await told(read_tool, ctx, file_path="empty")
    assert (empty["file"]["content"], empty["file"]["totalLines"]) == ("", 0)


async def test_of_files_that_are_written_and_edited(tmp_path: Path) -> None:
    ctx = context(tmp_path)
    path = str(tmp_path / "a.txt")
    made = await told(write_tool, ctx, file_path="a.txt", content="one\n")
    assert made == {
        "type": "create", "filePath": path, "content": "one\n", "structuredPatch": [], "originalFile": None
    }  # fmt: skip
    hunk = {"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": ["-one", "+two", " "]}
    update = await told(write_tool, ctx, file_path="a.txt", content="two\n")
    assert update == {
        "type": "update", "filePath": path, "content": "two\n", "structuredPatch": [hunk], "originalFile": "one\n"
    }  # fmt: skip
    edited = await told(edit_tool, ctx, file_path="a.txt", old_string="two", new_string="2")
    assert edited == {
        "filePath": path,
        "oldString": "two",
        "newString": "2",
        "originalFile": "two\n",
        "structuredPatch": [{**hunk, "lines": ["-two", "+2", " "]}],
        "userModified": False,
        "replaceAll": False,
    }


async def test_bytes_that_are_no_text_are_replaced(tmp_path: Path) -> None:
    ctx = context(make(tmp_path, {"a.txt": b"\xff one\n"}))
    await read_tool.call({"file_path": "a.txt"}, ctx)
    edited = await told(edit_tool, ctx, file_path="a.txt", old_string="one", new_string="two")
    assert edited["originalFile"] == "\ufffd one\n"
    assert edited["structuredPatch"][0]["lines"] == ["-\ufffd one", "+\ufffd two", " "]


async def test_of_searches(tmp_path: Path) -> None:
    ctx = context(make(tmp_path, {"a.py": "x\nx\n", "b.py": "x\n", "c.txt": ""}))
    found = await told(glob_tool, ctx, pattern="*.py")
    took_ms = found["durationMs"]
    assert found == {"durationMs": took_ms, "numFiles": 2, "filenames": ["a.py", "b.py"], "truncated": False}
    assert (await told(glob_tool, ctx, pattern="no/*"))["numFiles"] == 0
    files = {"mode": "files_with_matches", "numFiles": 2, "filenames": ["a.py", "b.py"]}
    assert await told(grep_tool, ctx, pattern="x") == files
    content = await told(grep_tool, ctx, pattern="x", output_mode="content", head_limit=1, offset=1)
    assert content == {
        "mode": "content",
        "numFiles": 0,
        "filenames": [],
        "content": "a.py:2:x",
        "numLines": 1,
        "appliedLimit": 1,
        "appliedOffset": 1,
    }
    count = await told(grep_tool, ctx, pattern="x", output_mode="count")
    lines = {"content": "a.py:2\nb.py:1", "numMatches": 3}
    assert count == {"mode": "count", "numFiles": 2, "filenames": [], **lines}


async def test_of_the_list_of_what_is_to_be_done(tmp_path: Path) -> None:
    ctx = context(tmp_path)
    todo = {"content": "Test", "status": "pending", "activeForm": "Testing"}
    assert await told(todo_write_tool, ctx, todos=[todo]) == {"oldTodos": [], "newTodos": [todo]}
    assert await told(todo_write_tool, ctx, todos=[]) == {"oldTodos": [todo], "newTodos": []}


@pytest.mark.parametrize("tool", [read_tool, glob_tool, write_tool], ids=lambda tool: str(tool.name))
async def test_nothing_is_made_where_no_hook_listens(tool: Tool, tmp_path: Path) -> None:
    """Mechanism: `respond` calls what it is given only in a context that is `heard`."""
    ctx = context(make(tmp_path, {"a.txt": "one\n"}))
    arguments = {"Read": {"file_path": "a.txt"}, "Glob": {"pattern": "*"}, "Write": {"file_path": "b", "content": ""}}
    await tool.call(arguments[tool.name], ctx)
    assert ctx.workspace.responses == {}
    assert ctx.for_call("other").is_heard is False
