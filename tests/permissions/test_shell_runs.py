"""The rules for commands, held against bash itself; `make soak` does the same with 100,000 scripts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.permissions.scripts import LATER, Scripts
from tests.permissions.shell_runs import Shell, Tally, hold


@pytest.mark.slow
async def test_scripts_run_in_bash_do_nothing_that_was_not_allowed(tmp_path: Path) -> None:
    made, tally = Scripts(1), Tally()

    await hold([made.script() for _ in range(250)], Shell(tmp_path), tally, sample=5)

    assert tally.violations == []
    assert tally.unasked > 10
    assert tally.undenied > 50
    assert tally.ran_denied > 5  # what is held back is what the rule is for


async def test_later_texts_do_run_where_nothing_stops_them(tmp_path: Path) -> None:
    """Most of them: else the stubs would prove nothing."""
    tally = Tally()

    await hold(LATER, Shell(tmp_path), tally, sample=1)

    assert tally.violations == []
    assert tally.ran_denied > len(LATER) * 0.7
