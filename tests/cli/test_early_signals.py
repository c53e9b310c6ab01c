"""Ctrl+C while the command still imports its modules: a quiet end, whatever the moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

# Forks at every tenth import; the child gets the signal there. Inside of Trio's loop the command handles signals itself.
PROGRAM = """
import os, signal, sys

number = signal.Signals[sys.argv.pop(1)]
statuses = []


class Interrupting:
    imports = 0

    def find_spec(self, name, path=None, target=None):
        trio = sys.modules.get("trio")
        if hasattr(trio, "lowlevel") and hasattr(trio.lowlevel, "in_trio_run") and trio.lowlevel.in_trio_run():
            sys.meta_path.remove(self)
            return None
        self.imports += 1
        if self.imports % 10:
            return None
        child = os.fork()
        if child == 0:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), number)
            return None
        statuses.append(os.waitpid(child, 0)[1])
        return None


from greenroom.__main__ import main

sys.meta_path.insert(0, Interrupting())
try:
    main()
finally:
    codes = {os.waitstatus_to_exitcode(one) for one in statuses}
    os.write(int(os.environ["REPORT"]), f"{len(statuses)} {sorted(codes)}".encode())
"""


@pytest.mark.parametrize(
    ("arguments", "number", "code"),
    [
        (["run", "hi", "--model", "playbook"], signal.SIGINT, 130),
        (["replay", "last"], signal.SIGTERM, 143),
    ],
)
def test_signal_during_imports_ends_command_quietly(
    arguments: list[str], number: signal.Signals, code: int, tmp_path: Path
) -> None:
    read, write = os.pipe()
    with os.fdopen(read, "rb") as report:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, number.name, *arguments],
            env={**os.environ, "REPORT": str(write), "GREENROOM_RUNS": str(tmp_path / "runs"), "HOME": str(tmp_path)},
            cwd=tmp_path,
            pass_fds=[write],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        os.close(write)
        moments, _, codes = report.read().decode().partition(" ")

    assert codes == f"[{code}]", done.stderr
    assert int(moments) > 20
    assert "Traceback" not in done.stderr
    assert "Keyboard" not in done.stderr
