"""Hosts on a Ray cluster: what serves on each of its nodes, and their placement."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

import attrs

from greenroom.hosting._hosted_agents import HostPlan
from greenroom.hosting._open_host import open_host
from greenroom.remote.ray import GuestSeat, RayHostPlan, RayHosts, RayPlace, open_ray_placement, parse_ray_place
from greenroom.remote.ray._ray_guest import find_named
from greenroom.terminal import complain

_SERVE: Final = f"{__name__}:serve_seat"


def open_ray_hosts(
    place: RayPlace, plan: RayHostPlan, *, report: Callable[[str], object] = lambda _: None
) -> AbstractAsyncContextManager[RayHosts]:
    """Place hosts that run agents, until the block is left; see `open_ray_placement`."""
    return open_ray_placement(place, serve=_SERVE, arguments=attrs.asdict(plan), report=report)


def hosts_opener(text: str) -> Callable[[RayHostPlan], AbstractAsyncContextManager[RayHosts]]:
    """Return the function that places the hosts that a command line names; what happens to Ray later is said on standard error.

    Raises:
        UsageError: The text cannot be read.
    """
    return partial(open_ray_hosts, parse_ray_place(text), report=lambda line: complain(line, code=0))


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
