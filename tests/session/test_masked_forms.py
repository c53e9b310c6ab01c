"""Secrets in files that nobody told the session of: masked by their form before a model reads them, if the program says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from greenroom.models import Call
from tests.session.scripted import opened, results


@pytest.mark.promise("SV-2")
@pytest.mark.parametrize("masks", [True, False])
@pytest.mark.parametrize("call", ["Read", "Grep"])
async def test_files_are_shown_without_what_has_the_form_of_a_secret(tmp_path: Path, call: str, *, masks: bool) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "keys.py").write_text('PASSWORD = "hunter2hunter2"\n', encoding="utf-8")
    values = {"Read": {"file_path": "keys.py"}, "Grep": {"pattern": "PASSWORD", "output_mode": "content"}}

    async with opened(project, [Call(call, values[call])], masks_forms=masks) as session:
        await session.run("Go.")
        (result,) = results(session)

    assert ("hunter2" in result.content) is not masks
    assert ('PASSWORD = "**************"' in result.content) is masks
