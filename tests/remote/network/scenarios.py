"""The scenarios of simulated networks by name, for histories and for `make soak-remote`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeAlias

from greenroom.testing import Sim, SimNetwork
from tests.remote.network.remote_runs import remote_runs
from tests.remote.network.traffic import busy_nodes

Scenario: TypeAlias = Callable[[Sim], Awaitable[Any]]


def _traffic(count: int, after: Callable[[SimNetwork], object] = lambda _: None) -> Scenario:
    return busy_nodes(count, after=after)


def _runs(after: Callable[[SimNetwork], object] = lambda _: None) -> Scenario:
    return remote_runs(after=after)


SCENARIOS: Final[dict[str, Callable[..., Scenario]]] = {
    "traffic of 2 nodes": partial(_traffic, 2),
    "traffic of 3 nodes": partial(_traffic, 3),
    "runs on 2 hosts": _runs,
}
"""Each takes a function that is called with the network once it has come to rest."""
