"""Setting files back: whatever tools and commands did, each message finds its files again."""

from __future__ import annotations

import stat
import tempfile
from pathlib import Path
from typing import Any, TypeAlias

import attrs
import trio
from hypothesis import example, given
from hypothesis import strategies as st

from greenroom.core.ports import Disk, InlineBlocking, SystemDisk
from greenroom.tools import Tool, ToolContext, ToolError
from greenroom.tools.builtin import edit_tool, read_tool, write_tool
from greenroom.tools.checkpoints import FileCheckpoints, FileRewind
from tests.tools.checkpoints.kept import FillingDisk, appending

Files: TypeAlias = dict[str, tuple[bytes, int]]
NAMES = ["old.txt", "other.txt", "new.txt", "deep/er/new.txt"]
TEXTS = ["", "one\n", "two\n", "one\ntwo\nthree\n"]

NAME = st.sampled_from(NAMES)
STEPS = (
    st.just(("prompt",)),
    st.tuples(st.just("write"), NAME, st.sampled_from(TEXTS)),
    st.tuples(st.just("edit"), NAME),
    st.tuples(st.just("delete"), NAME),
    st.tuples(st.just("overwrite"), NAME, st.sampled_from(TEXTS)),
    st.tuples(st.just("chmod"), NAME, st.sampled_from([0o600, 0o755])),
    st.tuples(st.just("rewind"), st.integers(0, 20)),
)
STEP = st.one_of(*STEPS, st.just(("reopen",)))


@attrs.define
class World:
    """A folder with files, what changes them, and what is known of them by looking."""

    folder: Path
    run: Path
    disk: Disk = attrs.field(factory=SystemDisk)
    checkpoints: FileCheckpoints = attrs.field(init=False)
    context: ToolContext = attrs.field(init=False)
    at: list[Files] = attrs.field(factory=list)
    """The files when each message arrived."""
    first: dict[str, tuple[int, tuple[bytes, int] | None]] = attrs.field(factory=dict)
    """The files that tools changed: after how many messages they did so first, and how they were then."""

    def __attrs_post_init__(self) -> None:
        (self.folder / "old.txt").write_text("one\n", encoding="utf-8")
        (self.folder / "other.txt").write_bytes(b"\xff\r\none\r\n")
        (self.folder / "other.txt").chmod(0o640)
        self.reopen()

    def reopen(self) -> None:
        self.checkpoints = FileCheckpoints(self.run, disk=self.disk, write=appending)
        self.context = ToolContext(
            cwd=self.folder,
            roots=(self.folder,),
            actor="a1",
            tool_use_id="t1",
            blocking=InlineBlocking(),
            changes=self.checkpoints,
        )

    def files(self) -> Files:
        return {
            name: ((self.folder / name).read_bytes(), stat.S_IMODE((self.folder / name).stat().st_mode))
            for name in NAMES
            if (self.folder / name).exists()
        }

    def prompt(self) -> None:
        self.checkpoints.begin(f"m{len(self.at)}")
        self.at.append(self.files())

    async def call(self, tool: Tool, name: str, **values: Any) -> None:
        before, refusal = self.files(), ""
        try:
            if name in before:
                await read_tool.call({"file_path": name}, self.context)
            await tool.call({"file_path": name, **values}, self.context)
        except ToolError as error:
            refusal = str(error)
        if refusal:
            assert "space" not in refusal
            assert self.files() == before
        else:
            self.first.setdefault(name, (len(self.at), before.get(name)))

    def command(self, step: tuple[Any, ...]) -> None:
        self.checkpoints.look()
        path = self.folder / step[1]
        match step[0]:
            case "delete":
                path.unlink(missing_ok=True)
            case "overwrite" if path.exists():
                path.write_text(step[2], encoding="utf-8")
            case "chmod" if path.exists():
                path.chmod(step[2])

    def rewind(self, number: int) -> None:
        if not self.at:
            return
        number %= len(self.at)
        before = self.files()
        expected = dict(before)
        for name, (since, was) in self.first.items():
            found = was if number < since else self.at[number].get(name)
            expected.pop(name, None)
            expected |= {} if found is None else {name: found}
        tried = self.checkpoints.rewind(f"m{number}", is_dry_run=True)
        assert self.files() == before
        done = self.checkpoints.rewind(f"m{number}")
        kept = {str(one.relative_to(self.folder)) for one, _ in done.not_restored}
        assert kept <= before.keys() | expected.keys()
        for name in kept:
            assert before.get(name) != expected.get(name), "it is as it was, and needs no copy"
            expected.pop(name, None)
            expected |= {name: before[name]} if name in before else {}
        assert self.files() == expected
        assert kept or tried == done
        assert {str(file.relative_to(self.folder)) for file in done.files} == {
            name for name in NAMES if before.get(name) != expected.get(name)
        }
        if isinstance(self.disk, FillingDisk):
            assert bool(done.error) == bool(kept)
        else:
            assert not done.error
            assert self.checkpoints.rewind(f"m{number}") == FileRewind()

    async def do(self, step: tuple[Any, ...]) -> None:
        match step[0]:
            case "prompt":
                self.prompt()
            case "write":
                await self.call(write_tool, step[1], content=step[2])
            case "edit":
                await self.call(edit_tool, step[1], old_string="one", new_string="1")
            case "rewind":
                self.rewind(step[1])
            case "reopen":
                self.reopen()
            case _:
                self.command(step)


@given(st.lists(STEP, max_size=25), st.integers(0, 20))
@example([("prompt",), ("write", "new.txt", "one\n"), ("prompt",), ("delete", "new.txt"), ("write", "new.txt", "")], 1)
@example([("prompt",), ("edit", "old.txt"), ("prompt",), ("edit", "other.txt"), ("prompt",), ("rewind", 0)], 2)
@example([("prompt",), ("edit", "old.txt"), ("prompt",), ("reopen",), ("delete", "old.txt"), ("reopen",)], 1)
def test_every_message_finds_its_files_again(steps: list[tuple[Any, ...]], number: int) -> None:
    """Content and mode, files made and files deleted since, again and again, also after a restart.

    Of commands this holds in files that tools have changed.
    """
    go_back(steps, number, SystemDisk())


@given(st.lists(st.one_of(*STEPS), max_size=25), st.integers(0, 20), st.lists(st.booleans(), max_size=40))
@example([("prompt",), ("edit", "old.txt")], 0, [False])
def test_on_a_full_disk_a_file_is_set_back_or_named(
    steps: list[tuple[Any, ...]], number: int, has_room: list[bool]
) -> None:
    """Whatever could not be kept: tools go on, and nothing stays as it is without a word."""
    room = iter(has_room)
    go_back(steps, number, FillingDisk(lambda _: next(room, True)))


def go_back(steps: list[tuple[Any, ...]], number: int, disk: Disk) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve() / "work"
        folder.mkdir()

        async def go() -> None:
            world = World(folder, Path(place) / "run" / "files", disk)
            for step in steps:
                await world.do(step)
            world.rewind(number)

        trio.run(go)
