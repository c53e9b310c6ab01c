"""The wish for hosts on a Ray cluster, and the choice of nodes for them. Must not know: Ray, Trio, processes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, final

import attrs

from greenroom.core import UsageError
from greenroom.core.validation import positive

LOCAL: Final = "local"
"""Address of a cluster of this machine that is started for the hosts, and stopped with them."""
MAX_HOSTS: Final = 64
_PLACE: Final = re.compile(r"ray:(\d{1,6})(?:@(.+))?")
_ADDRESS: Final = re.compile(r"auto|local|[^\s:/@]+:\d{1,5}|\[[0-9A-Fa-f:.]+\]:\d{1,5}")


@final
@attrs.frozen(kw_only=True)
class RayTls:
    """Certificates of hosts on other machines: paths that exist on each of them."""

    certificate: Path
    key: Path
    """Of the certificate."""
    authority: Path
    """Certificates that the launcher trusts; on its own machine."""


@final
@attrs.frozen(kw_only=True)
class RayPlace:
    """Number of hosts, and the cluster for them."""

    hosts: int
    address: str = LOCAL
    """`local` for a cluster of its own, `auto` for that which runs on this machine, or `HOST:PORT`."""
    tls: RayTls | None = None
    """Needed for hosts on other machines."""


@final
@attrs.frozen(kw_only=True)
class RayHostPlan:
    """The parts of each host on a Ray cluster, in plain values: they are sent to other machines."""

    model: str
    """`MODULE:NAME` of a function that is called with `model_arguments`, and returns the model of a session."""
    model_arguments: Mapping[str, Any] = attrs.field(factory=dict)
    """Plain JSON values."""
    tools: str = "greenroom.tools.builtin:STANDARD_TOOLS"
    """`MODULE:NAME` of the tools that agents may have."""
    workspaces: Mapping[str, str] = attrs.field(factory=dict)
    """Folders on each machine in which agents may work, by name; that of the empty name is for agents that name none."""
    max_running: int = attrs.field(default=100, validator=positive)
    """Number of agents that a host runs at a time."""


def parse_ray_place(text: str) -> RayPlace:
    """Return the wish that `ray:NUMBER` or `ray:NUMBER@ADDRESS` expresses.

    Raises:
        UsageError: It is neither, or the number is out of range.
    """
    found = _PLACE.fullmatch(text)
    if found is None:
        raise UsageError(f"hosts must be given as ray:NUMBER or ray:NUMBER@ADDRESS, got {text!r}")
    hosts, address = int(found[1]), found[2] or LOCAL
    if not 1 <= hosts <= MAX_HOSTS:
        raise UsageError(f"the number of hosts must be between 1 and {MAX_HOSTS}, got {hosts}")
    if not _ADDRESS.fullmatch(address):
        raise UsageError(f"the address of a Ray cluster must be local, auto or HOST:PORT, got {address!r}")
    return RayPlace(hosts=hosts, address=address)


def choose_nodes(place: RayPlace, nodes: Sequence[str]) -> list[str]:
    """Return the node of each host: all on the only node of a local cluster, else one on each.

    Args:
        place: The wish.
        nodes: Ids of the nodes that are alive.

    Raises:
        UsageError: There are fewer nodes than hosts.
    """
    if place.address == LOCAL:
        return [nodes[0]] * place.hosts
    if len(nodes) < place.hosts:
        there = f"{len(nodes)} node" + ("" if len(nodes) == 1 else "s")
        raise UsageError(
            f"the Ray cluster at {place.address} has {there}, and each takes one host: "
            f"{place.hosts} hosts need {place.hosts} nodes"
        )
    return sorted(nodes)[: place.hosts]
