"""The page about channels: its server pushes, and its session reads what the page shows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from greenroom.mcp._channel_messages import MAX_CONTENT_CHARS
from greenroom.mcp._channel_settings import MAX_PER_MINUTE, PER_MINUTE
from greenroom.mcp._channels import BURST, MAX_UNREAD
from greenroom.session import load_settings
from tests.docs.programs import ROOT, blocks_of, run_python

PAGE = "docs/how-to/channels.md"


@pytest.mark.slow
def test_the_server_of_the_page_pushes_into_its_session(tmp_path: Path) -> None:
    server, program = blocks_of(PAGE)
    (tmp_path / "ci_server.py").write_text(server, encoding="utf-8")
    shown = (ROOT / PAGE).read_text(encoding="utf-8").split("```text\n")[1].partition("```")[0]

    assert run_python(program, cwd=tmp_path) == shown


def test_the_settings_and_limits_of_the_page_are_those_of_the_code() -> None:
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    (settings,) = re.findall(r"^```json\n(.*?)^```", page, re.MULTILINE | re.DOTALL)

    assert set(load_settings(None, given=json.loads(settings)).scalars.channels) == {"ci"}
    for limit in (f"| {BURST} |", f"{PER_MINUTE} by default, {MAX_PER_MINUTE} at most", f"| {MAX_UNREAD} |"):
        assert limit in page
    assert f"{MAX_CONTENT_CHARS:,} characters" in page
