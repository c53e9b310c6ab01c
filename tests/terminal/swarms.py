"""A swarm in a process of its own, whose output is read line by line."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tests.cli.forked import Forked, run_forked
from tests.swarm.small_repo import make_small_repo


@contextmanager
def swarm(tmp_path: Path, *, latency_s: float, form: str = "--json") -> Iterator[Forked]:
    repo = make_small_repo(tmp_path / "small")
    environ = {**os.environ, "GREENROOM_RUNS": str(tmp_path / "runs")}
    with Forked("swarm", str(repo), "--latency", str(latency_s), *form.split(), environ=environ) as process:
        try:
            yield process
        finally:
            process.kill()


def read_until(stream: IO[str] | None, pattern: str) -> list[str]:
    """Return the lines up to the one that matches; the test's time-out bounds it."""
    assert stream is not None
    lines = []
    for line in stream:
        lines.append(line.rstrip("\n"))
        if re.search(pattern, line):
            return lines
    raise AssertionError(f"no line matches {pattern!r} in:\n" + "\n".join(lines))


def rest_of(process: Forked) -> tuple[str, int]:
    out, err = process.communicate(timeout=30)
    assert err == ""
    return out, process.wait()


def replay(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_forked("replay", "last", *arguments, environ={**os.environ, "GREENROOM_RUNS": str(tmp_path / "runs")})
