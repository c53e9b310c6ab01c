"""Programs of the pages and of the README, and a way to run each in a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.cli.forked import run_forked

ROOT = Path(__file__).resolve().parents[2]

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks_of(document: str) -> list[str]:
    return BLOCK.findall((ROOT / document).read_text(encoding="utf-8"))


def run_python(code: str, *, cwd: Path, **environment: str) -> str:
    """Run a program of a page in a process of its own."""
    done = run_forked("-c", code, environ={"PYTHONPATH": str(ROOT), **environment}, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_afresh(code: str, *, cwd: Path, **environment: str) -> str:
    """Run a program of a page in a process that Python is started for."""
    command = [sys.executable, "-W", "error", "-c", code]
    environment = {"PYTHONPATH": str(ROOT), **environment}  # this checkout, whichever one is installed
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
