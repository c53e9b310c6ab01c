"""The page about settings shows what the code reads, and what the pages show as settings can be read."""

from __future__ import annotations

import json
import re

import attrs
import pytest

from greenroom.agents.compaction import CompactionSettings
from greenroom.core.validation import read_settings
from greenroom.permissions import DEADLINE_S
from greenroom.session import SessionSettings
from greenroom.session.settings._session_settings import WorktreeKeys
from greenroom.store import CLEANUP_PERIOD_DAYS
from tests.docs.docstrings import field_docs
from tests.docs.programs import ROOT
from tests.docs.settings import PAGE, insert

KEYS = {field.name for field in attrs.fields(SessionSettings)}
BLOCK = re.compile(r"^```json\n(\{\n.*?)^```", re.MULTILINE | re.DOTALL)
SHOWN = [
    (path, text)
    for path in sorted(ROOT.glob("docs/*/*.md"))
    for text in BLOCK.findall(path.read_text(encoding="utf-8"))
    if KEYS & json.loads(text).keys()
]


def test_the_tables_are_those_of_the_code() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert insert(page) == page, "run `python -m tests.docs.settings`"


@pytest.mark.parametrize("owner", [SessionSettings, CompactionSettings, WorktreeKeys])
def test_every_setting_says_what_it_means(owner: type[attrs.AttrsInstance]) -> None:
    assert {field.name for field in attrs.fields(owner)} == field_docs(owner).keys()


@pytest.mark.parametrize(("path", "text"), SHOWN, ids=[f"{path.stem}-{n}" for n, (path, _) in enumerate(SHOWN)])
def test_what_a_page_shows_as_settings_can_be_read(path: object, text: str) -> None:
    """Strictly, as the files of the user are: a page that invents a key would break whoever follows it."""
    read_settings(SessionSettings, json.loads(text), source=str(path))


def test_the_defaults_in_words_are_those_of_the_code() -> None:
    said = field_docs(SessionSettings)

    assert f"; {DEADLINE_S:g} by default" in said["approval_deadline_s"]
    assert f"; {CLEANUP_PERIOD_DAYS} by default" in said["cleanupPeriodDays"]
