"""A process that runs commands of greenroom, each in a fork. Run as a script, with PYTHONPATH set to the checkout.

It reads one JSON object a line and answers with one. A request has the arguments (`args`), the current folder (`cwd`), the folder of the
runs (`runs`), and may have `kill_at`: once the command has written as many lines to a journal it is killed (`kill -9`). With
`interrupt_at` in its place it gets Ctrl+C.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

import greenroom
from greenroom.cli import main


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Run one command and return its exit code and output; a negative code is that of a signal."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        before = _journals(request)
        child = os.fork()
        if child == 0:
            _in_child(request, out.fileno(), err.fileno())
        code = _wait(child, request, before)
        out.seek(0)
        err.seek(0)
        return {"code": code, "out": out.read().decode(), "err": err.read().decode()}


def _in_child(request: dict[str, Any], out: int, err: int) -> None:
    code = 70
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.chdir(request["cwd"])
        os.environ["GREENROOM_RUNS"] = request["runs"]
        code = main(request["args"])
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:  # noqa: BLE001 - the parent must go on, whatever happened to the command
        traceback.print_exc()
    finally:
        os._exit(code)


def _wait(child: int, request: dict[str, Any], before: dict[Path, int]) -> int:
    """Return the exit code of a child, which is sent a signal once its journal is long enough."""
    at = request.get("kill_at") or request.get("interrupt_at")
    number = signal.SIGKILL if request.get("kill_at") else signal.SIGINT
    while True:
        ended, status = os.waitpid(child, os.WNOHANG if at else 0)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if at and any(lines - before.get(path, 0) >= at for path, lines in _journals(request).items()):
            os.kill(child, number)
            at = None
        time.sleep(0.005)


def _journals(request: dict[str, Any]) -> dict[Path, int]:
    """Return the journals of all runs with their numbers of lines."""
    return {path: path.read_bytes().count(b"\n") for path in Path(request["runs"]).glob("*/journal.jsonl")}


# Everything is loaded once, not by each fork.
for info in pkgutil.walk_packages(greenroom.__path__, "greenroom."):
    if info.name.rpartition(".")[2] not in ("__main__", "_reaper_main"):
        importlib.import_module(info.name)

for line in sys.stdin:
    print(json.dumps(run(json.loads(line))), flush=True)
