"""Reading: torn tails are tolerated and told, damage and foreign files are one-line errors, nothing is changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from greenroom.core import JournalError
from greenroom.supervisor import Runtime
from greenroom.trace import JOURNAL, Journal, JournalText, UnknownEvent, fold, read_journal
from greenroom.trace import _codec as codec
from greenroom.trace._codec import VERSION
from tests.trace.disks import MemoryDisk
from tests.trace.scenarios import EVENTS, FOLDER, FOLDS, run_journal, work

FILE: Final = FOLDER / JOURNAL


def read(content: bytes) -> JournalText:
    disk = MemoryDisk()
    disk.files[FILE] = content
    return read_journal(FILE, EVENTS, disk=disk)


async def _scenario(runtime: Runtime, _: Journal) -> None:
    await work(runtime)


@pytest.fixture(scope="module")
def whole() -> bytes:
    return run_journal(_scenario, MemoryDisk())


def header(**fields: Any) -> bytes:
    return orjson.dumps(
        {"v": VERSION, "run": "r", "greenroom": "0", "python": "3", "trio": "0", **fields},
        option=orjson.OPT_APPEND_NEWLINE,
    )


def test_a_tail_torn_at_any_byte_is_left_out_and_told(whole: bytes) -> None:
    entries = read(whole).entries
    start = whole.index(b"\n") + 1
    for end in range(start, start + 2_000):
        text = read(whole[:end])

        lines = whole[start:end].count(b"\n")
        assert text.entries == entries[:lines]
        assert text.torn_bytes == end - 1 - whole.rindex(b"\n", 0, end)


def test_a_header_torn_at_any_byte_is_no_journal(whole: bytes) -> None:
    for end in range(whole.index(b"\n") + 1):
        with pytest.raises(JournalError):
            read(whole[:end])


def test_zeros_after_a_power_cut_are_a_torn_tail(whole: bytes) -> None:
    assert read(whole + bytes(512)).torn_bytes == 512


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello\n",
        b"{}\n",
        b"\x89PNG\r\n\x1a\n",
        b"[]\n",
        b'"v"\n',
        b'{"v":true,"run":"r"}\n',
        b'{"v":"1","run":"r"}\n',
        header(v=0),
        header(v=VERSION + 1),
        header(run=5),
        b'{"v":1,"run":"r"}\n',
        header(seed="many"),
    ],
)
def test_a_foreign_file_is_a_one_line_error(content: bytes) -> None:
    with pytest.raises(JournalError) as caught:
        read(content)
    assert caught.value.where == str(FILE)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        b"garbage",
        b"{}",
        b"",
        b'{"seq":1}',
        b"\xff\xfe",
        b'{"seq":1,"t":0.0,"ev":"turn.begin","turn":"x"}',
        b'{"seq":1,"t":0.0,"actor":"a1","ev":"actor.begin"',
        bytes(40),
    ],
)
def test_damage_in_the_middle_is_a_one_line_error_that_names_the_line(line: bytes, whole: bytes) -> None:
    lines = whole.split(b"\n")
    lines[6] = line
    with pytest.raises(JournalError) as caught:
        read(b"\n".join(lines))
    assert "line 7 " in caught.value.why
    assert "\n" not in str(caught.value)


def test_a_folder_or_a_missing_file_is_a_journal_error(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "missing"):
        with pytest.raises(JournalError):
            read_journal(place, EVENTS)


def test_reading_changes_nothing(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / JOURNAL
    path.write_bytes(whole + b'{"seq":')
    path.chmod(0o400)

    assert read_journal(path, EVENTS).torn_bytes == 7

    assert [path.name for path in tmp_path.iterdir()] == [JOURNAL]
    assert path.read_bytes() == whole + b'{"seq":'


def test_events_of_kinds_that_were_not_handed_in_are_kept_and_not_folded(whole: bytes) -> None:
    disk = MemoryDisk()
    disk.files[FILE] = whole
    known = tuple(event for event in EVENTS if not event.kind.startswith("message."))

    text = read_journal(FILE, known, disk=disk)

    assert [entry.kind for entry in text.entries] == [entry.kind for entry in read(whole).entries]
    unknown = [entry for entry in text.entries if isinstance(entry.event, UnknownEvent)]
    assert {entry.kind for entry in unknown} >= {"message.put", "message.died"}
    assert not fold(text.entries, FOLDS).section("mailboxes")
    assert fold(text.entries, FOLDS).section("actors") == fold(read(whole).entries, FOLDS).section("actors")


def test_an_older_format_goes_through_the_upcasters(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no older format yet; the way is held open by a made-up one."""
    monkeypatch.setattr(codec, "VERSION", 2)
    monkeypatch.setattr("greenroom.trace._journal_reader.VERSION", 2)
    monkeypatch.setattr(codec, "UPCASTERS", {1: lambda line: {**line, "ev": line["kind"]}})

    text = read(header(v=1) + b'{"seq":1,"t":0.0,"actor":"a1","inc":1,"kind":"actor.begin"}\n')

    assert [entry.kind for entry in text.entries] == ["actor.begin"]
