"""The programs of the how-to on sessions print what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.docs.programs import blocks_of, run_python

PRINTED: Final = (
    "It is built. ['Read']\n",
    "main asks: no rule allows make ship\nThen on Monday.\n",
    "3\n()\n",
    "Bash sleep 60\ntoo slow\nWhere were we?\n",
    "The build runs.\nIt is built. Next: run the tests\n",
)


@pytest.mark.parametrize("index", range(len(PRINTED)))
def test_a_program_of_the_how_to_prints_what_it_says(index: int, tmp_path: Path) -> None:
    programs = blocks_of("docs/how-to/sessions.md")

    assert len(programs) == len(PRINTED)
    assert run_python(programs[index], cwd=tmp_path, HOME=str(tmp_path)) == PRINTED[index]
