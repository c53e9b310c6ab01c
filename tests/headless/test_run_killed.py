"""A headless run in real processes that are killed with -9 at any event; `make chaos-run` kills twenty."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.cli.forked import Forked
from tools.chaos.run import Scene, in_scene, kill_twice


def fork(arguments: Sequence[str], environ: Mapping[str, str], folder: Path) -> Forked:
    return Forked(*arguments, environ=environ, cwd=folder)


@pytest.mark.promise("R7-d")
@pytest.mark.slow
def test_a_run_killed_twice_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    """Mechanism: the journal and the transcripts say what was begun, what has ended and what was told.

    No turn begins in a closing session, a command that ends with 2 asks no model, each run of an agent is told once.
    """

    def play(scene: Scene) -> None:
        report = kill_twice(scene, random.Random(5), 160)
        assert report.wrong == ()
        assert len(report.kills) == 2

    in_scene(tmp_path, random.Random(1), play, fork)
