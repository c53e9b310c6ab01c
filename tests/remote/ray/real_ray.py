"""Ray for tests: whether it is there, and what it has left on this machine.

A test that needs it is skipped where the extra is not installed, and fails instead if `RAY_CLUSTER=demanded` (`make test-ray`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from greenroom.models import ScriptedModel
from greenroom.remote.ray import GuestSeat

IS_DEMANDED = os.environ.get("RAY_CLUSTER") == "demanded"
MODEL = f"{__name__}:far_model"
SERVE = f"{__name__}:serve_plainly"


def need_ray() -> None:
    """Skip the test if the library is not installed."""
    if find_spec("ray") is None:
        text = "ray is not installed; `make test-ray` installs it"
        pytest.fail(text) if IS_DEMANDED else pytest.skip(text)


def need_time() -> None:
    """Skip a test that takes long, unless it is demanded."""
    need_ray()
    if not IS_DEMANDED:
        pytest.skip("clusters take long to start; `make test-ray` runs this")


def far_model(wait_s: float, agents: int) -> ScriptedModel:
    """Return the model of the agents of a host: each says one thing, after a while."""
    return ScriptedModel(["far away"] * agents, wait_s=wait_s)


@asynccontextmanager
async def serve_plainly(seat: GuestSeat) -> Any:
    """Serve nothing; fail if the launcher says so."""
    error = seat.arguments.get("error", "")
    if error == "at once":
        raise ValueError("it cannot start here")
    yield f"{seat.name} in {seat.folder.name}"
    if error == "at the end":
        raise ValueError("it cannot end")


def traces() -> set[str]:
    """Return what a cluster may leave on this machine: processes, sockets, shared memory, files."""
    found = {f"file {path}" for path in (*Path("/tmp").glob("greenroom-ray-*"), *Path("/tmp").glob("ray*"))}
    found |= {f"memory {path}" for path in Path("/dev/shm").glob("*") if "greenroom" not in path.name}
    found |= {f"file {path}" for path in Path.home().glob(".ray*")}
    sockets = Path("/proc/net/unix").read_text(encoding="utf-8").splitlines()
    found |= {f"socket {line.split()[-1]}" for line in sockets if "greenroom-ray-" in line}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if "ray::" in command or "/ray/" in command or "_ray_driver" in command:
                found.add(f"process {process.name} {command[:80]}")
    return found


@contextmanager
def nothing_left() -> Iterator[None]:
    """Demand that the block leaves nothing of Ray on this machine."""
    before = traces()
    yield
    left = traces() - before
    assert left == set(), left
