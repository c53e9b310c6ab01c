"""Failing explored tests leave run folders: `greenroom replay` and the choices show the same schedule."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from greenroom.cli import main
from greenroom.testing import ExplorationFailed, explore
from greenroom.testing._kept_failures import FAILURES, MAX_KEPT, keep_failure
from greenroom.trace import JOURNAL, read_journal
from tests.testing.races import chain_of_actors, planted


def failure(strategy: str = "mixed") -> ExplorationFailed:
    with pytest.raises(ExplorationFailed) as caught:
        explore(planted(chain_of_actors), schedules=100, strategy=strategy)
    return caught.value


def keep(failed: ExplorationFailed, root: Path, test: str = "tests/test_a.py::test_b[x/y]") -> Path:
    return keep_failure(root, test, failed.records, choices=failed.choices, seed=failed.seed, strategy=failed.strategy)


@pytest.mark.promise("X-kept")
def test_the_kept_run_is_that_of_the_choices_in_the_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = failure("random")  # with this seed, the run that it finds first is another than the shortened one
    again = failure(f"replay({list(found.choices)})")

    folder, other = keep(found, tmp_path), keep(again, tmp_path)

    first, second = (read_journal(each / JOURNAL, ()) for each in (folder, other))
    assert first.entries == second.entries
    assert {"message.put", "turn.begin"} <= {entry.kind for entry in first.entries}
    assert (
        first.header.about["choices"]
        == list(found.choices)
        == json.loads((folder / "choices.json").read_bytes())["choices"]
    )
    assert main(["replay", str(folder)]) == 0
    assert f"{len(first.entries)} events" in capsys.readouterr().out
    assert main(["replay", str(folder), "--diff", str(other)]) == 0


def test_the_newest_twenty_are_kept(tmp_path: Path) -> None:
    found = failure()

    folders = [keep(found, tmp_path) for _ in range(MAX_KEPT + 2)]

    assert {each.name for each in (tmp_path / FAILURES).iterdir()} == {each.name for each in folders[2:]}
