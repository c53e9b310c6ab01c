"""The how-to on an administrator's folder: its settings can be used as they stand, and do what it says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from greenroom.core.sources import Places, find_places
from greenroom.session import SettingSource, load_settings
from tests.docs.programs import ROOT

PAGE: Final = (ROOT / "docs" / "how-to" / "managed.md").read_text(encoding="utf-8")


def places_with(folder: Path, content: str) -> Places:
    folder.mkdir()
    (folder / "settings.json").write_text(content, encoding="utf-8")
    return find_places(folder, environ={"HOME": str(folder), "GREENROOM_MANAGED": str(folder)})


def test_the_settings_of_the_page_can_be_used(tmp_path: Path) -> None:
    (content,) = re.findall(r"^```json\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    settings = load_settings(places_with(tmp_path / "m", content), [SettingSource.MANAGED])

    assert settings.diagnostics == ()
    assert settings.allows_managed_rules_only
    assert [str(rule) for rule in settings.permissions[0].rules] == [
        *json.loads(content)["permissions"]["deny"],
        *json.loads(content)["permissions"]["allow"],
    ]
    assert len(settings.hooks[0].hooks) == 1


def test_the_folders_of_the_page_are_those_that_are_read() -> None:
    from greenroom.core.sources import _source_folders

    rows = re.findall(r"^\| (Linux|macOS) \| `(.+?)` \| `(.+?)` \|$", PAGE, re.MULTILINE)
    assert {system: (Path(ours), Path(theirs)) for system, ours, theirs in rows} == {
        "Linux": _source_folders._USUAL_SYSTEM_FOLDERS,
        "macOS": _source_folders._SYSTEM_FOLDERS["darwin"],
    }
