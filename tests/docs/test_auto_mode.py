"""The how-to on auto mode: its settings can be read, its program prints what it says, its rows are decided so."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from greenroom.agents.review import AutoModeSettings
from greenroom.core.validation import read_settings
from tests.docs.programs import blocks_of, run_python

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = ROOT / "docs" / "how-to" / "auto-mode.md"


def test_the_program_prints_what_it_says(tmp_path: Path) -> None:
    (program,) = blocks_of("docs/how-to/auto-mode.md")

    printed = run_python(program, cwd=tmp_path, PYTHONPATH=str(ROOT))

    assert printed == "I left the push to you.\n0 allowed, 1 blocked, 0 without a verdict\n"


def test_the_settings_of_the_page_can_be_read() -> None:
    found = re.search(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None

    settings = read_settings(AutoModeSettings, json.loads(found[1])["autoMode"], source="settings.json")

    assert settings.hard_deny == ("anything that touches the billing service",)
