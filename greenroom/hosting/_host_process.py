"""The process of a host: in the foreground until it is told to stop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import trio

from greenroom.core import GreenroomError, UsageError
from greenroom.core.texts import single_error
from greenroom.hosting._hosted_agents import HostPlan
from greenroom.hosting._open_host import open_host
from greenroom.remote.hosts import make_token_file, read_token_file
from greenroom.serving import Incident, Tcp, UnixSocket, read_certificate
from greenroom.session import ModelFor
from greenroom.terminal import Ladder, climbing, complain, noting_log
from greenroom.tools.builtin import STANDARD_TOOLS

_UNIX: Final = "uds:"
_FAILED: Final = 1


def run_host(
    listen: str,
    *,
    name: str,
    folder: Path,
    token_file: Path | None,
    workspaces: Sequence[str],
    max_agents: int,
    certificate: Path | None,
    key: Path | None,
    known_as: Sequence[str],
    drain_s: float,
    model: ModelFor,
) -> int:
    """Run a host until a signal tells it to stop, and return the exit code.

    Args:
        listen: `uds:PATH`, or `HOST:PORT`; beyond the loopback interface with a certificate.
        name: Name of its node.
        folder: Folder for its runs and records.
        token_file: The file with its token; by default `token` in the folder. It is made if it does not exist.
        workspaces: Folders in which agents may work, each as `NAME=FOLDER`.
        max_agents: Number of agents that may run at a time.
        certificate: File of the certificate for TLS.
        key: File of its key; by default that of the certificate.
        known_as: Further values of `Host`, as `NAME:PORT`, under which it is reached.
        drain_s: Seconds for which the first signal waits for the agents that run.
        model: Makes the model of each session.

    Raises:
        UsageError: One of these cannot be used.
    """
    if drain_s < 0:
        raise UsageError(f"--drain-s must be at least 0, got {drain_s:g}")
    if max_agents < 1:
        raise UsageError(f"--max-agents must be at least 1, got {max_agents}")
    if certificate is None and key is not None:
        raise UsageError("--key requires --cert")
    place = _place_of(listen, certificate, key or certificate)
    plan = HostPlan(
        folder=folder.absolute(),
        make_model=lambda: model,
        tools=tuple(STANDARD_TOOLS),
        workspaces=_workspaces_of(workspaces),
        max_running=max_agents,
    )
    path = (token_file or folder / "token").absolute()
    make_token_file(path)
    try:
        serve = partial(_serve, plan, name=name, place=place, known_as=known_as, token_file=path, drain_s=drain_s)
        return trio.run(partial(serve, token=read_token_file(path)))
    except BaseExceptionGroup as group:
        error = single_error(group)
        if isinstance(error, GreenroomError):
            raise error from None
        raise


async def _serve(
    plan: HostPlan,
    *,
    name: str,
    token: bytes,
    place: Tcp | UnixSocket,
    known_as: Sequence[str],
    token_file: Path,
    drain_s: float,
) -> int:
    ladder = Ladder(say=_say)
    stopping = trio.Event()
    with noting_log(), ladder.stop_scope:
        async with (
            climbing(ladder),
            open_host(plan, name=name, token=token, listen=[place], hosts=known_as, report=_report) as host,
        ):
            ladder.stop = lambda _: stopping.set()
            for address in host.addresses:
                _say(f"host {name!r} listens at {address}; its token is in {token_file}")
            await stopping.wait()
            if host.agents.running:
                _say(f"waiting for {host.agents.running} agents, at most {drain_s:g} s")
            await host.agents.drain(drain_s)
        return 0
    return _FAILED if ladder.exit_code is None else ladder.exit_code


def _say(text: str) -> None:
    with suppress(OSError):
        complain(text, code=0)


def _report(incident: Incident) -> None:
    _say(f"{incident.kind}: {incident.address or 'a local process'}: {incident.reason}")


def _place_of(listen: str, certificate: Path | None, key: Path | None) -> Tcp | UnixSocket:
    if listen.startswith(_UNIX):
        if certificate is not None:
            raise UsageError("--cert is for HOST:PORT: a Unix socket needs no TLS")
        return UnixSocket(Path(listen.removeprefix(_UNIX)).absolute())
    host, colon, port = listen.rpartition(":")
    if not (colon and host and port.isascii() and port.isdigit() and int(port) <= 65_535):
        raise UsageError(f"--listen must be uds:PATH or HOST:PORT, got {listen!r}")
    tls = None if certificate is None or key is None else read_certificate(certificate, key)
    return Tcp(host=host.strip("[]"), port=int(port), tls=tls)


def _workspaces_of(given: Sequence[str]) -> Mapping[str, Path]:
    found = {}
    for each in given:
        name, equals, folder = each.partition("=")
        path = Path(folder).expanduser().absolute()
        if not (name and equals and folder):
            raise UsageError(f"--workspace must be NAME=FOLDER, got {each!r}")
        if not path.is_dir():
            raise UsageError(f"--workspace {name}: {str(path)!r} is not a directory")
        found[name] = path
    return found
