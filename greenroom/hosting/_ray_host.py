"""Hosts on a Ray cluster: what serves on each of its nodes, and their placement."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final, final

import attrs

from greenroom.core.validation import positive
from greenroom.hosting._hosted_agents import MAX_RUNNING, HostPlan
from greenroom.hosting._open_host import open_host
from greenroom.remote.ray import GuestSeat, RayHosts, RayPlace, open_ray_placement
from greenroom.remote.ray._ray_guest import find_named

_SERVE: Final = f"{__name__}:serve_seat"


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
    max_running: int = attrs.field(default=MAX_RUNNING, validator=positive)
    """Number of agents that a host runs at a time."""


def open_ray_hosts(
    place: RayPlace, plan: RayHostPlan, *, report: Callable[[str], object] = lambda _: None
) -> AbstractAsyncContextManager[RayHosts]:
    """Place hosts that run agents, until the block is left; see `open_ray_placement`."""
    return open_ray_placement(place, serve=_SERVE, arguments=attrs.asdict(plan), report=report)


@asynccontextmanager
async def serve_seat(seat: GuestSeat) -> AsyncIterator[str]:
    """Run a host on a node of Ray, and yield where it listens."""
    wanted = RayHostPlan(**seat.arguments)
    make, arguments = find_named(wanted.model), wanted.model_arguments
    plan = HostPlan(
        folder=seat.folder,
        make_model=lambda: make(**arguments),
        tools=tuple(find_named(wanted.tools)),
        workspaces={name: Path(folder) for name, folder in wanted.workspaces.items()},
        max_running=wanted.max_running,
    )
    async with open_host(plan, name=seat.name, token=seat.token, listen=[seat.listen]) as host:
        yield host.addresses[0]
