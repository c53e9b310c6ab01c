"""The how-to on plugins: the folder that it shows is a plugin, and its program prints what it says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

import pytest

from greenroom.core.sources import MANIFEST, find_places
from greenroom.core.sources._plugin_folders import _UNREAD, read_plugin
from greenroom.hooks import HookSource, parse_hooks
from greenroom.session import load_settings
from tests.docs.programs import ROOT, blocks_of, run_python

HOW_TO: Final = "docs/how-to/plugins.md"
PAGE: Final = (ROOT / HOW_TO).read_text(encoding="utf-8")
SETTING, MANIFEST_BLOCK, HOOKS = re.findall(r"^```json\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
CONTENTS: Final = {
    "plugin.json": MANIFEST_BLOCK,
    "notes-writer.md": "---\nname: notes-writer\ndescription: Writes notes.\n---\nWrite notes.\n",
    "SKILL.md": "---\ndescription: Notes of a release.\n---\nWrite the notes of $0.\n",
    "tag.md": "Tag it.\n",
    "hooks.json": HOOKS,
    ".mcp.json": "{}",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder that the page shows."""
    (listed,) = re.findall(r"^```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    for line in listed.splitlines():
        path = tmp_path / line.split()[0]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CONTENTS[path.name], encoding="utf-8")
    return tmp_path / "release-kit"


def test_the_folder_of_the_page_is_a_plugin(folder: Path) -> None:
    found = read_plugin(folder)

    assert (folder / MANIFEST).is_file()
    assert (found.name, found.version) == ("release-kit", "1.0.0")
    (part,) = found.hooks
    parsed = parse_hooks(part.values, HookSource("the page", is_strict=True))
    assert (len(parsed.hooks), parsed.problems) == (1, ())


def test_the_setting_of_the_page_names_folders(tmp_path: Path) -> None:
    places = find_places(tmp_path, environ={"HOME": "/home/me"}, managed=())
    settings = load_settings(places, given=json.loads(SETTING))

    assert settings.plugin_folders(places) == [
        (None, tmp_path / "tools/release-kit"),
        (None, Path("/home/me/plugins/review")),
    ]


def test_the_program_of_the_page_prints_what_it_says(folder: Path) -> None:
    (program,) = blocks_of(HOW_TO)
    shown = run_python(program, cwd=folder.parent, HOME=str(folder.parent / "home"))

    first, answer = shown.splitlines()
    assert f"it prints `{first}` and the answer" in PAGE
    assert answer == "- Faster start."


def test_keys_of_manifests_are_named() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ", PAGE, re.MULTILINE)
    assert rows == ["agents", "commands", "skills", "hooks", "mcpServers"]
    said = {"lspServers", "outputStyles", "userConfig", "dependencies"}
    assert said <= set(_UNREAD)
    assert all(f"`{one}`" in PAGE for one in said)
