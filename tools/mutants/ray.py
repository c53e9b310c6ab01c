"""Mutants of hosts on a Ray cluster: deaths, hosts that are unavailable, and surveys there."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_REMOTES: Final = "greenroom.remote.hosts._remote_agents"
_DRIVER: Final = "greenroom.remote.ray._ray_driver"
_FAR_MATE: Final = "greenroom.swarm.survey._far_mate"

RAY: Final = (
    Mutant(
        "the agents of a dead host are waited for",
        ("R8-a",),
        _REMOTES,
        "            if remote.host == host and remote.is_launched:\n",
        "            if remote.host != host and remote.is_launched:\n",
        tests=("tests/hosting/test_remote_agents.py",),
    ),
    Mutant(
        "an item is not given to another agent after the death of a host",
        ("R8-b",),
        _FAR_MATE,
        "    if len(launches) < MAX_LAUNCHES:\n",
        "    if not launches:\n",
        tests=("tests/swarm/test_swarm_hosts.py",),
    ),
    Mutant(
        "a host that is unavailable counts as dead",
        ("R8-c",),
        _DRIVER,
        "        if isinstance(error, self._ray.exceptions.ActorUnavailableError):\n",
        "        if error is None:\n",
        tests=("tests/remote/ray/test_ray_guest.py",),
    ),
)
