"""`greenroom run --resume` without a prompt: what it resumes, what it refuses, and what it prints."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.place import Place


def contents(run: Path) -> Mapping[Path, bytes]:
    """Return all that lies in a run folder."""
    return {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}


@pytest.mark.promise("R7-d")
def test_a_refused_run_is_not_touched(place: Place) -> None:
    """Mechanism: the run is looked at before anything is opened; the store of what waits is read from a copy."""
    place.run(["Done."], "Go.")
    (run,) = (path for path in (place.root / "runs").iterdir() if path.is_dir())
    before = contents(run)

    done, requests = place.run([], "--resume", "last")

    assert done.code == 2
    assert "was completed; give a prompt" in done.err
    assert requests == []
    assert contents(run) == before
