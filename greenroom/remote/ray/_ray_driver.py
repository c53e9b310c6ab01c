"""The process that is connected to Ray: it places hosts, and says when they have died.

It is a process of its own because Ray prints to the output of its process, and ends that process when its own head is gone: neither may
happen to a session. It reads one line of JSON, the order, and ends when its input ends; then it has stopped the hosts. Each line
that it writes is an object with one key: `placed`, `died` or `refused`.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import queue
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

from greenroom.core import PeerError, UsageError
from greenroom.remote.ray._ray_guest import HostGuest
from greenroom.remote.ray._ray_place import LOCAL, RayPlace, choose_nodes

CONNECT_S: Final = 5.0
START_S: Final = 120.0
"""Seconds within which each host must have started."""
STOP_S: Final = 10.0
"""Seconds that hosts have to stop."""
_OBJECT_STORE: Final = 80_000_000
"""Bytes: nothing is kept there, and Ray takes no less than 75 MB."""
_ENDED: Final = "the process of the host has ended"


def main() -> int:
    """Place hosts until the input ends, and return the exit code."""
    say = _output()
    order = json.loads(sys.stdin.readline())
    try:
        ray = importlib.import_module("ray")
    except ImportError as problem:
        say({"refused": f"the ray library cannot be loaded: {problem}", "is_usage": True})
        return 2
    try:
        _connect(ray, order)
        RayDriver(ray, order, say).run()
    except UsageError as error:
        say({"refused": str(error), "is_usage": True})
        return 2
    except PeerError as error:
        say({"refused": str(error), "is_usage": False})
        return 1
    except Exception as error:  # noqa: BLE001 - whatever Ray raises is one line of the launcher
        say({"refused": f"Ray failed: {type(error).__name__}: {_first_line(error)}", "is_usage": False})
        return 1
    finally:
        ray.shutdown(wait_for_processes=True)
        _kill_group()
        shutil.rmtree(order["folder"], ignore_errors=True)  # the launcher may have been killed
    return 0


def _output() -> Callable[[Mapping[str, Any]], None]:
    """Return what writes a line for the launcher; what Ray prints goes to standard error, a file."""
    lines: IO[str] = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(line: Mapping[str, Any]) -> None:
        print(json.dumps(line), file=lines, flush=True)

    return say


def _kill_group() -> None:
    """Kill what is left of a cluster that this process has started: Ray's agents outlive it for seconds, and write files again."""
    if os.getpgrp() != os.getpid():
        return  # nobody has made a group for this process
    for entry in Path("/proc").glob("[0-9]*"):
        process = int(entry.name)
        with suppress(OSError):
            if process != os.getpid() and os.getpgid(process) == os.getpgrp():
                os.kill(process, signal.SIGKILL)


def _connect(ray: Any, order: Mapping[str, Any]) -> None:
    """Connect to the cluster, or start one of this machine."""
    address = order["address"]
    common: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": True}
    if address == LOCAL:
        ray.init(
            address=LOCAL,
            num_cpus=1,
            include_dashboard=False,
            object_store_memory=_OBJECT_STORE,
            _temp_dir=order["ray_folder"],
            **common,
        )
        return
    host, _, port = address.rpartition(":")
    try:
        if host:  # Ray itself tries for minutes
            socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_S).close()
        ray.init(address=address, **common)
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(f"no Ray cluster answers at {address}: {_first_line(error)}") from error


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [""])[0][:300]


class RayDriver:
    """The hosts of one launcher on a connected cluster.

    Args:
        ray: The library.
        order: The order of the launcher.
        say: Writes a line for it.
    """

    def __init__(self, ray: Any, order: Mapping[str, Any], say: Callable[[Mapping[str, Any]], None]) -> None:
        self._ray = ray
        self._order = order
        self._say = say
        self._news: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._actors: dict[str, Any] = {}

    def run(self) -> None:
        """Place the hosts, tell of deaths until the input ends, and stop those that live."""
        threading.Thread(target=self._read_input, daemon=True).start()
        try:
            self._say({"placed": self._place()})
            for name in self._actors:
                self._wait_for(name)
            while (told := self._news.get())[0]:
                self._note_end(*told)
        finally:
            self._stop()

    def _read_input(self) -> None:
        sys.stdin.read()
        self._news.put(("", None))

    # --- placing -------------------------------------------------------------------------------------------------------

    def _place(self) -> list[dict[str, Any]]:
        """Start all hosts, and return where they listen."""
        ray, hosts = self._ray, self._order["hosts"]
        nodes = {node["NodeID"]: node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]}
        place = RayPlace(hosts=len(hosts), address=self._order["address"])
        here = nodes.get(ray.get_runtime_context().get_node_id())
        kind = ray.remote(max_restarts=0, max_task_retries=0, num_cpus=0)(HostGuest)
        affinity = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        starts: dict[Any, dict[str, Any]] = {}
        for host, node in zip(hosts, choose_nodes(place, list(nodes)), strict=True):
            wish = self._wish(host, is_here=nodes[node] == here and not self._order["forces_tls"])
            actor = kind.options(scheduling_strategy=affinity(node, soft=False)).remote(wish)
            self._actors[host["name"]] = actor
            starts[actor.start.remote(nodes[node])] = {"name": host["name"], "node": node}
        return self._started(starts)

    def _wish(self, host: Mapping[str, Any], *, is_here: bool) -> dict[str, Any]:
        order = self._order
        if not (is_here or order["tls"]):
            raise UsageError("hosts on other machines need TLS: name a certificate, its key and its authority")
        common = {name: order[name] for name in ("serve", "arguments", "tls")}
        return {**common, "name": host["name"], "token": host["token"], "folder": host["folder"] if is_here else ""}

    def _started(self, starts: Mapping[Any, dict[str, Any]]) -> list[dict[str, Any]]:
        _, missing = self._ray.wait(list(starts), num_returns=len(starts), timeout=START_S)
        if missing:
            names = ", ".join(starts[each]["name"] for each in missing)
            raise PeerError(f"hosts have not started within {START_S:g} s: {names}")
        placed = []
        for reference, facts in starts.items():
            try:
                placed.append({**facts, **self._ray.get(reference)})
            except self._ray.exceptions.RayError as error:
                cause = getattr(error, "cause", None) or error
                raise PeerError(f"host {facts['name']!r} has not started: {_first_line(cause)}") from error
        return placed

    # --- deaths --------------------------------------------------------------------------------------------------------

    def _wait_for(self, name: str) -> None:
        """Keep one call of a host open: its end is that of the host."""
        future = self._actors[name].wait_ended.remote().future()
        future.add_done_callback(lambda ended: self._news.put((name, ended)))

    def _note_end(self, name: str, ended: Any) -> None:
        error = ended.exception()
        if isinstance(error, self._ray.exceptions.ActorUnavailableError):
            self._wait_for(name)  # it cannot be reached: it may still be at work
            return
        if error is not None:
            why = _ENDED if isinstance(error, self._ray.exceptions.ActorDiedError) else _first_line(error)
        else:
            why = ended.result() or "the host has stopped"
        self._ray.kill(self._actors.pop(name))
        self._say({"died": name, "why": why})

    def _stop(self) -> None:
        ray = self._ray
        stops = [actor.stop.remote() for actor in self._actors.values()]
        if stops:
            ray.wait(stops, num_returns=len(stops), timeout=STOP_S)
        for actor in self._actors.values():
            ray.kill(actor)


if __name__ == "__main__":
    sys.exit(main())
