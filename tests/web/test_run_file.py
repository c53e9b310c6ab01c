"""A run as one file: what is in it, what is not, and that its policy names exactly its own script and style."""

from __future__ import annotations

import base64
import contextlib
import gzip
import hashlib
import html
import io
import json
import os
import re
from pathlib import Path
from typing import Any, Final

import pytest

from greenroom.core import UsageError, field_names, words_of
from greenroom.gateway.record import EVENTS, content_fields
from greenroom.replay import ExportFormat
from greenroom.replay._run_export import export_run
from greenroom.trace import Codec, Header
from greenroom.web._bundle import bundled
from greenroom.web._run_file import write_run_file
from tests.web.browser import BrowserPage
from tests.web.recorded_run import RECORDED, make_run, transcript_line

more = pytest.mark.skipif(
    os.environ.get("BROWSER_TESTS") != "demanded",
    reason="`make test-browser` runs the rest of the tests in a browser",
)
NEEDLE: Final = "a-needle-in-the-hay"
PARTS: Final = re.compile(rb'data-part="([^"]+)">([^<]*)</script>')
KEYS: Final = (
    "sk-" + "ant-api03-" + "Ab1" * 12,
    "gh" + "p_" + "a1B2" * 10,
    "AK" + "IA" + "ABCDEFGH12345678",
    "Bearer " + "abc.def" * 6,
    "-----BEGIN PRIVATE" + " KEY-----\nMIIE\n-----END PRIVATE" + " KEY-----",
)
VIEWS: Final = ("timeline", "talk", "board", "mail", "findings", "why", "tokens", "messages", "search")


def export(journal: Path, output: Path, content: str = "short") -> tuple[str, bytes]:
    """Write a run as a file; return what is said of it, and what can be read in it."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        export_run(journal, ExportFormat.HTML, output, content=content, write_html=write_run_file)
    return out.getvalue(), readable(output.read_bytes())


def readable(content: bytes) -> bytes:
    """Return all that a reader can find in a file: its text, and its parts unpacked."""
    return content + b"".join(gzip.decompress(base64.b64decode(packed)) for _, packed in PARTS.findall(content))


def with_needle(line: bytes) -> bytes:
    """Put the needle into every field with words that an event of this kind can have."""
    event: dict[str, Any] = json.loads(line)
    classes = [each for each in EVENTS if each.kind == event.get("ev")]
    for name in content_fields(event.get("ev", "")) & set(field_names(classes[0])) if classes else ():
        if name not in words_of(classes[0]):
            value = {"who": NEEDLE, "why": NEEDLE} if name == "cause" and "task" not in event else NEEDLE
            event[name] = {"key": NEEDLE} if name == "metadata" else value
    return json.dumps(event).encode() + b"\n"


def run_with(folder: Path, lines: list[bytes], text: str) -> Path:
    """Put a run into a folder whose agents all have said a text."""
    journal = make_run(folder, lines)
    for line in lines:
        if name := json.loads(line).get("transcript"):
            (journal.parent / "transcripts" / name).write_bytes(transcript_line(text))
    return journal


@pytest.mark.promise("V-content")
@pytest.mark.parametrize(("content", "is_there"), [("none", False), ("short", True), ("all", True)])
def test_words_are_in_the_file_only_if_they_were_asked_for(tmp_path: Path, content: str, is_there: bool) -> None:
    lines = [RECORDED[0], *map(with_needle, RECORDED[1:])]
    assert sum(NEEDLE.encode() in line for line in lines) > 20
    journal = run_with(tmp_path, lines, NEEDLE)

    said, found = export(journal, tmp_path / "run.html", content)

    assert (NEEDLE.encode() in found) == is_there
    assert ("no texts" in said) == (not is_there)


@pytest.mark.promise("V-content")
def test_every_kind_of_event_is_without_its_words_in_a_file_without_content(tmp_path: Path) -> None:
    """Each kind that there is, not only those of a recorded run."""
    lines = [with_needle(json.dumps({"seq": 1, "t": 0.0, "ev": each.kind}).encode()) for each in EVENTS]
    lines = [json.dumps({**json.loads(line), "seq": seq}).encode() + b"\n" for seq, line in enumerate(lines, start=1)]
    header = Codec(EVENTS).encode_header(
        Header(run="20261120-225103-k3f9qz", greenroom="1", python="3", trio="0", started="2026-11-21T12:00:00+00:00")
    )
    journal = make_run(tmp_path, [header, *lines])

    _, found = export(journal, tmp_path / "run.html", "none")

    assert NEEDLE.encode() not in found


def test_long_texts_are_cut_in_a_short_file(tmp_path: Path) -> None:
    journal = run_with(tmp_path, RECORDED, "x" * 150 + NEEDLE + "y" * 50)

    assert NEEDLE.encode() not in export(journal, tmp_path / "run.html", "short")[1]
    assert NEEDLE.encode() in export(journal, tmp_path / "run.html", "all")[1]


@pytest.mark.promise("V-masked")
def test_secrets_are_masked_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_TOKEN", "abcd-1234-efgh")
    secrets = (*KEYS, "abcd-1234-efgh")
    journal = run_with(tmp_path, RECORDED[:40], " and ".join(secrets))

    said, found = export(journal, tmp_path / "run.html", "all")

    assert [secret for secret in secrets if secret.encode() in found] == []
    assert [secret for secret in secrets if json.dumps(secret)[1:-1].encode() in found] == []
    assert "secrets masked" in said


def test_secrets_of_every_known_form_are_masked(tmp_path: Path) -> None:
    """Forms come from the table of the masker; a name of a field may hold one too."""
    secret = "gl" + "pat-" + "Zx9Qw3Er7Ty1Ui5Op2As"
    lines = [json.loads(line) for line in RECORDED[:40]]
    lines[5]["metadata"] = {f"token {secret}": "x"}
    journal = run_with(tmp_path, [json.dumps(line).encode() + b"\n" for line in lines], f"my token is {secret}")

    said, found = export(journal, tmp_path / "run.html", "all")

    assert secret.encode() not in found
    assert "secrets masked" in said


def test_names_of_agents_are_no_markup(tmp_path: Path) -> None:
    """A journal may say anything: the page of a file has no elements but its own."""
    strange = '"><meta http-equiv="refresh" content="0;url=//evil.example">'
    lines = [json.loads(line) for line in RECORDED]
    renamed = next(line["actor"] for line in lines if line.get("ev") == "agent.defined")
    lines = [{**line, "actor": strange} if line.get("actor") == renamed else line for line in lines]
    journal = run_with(tmp_path, [json.dumps(line).encode() + b"\n" for line in lines], "hello")

    export(journal, tmp_path / "run.html", "all")

    content = (tmp_path / "run.html").read_bytes()
    assert strange.encode() not in content
    assert f'data-part="talk-{html.escape(strange)}"'.encode() in content


def test_the_same_run_gives_the_same_bytes_and_the_policy_names_its_own_script(tmp_path: Path) -> None:
    journal = run_with(tmp_path, RECORDED, "hello")
    export(journal, tmp_path / "a.html")
    export(journal, tmp_path / "b.html")
    content = (tmp_path / "a.html").read_bytes()
    script = content.rpartition(b"<script>")[2].partition(b"</script>")[0]
    style = content.partition(b"<style>")[2].partition(b"</style>")[0]

    assert content == (tmp_path / "b.html").read_bytes()
    for name, part in (("script-src", script), ("style-src", style)):
        digest = base64.b64encode(hashlib.sha256(part).digest()).decode()
        assert f"{name} 'sha256-{digest}'".encode() in content
    assert b"unsafe" not in content.partition(b"<style>")[0]
    assert not list(tmp_path.glob(".*.part"))


def test_the_bundle_is_one_script_without_imports() -> None:
    script, style = bundled("run")

    assert re.findall(r"^\s*(?:import|export)\b.*", script, re.MULTILINE) == []
    assert "</script" not in script
    assert "</style" not in style
    assert "@import" not in style


def test_a_file_that_cannot_be_written_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    journal = make_run(tmp_path / "runs")
    for place in (tmp_path / "missing" / "run.html", journal):
        with pytest.raises(UsageError):
            export(journal, place)

    assert journal.read_bytes() == b"".join(RECORDED)


@more
async def test_a_file_shows_every_view_without_a_server(page: BrowserPage, tmp_path: Path) -> None:
    journal = run_with(tmp_path, RECORDED, "<img src=x onerror='window.evil=1'>")
    output = tmp_path / "run.html"
    export(journal, output, "all")
    await page.go(f"file://{output}#at=150")
    await page.wait(f"document.getElementById('app').dataset.events === '{len(RECORDED) - 1}'")
    for view in VIEWS:
        await page.evaluate(f"location.hash = 'at=150&view={view}'")
        await page.wait(f"document.querySelector('#tab-{view}').getAttribute('aria-selected') === 'true'")
        await page.wait("document.querySelector('.stage').textContent.trim().length > 20")
        assert await page.evaluate("document.getElementById('app').dataset.at") == "150"

    assert await page.evaluate("window.evil") is None
    assert [url for url in page.requests() if not url.startswith(("file:", "data:"))] == []
    assert page.complaints() == []
