"""Hosts on a Ray cluster, for the program that launches agents there."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, final

import attrs
import trio

from greenroom.containment import ChildKind, child_environment
from greenroom.core import PeerError, UsageError, open_bare_nursery, open_private
from greenroom.core.ports import Ports
from greenroom.remote.hosts import PlacedHosts
from greenroom.remote.links import LinkPeer
from greenroom.remote.ray._ray_guest import tls_wish
from greenroom.remote.ray._ray_place import LOCAL, RayPlace

DRIVER: Final = "greenroom.remote.ray._ray_driver"
CLOSE_S: Final = 30.0
"""Seconds that the hosts and the cluster have to stop; then they are killed."""
_MAX_LINE: Final = 1_048_576
_MAX_FOLDER: Final = 32
"""Characters of the folder below which Ray has its sockets, whose paths have a limit."""
_LOG_LINES: Final = 3


@final
class RayFailed(PeerError):
    """Ray cannot place hosts, or its process has ended."""


@final
@attrs.frozen(kw_only=True)
class RayHosts:
    """Hosts on a Ray cluster."""

    placed: PlacedHosts
    """For `open_session`; it notifies of deaths."""
    nodes: Mapping[str, str]
    """Ids of Ray's nodes, by the names of hosts."""
    processes: Mapping[str, int]
    """Ids of the processes of hosts on their machines, by their names."""


@asynccontextmanager
async def open_ray_placement(
    place: RayPlace,
    *,
    serve: str,
    arguments: Mapping[str, Any],
    report: Callable[[str], object] = lambda _: None,
    ports: Ports | None = None,
    forces_tls: bool = False,
) -> AsyncIterator[RayHosts]:
    """Place hosts until the block is left; then they are stopped, and nothing of a cluster that was started for them is left.

    Args:
        place: Number of hosts, and the cluster.
        serve: The function that serves on each, as `MODULE:NAME`; see `ServeSeat`.
        arguments: Plain JSON values for it.
        report: Called with one line if Ray itself has ended: hosts and links go on, and no death is reported any more.
        ports: Threads and the disk; by default the machine's.
        forces_tls: True to reach hosts on this machine as those on others.

    Raises:
        UsageError: The extra is not installed, no cluster answers at the address, or it has too few nodes.
        RayFailed: A host or the cluster has not started.
    """
    if find_spec("ray") is None:
        raise UsageError("hosts on Ray need the extra 'ray': pip install 'greenroom[ray]'")
    ports = ports or Ports()
    names = [f"ray-{number}" for number in range(1, place.hosts + 1)]
    tokens = {name: secrets.token_hex(32) for name in names}
    folder = await ports.blocking.run(_make_folder, names)
    try:
        tls = None if place.tls is None else await ports.blocking.run(_trusting, place.tls.authority)
        order = {
            "address": place.address,
            "folder": str(folder),
            "ray_folder": str(folder / "ray"),
            "hosts": [{"name": name, "token": tokens[name], "folder": str(folder / name)} for name in names],
            "serve": serve,
            "arguments": dict(arguments),
            "tls": tls_wish(place.tls),
            "forces_tls": forces_tls,
        }
        async with _driver(order, folder) as driver:
            hosts = _hosts_of(await _first_answer(driver, folder, ports), tokens, tls)
            async with open_bare_nursery() as nursery:
                nursery.start_soon(_take_news, driver, hosts.placed, report)
                yield hosts
                nursery.cancel_scope.cancel()
    finally:
        with trio.CancelScope(shield=True):
            await ports.blocking.run(shutil.rmtree, folder, ignore_errors=True)


def _make_folder(names: list[str]) -> Path:
    """Make the private folder of a placement; short, because sockets lie in it."""
    folder = tempfile.mkdtemp(prefix="greenroom-ray-")
    if len(folder) > _MAX_FOLDER:
        Path(folder).rmdir()
        folder = tempfile.mkdtemp(prefix="greenroom-ray-", dir="/tmp")  # of mode 0700, with a name by chance
    path = Path(folder)
    for name in (*names, "ray"):
        (path / name).mkdir(mode=0o700)
    with os.fdopen(open_private(path / "cluster-token", os.O_WRONLY | os.O_CREAT), "w", encoding="ascii") as file:
        file.write(secrets.token_hex(32))
    return path


def _hosts_of(placed: Sequence[Mapping[str, Any]], tokens: Mapping[str, str], tls: ssl.SSLContext | None) -> RayHosts:
    """Return the hosts that the process has placed."""
    peers = {
        each["name"]: LinkPeer(token=bytes.fromhex(tokens[each["name"]]), address=each["address"], tls=tls)
        for each in placed
    }
    return RayHosts(
        placed=PlacedHosts(peers),
        nodes={each["name"]: each["node"] for each in placed},
        processes={each["name"]: each["pid"] for each in placed},
    )


def _trusting(authority: Path) -> ssl.SSLContext:
    """Return what trusts an authority."""
    try:
        return ssl.create_default_context(cafile=str(authority))
    except OSError as error:
        raise UsageError(f"cannot read the authority {str(authority)!r}: {error.strerror or error}") from None


# --- the process that is connected to Ray -------------------------------------------------------------------------------


@final
class _Driver:
    """The process, and the lines that it writes."""

    def __init__(self, process: trio.Process) -> None:
        self.process = process
        self._rest = b""

    async def line(self) -> dict[str, Any] | None:
        """Return the next line; None if the process has ended."""
        assert self.process.stdout is not None
        while b"\n" not in self._rest:
            part = await self.process.stdout.receive_some()
            if not part or len(self._rest) > _MAX_LINE:
                return None
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found


def _environment(order: Mapping[str, Any], folder: Path) -> dict[str, str]:
    named = {"RAY_USAGE_STATS_ENABLED": "0"}
    if order["address"] == LOCAL:  # a cluster of its own has a token of its own, not one in the home folder
        named |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(folder / "cluster-token")}
    # Hosts are processes of greenroom, with the keys of models; what their agents start gets less.
    return child_environment(ChildKind.SERVER, named=named, passed=("*",))


@asynccontextmanager
async def _driver(order: Mapping[str, Any], folder: Path) -> AsyncIterator[_Driver]:
    """Run the process until the block is left; then it stops the hosts."""
    with (folder / "ray.log").open("wb") as log:
        process = await trio.lowlevel.open_process(
            [sys.executable, "-m", DRIVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=_environment(order, folder),
            start_new_session=True,  # the user's Ctrl+C is for the launcher, which stops the hosts
        )
    assert process.stdin is not None
    try:
        with suppress(trio.BrokenResourceError):
            await process.stdin.send_all(json.dumps(order).encode() + b"\n")
        yield _Driver(process)
    finally:
        with trio.CancelScope(shield=True):
            await process.stdin.aclose()
            with trio.move_on_after(CLOSE_S):
                await process.wait()
            with suppress(ProcessLookupError):  # it is the leader of a group, which is empty if it has ended well
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            if process.stdout is not None:
                await process.stdout.aclose()


async def _first_answer(driver: _Driver, folder: Path, ports: Ports) -> list[dict[str, Any]]:
    """Return the placed hosts."""
    line = await driver.line()
    if line is None:
        text = await ports.blocking.run((folder / "ray.log").read_text, encoding="utf-8", errors="replace")
        last = " / ".join(text.strip().splitlines()[-_LOG_LINES:])
        raise RayFailed(f"the process that is connected to Ray has ended: {last or 'it said nothing'}")
    if "refused" in line:
        raise (UsageError if line["is_usage"] else RayFailed)(line["refused"])
    placed: list[dict[str, Any]] = line["placed"]
    return placed


async def _take_news(driver: _Driver, placed: PlacedHosts, report: Callable[[str], object]) -> None:
    """Notify of deaths until cancelled."""
    while (line := await driver.line()) is not None:
        if "died" in line:
            name = line["died"]
            placed.note_death(name, f"host {name!r} died: {line['why']}")
    report(
        "Ray has ended: no host is placed any more, and no death is reported; hosts that are left and their links go on"
    )
