"""The pages about hooks show what the code does."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any, Final

import pytest

from greenroom.hooks import HookEvent, HookSource, Permission, parse_hooks
from greenroom.hooks._answer_parser import read_command
from greenroom.hooks._event_table import CATALOG
from greenroom.hooks._outcomes import Extras
from tests.docs.hooks import PAGE, insert

HOW_TO: Final = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "hooks.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", HOW_TO.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_tables_are_those_of_the_code() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert insert(page) == page, "run `python -m tests.docs.hooks`"


def test_every_event_has_its_row() -> None:
    assert list(CATALOG) == list(HookEvent)


@pytest.mark.parametrize("text", blocks("json"))
def test_what_the_how_to_shows_can_be_used(text: str) -> None:
    values: dict[str, Any] = json.loads(text)

    if "hooks" in values:
        parsed = parse_hooks(values, HookSource("how-to", is_strict=True))
        assert parsed.hooks
        assert parsed.problems == ()
    else:
        event = HookEvent(values["hookSpecificOutput"]["hookEventName"])
        answer = read_command(event, 0, text, "")
        assert answer.problems == ()
        if event is HookEvent.PRE_TOOL_USE:
            assert answer.permission is Permission.ASK
        else:
            assert answer.extras != Extras()


def test_the_program_of_the_how_to_runs_as_it_stands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = blocks("python")
    path = tmp_path / "program.py"
    path.write_text(program, encoding="utf-8")

    runpy.run_path(str(path), run_name="__main__")

    problem, verdict = capsys.readouterr().out.splitlines()
    assert problem.startswith("settings.json: hooks.PreToolUse[1].matcher: 'Edit(' is not a valid matcher")
    assert verdict == "deny - not today"
