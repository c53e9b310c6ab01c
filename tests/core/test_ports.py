"""The ports: the disk, threads and clocks of production, and the inline stand-in of the test kit."""

from __future__ import annotations

import errno
import os
import resource
import stat
import threading
from datetime import UTC
from pathlib import Path

import pytest
import trio

from greenroom.core.ports import Blocking, Disk, InlineBlocking, Ports, SystemClock, SystemDisk, ThreadBlocking


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def count_open() -> int:
    return len(list(Path("/dev/fd").iterdir()))


@pytest.fixture
def disk() -> Disk:
    return SystemDisk()


def test_a_disk_that_is_closed_during_a_write_writes_to_the_same_file(
    disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sessions share a disk: one closes it while another appends, and a third opens a file, which gets a free descriptor."""
    other = tmp_path / "other"
    write, opened = os.write, list[int]()

    def write_half(descriptor: int, content: bytes) -> int:
        written = write(descriptor, content[: max(1, len(content) // 2)])
        if not opened:
            disk.close()
            opened.append(os.open(other, os.O_WRONLY | os.O_CREAT))
        return written

    monkeypatch.setattr(os, "write", write_half)
    disk.append(tmp_path / "a", b"whole line")
    assert disk.size(tmp_path / "a") == len(b"whole line")
    disk.close()
    os.close(opened[0])

    assert ((tmp_path / "a").read_bytes(), other.read_bytes()) == (b"whole line", b"")


def test_folders_and_files_are_for_their_owner_only(disk: Disk, tmp_path: Path) -> None:
    folder = tmp_path / "runs"

    disk.make_folder(folder)
    disk.make_folder(folder)
    disk.append(folder / "a", b"x")
    disk.write(folder / "b", b"y")
    disk.close()

    assert (mode(folder), mode(folder / "a"), mode(folder / "b")) == (0o700, 0o600, 0o600)


def test_appending_goes_on_where_it_ended_and_survives_a_close(disk: Disk, tmp_path: Path) -> None:
    path = tmp_path / "log"
    disk.append(path, b"one ")
    disk.append(path, b"two ")
    disk.sync(path)
    disk.close()
    disk.append(path, b"three")
    disk.close()
    disk.close()

    assert disk.read(path) == b"one two three"
    assert disk.size(path) == 13


@pytest.mark.parametrize("is_durable", [True, False])
def test_a_synced_file_is_closed_and_appended_to_again(tmp_path: Path, *, is_durable: bool) -> None:
    """A thousand idle sessions have synced files, which need no descriptors."""
    disk, path = SystemDisk(is_durable=is_durable), tmp_path / "file"
    disk.append(path, b"one ")
    opened = os.open(path, os.O_RDONLY)
    os.close(opened)
    disk.sync(path)
    again = os.open(path, os.O_RDONLY)
    os.close(again)
    disk.sync(path)  # nothing was appended meanwhile
    disk.append(path, b"two")
    disk.close()
    assert again < opened  # the lowest one that is free
    assert path.read_bytes() == b"one two"


def test_more_files_than_a_process_may_open_are_appended_to_and_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session of ten thousand agents appends to thirty thousand files."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (400, 400))
    disk = SystemDisk()
    before = count_open()
    paths = [tmp_path / str(number) for number in range(1_000)]
    for word in (b"one ", b"two"):
        for path in paths:
            disk.append(path, word)
            disk.append(paths[0], b"!")
        disk.append_all([(str(path), b"?") for path in paths[1:]])
    held = count_open() - before
    for path in [*paths, tmp_path / "never"]:
        disk.sync(path)
    disk.close()

    assert held <= 100
    assert {path.read_bytes() for path in paths[1:]} == {b"one ?two?"}
    assert paths[0].read_bytes().count(b"!") == 2_000
    assert count_open() == before


def test_appending_to_several_files_ends_with_the_part_that_is_refused(
    disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parts before it are whole, and none behind it is written, though it would fit; the list holds what is left."""
    paths = [tmp_path / name for name in "abc"]
    real = os.write

    def write(descriptor: int, content: bytes) -> int:
        if len(content) > 5:
            return real(descriptor, content[:5])
        if content == b"ong":
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, content)

    monkeypatch.setattr(os, "write", write)
    parts = [("a", b"one "), ("b", b"two "), ("a", b"three"), ("b", b"too long"), ("a", b"-"), ("c", b"-")]
    left = [(str(tmp_path / name), content) for name, content in parts]
    with pytest.raises(OSError, match="No space"):
        disk.append_all(left)
    monkeypatch.undo()

    assert [path.read_bytes() for path in paths if path.exists()] == [b"one three", b"two too l"]
    assert left == [(str(tmp_path / name), content) for name, content in (("b", b"ong"), *parts[4:])]
    disk.append_all(left)
    assert [path.read_bytes() for path in paths] == [b"one three-", b"two too long", b"-"]
    assert left == []


def test_what_does_not_fit_onto_a_full_disk_is_not_left_there(
    disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mechanism: a part of it would keep the disk full."""
    path = tmp_path / "a"
    disk.write(path, b"old")
    real = os.write

    def write(descriptor: int, content: bytes) -> int:
        if os.fstat(descriptor).st_size:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, content[:2])

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(OSError, match="No space"):
        disk.write(path, b"newer")
    monkeypatch.undo()

    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert path.read_bytes() == b"old"


def test_writing_replaces_the_whole_and_leaves_nothing_beside_it(disk: Disk, tmp_path: Path) -> None:
    path = tmp_path / "file"

    disk.write(path, b"long content")
    disk.write(path, b"short")

    assert disk.read(path) == b"short"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_failed_write_leaves_the_old_content(disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    disk.write(path, b"old")

    def fail(_: int) -> None:
        raise OSError

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError):  # noqa: PT011 - ours
        disk.write(path, b"new")

    assert disk.read(path) == b"old"


def test_a_write_in_small_pieces_is_whole(disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, content: write(descriptor, bytes(content[:3])))

    disk.append(tmp_path / "a", b"0123456789")
    disk.write(tmp_path / "b", b"0123456789")
    disk.close()

    assert disk.read(tmp_path / "a") == disk.read(tmp_path / "b") == b"0123456789"


async def run_and_cancel(blocking: Blocking) -> list[str]:
    """Cancel a caller whose blocking call has begun; return what happened in order."""
    log: list[str] = []
    has_begun, may_end = threading.Event(), threading.Event()

    def write() -> None:
        has_begun.set()
        may_end.wait(5)
        log.append("written")

    async def call() -> None:
        try:
            await blocking.run(write)
        finally:
            log.append("caller ended")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(call)
        await trio.to_thread.run_sync(has_begun.wait, 5)
        nursery.cancel_scope.cancel()
        may_end.set()
    return log


async def test_a_blocking_call_that_has_begun_is_waited_for() -> None:
    assert await run_and_cancel(ThreadBlocking()) == ["written", "caller ended"]


@pytest.mark.parametrize("blocking", [ThreadBlocking(), InlineBlocking()])
async def test_arguments_results_and_errors_pass_through(blocking: Blocking) -> None:
    def divide(one: int, *, by: int) -> float:
        return one / by

    assert await blocking.run(divide, 6, by=3) == 2
    with pytest.raises(ZeroDivisionError):
        await blocking.run(divide, 6, by=0)


async def test_inline_calls_run_in_the_callers_thread_and_can_be_cancelled_before() -> None:
    assert await InlineBlocking().run(threading.get_ident) == threading.get_ident()
    with trio.CancelScope() as scope:
        scope.cancel()
        await InlineBlocking().run(pytest.fail, "it ran")
    assert scope.cancelled_caught


async def test_the_clock_of_production_is_trios() -> None:
    ports = Ports()
    clock = SystemClock()

    assert clock.bind()() == pytest.approx(trio.current_time(), abs=1)
    assert clock.wall().tzinfo is UTC
    assert 0 <= ports.chance.random() < 1
