"""Servers that are started warm have all that they were given, and end with what was started for them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import trio

from tests.mcp.real import is_running, until
from tests.mcp.warm import warm_command

SAYS = """
import os, sys
print(os.getcwd(), os.environ["A"], sys.argv[1:], input(), flush=True)
print("Well.", file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("end", "code", "last"),
    [
        ("", 0, "Well.\n"),
        ("sys.exit(3)", 3, "Well.\n"),
        ("sys.exit('no')", 1, "Well.\nno\n"),
        ("1 / 0", 1, "\nZeroDivisionError: division by zero\n"),
    ],
)
def test_a_fork_has_what_it_was_given_and_its_end_is_known(tmp_path: Path, end: str, code: int, last: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(SAYS + end)

    done = subprocess.run(
        warm_command(script, "x", "y"),
        input="said\n",
        cwd=tmp_path,
        env={"A": "b c"},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )

    assert done.stdout == f"{tmp_path} b c ['x', 'y'] said\n"
    assert done.stderr.startswith("Well.\n")
    assert done.stderr.endswith(last)
    assert done.returncode == code


def test_a_fork_ends_with_what_was_started(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import os, signal\nprint(os.getpid(), flush=True)\nsignal.pause()\n")

    with subprocess.Popen(warm_command(script), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        assert is_running(pid)
        process.kill()

    trio.run(until, lambda: not is_running(pid))
