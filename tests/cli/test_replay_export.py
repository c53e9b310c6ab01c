"""`greenroom replay --export`: one document, on standard output or in a file, and one line about it."""

from __future__ import annotations

import errno
import json
import os
import sys
from pathlib import Path
from typing import Final

import pytest

from greenroom.cli import main
from greenroom.trace import JOURNAL, exports
from greenroom.trace.exports import Sink
from tests.trace.disks import MemoryDisk
from tests.trace.scenarios import run_journal, work

RUN: Final = "20261120-225103-k3f9qz"


@pytest.fixture(scope="module")
def journal() -> bytes:
    return run_journal(lambda runtime, _: work(runtime), MemoryDisk())


@pytest.fixture
def runs(tmp_path: Path, journal: bytes) -> Path:
    folder = tmp_path / "runs" / RUN
    folder.mkdir(parents=True)
    (folder / JOURNAL).write_bytes(journal)
    return folder.parent


@pytest.mark.parametrize(("wanted", "key"), [("chrome", "traceEvents"), ("otlp", "resourceSpans")])
def test_an_export_is_one_document_on_standard_output(
    wanted: str, key: str, runs: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    code = main(["replay", "--export", wanted, "--runs", str(runs)])

    assert code == 0
    assert json.loads(capsysbinary.readouterr().out)[key]


@pytest.mark.parametrize("option", ["-o", "--output"])
def test_an_export_goes_to_a_file_and_says_what_opens_it(
    option: str, runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "run.json"

    code = main(["replay", "--export", "chrome", option, str(place), "--runs", str(runs)])

    assert code == 0
    assert json.loads(place.read_bytes())["otherData"]["run"] == "run"
    said = capsys.readouterr().out
    assert said.count("\n") == 1
    assert "perfetto" in said


def test_an_export_may_end_at_a_moment(runs: Path, tmp_path: Path) -> None:
    sizes = []
    for at in ("20", "60"):
        place = tmp_path / f"{at}.json"
        assert main(["replay", "--export", "otlp", "--at", at, "-o", str(place), "--runs", str(runs)]) == 0
        sizes.append(place.stat().st_size)

    assert sizes[0] < sizes[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--export", "pdf"],
        ["--export", "chrome", "--check"],
        ["--export", "chrome", "--diff", RUN],
        ["--export", "chrome", "--json"],
        ["--export", "chrome", "--actor", "worker"],
        ["--export", "chrome", "--kind", "turn.*"],
        ["--export", "otlp", "--at", "20", "--until", "30"],
        ["--export", "otlp", "--since", "9000"],
        ["--export", "html"],
        ["--export", "html", "-o", "run.html", "--since", "3"],
        ["--content", "none"],
        ["-o", "run.json"],
        ["--export", "chrome", "-o", "no/such/folder/run.json"],
    ],
)
def test_a_mistake_is_one_line_and_exit_2(arguments: list[str], runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["replay", *arguments, "--runs", str(runs)])

    printed = capsys.readouterr()
    assert (code, printed.out) == (2, "")
    assert printed.err.startswith("greenroom: ")
    assert printed.err.count("\n") == 1


def test_the_journal_itself_is_never_written_over(
    runs: Path, journal: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    place = runs / RUN / JOURNAL

    code = main(["replay", "--export", "chrome", "-o", str(place), "--runs", str(runs)])

    assert code == 2
    assert "the journal itself" in capsys.readouterr().err
    assert place.read_bytes() == journal


def test_a_folder_in_place_of_the_file_is_one_line_and_exit_1(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["replay", "--export", "chrome", "-o", str(tmp_path), "--runs", str(runs)])

    assert code == 1
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("wanted", ["chrome", "otlp", "perfetto", "html"])
def test_a_full_disk_is_one_line_and_exit_1(wanted: str, runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["replay", "--export", wanted, "-o", "/dev/full", "--runs", str(runs)])

    printed = capsys.readouterr()
    assert (code, printed.out) == (1, "")
    assert "no space left" in printed.err
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize("wanted", ["chrome", "otlp", "perfetto"])
def test_a_reader_that_goes_away_early_is_no_error(
    wanted: str, runs: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", closefd=False) as output:
        monkeypatch.setattr(sys, "stdout", output)
        code = main(["replay", "--export", wanted, "--runs", str(runs)])

    assert code == 0
    assert capfd.readouterr().err == ""


def test_a_file_that_is_there_is_replaced_only_by_a_whole_export(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "run.json"
    place.write_text("mine")
    place.chmod(0o640)
    arguments = ["replay", "--export", "otlp", "-o", str(place), "--runs", str(runs)]

    def fill(_source: object, sink: Sink, _redaction: object) -> int:
        sink(b"half a file")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(exports, "export_otlp", fill)
        assert main(arguments) == 1
    assert place.read_text() == "mine"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["run.json", "runs"]

    assert main(arguments) == 0

    assert json.loads(place.read_bytes().splitlines()[0])
    assert place.stat().st_mode & 0o777 == 0o640
