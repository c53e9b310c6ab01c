"""The page of the settings is that of the code, and the page about models runs as it stands."""

from __future__ import annotations

import json
from pathlib import Path

from greenroom.core.validation import read_settings
from greenroom.models import ModelSettings
from tests.docs.models import PAGE, page
from tests.docs.programs import ROOT, blocks_of, run_python

HOW_TO = "docs/how-to/models.md"


def test_the_reference_is_that_of_the_code() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tests.docs.models`"


def test_the_programs_of_the_page_run(tmp_path: Path) -> None:
    shown = [run_python(code, cwd=tmp_path, PYTHONPATH=str(ROOT)) for code in blocks_of(HOW_TO)]

    assert shown == [
        "Hello.\n<Budget 'session', 0 tokens, 1 calls>\n",
        (
            'request 2: system[0] was {"type":"text","text":"You help. It is 12:00.","cache_control":null} and is '
            '{"type":"text","text":"You help. It is 12:01.","cache_control":null}\n'
        ),
        (
            "Four.\nFour.\nrequest 1 of '' differs from the recording: messages[0].content[0].text was 'What is 2 + 2?' "
            "and is 'What is 2 + 3?'\n"
        ),
    ]


def test_the_settings_on_the_page_are_some() -> None:
    written = (ROOT / HOW_TO).read_text(encoding="utf-8").partition("```json\n")[2].partition("\n```")[0]
    assert read_settings(ModelSettings, json.loads(written), source="page").pricing.price_of("my-model") is not None
