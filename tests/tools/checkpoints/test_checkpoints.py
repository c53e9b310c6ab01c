"""Files that cannot be kept or set back are reported, and nothing else suffers from it."""

from __future__ import annotations

import errno
import json
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import UsageError
from greenroom.core.ports import SystemDisk
from greenroom.tools._file_changes import FileChange
from greenroom.tools.builtin._file_reader import open_regular
from greenroom.tools.checkpoints import FileCheckpoints, _inspection
from greenroom.tools.checkpoints._inspection import line_changes
from tests.tools.checkpoints.kept import FillingDisk, appending


def opened(tmp_path: Path, most_bytes: int = 10_000) -> FileCheckpoints:
    return FileCheckpoints(tmp_path / "files", disk=SystemDisk(), write=appending, most_bytes=most_bytes)


def change(checkpoints: FileCheckpoints, path: Path, text: str, root: Path | None = None) -> None:
    """Write a file as a tool does."""
    is_there = path.exists()
    before, mode = (path.read_bytes(), path.stat().st_mode & 0o7777) if is_there else (None, 0)
    made = FileChange(path=path, root=root or path.parent, before=before, mode=mode, after=text.encode())
    with checkpoints.keeping(made):
        path.write_text(text, encoding="utf-8")


def kept(tmp_path: Path) -> int:
    return sum(path.stat().st_size for path in (tmp_path / "files" / "copies").iterdir())


# --- how much is kept -----------------------------------------------------------------------------------------------------


def test_copies_are_bounded_and_the_oldest_go_first(tmp_path: Path) -> None:
    """What a later message needs stays, also where it was kept for one that is given up; a restart changes nothing."""
    checkpoints, path, quiet = opened(tmp_path, most_bytes=500), tmp_path / "a", tmp_path / "quiet"
    quiet.write_text("q" * 50, encoding="utf-8")
    for number in range(8):
        checkpoints.begin(f"m{number}")
        if number == 0:
            change(checkpoints, quiet, "changed once")
        change(checkpoints, path, f"{number}" * 100)
        assert kept(tmp_path) <= 500
    change(checkpoints, quiet, "changed again")
    for again in (checkpoints, opened(tmp_path, most_bytes=500)):
        for number in range(4):
            with pytest.raises(UsageError, match="what was kept of them then had to go") as caught:
                again.rewind(f"m{number}", is_dry_run=True)
            assert "\n" not in str(caught.value)
        again.rewind("m4", is_dry_run=True)
        again.rewind("m6")
        assert path.read_text(encoding="utf-8") == "5" * 100
        assert quiet.read_text(encoding="utf-8") == "changed once"


def test_a_worktree_in_the_place_of_another_is_not_set_back_to_what_that_had(tmp_path: Path) -> None:
    """What is changed in it is set back to how it was found there; after a restart as well."""
    checkpoints, tree = opened(tmp_path), tmp_path / "tree"
    path, other = tree / "sub" / "a", tree / "b"

    def make(text: str) -> None:
        shutil.rmtree(tree, ignore_errors=True)
        path.parent.mkdir(parents=True)
        (tree / ".git").write_text("gitdir: somewhere", encoding="utf-8")
        path.write_text(text, encoding="utf-8")
        other.write_text(text, encoding="utf-8")

    make("first")
    checkpoints.begin("m0")
    change(checkpoints, path, "1", tree / "sub")
    change(checkpoints, other, "1", tree)
    checkpoints.begin("m1")
    make("second")
    checkpoints.look()
    assert checkpoints.rewind("m0", is_dry_run=True).files == ()
    change(checkpoints, path, "2", tree / "sub")
    checkpoints.begin("m2")
    for again in (checkpoints, opened(tmp_path)):
        again.look()
        rewind = again.rewind("m0", is_dry_run=True)
        assert (rewind.files, rewind.changed_elsewhere, rewind.error) == ((path,), (), "")
    again.rewind("m0")
    assert path.read_text(encoding="utf-8") == "second"
    assert other.read_text(encoding="utf-8") == "second"


class CountingDisk(FillingDisk):
    """A disk that counts the bytes that are written to it."""

    def __init__(self) -> None:
        super().__init__(lambda _: True)
        self.written_bytes = 0

    def write(self, path: Path, content: bytes) -> None:
        self.written_bytes += len(content)
        super().write(path, content)


def test_a_change_costs_the_same_however_many_files_there_are(tmp_path: Path) -> None:
    disk = CountingDisk()
    checkpoints = FileCheckpoints(tmp_path / "files", disk=disk, write=appending)
    checkpoints.begin("m")
    written = []
    for number in range(400):
        change(checkpoints, tmp_path / f"{number:03}", "x")
        written.append(disk.written_bytes)

    assert written[399] < 3 * written[199]  # twice as much, and what has to be merged now and then
    assert len(list((tmp_path / "files").iterdir())) < 700  # and they are merged


def test_what_is_kept_of_each_change_is_there_after_a_restart(tmp_path: Path) -> None:
    """With or without a snapshot that has them all, and where that was written and the changes in it are there still."""
    checkpoints, path, other = opened(tmp_path), tmp_path / "a", tmp_path / "b"
    checkpoints.begin("m0")
    old: dict[Path, bytes] = {}
    for number in range(60):
        change(checkpoints, path if number % 3 else other, f"{number}")
        for one, content in old.items():
            one.write_bytes(content)  # as a crash leaves them before they are removed
        again = opened(tmp_path)
        rewind = again.rewind("m0", is_dry_run=True)
        assert rewind.removed == tuple(each_path for each_path in (path, other) if each_path.exists())
        assert rewind.changed_elsewhere == ()
        old = {path: path.read_bytes() for path in (tmp_path / "files").glob("*.change")}
    assert not opened(tmp_path).rewind("m0").error
    assert not path.exists()


@pytest.mark.parametrize("damage", ["remove", "tear"])
def test_a_change_that_cannot_be_read_takes_away_what_is_older(tmp_path: Path, damage: str) -> None:
    checkpoints = opened(tmp_path)
    checkpoints.begin("m0")
    for name in "abcd":
        change(checkpoints, tmp_path / name, "x")
    _, second, *_ = sorted((tmp_path / "files").glob("*.change"))
    if damage == "remove":
        second.unlink()
    else:
        second.write_text("{", encoding="utf-8")
    again = opened(tmp_path)
    with pytest.raises(UsageError, match="or cannot be read"):
        again.rewind("m0")


def test_what_counts_still_outlives_the_message_that_it_was_kept_for(tmp_path: Path) -> None:
    checkpoints, quiet, large = opened(tmp_path, most_bytes=500), tmp_path / "quiet", tmp_path / "large"
    large.write_text("l" * 400, encoding="utf-8")
    (tmp_path / "1").write_text("x" * 80, encoding="utf-8")
    for number in range(3):
        checkpoints.begin(f"m{number}")
        change(checkpoints, quiet if number == 0 else tmp_path / f"{number}", "1" * 40)
    change(checkpoints, large, "2")  # for which all older messages have to go
    change(checkpoints, quiet, "2")
    with pytest.raises(UsageError):
        checkpoints.rewind("m1")
    checkpoints.rewind("m2")

    assert (quiet.read_text(encoding="utf-8"), large.read_text(encoding="utf-8")) == ("1" * 40, "l" * 400)


def test_what_is_larger_than_all_copies_may_be_is_not_kept_and_takes_nothing_from_others(tmp_path: Path) -> None:
    checkpoints, small, large = opened(tmp_path, most_bytes=500), tmp_path / "small", tmp_path / "large"
    small.write_text("1", encoding="utf-8")
    large.write_text("l" * 501, encoding="utf-8")
    checkpoints.begin("m1")
    change(checkpoints, small, "2")
    checkpoints.begin("m2")
    change(checkpoints, large, "x")
    done = checkpoints.rewind("m1")

    assert done.files == (small,)
    assert done.error == (
        f"1 file could not be set back: {large}: no copy of it was kept: those of a run take up 500 bytes at most"
    )


def test_equal_contents_are_kept_once(tmp_path: Path) -> None:
    checkpoints = opened(tmp_path)
    for name in "abc":
        (tmp_path / name).write_text("same", encoding="utf-8")
    checkpoints.begin("m1")
    for name in "abc":
        change(checkpoints, tmp_path / name, "other")

    assert kept(tmp_path) == 4


# --- what is in the way -----------------------------------------------------------------------------------------------------


def to_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def to_link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


def to_linked_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("moved"))
    path.parent.symlink_to(path.parent.with_name("moved"))


def to_large(path: Path) -> None:
    path.write_bytes(b"x" * (10 * 1024 * 1024 + 1))


@pytest.mark.parametrize(
    ("becomes", "why"),
    [
        (to_folder, "it is a folder"),
        (to_link, "it is a link"),
        (to_linked_folder, "a folder above it is a link"),
        (to_large, "it has 10485761 bytes, and at most 10485760 are kept of a file"),
    ],
)
def test_what_became_something_else_is_left_alone_and_named(
    tmp_path: Path, becomes: Callable[[Path], None], why: str
) -> None:
    checkpoints, root = opened(tmp_path), tmp_path / "work"
    (root / "sub").mkdir(parents=True)
    path, other = root / "sub" / "a", root / "b"
    path.write_text("1", encoding="utf-8")
    checkpoints.begin("m1")
    change(checkpoints, path, "2", root)
    change(checkpoints, other, "2", root)
    becomes(path)
    tried = checkpoints.rewind("m1", is_dry_run=True)
    done = checkpoints.rewind("m1")

    assert tried == done
    assert done.files == done.removed == (other,)
    assert done.not_restored == ((path, why),)
    assert done.error == f"1 file could not be set back: {path}: {why}"


def test_a_file_that_cannot_be_read_holds_up_no_change_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change never fails because of what is kept. Mechanism: `look_at` says what the system refused."""
    checkpoints, path, other = opened(tmp_path), tmp_path / "a", tmp_path / "b"
    checkpoints.begin("m1")
    for one in (path, other):
        change(checkpoints, one, "1")

    @contextmanager
    def refusing(opening: Path) -> Iterator[BinaryIO]:
        with open_regular(opening) as file:
            yield file
            if opening == path:
                raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(_inspection, "open_regular", refusing)
    checkpoints.begin("m2")
    change(checkpoints, other, "2")
    done = checkpoints.rewind("m1")

    assert done.files == (other,)
    assert done.not_restored == ((path, "input/output error"),)


def test_files_of_a_checkout_that_is_gone_are_left_out_and_a_folder_that_is_gone_comes_back(tmp_path: Path) -> None:
    checkpoints, checkout, work = opened(tmp_path), tmp_path / "checkout", tmp_path / "work"
    for folder in (checkout, work / "sub"):
        folder.mkdir(parents=True)
        (folder / "a").write_text("1", encoding="utf-8")
    checkpoints.begin("m1")
    change(checkpoints, checkout / "a", "2")
    change(checkpoints, work / "sub" / "a", "2", work)
    shutil.rmtree(checkout)
    shutil.rmtree(work / "sub")
    done = checkpoints.rewind("m1")

    assert (done.files, done.error) == ((work / "sub" / "a",), "")
    assert not checkout.exists()


def test_a_copy_that_is_damaged_is_not_put_in_place(tmp_path: Path) -> None:
    checkpoints, path = opened(tmp_path), tmp_path / "a"
    path.write_text("1", encoding="utf-8")
    checkpoints.begin("m1")
    change(checkpoints, path, "2")
    (copy,) = (tmp_path / "files" / "copies").iterdir()
    copy.write_text("3", encoding="utf-8")

    assert checkpoints.rewind("m1").error == f"1 file could not be set back: {path}: its copy is damaged"
    assert path.read_text(encoding="utf-8") == "2"


def test_an_error_names_some_files_on_one_line(tmp_path: Path) -> None:
    checkpoints = opened(tmp_path)
    checkpoints.begin("m1")
    for number in range(7):
        change(checkpoints, tmp_path / f"a\n{number}", "2")
        to_folder(tmp_path / f"a\n{number}")
    error = checkpoints.rewind("m1").error

    assert error.startswith("7 files could not be set back: ")
    assert error.endswith("; and 2 more")
    assert "\n" not in error


# --- changes that fail, or are others' ----------------------------------------------------------------------------------------


def test_a_change_that_fails_is_no_change(tmp_path: Path) -> None:
    """What somebody else does to the file later is not undone."""
    checkpoints, path = opened(tmp_path), tmp_path / "a"
    path.write_text("1", encoding="utf-8")
    checkpoints.begin("m1")
    failing = FileChange(path=path, root=tmp_path, before=b"1", mode=0o644, after=b"2")
    with pytest.raises(OSError, match="full"), checkpoints.keeping(failing):
        raise OSError("the disk is full")
    path.write_text("by hand", encoding="utf-8")

    for again in (checkpoints, opened(tmp_path)):
        assert again.rewind("m1").files == ()
    assert path.read_text(encoding="utf-8") == "by hand"


def test_what_somebody_else_changed_since_is_named(tmp_path: Path) -> None:
    """Before a tool did again, and at the end; what changed before the message arrived is nobody's business."""
    checkpoints = opened(tmp_path)
    names = ["between", "last", "before", "ours"]
    paths = [tmp_path / name for name in names]
    checkpoints.begin("m1")
    for path in paths:
        change(checkpoints, path, "1")
    (tmp_path / "before").write_text("by hand", encoding="utf-8")
    checkpoints.begin("m2")
    checkpoints.look()
    (tmp_path / "between").write_text("by hand", encoding="utf-8")
    for path in paths:
        change(checkpoints, path, "2")
    (tmp_path / "last").write_text("by hand", encoding="utf-8")
    done = checkpoints.rewind("m2", is_dry_run=True)
    all_of_them = checkpoints.rewind("m1", is_dry_run=True)

    assert done.files == tuple(sorted(paths))
    assert [one.name for one in done.changed_elsewhere] == ["between", "last"]
    assert [one.name for one in all_of_them.changed_elsewhere] == ["before", "between", "last"]


def test_changes_of_several_threads_are_all_kept(tmp_path: Path) -> None:
    checkpoints = opened(tmp_path, most_bytes=10**6)
    paths = [tmp_path / f"{number}" for number in range(8)]
    for path in paths:
        path.write_text("start", encoding="utf-8")
    checkpoints.begin("m1")

    def work(path: Path) -> None:
        for number in range(10):
            change(checkpoints, path, f"{path.name} {number}")

    threads = [threading.Thread(target=work, args=(path,)) for path in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert opened(tmp_path).rewind("m1").files == tuple(paths)
    assert {path.read_text(encoding="utf-8") for path in paths} == {"start"}


def test_a_look_is_to_be_waited_for_until_it_has_ended(tmp_path: Path) -> None:
    """Mechanism: else a second agent's command could change a file before it was looked at."""
    is_looking, may_end = threading.Event(), threading.Event()

    def has_room(_: Path) -> bool:
        is_looking.set()
        return may_end.wait(30)

    checkpoints = FileCheckpoints(tmp_path / "files", disk=FillingDisk(has_room), write=appending)
    checkpoints.begin("m1")
    assert checkpoints.must_look
    may_end.set()
    change(checkpoints, tmp_path / "a", "1")
    assert not checkpoints.must_look
    checkpoints.begin("m2")
    is_looking.clear()
    may_end.clear()
    thread = threading.Thread(target=checkpoints.look)
    thread.start()
    assert is_looking.wait(30)
    must_look = checkpoints.must_look
    may_end.set()
    thread.join()

    assert must_look
    assert not checkpoints.must_look


# --- what an earlier process left ---------------------------------------------------------------------------------------------


def test_a_snapshot_that_cannot_be_read_takes_what_is_older_with_it(tmp_path: Path) -> None:
    checkpoints, path, once = opened(tmp_path), tmp_path / "a", tmp_path / "b"
    for number in (1, 2, 3):
        checkpoints.begin(f"m{number}")
        change(checkpoints, path, f"{number}")
        if number == 1:
            change(checkpoints, once, "once")
    (tmp_path / "files" / "000002.json").write_text('{"prompt": 2', encoding="utf-8")
    again = opened(tmp_path)
    for message in ("m1", "m2"):
        with pytest.raises(UsageError, match="had to go, or cannot be read"):
            again.rewind(message)
    again.rewind("m3")
    assert path.read_text(encoding="utf-8") == "2"
    assert once.read_text(encoding="utf-8") == "once"


def test_a_file_is_named_whose_state_only_an_unreadable_snapshot_had(tmp_path: Path) -> None:
    """Rule 2 of the folder; what is not known is not taken for unchanged. Mechanism: `History`, of what was left in files."""
    checkpoints, path, once = opened(tmp_path), tmp_path / "a", tmp_path / "b"
    for number in (1, 2, 3):
        checkpoints.begin(f"m{number}")
        change(checkpoints, path, f"{number}")
        if number != 2:
            change(checkpoints, once, f"{number}")
    (tmp_path / "files" / "000002.json").write_text("{", encoding="utf-8")
    again = opened(tmp_path)
    tried = again.rewind("m3", is_dry_run=True)
    done = again.rewind("m3")
    again.begin("m4")
    change(again, once, "4")

    assert tried == done
    assert done.files == (path,)
    assert done.not_restored == ((once, "what was kept of it cannot be read"),)
    assert opened(tmp_path).rewind("m4").files == (once,)
    assert once.read_text(encoding="utf-8") == "3"


@pytest.mark.parametrize(
    "content", ["[]", "7", '{"prompt": 1}', '{"prompt": 1, "floor": -1, "was": {"a": [1]}}', "\x00"]
)
def test_no_snapshot_can_keep_a_run_from_being_opened(tmp_path: Path, content: str) -> None:
    checkpoints = opened(tmp_path)
    checkpoints.begin("m1")
    change(checkpoints, tmp_path / "a", "1")
    (tmp_path / "files" / "000001.json").write_text(content, encoding="utf-8")
    with pytest.raises(UsageError):
        opened(tmp_path).rewind("m1")


def test_a_line_that_a_crash_has_torn_is_left_out(tmp_path: Path) -> None:
    checkpoints, prompts = opened(tmp_path), tmp_path / "files" / "prompts.jsonl"
    checkpoints.begin("m1")
    with prompts.open("a", encoding="utf-8") as file:
        file.write('{"prompt": 2, "id')
    again = opened(tmp_path)
    again.begin("m2")
    change(again, tmp_path / "a", "1")
    lines = prompts.read_text(encoding="utf-8").splitlines()

    assert json.loads(lines[2]) == {"prompt": 2, "ids": ["m2"]}
    assert opened(tmp_path).rewind("m1").removed == (tmp_path / "a",)


# --- lines -------------------------------------------------------------------------------------------------------------------

LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=12).map(lambda lines: "\n".join(lines).encode())


@given(LINES, LINES)
def test_lines_add_up(old: bytes, new: bytes) -> None:
    insertions, deletions = line_changes(old, new)

    assert len(old.splitlines()) + insertions - deletions == len(new.splitlines())
    assert min(insertions, deletions) >= 0
    assert line_changes(old, old) == (0, 0)


def test_long_texts_are_counted_soon() -> None:
    old = b"\n".join(b"%d" % number for number in range(20_000))
    new = b"\n".join(b"%d" % number for number in range(19_999, 9_999, -1)) + b"\nmore"

    assert line_changes(old, new) == (1, 10_000)
