"""The examples of the pages about permissions are run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from greenroom.permissions import Mode
from tests.docs.programs import blocks_of, run_python
from tests.permissions.policies import effect_of, policy

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "reference" / "permission-rules.md"
ROW: Final = re.compile(r"^\| (.*?)\|? `([^|`]+)` \| `(\w+)` \| (allow|ask|deny) \|$", re.MULTILINE)
RULE: Final = re.compile(r"(allow|ask|deny) `([^`]+)`")
ROWS: Final = ROW.findall(PAGE.read_text(encoding="utf-8"))
SHOWN: Final = (
    "deny - Bash(git push *) (.greenroom/settings.json) denies git push\n",
    "builder asks: no rule allows npm run build\n{'permissions': {'allow': ['Bash(npm run *)']}}\n",
    "plan Bash(git push)\n",
)


@pytest.mark.parametrize(("rules", "call", "mode", "verdict"), ROWS, ids=[f"{row[1]}-{row[2]}" for row in ROWS])
def test_the_examples_of_the_reference_are_decided_as_it_says(rules: str, call: str, mode: str, verdict: str) -> None:
    listed = RULE.findall(rules)
    given = {effect: [text for which, text in listed if which == effect] for effect in ("allow", "ask", "deny")}

    assert effect_of(call, policy(**given, mode=Mode(mode))) == verdict  # type: ignore[arg-type]


def test_no_example_is_left_out() -> None:
    said = [
        line
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.endswith(("| allow |", "| ask |", "| deny |"))
    ]

    assert len(ROWS) == len(said) > 30


@pytest.mark.parametrize("index", range(len(SHOWN)))
def test_the_code_of_the_guide_prints_what_it_says(index: int, tmp_path: Path) -> None:
    assert (
        run_python(blocks_of("docs/how-to/permissions.md")[index], cwd=tmp_path, PYTHONPATH=str(PAGE.parents[2]))
        == SHOWN[index]
    )
