"""The folders of an administrator."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from greenroom.core.sources import find_places
from greenroom.core.sources._source_folders import managed_folders


def test_the_folder_is_the_named_one_or_those_of_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    monkeypatch.setattr("greenroom.core.sources._source_folders._USUAL_SYSTEM_FOLDERS", (ours, theirs))
    assert managed_folders({}, "linux") == ()

    theirs.mkdir()
    assert managed_folders({}, "linux") == (theirs,)
    ours.mkdir()
    assert managed_folders({"GREENROOM_MANAGED": ""}, "linux") == (ours, theirs)
    assert managed_folders({"GREENROOM_MANAGED": str(tmp_path)}, "linux") == (tmp_path,)
    assert managed_folders({}, "darwin") == ()
    files = [policy.relative_to(tmp_path).as_posix() for policy in find_places(tmp_path, environ={}).policies]
    assert files == ["ours/settings.json", "ours/managed-settings.json", "theirs/managed-settings.json"]


def test_no_test_reads_an_administrators_folder_of_this_machine(tmp_path: Path) -> None:
    (folder,) = managed_folders(os.environ)

    assert (folder.is_dir(), list(folder.iterdir())) == (True, [])
    assert find_places(tmp_path).managed == (folder,)
