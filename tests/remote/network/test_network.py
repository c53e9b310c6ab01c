"""Nodes that are linked over a simulated network keep their promises, whatever the network and the processes do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from greenroom.testing import explore, replay
from tests.remote.network.remote_runs import remote_runs
from tests.remote.network.scenarios import SCENARIOS
from tests.remote.network.traffic import busy_nodes, impostor

HISTORIES = sorted((Path(__file__).parent / "histories").glob("*.json"))
TRAFFIC = [(2, 4, 12), (2, 5, 8), (3, 3, 3)]
"""Nodes, seed and schedules: together with the others a slice of those that `make soak-remote` runs. Its mutants are found in them."""
SHRINKS = 20
"""The soak simplifies what it finds; here an early answer counts."""


@pytest.mark.promise("R15-a")
@pytest.mark.parametrize(("nodes", "seed", "schedules"), TRAFFIC)
def test_traffic_under_faults_breaks_no_invariant(nodes: int, seed: int, schedules: int) -> None:
    explore(busy_nodes(nodes), strategy="random", seed=seed, schedules=schedules, shrinks=SHRINKS)


@pytest.mark.promise("R15-a")
def test_a_flood_has_a_place_for_each_message() -> None:
    explore(busy_nodes(2, tells=300, faults=1), strategy="random", schedules=1, shrinks=SHRINKS)


@pytest.mark.promise("R15-a")
def test_nobody_is_linked_as_somebody_else() -> None:
    explore(impostor(), strategy="random", schedules=2, shrinks=SHRINKS)


@pytest.mark.promise("R15-a")
def test_runs_on_other_nodes_live_once_and_are_reported_once() -> None:
    explore(remote_runs(), strategy="random", seed=5, schedules=2, shrinks=SHRINKS)


@pytest.mark.promise("R15-a")
def test_a_run_that_is_moved_has_ended_where_it_was() -> None:
    explore(remote_runs(faults=0), strategy="random", seed=5, schedules=2, shrinks=SHRINKS)


@pytest.mark.promise("R15-a")
def test_what_a_killed_launcher_had_in_its_box_is_read_once() -> None:
    explore(remote_runs(1, tasks=6, faults=0), strategy="random", seed=1, schedules=2, shrinks=SHRINKS)


@pytest.mark.promise("R15-a")
@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
def test_what_was_broken_once_is_sound(path: Path) -> None:
    history = json.loads(path.read_text(encoding="utf-8"))

    explore(SCENARIOS[history["scenario"]](), strategy=replay(history["choices"]), schedules=1)
