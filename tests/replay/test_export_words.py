"""The words in exports: none without content, no secret in any, and the same bytes for the same run."""

from __future__ import annotations

import base64
import gzip
import json
import re
from itertools import cycle
from pathlib import Path
from typing import Any, Final

import pytest

from greenroom.core import JournalError
from greenroom.gateway.record import EVENTS
from greenroom.replay import ExportFormat
from greenroom.replay._run_export import export_run
from greenroom.trace import RunIndex, _growing_file
from greenroom.trace.exports import Content, Redaction
from greenroom.web import write_run_file
from tests.replay.planted_words import NEEDLE, SECRETS, run_of, with_text
from tests.web.recorded_run import RECORDED

FORMATS: Final = tuple(ExportFormat)
_PART: Final = re.compile(rb'data-part="([^"]+)">([^<]*)</script>')
every_format: Final = pytest.mark.parametrize("wanted", FORMATS)
EVERY_KIND: Final = [json.dumps({"seq": 1, "t": 0.0, "ev": each.kind}).encode() for each in EVENTS]
TOLD: Final = [line for line in RECORDED[1:] if json.loads(line)["ev"] != "session.settings"]


def export(journal: Path, wanted: ExportFormat, content: str, **places: Any) -> bytes:
    """Return all that a reader can find in an export, unpacked."""
    output = journal.parents[1] / f"run.{wanted}"
    export_run(journal, wanted, output, content=content, write_html=write_run_file, **places)
    written = output.read_bytes()
    return written + b"".join(gzip.decompress(base64.b64decode(packed)) for _, packed in _PART.findall(written))


@pytest.mark.promise("X-words")
@every_format
@pytest.mark.parametrize("lines", [EVERY_KIND, TOLD], ids=["every kind of event", "a recorded swarm"])
def test_no_word_is_in_an_export_without_content(lines: list[bytes], wanted: ExportFormat, tmp_path: Path) -> None:
    planted = [with_text(line, NEEDLE) for line in lines]
    assert sum(NEEDLE.encode() in line for line in planted) > 20
    journal = run_of(tmp_path, planted, NEEDLE)

    assert NEEDLE.encode() not in export(journal, wanted, "none")
    assert NEEDLE.encode() in export(journal, wanted, "short")


@pytest.mark.promise("X-words")
@every_format
def test_an_unknown_event_shows_no_text_without_content(wanted: ExportFormat, tmp_path: Path) -> None:
    unknown = json.dumps({"seq": 1, "t": 9.0, "ev": "thing.said", "words": NEEDLE, "deep": {"a": [NEEDLE]}}).encode()
    journal = run_of(tmp_path, [*TOLD[:40], unknown], "")

    found = export(journal, wanted, "none")

    assert NEEDLE.encode() not in found
    assert b"thing.said" in found


@pytest.mark.promise("X-secrets")
@every_format
@pytest.mark.parametrize("content", ["short", "all"])
def test_no_secret_is_in_any_export(
    content: str,
    wanted: ExportFormat,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In every field with words, in names of fields, in a name of an actor, in a conversation."""
    monkeypatch.setenv("SERVICE_TOKEN", SECRETS[-1])
    text = " and ".join(SECRETS)
    lines = [
        json.loads(with_text(line, text if content == "all" else secret))
        for line, secret in zip(TOLD, cycle(SECRETS), strict=False)
    ]
    for line in lines:
        if line["ev"] == "actor.new":
            line["path"] = f"session/{SECRETS[1]}"
        if line["ev"] == "tool.begin":
            line["tool"] = f"Read {SECRETS[4]}"
    journal = run_of(tmp_path, [json.dumps(line).encode() for line in lines], text)

    found = export(journal, wanted, content)

    for secret in SECRETS:
        for form in (secret, json.dumps(secret)[1:-1]):
            assert form.encode() not in found
    assert "MIIEvQIBADANBgkqhkiG9w0" not in found.decode(errors="replace")
    assert "masked" in capsys.readouterr().out


@every_format
def test_the_same_run_gives_the_same_bytes(wanted: ExportFormat, tmp_path: Path) -> None:
    journal = run_of(tmp_path, TOLD, "hello")

    assert export(journal, wanted, "all") == export(journal, wanted, "all")


@every_format
def test_a_part_of_a_run_ends_at_its_last_event(wanted: ExportFormat, tmp_path: Path) -> None:
    """An export up to a moment is that of a journal that ends there, conversations apart."""
    lines = [json.loads(line) for line in TOLD]
    whole = run_of(tmp_path / "whole", [json.dumps(line).encode() for line in lines], "")
    part = run_of(tmp_path / "part", [json.dumps(line).encode() for line in lines[:150]], "")

    cut, ended = export(whole, wanted, "none", until="150"), export(part, wanted, "none")

    if wanted is ExportFormat.HTML:  # it says whether the run goes on
        cut, ended = (re.sub(rb'"standing":"[a-z ]+"| +', b"", _unpacked_only(each)) for each in (cut, ended))
    assert cut == ended


def _unpacked_only(found: bytes) -> bytes:
    """Return the parts of a page without the length of their head."""
    return found.rpartition(b"</html>\n")[2].partition(b"{")[2]


@pytest.mark.parametrize("wanted", [each for each in FORMATS if each is not ExportFormat.HTML])
def test_a_run_from_a_moment_on_leaves_out_what_ended_before(wanted: ExportFormat, tmp_path: Path) -> None:
    journal = run_of(tmp_path, TOLD, "")

    assert len(export(journal, wanted, "all", since="200")) < len(export(journal, wanted, "all"))


@every_format
def test_a_torn_tail_and_a_damaged_line_are_left_out_and_told(
    wanted: ExportFormat, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = run_of(tmp_path, TOLD, "")
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines[:50], b"not an event\n", *lines[51:], b'{"seq": 9']))

    export(journal, wanted, "none")

    assert "1 damaged line" in capsys.readouterr().out


@pytest.mark.promise("X-whole")
@every_format
def test_a_journal_that_changes_meanwhile_is_an_error_and_leaves_no_file(
    wanted: ExportFormat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = run_of(tmp_path, TOLD, "")
    grow = RunIndex.grow

    def grow_and_lose(index: RunIndex) -> bool:
        """Index all of it, then cut the file, as somebody does who cleans up."""
        is_more = grow(index)
        if not is_more:
            journal.write_bytes(journal.read_bytes()[:3_000])
        return is_more

    monkeypatch.setattr(RunIndex, "grow", grow_and_lose)
    monkeypatch.setattr(_growing_file, "BLOCK_BYTES", 4_096)  # the last block is kept in memory

    with pytest.raises(JournalError):
        export(journal, wanted, "none")

    assert [each.name for each in (tmp_path / "runs").iterdir()] == [journal.parent.name]


@every_format
def test_a_run_that_vanishes_meanwhile_is_exported_as_far_as_it_was_read(
    wanted: ExportFormat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = run_of(tmp_path, TOLD, "")
    whole = export(journal, wanted, "none")
    grow = RunIndex.grow

    def grow_and_vanish(index: RunIndex) -> bool:
        journal.unlink(missing_ok=True)
        return grow(index)

    monkeypatch.setattr(RunIndex, "grow", grow_and_vanish)

    assert len(export(journal, wanted, "none")) == len(whole)


def test_a_name_with_the_form_of_a_key_inside_a_word_is_kept() -> None:
    redaction = Redaction(Content.SHORT, {}, content_fields=lambda _: frozenset(), is_label=lambda _: True)
    name = "/team/task-review-the-long-report-of-today"
    assert redaction.labels(name) == name
    assert redaction.labels("sk-" + "a1B2" * 6) == "*" * 27
