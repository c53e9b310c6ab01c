"""The page about `greenroom run` agrees with the command."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import attrs
import pytest

from greenroom.cli import main
from greenroom.cli._run_flags import RunFlags

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "run.md"


def test_the_page_names_every_flag_and_no_other() -> None:
    named = set(re.findall(r"--[a-z]+(?:-[a-z]+)*", PAGE.read_text(encoding="utf-8")))

    flags = {"--" + field.name.rstrip("_").replace("_", "-") for field in attrs.fields(RunFlags)}
    assert flags - named == {"--runs"}  # as of every command
    assert named - flags == set()


def test_the_example_of_the_page_has_the_keys_that_the_command_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```json\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    (tmp_path / "a.txt").write_text("overflow\n", encoding="utf-8")

    arguments = ["run", "--model", "playbook", "Where is the overflow folder?"]
    assert main([*arguments, "--output-format", "json"]) == 0
    printed = json.loads(capfd.readouterr().out)
    assert main(arguments) == 0

    assert printed.keys() == json.loads(shown).keys()
    lines = capfd.readouterr().out.splitlines()
    assert lines[:2] == text.split('folder?"\n', 1)[1].splitlines()[:2]
    assert printed["result"].splitlines() == lines
