from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core.ports import ThreadBlocking
from greenroom.tools import InvalidInput, OutsideRoots, ToolContext, ToolError
from greenroom.tools.builtin import edit_tool, read_tool, write_tool
from greenroom.tools.builtin._saving import MAX_EDIT_BYTES
from tests.tools.calls import context, make


async def read(ctx: ToolContext, name: str = "f", **more: Any) -> str:
    return await read_tool.call({"file_path": name, **more}, ctx)


async def edit(ctx: ToolContext, old: str, new: str, name: str = "f", **more: Any) -> str:
    return await edit_tool.call({"file_path": name, "old_string": old, "new_string": new, **more}, ctx)


async def write(ctx: ToolContext, content: str, name: str = "f") -> str:
    return await write_tool.call({"file_path": name, "content": content}, ctx)


def left_beside(path: Path) -> list[str]:
    return [each_path.name for each_path in path.parent.iterdir() if each_path != path]


async def test_an_edit_replaces_the_one_place_and_shows_it(tmp_path: Path) -> None:
    ctx = context(make(tmp_path, {"f": "one\ntwo\nthree\n"}))
    await read(ctx)

    answer = await edit(ctx, "two", "2\nand a half")

    assert (tmp_path / "f").read_text() == "one\n2\nand a half\nthree\n"
    assert answer.startswith(
        "Replaced 1 occurrence in f, which now reads:\n     1\tone\n     2\t2\n     3\tand a half\n"
    )


async def test_an_edit_after_an_edit_or_a_write_needs_no_reading(tmp_path: Path) -> None:
    ctx = context(tmp_path)

    assert await write(ctx, "one\ntwo", "new/deep/f") == "Made new/deep/f: 2 lines"
    await edit(ctx, "one", "1", "new/deep/f")
    await edit(ctx, "two", "2", "new/deep/f")
    await write(ctx, "all new\n", "new/deep/f")

    assert (tmp_path / "new/deep/f").read_text() == "all new\n"


async def test_what_was_not_read_is_neither_edited_nor_replaced(tmp_path: Path) -> None:
    ctx = context(make(tmp_path, {"f": "one\n"}))

    for change in (edit(ctx, "one", "two"), write(ctx, "two")):
        with pytest.raises(ToolError, match="f cannot be changed: it was not read yet; read it first"):
            await change

    assert (tmp_path / "f").read_text() == "one\n"


@pytest.mark.parametrize("part", [{}, {"limit": 1}], ids=["all", "part"])
async def test_what_changed_since_it_was_read_is_refused(tmp_path: Path, part: dict[str, Any]) -> None:
    file = make(tmp_path, {"f": "one\ntwo\n"}) / "f"
    ctx = context(tmp_path)
    await read(ctx, **part)
    file.write_text("one\nTWO!\n")

    for change in (edit(ctx, "one", "1"), write(ctx, "1")):
        with pytest.raises(ToolError, match="changed since it was read; read it again"):
            await change

    assert file.read_text() == "one\nTWO!\n"


async def test_a_change_that_no_time_and_no_size_shows_is_seen(tmp_path: Path) -> None:
    file = make(tmp_path, {"f": "one\n"}) / "f"
    ctx = context(tmp_path)
    await read(ctx)
    before = file.stat()
    file.write_text("two\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    with pytest.raises(ToolError, match="changed since"):
        await write(ctx, "three\n")


async def test_a_file_that_was_only_touched_is_edited(tmp_path: Path) -> None:
    file = make(tmp_path, {"f": "one\n"}) / "f"
    ctx = context(tmp_path)
    await read(ctx)
    os.utime(file, ns=(1, 1))

    await edit(ctx, "one", "two")

    assert file.read_text() == "two\n"


async def test_replacing_a_file_needs_all_of_it_read_and_editing_does_not(tmp_path: Path) -> None:
    ctx = context(make(tmp_path, {"f": "1\n2\n3\n4\n"}))
    await read(ctx, limit=2)

    with pytest.raises(ToolError, match="only lines 1-2 of it were read"):
        await write(ctx, "new")
    await edit(ctx, "1\n", "one\n")
    await read(ctx)
    await write(ctx, "new")

    assert (tmp_path / "f").read_text() == "new"


async def test_two_agents_do_not_share_what_they_read(tmp_path: Path) -> None:
    make(tmp_path, {"f": "one\n"})
    mine, yours = context(tmp_path), context(tmp_path)
    await read(mine)
    await read(yours)
    await edit(mine, "one", "two")

    with pytest.raises(ToolError, match="changed since"):
        await edit(yours, "one", "three")


async def test_of_agents_that_save_at_the_same_time_one_wins_and_the_others_are_told(tmp_path: Path) -> None:
    """In threads for real: whatever the order, no edit is lost in silence."""
    file = make(tmp_path, {"f": "".join(f"line {n};\n" for n in range(20))}) / "f"
    contexts = [context(tmp_path, blocking=ThreadBlocking()) for _ in range(20)]
    done: list[int] = []
    refused: list[str] = []

    async def work(number: int, ctx: ToolContext) -> None:
        await read(ctx)
        try:
            await edit(ctx, f"line {number};", f"LINE {number};")
            done.append(number)
        except ToolError as error:
            refused.append(str(error))

    async with trio.open_nursery() as nursery:
        for number, ctx in enumerate(contexts):
            nursery.start_soon(work, number, ctx)

    assert done
    assert sorted(done) == [n for n in range(20) if f"LINE {n};" in file.read_text()]
    assert all("changed" in refusal for refusal in refused)
    assert left_beside(file) == []


# --- what is found ---------------------------------------------------------------------------------------------------


async def test_text_that_stands_there_more_than_once_is_refused_with_the_lines(tmp_path: Path) -> None:
    ctx = context(make(tmp_path, {"f": "x = 1\ny = 2\nx = 1\n"}))
    await read(ctx)

    with pytest.raises(ToolError, match="occurs 2 times, on lines 1, 3; include more of the text"):
        await edit(ctx, "x = 1", "x = 2")
    assert await edit(ctx, "x = 1", "x = 2", replace_all=True) == "Replaced 2 occurrences in f"

    assert (tmp_path / "f").read_text() == "x = 2\ny = 2\nx = 2\n"


async def test_overlapping_places_are_no_single_place(tmp_path: Path) -> None:
    ctx = context(make(tmp_path, {"f": "aaa"}))
    await read(ctx)

    with pytest.raises(ToolError, match="2 times"):
        await edit(ctx, "aa", "b")
    await edit(ctx, "aa", "b", replace_all=True)

    assert (tmp_path / "f").read_text() == "ba"


@pytest.mark.parametrize(
    ("old", "hint"),
    [
        ("     1\tdef f():\n     2\t    pass", "leave out the line numbers"),
        ("def f():\n\tpass", "with other spaces"),
        ("def g():", "read the file again"),
    ],
)
async def test_text_that_is_not_there_gets_a_hint(tmp_path: Path, old: str, hint: str) -> None:
    ctx = context(make(tmp_path, {"f": "def f():\n    pass\n"}))
    await read(ctx)

    with pytest.raises(ToolError, match=f"was not found in it; .*{hint}"):
        await edit(ctx, old, "x")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("", "x", "old_string is empty"),
        ("x", "x", "are the same"),
        ("x\r\n", "x\n", "are the same"),
        ("x", "\0", "new_string holds a NUL"),
        ("x", "\udc80", "unpaired surrogate"),
    ],
)
async def test_what_cannot_be_an_edit_is_refused(tmp_path: Path, old: str, new: str, reason: str) -> None:
    with pytest.raises(ToolError, match=reason):
        await edit(context(make(tmp_path, {"f": "x"})), old, new)


# --- what stays as it is ---------------------------------------------------------------------------------------------


@given(
    lines=st.lists(st.tuples(st.text("abé ", max_size=4), st.sampled_from(["\n", "\r\n"])), min_size=1, max_size=8),
    old=st.text("ab \n", min_size=1, max_size=3),
    new=st.text("abé \n", max_size=5),
    has_mark=st.booleans(),
)
def test_read_and_edit_agree_whatever_the_line_ends(
    tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[str, str]], old: str, new: str, has_mark: bool
) -> None:
    """What the model sees of the new file is what it asked for in terms of what it had seen of the old one."""
    folder = tmp_path_factory.mktemp("edit")
    text = "".join(line + end for line, end in lines)
    content = (b"\xef\xbb\xbf" if has_mark else b"") + text.encode()
    (folder / "f").write_bytes(content)
    ctx = context(folder)

    async def main() -> None:
        await read(ctx)
        try:
            await edit(ctx, old, new, replace_all=True)
        except ToolError:
            assert old == new or old not in text.replace("\r\n", "\n")
            assert (folder / "f").read_bytes() == content
            return
        after = (folder / "f").read_bytes()
        assert after.startswith(b"\xef\xbb\xbf") == has_mark
        assert after.removeprefix(b"\xef\xbb\xbf").decode().replace("\r\n", "\n") == text.replace("\r\n", "\n").replace(
            old, new
        )

    trio.run(main)


@pytest.mark.parametrize(("before", "after"), [("a\r\nb\r\n", "x\r\ny\r\n"), ("a\nb\n", "x\ny\n")])
async def test_writing_keeps_line_ends_and_mark(tmp_path: Path, before: str, after: str) -> None:
    file = make(tmp_path, {"f": "\ufeff" + before}) / "f"
    ctx = context(tmp_path)
    await read(ctx)

    await write(ctx, "x\ny\n")

    assert file.read_bytes() == ("\ufeff" + after).encode()


async def test_bytes_of_another_encoding_stay_and_no_second_encoding_is_added(tmp_path: Path) -> None:
    file = make(tmp_path, {"f": "café one\n".encode("latin-1")}) / "f"
    ctx = context(tmp_path)
    await read(ctx)

    with pytest.raises(ToolError, match="not UTF-8"):
        await edit(ctx, "one", "été")
    await edit(ctx, "one", "two")

    assert file.read_bytes() == "café two\n".encode("latin-1")


@pytest.mark.parametrize("mode", [0o600, 0o755, 0o640])
async def test_the_mode_stays(tmp_path: Path, mode: int) -> None:
    file = make(tmp_path, {"f": "one"}) / "f"
    file.chmod(mode)
    ctx = context(tmp_path)
    await read(ctx)

    await edit(ctx, "one", "two")

    assert stat.S_IMODE(file.stat().st_mode) == mode


async def test_a_new_file_has_the_mode_that_the_user_wants_for_new_files(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        await write(context(tmp_path), "x")
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o640


async def test_a_link_stays_a_link_and_its_file_is_changed(tmp_path: Path) -> None:
    make(tmp_path, {"a/real": "one"})
    (tmp_path / "f").symlink_to("a/real")
    ctx = context(tmp_path)
    await read(ctx, "a/real")

    await edit(ctx, "one", "two")

    assert (tmp_path / "f").is_symlink()
    assert (tmp_path / "a/real").read_text() == "two"


async def test_a_link_that_leads_out_is_refused(tmp_path: Path) -> None:
    make(tmp_path, {"out/f": "one", "in/": ""})
    (tmp_path / "in/f").symlink_to("../out/f")
    (tmp_path / "in/new").symlink_to("../out/new")
    ctx = context(tmp_path / "in")

    for name in ("f", "new", "../out/f"):
        with pytest.raises(OutsideRoots):
            await write(ctx, "x", name)

    assert [path.name for path in (tmp_path / "out").iterdir()] == ["f"]


# --- what is refused -------------------------------------------------------------------------------------------------


async def test_what_is_no_text_file_is_refused(tmp_path: Path) -> None:
    make(tmp_path, {"folder/": "", "late": "x" * 10_000 + "\0", "huge": "x" * (MAX_EDIT_BYTES + 1)})
    os.mkfifo(tmp_path / "pipe")
    ctx = context(tmp_path)
    await read(ctx, "late")
    await read(ctx, "huge")

    for name, reason in {
        "folder": "it is a folder",
        "pipe": "it is a named pipe",
        "late": "it is a binary file",
        "huge": "at most",
    }.items():
        with pytest.raises(ToolError, match=f"{name} cannot be changed: .*{reason}"):
            await write(ctx, "x", name)
    with pytest.raises(ToolError, match="missing does not exist; to make a file use Write"):
        await edit(ctx, "a", "b", "missing")
    with pytest.raises(ToolError, match=r"cannot be changed: (not a directory|file exists)"):
        await write(ctx, "x", "late/under")
    with pytest.raises(InvalidInput, match="content"):
        await write_tool.call({"file_path": "f"}, ctx)


async def test_a_file_that_is_write_protected_is_refused(tmp_path: Path) -> None:
    file = make(tmp_path, {"f": "one"}) / "f"
    file.chmod(0o444)
    ctx = context(tmp_path)
    await read(ctx)

    with pytest.raises(ToolError, match="write-protected"):
        await edit(ctx, "one", "two")


async def test_a_file_that_went_away_is_made_anew(tmp_path: Path) -> None:
    file = make(tmp_path, {"f": "one"}) / "f"
    ctx = context(tmp_path)
    await read(ctx)
    file.unlink()

    assert await write(ctx, "two") == "Made f: 1 line"


# --- faults ----------------------------------------------------------------------------------------------------------

# A new file keeps the mode that it was made with.
STEPS = [(step, exists) for step in ("open", "write", "fsync", "fstat") for exists in (True, False)] + [
    ("fchmod", True)
]


@pytest.mark.parametrize(("step", "exists"), STEPS)
async def test_a_fault_at_any_step_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, exists: bool
) -> None:
    """A full disk, for one: also when it is full only after the first bytes."""
    file = tmp_path / "f"
    ctx = context(tmp_path)
    if exists:
        file.write_text("one")
        await read(ctx)
    real: Callable[..., Any] = getattr(os, step)
    is_writing = False

    def failing(*args: Any, **options: Any) -> Any:
        nonlocal is_writing
        if step == "open":
            if ".greenroom-" not in str(args[0]):
                return real(*args, **options)
        elif step == "write":
            if not is_writing:
                is_writing = True
                return real(args[0], bytes(args[1])[:3])
        elif step == "fstat" and not any(".greenroom-" in one for one in map(str, tmp_path.iterdir())):
            return real(*args, **options)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, failing)
    with pytest.raises(ToolError, match="no space left on device; it is as it was"):
        await write(ctx, "a longer text")
    monkeypatch.undo()

    assert file.exists() == exists
    assert not exists or file.read_text() == "one"
    assert left_beside(file) == []
    assert (await write(ctx, "two")).endswith("f: 1 line")


@pytest.mark.parametrize("exists", [True, False], ids=["old", "new"])
async def test_a_change_in_the_last_moment_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exists: bool
) -> None:
    file = tmp_path / "f"
    ctx = context(tmp_path)
    if exists:
        file.write_text("one")
        await read(ctx)
    real = os.fsync

    def somebody_else_writes(descriptor: int) -> None:
        real(descriptor)
        file.write_text("theirs")

    monkeypatch.setattr(os, "fsync", somebody_else_writes)
    with pytest.raises(ToolError, match="meanwhile"):
        await write(ctx, "mine")
    monkeypatch.undo()

    assert file.read_text() == "theirs"
    assert left_beside(file) == []
