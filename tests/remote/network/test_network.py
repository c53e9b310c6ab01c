"""Nodes that are linked over a simulated network keep their promises, whatever the network and the processes do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from greenroom.testing import explore, replay
from tests.remote.network.traffic import busy_nodes

HISTORIES = sorted((Path(__file__).parent / "histories").glob("*.json"))
SCHEDULES = 16
"""In `make test`; `make soak-remote` runs the 2,000 and more."""


@pytest.mark.promise("R15-a")
@pytest.mark.parametrize("nodes", [2, 3])
def test_traffic_under_faults_breaks_no_invariant(nodes: int) -> None:
    explore(busy_nodes(nodes), strategy="random", seed=nodes, schedules=SCHEDULES // nodes)


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
def test_what_was_broken_once_is_sound(path: Path) -> None:
    history = json.loads(path.read_text(encoding="utf-8"))

    explore(busy_nodes(history["nodes"]), strategy=replay(history["choices"]), schedules=1)
